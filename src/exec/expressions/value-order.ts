/** The order by which one value is greater than another in greatest(), list_sort(), arg_max() and their like. */
import { compareValues } from '../../vectors/compare.ts';
import type { Value } from '../../vectors/value.ts';

/** The order of values in which NaN is greater than any other number. */
export const order = (a: Value, b: Value): number => {
  const x = Number.isNaN(a.data), y = Number.isNaN(b.data);
  return x || y ? Number(x) - Number(y) : compareValues(a, b);
};
