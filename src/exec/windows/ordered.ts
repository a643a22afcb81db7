/**
 * Window functions with an order of their own, `rank(order by k) over w`: they see the rows of the frame in that order,
 * in which this row has a place whether the frame has it or not. Frames slide: a row costs what its frame changes by.
 */
import { type Vector, flatten, nulls, numbers, range, take, valueAt } from '../../vectors/vector.ts';
import { types } from '../../vectors/type.ts';
import { underValue } from '../../vectors/value.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { orderBy } from '../operators/sort/keys.ts';
import type { Direction } from '../operators/sort/words.ts';
import { order as compare } from '../expressions/sql/value-order.ts';
import type { Frames } from './frames.ts';
import { nowhere, picked } from './places.ts';
import { RankSet } from './rank-set.ts';
import { bucketOf, counted, integersAt } from './ranks.ts';
import type { Segment } from './segment.ts';
import { slid } from './sliding.ts';

/** What such a function is computed from. */
export interface OrderedInput {
  readonly segment: Segment;
  readonly frames: Frames;
  readonly arguments: readonly Vector[];
  readonly keys: readonly Vector[];
  readonly directions: readonly Direction[];
  readonly ignoreNulls: boolean;
}
/** The places of all rows in the order: those of equal keys are `firsts[row]` to `ends[row]`. */
interface Places {
  readonly order: Uint32Array;
  readonly of: Uint32Array;
  readonly firsts: Uint32Array;
  readonly ends: Uint32Array;
}
const placesOf = ({ keys, directions, segment: { length } }: OrderedInput): Places => {
  const order = orderBy(keys, directions, length);
  const [of, firsts, ends] = [new Uint32Array(length), new Uint32Array(length), new Uint32Array(length)];
  const columns = keys.map((key) => flatten(take(key, order)));
  const isPeer = (i: number): boolean =>
    columns.every((c) => compare(underValue(valueAt(c, i - 1)), underValue(valueAt(c, i))) === 0);
  for (let start = 0, i = 1; i <= length; i++) {
    of[order[i - 1]] = i - 1;
    if (i < length && isPeer(i)) continue;
    for (const row of order.subarray(start, i)) {
      firsts[row] = start;
      ends[row] = i;
    }
    start = i;
  }
  return { order, of, firsts, ends };
};

/** Calls `visit` for each row with the places of the rows that its frame has and that count. */
const eachFrame = (
  input: OrderedInput,
  places: Places,
  visit: (row: number, inFrame: RankSet) => void,
  counts?: Uint8Array,
): void => {
  const { length } = input.segment;
  const inFrame = new RankSet(length);
  const change = (row: number, by: 1 | -1): void => {
    if (!counts || counts[row] === 1) inFrame[by === 1 ? 'add' : 'remove'](places.of[row]);
  };
  slid(input, {
    add: (row) => change(row, 1),
    remove: (row) => change(row, -1),
    note: (row) => visit(row, inFrame),
    result: () => nulls(0),
  });
};
/** A number for each row. */
const each = (
  type: typeof types.int64 | typeof types.float64,
  of: (places: Places, row: number, inFrame: RankSet) => number,
): ((input: OrderedInput) => Vector) => {
  return (input) => {
    const places = placesOf(input);
    const out = new Float64Array(input.segment.length);
    eachFrame(input, places, (row, inFrame) => {
      out[row] = of(places, row, inFrame);
    });
    return numbers(type, out);
  };
};
const below = ({ firsts }: Places, row: number, inFrame: RankSet): number => inFrame.below(firsts[row]);
const before = ({ of }: Places, row: number, inFrame: RankSet): number => inFrame.below(of[row]);

const ntile = (input: OrderedInput): Vector => {
  const { length } = input.segment;
  const places = placesOf(input);
  const sizes = new Uint32Array(length);
  const own = new Uint32Array(length);
  eachFrame(input, places, (row, inFrame) => {
    sizes[row] = inFrame.size;
    own[row] = Math.min(before(places, row, inFrame), inFrame.size - 1);
  });
  return counted('ntile: argument must be an integer greater than zero', input.arguments[0], length, (counts) => {
    const index = range(0, length).map((i) => (sizes[i] === 0 ? nowhere : i));
    const buckets = Float64Array.from({ length }, (_, i) => bucketOf(own[i], sizes[i], counts[i]));
    return picked(numbers(types.int64, buckets), index);
  });
};

/** Rows that count under IGNORE NULLS. */
const countsIn = (v: Vector, ignoreNulls: boolean): Uint8Array | undefined => {
  const table = ignoreNulls ? kindsOf(v) : undefined;
  return table && Uint8Array.from(table, (kind) => Number(kind !== kinds.null && kind !== kinds.missing));
};
/** The row of the frame that is at a place in the order. */
const rowAt = ({ order }: Places, inFrame: RankSet, place: number): number =>
  place >= 0 && place < inFrame.size ? order[inFrame.at(place)] : nowhere;

/** lead and lag among the rows of the frame; the row itself is where it would be. */
const shifted =
  (direction: 1 | -1) =>
  (input: OrderedInput): Vector => {
    const [argument, offsets, otherwise] = input.arguments;
    const { length } = input.segment;
    const places = placesOf(input);
    const steps = offsets ? integersAt(offsets, length) : undefined;
    const noSteps = new Uint8Array(length);
    const index = new Uint32Array(length);
    eachFrame(
      input,
      places,
      (row, inFrame) => {
        const by = (steps ? steps[row] : 1) * direction;
        const own = places.of[row];
        if (Number.isFinite(by)) {
          const from = by > 0 ? inFrame.below(own + 1) - 1 : inFrame.below(own);
          index[row] = by === 0 ? row : rowAt(places, inFrame, from + by);
        } else {
          noSteps[row] = 1;
          index[row] = nowhere;
        }
      },
      countsIn(argument!, input.ignoreNulls),
    );
    return picked(argument!, index, otherwise, noSteps);
  };
const nthValue = (input: OrderedInput): Vector => {
  const [argument, nth] = input.arguments;
  const { length } = input.segment;
  return counted(
    'nth_value: argument must be an integer greater than zero',
    nth!,
    length,
    (counts) => {
      const places = placesOf(input);
      const index = new Uint32Array(length);
      eachFrame(
        input,
        places,
        (row, inFrame) => {
          index[row] = rowAt(places, inFrame, counts[row] - 1);
        },
        countsIn(argument!, input.ignoreNulls),
      );
      return picked(argument!, index);
    },
    true,
  );
};

const table: Readonly<Record<string, (input: OrderedInput) => Vector>> = {
  row_number: each(types.int64, (places, row, inFrame) => before(places, row, inFrame) + 1),
  rank: each(types.int64, (places, row, inFrame) => below(places, row, inFrame) + 1),
  percent_rank: each(types.float64, (places, row, inFrame) =>
    inFrame.size > 1 ? below(places, row, inFrame) / (inFrame.size - 1) : 0,
  ),
  cume_dist: each(types.float64, ({ ends }, row, inFrame) =>
    inFrame.size > 0 ? inFrame.below(ends[row]) / inFrame.size : 0,
  ),
  ntile,
  lead: shifted(1),
  lag: shifted(-1),
  nth_value: nthValue,
};
/** How the function of that name is computed over an order of its own; undefined for others. */
export const orderedNamed = (name: string): ((input: OrderedInput) => Vector) | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
