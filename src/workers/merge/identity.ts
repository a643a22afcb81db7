/** Which record a row is a version of. */
import { withoutUnions } from '../../exec/expressions/lift.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Vector, take } from '../../vectors/vector.ts';

type Identity = readonly (readonly string[])[];

/**
 * The values of a field of an identity, null where a row lacks it. One that may be null, as columns of Parquet and Arrow
 * are, counts as what it is: `1::(int64|null)` and `1` are of one record.
 */
export const identityColumn = (rows: Vector, path: readonly string[]): Vector => withoutUnions(keyColumn(rows, path));

/** The fields of the identity, as records; null for what a row lacks. */
export const identityOf = (rows: Vector, identity: Identity): Vector => ({
  form: 'record',
  length: rows.length,
  fields: identity.map((path, i) => ({ name: String(i), optional: false, values: identityColumn(rows, path) })),
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
    const own = haveValues(keyColumn(rows, path));
    if (own && has) for (let i = 0; i < rows.length; i++) has[i]! &= own[i]!;
    else has ??= own;
  }
  return has;
};
/** 1 for rows that are neither null nor an error; undefined: all of them. */
const haveValues = (column: Vector): Uint8Array | undefined => {
  switch (column.form) {
    case 'null':
    case 'error':
      return new Uint8Array(column.length);
    case 'named':
      return haveValues(column.inner);
    case 'constant':
      return haveValues(column.inner)?.[0] === 0 ? new Uint8Array(column.length) : undefined;
    case 'dictionary':
      return valuesBehind([column.values], column.length, undefined, column.codes);
    case 'selected':
      return valuesBehind([column.base], column.length, undefined, column.index);
    case 'dynamic':
      return valuesBehind(column.parts, column.length, column.tags, column.slots);
    case 'union':
      return valuesBehind(column.members, column.length, column.tags, column.slots);
    default:
      return undefined;
  }
};
/** Row i is parts[tags[i]] at slots[i]; without tags one of the only part. */
const valuesBehind = (
  parts: readonly Vector[],
  length: number,
  tags: Uint32Array | undefined,
  slots: Uint32Array,
): Uint8Array | undefined => {
  const have = parts.map(haveValues);
  if (have.every((own) => own === undefined)) return undefined;
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = have[tags ? tags[i]! : 0]?.[slots[i]!] ?? 1;
  return out;
};
