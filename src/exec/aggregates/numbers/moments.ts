/**
 * Aggregates of one column of numbers by a few sums: moments around the mean (put together as Pébay does), products,
 * and sums that carry what rounding took (Kahan, as Neumaier does).
 */
import type { CellRule } from '../grouping/state.ts';

/** Cells: count, mean, and the sums of the second, third and fourth powers of the distances from it. */
const moments: Pick<CellRule, 'count' | 'names' | 'add' | 'merge'> = {
  count: 5,
  names: ['n', 'mean', 'm2', 'm3', 'm4'],
  add: (c, at, x) => {
    const before = c[at];
    const n = before + 1;
    const delta = x - c[at + 1];
    const step = delta / n;
    const square = step * step;
    const term = delta * step * before;
    c[at] = n;
    c[at + 1] += step;
    c[at + 4] += term * square * (n * n - 3 * n + 3) + 6 * square * c[at + 2] - 4 * step * c[at + 3];
    c[at + 3] += term * step * (n - 2) - 3 * step * c[at + 2];
    c[at + 2] += term;
  },
  merge: (c, at, o, from) => {
    const a = c[at];
    const b = o[from];
    const n = a + b;
    if (b === 0) return;
    const delta = o[from + 1] - c[at + 1];
    const a2 = c[at + 2];
    const b2 = o[from + 2];
    const a3 = c[at + 3];
    const b3 = o[from + 3];
    const ratio = delta / n;
    c[at] = n;
    c[at + 1] += ratio * b;
    c[at + 2] = a2 + b2 + delta * ratio * a * b;
    c[at + 3] = a3 + b3 + delta * ratio * ratio * a * b * (a - b) + 3 * ratio * (a * b2 - b * a2);
    c[at + 4] +=
      o[from + 4] +
      delta * ratio ** 3 * a * b * (a * a - a * b + b * b) +
      6 * ratio * ratio * (a * a * b2 + b * b * a2) +
      4 * ratio * (a * b3 - b * a3);
  },
};

/** Cells: count, sum, and what was lost to rounding. */
const carried: Pick<CellRule, 'count' | 'names' | 'add' | 'merge'> = {
  count: 3,
  names: ['count', 'value', 'err'],
  add: (c, at, x) => {
    c[at]++;
    addCarrying(c, at, x);
  },
  merge: (c, at, o, from) => {
    c[at] += o[from];
    addCarrying(c, at, o[from + 1]);
    c[at + 2] += o[from + 2];
  },
};
const addCarrying = (c: Float64Array, at: number, x: number): void => {
  const sum = c[at + 1];
  const next = sum + x;
  if (Number.isFinite(next)) c[at + 2] += Math.abs(sum) >= Math.abs(x) ? sum - next + x : x - next + sum;
  c[at + 1] = next;
};

/** The excess kurtosis of the numbers themselves. */
const excess = (c: Float64Array, at: number): number => (c[at] * c[at + 4]) / (c[at + 2] * c[at + 2]) - 3;

/** By name. */
export const momentRules: Readonly<Record<string, CellRule>> = {
  skewness: {
    ...moments,
    result: (c, at) => {
      const n = c[at];
      const m2 = c[at + 2];
      return n < 3 || m2 === 0 ? null : (Math.sqrt(n * (n - 1)) / (n - 2)) * ((Math.sqrt(n) * c[at + 3]) / m2 ** 1.5);
    },
  },
  kurtosis: {
    ...moments,
    result: (c, at) => {
      const n = c[at];
      return n < 4 || c[at + 2] === 0 ? null : ((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * excess(c, at) + 6);
    },
  },
  kurtosis_pop: { ...moments, result: (c, at) => (c[at] < 2 || c[at + 2] === 0 ? null : excess(c, at)) },
  sem: { ...moments, result: (c, at) => (c[at] === 0 ? null : Math.sqrt(c[at + 2]) / c[at]) },
  product: {
    count: 2,
    result: (c, at) => (c[at] === 0 ? null : c[at + 1]),
    add: (c, at, x) => {
      c[at + 1] = c[at] === 0 ? x : c[at + 1] * x;
      c[at]++;
    },
    merge: (c, at, o, from) => {
      if (o[from] === 0) return;
      c[at + 1] = c[at] === 0 ? o[from + 1] : c[at + 1] * o[from + 1];
      c[at] += o[from];
    },
  },
  geomean: {
    ...carried,
    add: (c, at, x) => {
      carried.add(c, at, Math.log(x), 0);
    },
    result: (c, at) => (c[at] === 0 ? null : Math.exp((c[at + 1] + c[at + 2]) / c[at])),
  },
  kahan_sum: { ...carried, result: (c, at) => (c[at] === 0 ? null : c[at + 1] + c[at + 2]) },
  favg: { ...carried, result: (c, at) => (c[at] === 0 ? null : (c[at + 1] + c[at + 2]) / c[at]) },
};
