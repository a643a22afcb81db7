/** Operators with two inputs that take in the right one before the left one streams past it. */
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Stream, isBatch, pause } from '../../operator.ts';

/** What is done with a batch of each input. */
interface Sides {
  readonly right: (batch: Vector) => Iterable<Item>;
  readonly left: (batch: Vector) => Iterable<Item>;
}

/**
 * Reads the right input to its end. Where it pauses because both inputs come from one fork, the left one is read a
 * step: its rows have to be taken in before the right one goes on.
 */
export function* rightFirst(right: Stream, left: Iterator<Item>, take: Sides): Generator<Item> {
  for (const item of right) {
    if (isBatch(item)) yield* take.right(item);
    else if (item !== pause) yield item;
    else {
      const next = left.next();
      // If the left one waits too, it is for somebody's sibling further up.
      if (next.done || next.value === pause) yield pause;
      else if (isBatch(next.value)) yield* take.left(next.value);
      else yield next.value;
    }
  }
}
