/** Cells of groups (a few floats each, of which the first is a count) as records, and back: states as values. */
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Vector, nulls, numbers } from '../../../vectors/vector.ts';
import { fieldOf } from '../../expressions/access.ts';
import { overlay } from '../../expressions/rows.ts';
import { floats } from './state.ts';
import { eachPart, floatsOf, isNothing } from './parts.ts';

/** The numbers of a column, and in which rows there is one. */
export const floatsIn = (v: Vector): { readonly values: Float64Array; readonly valid: Uint8Array } => {
  const values = floats(v.length);
  const valid = new Uint8Array(v.length);
  if (isNothing(v)) return { values, valid };
  eachPart(v, (part, rows) => {
    if (part.form !== 'number' || !(isInteger(part.type) || isFloat(part.type))) return;
    const own = floatsOf(part);
    for (let i = 0; i < part.length; i++) {
      const row = rows ? rows[i] : i;
      values[row] = own[i];
      valid[row] = 1;
    }
  });
  return { values, valid };
};

/** The cells of the first `groups` groups, null where the count is 0. */
export const cellsAsRecords = (cells: Float64Array, names: readonly string[], groups: number): Vector => {
  const empty = new Uint8Array(groups);
  const columns = names.map((_, k) => Float64Array.from({ length: groups }, (_x, g) => cells[g * names.length + k]));
  for (let g = 0; g < groups; g++) if (columns[0][g] === 0) empty[g] = 1;
  const fields = names.map((name, k) => ({
    name,
    optional: false,
    values: numbers(k === 0 ? types.int64 : types.float64, columns[k]),
  }));
  return overlay({ form: 'record', length: groups, fields }, empty, nulls(groups));
};

/** Values as records of one field, null where `empty` says so: a value that is null is something else. */
export const valuesAsRecords = (values: Vector, empty: Uint8Array): Vector => {
  const { length } = values;
  return overlay(
    { form: 'record', length, fields: [{ name: 'value', optional: false, values }] },
    empty,
    nulls(length),
  );
};

/** The cells of each row; all are 0 where one is missing. */
export const cellsOfRecords = (states: Vector, names: readonly string[]): Float64Array => {
  const columns = names.map((name) => floatsIn(names.length === 1 ? states : fieldOf(states, name)));
  const cells = floats(states.length * names.length);
  for (let i = 0; i < states.length; i++)
    if (columns.every(({ valid }) => valid[i] === 1))
      columns.forEach(({ values }, k) => {
        cells[i * names.length + k] = values[i];
      });
  return cells;
};
