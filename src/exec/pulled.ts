/** What is asynchronous, as a stream: scans, and what was spilled. */
import type { Vector } from '../vectors/vector.ts';
import { type Item, wait } from './operator.ts';
import type { QuickIterator } from './source.ts';

/** Batches of an asynchronous source as a stream; the source is returned when the stream is. */
export function* pulled(open: () => AsyncIterable<Vector>, signal: AbortSignal): Generator<Item> {
  signal.throwIfAborted();
  const iterator: QuickIterator = open()[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      for (let now = iterator.nextNow?.(); now; now = iterator.nextNow?.()) {
        if (now.length > 0) yield now;
        signal.throwIfAborted();
      }
      const next = yield* wait(iterator.next());
      signal.throwIfAborted();
      if (next.done) {
        ended = true;
        return;
      }
      if (next.value.length > 0) yield next.value;
    }
  } finally {
    // Nobody waits for a source that is given up; its failure then is of no interest.
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}
