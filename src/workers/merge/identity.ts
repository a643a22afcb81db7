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
  const has = haveIdentity(rows, identity);
  if (!has) return { own: rows, none: take(rows, new Uint32Array(0)) };
  const own = new Uint32List();
  const none = new Uint32List();
  for (let i = 0; i < rows.length; i++) (has[i] === 1 ? own : none).push(i);
  return { own: take(rows, own.done()), none: take(rows, none.done()) };
};
/** 1 for rows that lack no part of it; undefined: all of them. */
export const haveIdentity = (rows: Vector, identity: Identity): Uint8Array | undefined => {
  let has: Uint8Array | undefined;
  for (const path of identity) {
    const column = keyColumn(rows, path);
    if (column.form === 'number' || column.form === 'bytes') continue;
    for (let i = 0; i < rows.length; i++)
      if (!hasValue(column, i)) (has ??= new Uint8Array(rows.length).fill(1))[i] = 0;
  }
  return has;
};
const hasValue = (column: Vector, row: number): boolean => {
  const { type } = underValue(valueAt(column, row));
  return type !== types.null && type.kind !== 'error';
};
