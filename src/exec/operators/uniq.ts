/** uniq: one row for each run of equal ones (type and value), with their number if asked. */
import { types } from '../../vectors/type.ts';
import { type Vector, flatten, slice, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { ColumnCodes } from '../aggregates/grouping/codes.ts';
import { type Step, stage } from '../operator.ts';
import { field, record } from './rows/records.ts';

/** `withCount`: records of the value and its count. */
export const uniq = (withCount: boolean): Step =>
  stage(() => {
    /** The run that may go on: its value, as one row, and how many there were. */
    let last: Vector | undefined;
    let count = 0;
    const result = (v: Vector, counts: Float64Array): Vector =>
      withCount
        ? record(
            [
              field('value', v),
              field('count', { form: 'number', type: types.int64, length: v.length, values: counts }),
            ],
            v.length,
          )
        : v;
    return {
      *push(batch) {
        const all = last ? concat([last, batch]) : batch;
        const codes = new ColumnCodes().codes(all);
        const starts: number[] = [0];
        for (let i = 1; i < all.length; i++) if (codes[i] !== codes[i - 1]) starts.push(i);
        // The row carried over stands for `count` rows.
        const before = last ? count - 1 : 0;
        const counts = Float64Array.from(starts, (s, k) => (starts[k + 1] ?? all.length) - s + (k === 0 ? before : 0));
        const closed = starts.length - 1;
        last = flatten(slice(all, starts[closed], starts[closed] + 1));
        count = counts[closed];
        if (closed > 0) yield result(take(all, Uint32Array.from(starts.slice(0, closed))), counts.subarray(0, closed));
      },
      *finish() {
        if (last) yield result(last, Float64Array.of(count));
      },
    };
  });
