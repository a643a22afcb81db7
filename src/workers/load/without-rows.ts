/** Blocks without some of their rows: of few that go, the long runs that stay are copied whole. */
import { concat } from '../../vectors/concat.ts';
import { areTimeTexts } from '../../vectors/texts/times.ts';
import { type Field, type Vector, slice, take } from '../../vectors/vector.ts';

/** Rows of a run, on average, from which copying it pays. */
const runRowsMin = 64;

/** The rows but for those at `gone`, which rise. */
export const withoutRows = (rows: Vector, gone: Uint32Array): Vector => {
  if (rows.form !== 'record' || gone.length * runRowsMin > rows.length)
    return take(rows, othersThan(gone, rows.length));
  const others = othersThan(gone, rows.length);
  const fields = rows.fields.map(
    ({ name, optional, present, values }): Field => ({
      name,
      optional,
      values: isCopied(values)
        ? concat(runsOf(gone, rows.length).map(([a, b]) => slice(values, a, b)))
        : take(values, others),
      ...(present && { present: Uint8Array.from(others, (row) => present[row]!) }),
    }),
  );
  return { form: 'record', length: others.length, fields };
};
/** Forms of which a run is a few arrays, or none. */
const isCopied = (v: Vector): boolean =>
  v.form === 'number' || v.form === 'bool' || v.form === 'dictionary' || (v.form === 'bytes' && !areTimeTexts(v));

const runsOf = (gone: Uint32Array, length: number): readonly (readonly [number, number])[] => {
  const runs: [number, number][] = [];
  let start = 0;
  for (const row of gone) {
    if (row > start) runs.push([start, row]);
    start = row + 1;
  }
  if (start < length) runs.push([start, length]);
  return runs;
};

/** The rows that are not `gone`, which rise. */
export const othersThan = (gone: Uint32Array, rows: number): Uint32Array => {
  const others = new Uint32Array(rows - gone.length);
  let at = 0;
  let row = 0;
  for (let k = 0; k <= gone.length; k++) {
    const end = k < gone.length ? gone[k]! : rows;
    while (row < end) others[at++] = row++;
    row = end + 1;
  }
  return others;
};
