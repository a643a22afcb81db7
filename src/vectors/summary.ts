/** What the values of a column come to, without its rows: for those who know it, and those who need no more. */
import type { PrimitiveType } from './type.ts';

/** Whole numbers of one type: what they come to. */
export interface IntegerTotals {
  readonly type: PrimitiveType;
  readonly min: bigint;
  readonly max: bigint;
  readonly sum: bigint;
}
/** Values of a column: so many rows have one (neither null nor missing). `integers`: asked for, and there are any. */
export interface ColumnSummary {
  readonly count: number;
  readonly integers?: IntegerTotals;
}

/** What rows of the same columns come to together; undefined where a column has integers of two types. */
export const joinedSummaries = (
  a: readonly ColumnSummary[],
  b: readonly ColumnSummary[],
): readonly ColumnSummary[] | undefined => {
  const columns: ColumnSummary[] = [];
  for (const [k, x] of a.entries()) {
    const y = b[k]!;
    if (x.integers && y.integers && x.integers.type !== y.integers.type) return undefined;
    const integers = x.integers && y.integers ? sumOf(x.integers, y.integers) : (x.integers ?? y.integers);
    columns.push({ count: x.count + y.count, ...(integers && { integers }) });
  }
  return columns;
};
const sumOf = (a: IntegerTotals, b: IntegerTotals): IntegerTotals => ({
  type: a.type,
  min: a.min < b.min ? a.min : b.min,
  max: a.max > b.max ? a.max : b.max,
  sum: a.sum + b.sum,
});
