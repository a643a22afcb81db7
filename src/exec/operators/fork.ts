/**
 * fork, switch and what puts their branches together again.
 *
 * The branches share one upstream. Whoever asks pulls it, and what it gives is queued for the other branches; a branch
 * that lags more than `queueBatchesMax` batches behind makes the others pause, so that nothing piles up and nothing
 * waits for itself. A branch that has ended gets no more.
 */
import { type Vector, range, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { rowsWith, truth, truthOf } from '../expressions/rows.ts';
import { type Item, type Side, type Step, type Stream, evaluate, isBatch, pause } from '../operator.ts';
import { kinds, kindsOf, rowsWithout } from './rows/kinds.ts';
import { rowsOf } from './rows/records.ts';

const queueBatchesMax = 16;

/** The rows of one branch. Closed, it gets no more and nobody waits for it. */
interface Port {
  readonly stream: Stream;
  readonly close: () => void;
}

/** What a branch makes of its rows. A branch may end without a look at them, which its port has to be told. */
export function* through(port: Port, branch: Step): Generator<Item> {
  try {
    yield* branch(port.stream);
  } finally {
    port.close();
  }
}

interface Queue {
  readonly queue: Vector[];
  closed: boolean;
}
/** Gives each port its part of a batch (undefined: nothing). */
type Route = (batch: Vector) => Generator<Side, readonly (Vector | undefined)[]>;

/** The upstream of several branches, one stream each. */
const shared = (input: Stream, count: number, route: Route): readonly Port[] => {
  const ports: Queue[] = Array.from({ length: count }, () => ({ queue: [], closed: false }));
  let items: Iterator<Item> | undefined;
  let ended = false;
  // A batch whose way waits for a subquery: whoever is asked next goes on with it, since its rows are all branches' and
  // nothing may overtake it.
  let routing: Iterator<Side, readonly (Vector | undefined)[]> | undefined;
  const deal = (parts: readonly (Vector | undefined)[]): void => {
    routing = undefined;
    parts.forEach((part, k) => {
      if (part && part.length > 0 && !ports[k].closed) ports[k].queue.push(part);
    });
  };
  const close = (port: Queue): void => {
    port.closed = true;
    port.queue.length = 0;
    if (!ended && ports.every((p) => p.closed)) {
      ended = true;
      routing?.return?.();
      items?.return?.();
    }
  };
  const read = function* read(port: Queue): Generator<Item> {
    try {
      for (;;) {
        const batch = port.queue.shift();
        if (batch) {
          yield batch;
          continue;
        }
        if (routing) {
          const step = routing.next();
          if (step.done) deal(step.value);
          else yield step.value;
          continue;
        }
        if (ended) return;
        if (ports.some((p) => p !== port && p.queue.length >= queueBatchesMax)) {
          yield pause;
          continue;
        }
        items ??= input[Symbol.iterator]();
        const next = items.next();
        if (next.done) ended = true;
        else if (!isBatch(next.value)) yield next.value;
        else routing = route(next.value);
      }
    } finally {
      close(port);
    }
  };
  return ports.map((port) => ({
    stream: read(port),
    close: () => {
      close(port);
    },
  }));
};

/** Streams that all have the whole input. */
export const fork = (input: Stream, count: number): readonly Port[] =>
  shared(input, count, function* route(batch) {
    return Array.from({ length: count }, () => batch);
  });

/** A case of switch; without a test it takes all rows. */
interface SwitchCase {
  readonly test: AsyncEvaluator | undefined;
}

/**
 * Each row goes to the first case that is true. Where a test on the way there is an error, the error goes to that case
 * (a missing one does not: it is just not true) and the row goes on.
 */
export const switchOver = (
  input: Stream,
  cases: readonly SwitchCase[],
  dropMissing: AsyncEvaluator | undefined,
): readonly Port[] =>
  shared(input, cases.length, function* route(whole) {
    let batch = whole;
    if (dropMissing) {
      const value = yield* evaluate(dropMissing, batch);
      batch = rowsOf(batch, rowsWithout(value, kinds.missing));
    }
    const out: (Vector | undefined)[] = [];
    for (const { test } of cases) {
      if (batch.length === 0) break;
      if (!test) {
        out.push(batch);
        break;
      }
      const value = yield* evaluate(test, batch);
      const codes = truthOf(value);
      const special = kindsOf(value);
      const own = rowsWith(codes, batch.length, truth.true);
      const errors = rowsWith(codes, batch.length, truth.error).filter((i) => special?.[i] !== kinds.missing);
      out.push(errors.length === 0 ? take(batch, own) : mixed(batch, own, value, errors));
      if (own.length > 0)
        batch = take(
          batch,
          range(0, batch.length).filter((i) => codes[i] !== truth.true),
        );
    }
    return out;
  });

const mixed = (batch: Vector, own: Uint32Array, value: Vector, errors: Uint32Array): Vector => {
  const all = concat([take(batch, own), take(value, errors)]);
  const rows = Uint32Array.from([...own, ...errors]);
  return take(
    all,
    range(0, rows.length).sort((a, b) => rows[a] - rows[b]),
  );
};

/** Several streams as one: a batch of each in turn. */
export function* together(streams: readonly Stream[]): Generator<Item> {
  let open = streams.map((s) => s[Symbol.iterator]());
  try {
    while (open.length > 0) {
      let paused = 0;
      for (const items of [...open]) {
        const next = items.next();
        if (next.done) open = open.filter((other) => other !== items);
        else if (next.value === pause) paused++;
        else yield next.value;
      }
      // All wait: for somebody else's sibling, further up.
      if (paused > 0 && paused === open.length) yield pause;
    }
  } finally {
    for (const items of open) items.return?.();
  }
}

/** Several streams one behind the other. */
export function* inTurn(streams: readonly (() => Stream)[]): Generator<Item> {
  for (const open of streams) yield* open();
}
