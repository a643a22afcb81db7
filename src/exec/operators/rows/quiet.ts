/**
 * Rows apart by which of several values are quiet: put and cut leave those fields out. Whole rows that are quiet:
 * several operators drop these.
 */
import { type Vector, take } from '../../../vectors/vector.ts';
import { tidy } from '../../expressions/rows.ts';
import { kinds, kindsOf, mayBeError, rowsWithout } from './kinds.ts';

/** The rows that are none of these kinds of error. */
export const withoutErrors = (v: Vector, ...leftOut: readonly number[]): Vector => {
  const rows = mayBeError(v) ? rowsWithout(v, ...leftOut) : undefined;
  return rows ? tidy(take(v, rows)) : v;
};
/** The rows that are not quiet. */
export const withoutQuiet = (v: Vector): Vector => withoutErrors(v, kinds.quiet);

/** `loud[k]`: value k of these rows is not quiet. `rows` absent: all. */
interface QuietRows {
  readonly rows?: Uint32Array;
  readonly loud: readonly boolean[];
}

/** The rows by which of the values are quiet, in order within each group; one group of all rows if nothing is. */
export const byQuiet = (values: readonly Vector[], length: number): readonly QuietRows[] => {
  const tables = values.map((v) => {
    const table = mayBeError(v) ? kindsOf(v) : undefined;
    return table?.includes(kinds.quiet) ? table : undefined;
  });
  if (tables.every((t) => t === undefined)) return [{ loud: values.map(() => true) }];
  const groups = new Map<string, number[]>();
  for (let i = 0; i < length; i++) {
    let key = '';
    for (const t of tables) key += t?.[i] === kinds.quiet ? 'q' : '.';
    const known = groups.get(key);
    if (known) known.push(i);
    else groups.set(key, [i]);
  }
  return [...groups].map(([key, rows]) => ({ rows: Uint32Array.from(rows), loud: [...key].map((c) => c === '.') }));
};
