/** Which keys rows can have that pass a test, and where such keys may be. */
import { complexKeys, keyClass, nanKeys, sortKeyBytes } from '../../vectors/sort-key.ts';
import { isNumeric, types } from '../../vectors/type.ts';
import { type Value, compareBytes, numericData } from '../../vectors/value.ts';
import type { ColumnPruner } from '../columns/prune.ts';
import { outward } from '../columns/statistics.ts';
import type { KeyRange } from '../lake.types.ts';
import type { ObjectBlock } from '../objects/reader.ts';

/** Whether keys from `low` to `high` may be in the range. */
export const overlaps = (range: KeyRange, low: Uint8Array, high: Uint8Array): boolean =>
  (!(range.min && compareBytes(high, range.min) < 0) && !(range.max && compareBytes(low, range.max) > 0)) ||
  (range.complex === true && overlaps(complexKeys, low, high)) ||
  (range.nan === true && overlaps(nanKeys, low, high)) ||
  (range.around !== undefined && (keyClass(low) !== range.around || keyClass(high) !== range.around));

/** Whether keys of the block may be in the range. */
export const isInRange = (
  block: Pick<ObjectBlock, 'firstKey' | 'lastKey'>,
  range: KeyRange,
  descending: boolean,
): boolean =>
  descending ? overlaps(range, block.lastKey, block.firstKey) : overlaps(range, block.firstKey, block.lastKey);

/** The keys that rows which pass the test can have; undefined if it says nothing of them. */
export const keyRange = (pruner: ColumnPruner, key: readonly string[]): KeyRange | undefined => {
  switch (pruner.kind) {
    case 'test': {
      const { path, operator, value, sql } = pruner.test;
      if (path.length !== key.length || path.some((name, i) => name !== key[i])) return undefined;
      const bounds = keyBounds(value);
      if (!bounds) return undefined;
      const around = sql && { around: keyClass(bounds.min) };
      switch (operator) {
        case '==':
          return { ...bounds, ...(isNumeric(value.type) && { complex: true }), ...around };
        case '<':
        case '<=':
          return { max: bounds.max, ...around };
        case '>':
        case '>=':
          return { min: bounds.min, ...(sql && isNumeric(value.type) && { nan: true }), ...around };
        case '!=':
          return undefined;
      }
    }
    case 'all': {
      const known = pruner.of.map((p) => keyRange(p, key)).filter((r) => r !== undefined);
      // Fewer conditions say less, and nothing wrong.
      const ranges = known.filter((r) => r.around === known[0]!.around);
      const min = ranges.map((r) => r.min).reduce((a, b) => (!a || (b && compareBytes(a, b) < 0) ? b : a), undefined);
      const max = ranges.map((r) => r.max).reduce((a, b) => (!a || (b && compareBytes(b, a) < 0) ? b : a), undefined);
      return rangeOf(min, max, {
        complex: ranges.length > 0 && ranges.every((r) => r.complex),
        nan: ranges.length > 0 && ranges.every((r) => r.nan),
        around: ranges[0]?.around,
      });
    }
    case 'any': {
      const ranges = pruner.of.map((p) => keyRange(p, key));
      if (ranges.length === 0 || ranges.some((r) => r === undefined || r.around !== ranges[0]!.around))
        return undefined;
      const mins = ranges.map((r) => r!.min);
      const maxes = ranges.map((r) => r!.max);
      const min = mins.includes(undefined) ? undefined : mins.reduce((a, b) => (compareBytes(a!, b!) <= 0 ? a : b));
      const max = maxes.includes(undefined) ? undefined : maxes.reduce((a, b) => (compareBytes(a!, b!) >= 0 ? a : b));
      return rangeOf(min, max, {
        complex: ranges.some((r) => r!.complex),
        nan: ranges.some((r) => r!.nan),
        around: ranges[0]!.around,
      });
    }
  }
};
const rangeOf = (
  min: Uint8Array | undefined,
  max: Uint8Array | undefined,
  { complex, nan, around }: { readonly complex?: boolean; readonly nan?: boolean; readonly around: number | undefined },
): KeyRange | undefined =>
  min || max
    ? {
        ...(min && { min }),
        ...(max && { max }),
        ...(complex && { complex }),
        ...(nan && { nan }),
        ...(around !== undefined && { around }),
      }
    : undefined;

/** Keys around a constant. Integers beyond 2^53 equal floats that are near, so their bounds leave room. */
const keyBounds = (value: Value): { readonly min: Uint8Array; readonly max: Uint8Array } | undefined => {
  if (isNumeric(value.type)) {
    const x = numericData(value.data);
    if (x !== x) return undefined;
    // No room is left around an infinity: there is none on its far side, and Infinity - Infinity is NaN, the least key.
    if (typeof x === 'number' && (Math.abs(x) < 2 ** 53 || Math.abs(x) === Infinity)) {
      const key = sortKeyBytes(value);
      return { min: key, max: key };
    }
    const { min, max } = typeof x === 'bigint' ? outward(x, x) : { min: x, max: x };
    const float = (data: number): Uint8Array => sortKeyBytes({ type: types.float64, data });
    return { min: float(min - Math.abs(min) * 2 ** -51), max: float(max + Math.abs(max) * 2 ** -51) };
  }
  if (value.type !== types.string && value.type !== types.bytes && value.type !== types.ip) return undefined;
  const key = sortKeyBytes(value);
  return { min: key, max: key };
};
