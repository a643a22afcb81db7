/**
 * Aggregates of pairs of numbers, y before x as in SQL: covariance, correlation, the line that fits them best
 * (regr_..), and the mean of values with weights.
 */
import type { CellRule } from '../grouping/state.ts';

/**
 * Cells: count, the means of y and x, the sums of squared distances of y and x from them, and that of the products of
 * both distances.
 */
const line: Pick<CellRule, 'count' | 'names' | 'add' | 'merge'> = {
  count: 6,
  names: ['count', 'meany', 'meanx', 'dsquaredy', 'dsquaredx', 'co_moment'],
  add: (c, at, y, x) => {
    const n = ++c[at];
    const dy = y - c[at + 1];
    const dx = x - c[at + 2];
    c[at + 1] += dy / n;
    c[at + 2] += dx / n;
    c[at + 3] += dy * (y - c[at + 1]);
    c[at + 4] += dx * (x - c[at + 2]);
    c[at + 5] += dy * (x - c[at + 2]);
  },
  merge: (c, at, o, from) => {
    const a = c[at];
    const b = o[from];
    const n = a + b;
    if (b === 0) return;
    const dy = o[from + 1] - c[at + 1];
    const dx = o[from + 2] - c[at + 2];
    const share = (a * b) / n;
    c[at] = n;
    c[at + 1] += (dy * b) / n;
    c[at + 2] += (dx * b) / n;
    c[at + 3] += o[from + 3] + dy * dy * share;
    c[at + 4] += o[from + 4] + dx * dx * share;
    c[at + 5] += o[from + 5] + dy * dx * share;
  },
};

interface Line {
  readonly n: number;
  readonly meanY: number;
  readonly meanX: number;
  readonly yy: number;
  readonly xx: number;
  readonly xy: number;
}
/** Null for fewer than `least` pairs. */
const ofLine = (result: (of: Line) => number | null, least = 1): CellRule => ({
  ...line,
  result: (c, at) =>
    c[at] < least
      ? null
      : result({ n: c[at], meanY: c[at + 1], meanX: c[at + 2], yy: c[at + 3], xx: c[at + 4], xy: c[at + 5] }),
});

/** By name. */
export const regressionRules: Readonly<Record<string, CellRule>> = {
  corr: ofLine(({ yy, xx, xy }) => (yy === 0 || xx === 0 ? NaN : xy / Math.sqrt(yy * xx))),
  covar_pop: ofLine(({ n, xy }) => xy / n),
  covar_samp: ofLine(({ n, xy }) => xy / (n - 1), 2),
  regr_avgx: ofLine(({ meanX }) => meanX),
  regr_avgy: ofLine(({ meanY }) => meanY),
  regr_count: {
    count: 1,
    names: ['count'],
    isInteger: true,
    result: (c, at) => c[at],
    add: (c, at) => {
      c[at]++;
    },
    merge: (c, at, o, from) => {
      c[at] += o[from];
    },
  },
  regr_intercept: ofLine(({ meanY, meanX, xx, xy }) => (xx === 0 ? null : meanY - (xy / xx) * meanX)),
  regr_r2: ofLine(({ yy, xx, xy }) => (xx === 0 ? null : yy === 0 ? 1 : (xy * xy) / (yy * xx))),
  regr_slope: ofLine(({ xx, xy }) => xy / xx),
  regr_sxx: ofLine(({ xx }) => xx),
  regr_sxy: ofLine(({ xy }) => xy),
  regr_syy: ofLine(({ yy }) => yy),
  weighted_avg: {
    count: 3,
    names: ['count', 'sum', 'weight'],
    result: (c, at) => (c[at] === 0 ? null : c[at + 1] / c[at + 2]),
    add: (c, at, x, weight) => {
      c[at]++;
      c[at + 1] += x * weight;
      c[at + 2] += weight;
    },
    merge: (c, at, o, from) => {
      for (let k = 0; k < 3; k++) c[at + k] += o[from + k];
    },
  },
};
