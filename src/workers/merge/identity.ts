/** Which record a row is a version of. */
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { types } from '../../vectors/type.ts';
import { underValue } from '../../vectors/value.ts';
import { type Vector, take, valueAt } from '../../vectors/vector.ts';

type Identity = readonly (readonly string[])[];

/** The fields of the identity, as records; null for what a row lacks. */
export const identityOf = (rows: Vector, identity: Identity): Vector => ({
  form: 'record',
  length: rows.length,
  fields: identity.map((path, i) => ({ name: String(i), optional: false, values: keyColumn(rows, path) })),
});

/** Rows that have an identity, and those that lack a part of it: these are compared as whole values. */
export const splitByIdentity = (rows: Vector, identity: Identity): { readonly own: Vector; readonly none: Vector } => {
  const columns = identity.map((path) => keyColumn(rows, path));
  const own = new Uint32List();
  const none = new Uint32List();
  for (let i = 0; i < rows.length; i++) (columns.every((column) => hasValue(column, i)) ? own : none).push(i);
  if (none.length === 0) return { own: rows, none: take(rows, new Uint32Array(0)) };
  return { own: take(rows, own.done()), none: take(rows, none.done()) };
};
const hasValue = (column: Vector, row: number): boolean => {
  if (column.form === 'number' || column.form === 'bytes') return true;
  const { type } = underValue(valueAt(column, row));
  return type !== types.null && type.kind !== 'error';
};
