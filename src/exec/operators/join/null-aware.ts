/**
 * What `not in` needs to know of its right side beside the matches: whether it has rows, and whether a key is null.
 * With a null nobody knows that a row is not among them, so no row is given; a left row without a key is given only
 * where there is nothing that it could be.
 */
import type { Vector } from '../../../vectors/vector.ts';
import { type Side, evaluate } from '../../operator.ts';
import { kinds, kindsOf } from '../rows/kinds.ts';
import type { JoinParts } from './probe.ts';

/** The right side of a null-aware anti join, as far as it was read. */
export class RightSide {
  hasRows = false;
  hasNull = false;

  /** Looks at rows; true while they decide anything. */
  *see(rows: Vector, { rightKeys }: JoinParts): Generator<Side, boolean> {
    this.hasRows ||= rows.length > 0;
    for (const e of rightKeys) {
      if (this.hasNull) return false;
      this.hasNull = kindsOf(yield* evaluate(e, rows))?.includes(kinds.null) === true;
    }
    return !this.hasNull;
  }
}
