/** Elements of lists by their places, without values of their own. */
import { isInteger } from '../../../vectors/type.ts';
import { type ListVector, type NumberVector, type Vector, flatten, gather, nulls } from '../../../vectors/vector.ts';
import { withoutUnions } from '../../expressions/lift.ts';
import { combine } from '../../expressions/rows.ts';
import type { Kernel } from '../row.ts';

/** The kernel where lists and places are plain; `others` for all else. */
export const elementsAtPlaces =
  (others: Kernel): Kernel =>
  (args, length) => {
    const [lists, at] = args;
    const places = at?.form === 'constant' ? flatten(at) : at;
    const isPlain = places?.form === 'number' && isInteger(places.type) && places.values instanceof Float64Array;
    const isOne = lists!.form === 'constant';
    const list = isOne ? lists!.inner : lists!;
    return args.length === 2 && list.form === 'list' && isPlain
      ? elementsAt(list, isOne, places, length)
      : others(args, length);
  };
/** From 1 on, or from the end below 0; null where there is none. `isOne`: all rows have the first list. */
const elementsAt = (
  { offsets, items }: ListVector,
  isOne: boolean,
  { values }: NumberVector,
  length: number,
): Vector => {
  const index = new Uint32Array(length);
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const counts = [0, 0];
  for (let i = 0; i < length; i++) {
    const place = Number(values[i]);
    const row = isOne ? 0 : i;
    const at = place < 0 ? offsets[row + 1] + place : offsets[row] + place - 1;
    const tag = place !== 0 && at >= offsets[row] && at < offsets[row + 1] ? 0 : 1;
    tags[i] = tag;
    slots[i] = counts[tag]++;
    if (tag === 0) index[slots[i]] = at;
  }
  const found = withoutUnions(gather(items, index.subarray(0, counts[0])));
  return counts[1] === 0 ? found : combine(tags, slots, [found, nulls(counts[1])]);
};
