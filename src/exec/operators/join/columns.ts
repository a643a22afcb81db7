/**
 * The columns that a join needs of a side that it holds: what filters before it read beside is not copied, held, put
 * together with the rows of other batches, nor spilled. Of the processor time of TPC-H at 0.1: Q04 0.54, Q21 0.79, Q10 0.83, and
 * Q13, which filters by a long text, 0.53 together with LIKE as it is now (expressions/like.ts), 0.82 by that alone.
 */
import type { FieldPath } from '../../../query/plan/plan.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Stream, isBatch, narrowing } from '../../operator.ts';

/** The rows with these columns alone, where they are records; else as they are. Undefined: with all columns. */
export const withColumns = (rows: Stream, paths: readonly FieldPath[] | undefined): Stream =>
  paths ? narrowing(withTree(rows, treeOf(paths)), rows) : rows;

function* withTree(rows: Stream, wanted: Tree): Generator<Item> {
  for (const item of rows) yield isBatch(item) ? narrowed(item, wanted) : item;
}

/** Names that are wanted, and what below them; undefined: all that is there. */
type Tree = ReadonlyMap<string, Tree | undefined>;
const treeOf = (paths: readonly FieldPath[]): Tree =>
  new Map(
    [...new Set(paths.map(([name]) => name!))].map((name) => {
      const below = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
      return [name, below.some((path) => path.length === 0) ? undefined : treeOf(below)];
    }),
  );

const narrowed = (v: Vector, wanted: Tree): Vector => {
  if (v.form === 'selected') return { ...v, base: narrowed(v.base, wanted) };
  if (v.form !== 'record') return v;
  const kept = v.fields.filter(({ name }) => wanted.has(name));
  if (kept.length === 0) return v;
  return {
    ...v,
    fields: kept.map((f) => {
      const below = wanted.get(f.name);
      return below ? { ...f, values: narrowed(f.values, below) } : f;
    }),
  };
};
