/** Points of a line, thinned out so that its shape stays: the largest triangles of three buckets. */
import { checkStopAt } from '../../vectors/stop.ts';

/**
 * Places of at most `count` points, the first and the last among them: of each bucket in between the point that makes
 * the largest triangle with the point that was chosen before and the mean of the next bucket.
 */
export const shapedBy = (x: Float64Array, y: Float64Array, count: number): readonly number[] => {
  const { length } = x;
  if (count >= length || length < 3) return Array.from({ length }, (_, i) => i);
  if (count < 3) return [0, length - 1];
  const size = (length - 2) / (count - 2);
  const startOf = (bucket: number): number => Math.min(Math.floor(bucket * size) + 1, length);
  const chosen = [0];
  for (let bucket = 0; bucket < count - 2; bucket++) {
    const [from, to] = [startOf(bucket), startOf(bucket + 1)];
    const [meanX, meanY] = [meanOf(x, to, startOf(bucket + 2)), meanOf(y, to, startOf(bucket + 2))];
    const before = chosen.at(-1)!;
    let best = from;
    let most = -1;
    for (let i = from; i < to; i++) {
      checkStopAt(i);
      const area = Math.abs((x[before] - meanX) * (y[i] - y[before]) - (x[before] - x[i]) * (meanY - y[before]));
      if (area > most) [best, most] = [i, area];
    }
    chosen.push(best);
  }
  return [...chosen, length - 1];
};
/** Relative to the first of them, so that large numbers lose nothing. */
const meanOf = (values: Float64Array, from: number, to: number): number => {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i] - values[from];
  return values[from] + sum / (to - from);
};
