/** What is left of both sides as records {change, key, before, after}. */
import { compact } from '../../exec/operators/compact.ts';
import { combine } from '../../exec/expressions/rows.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { constantOf } from '../../vectors/builder.ts';
import { type Field, type Vector, nulls, take } from '../../vectors/vector.ts';
import { stringValue } from '../../vectors/value.ts';
import type { Left } from './bag.ts';
import type { Leftover, Window } from './window.ts';

type KeyPaths = readonly (readonly string[])[];

const field = (name: string, values: Vector): Field => ({ name, optional: false, values });

/** The records of a window. */
export const changesOf = ({ before, after }: Window, { added, rows }: Leftover, keys: KeyPaths): Vector => {
  const { length } = rows;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const removedRows = new Uint32Array(length);
  const addedRows = new Uint32Array(length);
  let removedCount = 0;
  let addedCount = 0;
  for (let n = 0; n < length; n++) {
    tags[n] = added[n]!;
    if (added[n] === 1) addedRows[(slots[n] = addedCount++)] = rows[n]!;
    else removedRows[(slots[n] = removedCount++)] = rows[n]!;
  }
  if (addedCount === 0) return changesOfSide('removed', compact(take(before, removedRows)), keys);
  if (removedCount === 0) return changesOfSide('added', compact(take(after, addedRows)), keys);
  const removed = changesOfSide('removed', compact(take(before, removedRows.subarray(0, removedCount))), keys);
  const fresh = changesOfSide('added', compact(take(after, addedRows.subarray(0, addedCount))), keys);
  return {
    form: 'record',
    length,
    fields: removed.fields.map((f, k) => field(f.name, combine(tags, slots, [f.values, fresh.fields[k]!.values]))),
  };
};

/** The same of rows that one side has alone. */
export const changesOfSide = (
  side: Left['side'],
  rows: Vector,
  keys: KeyPaths,
): Vector & { readonly form: 'record' } => {
  const { length } = rows;
  return {
    form: 'record',
    length,
    fields: [
      field('change', constantOf(stringValue(side), length)),
      field('key', keysOf(rows, keys)),
      field('before', side === 'removed' ? rows : nulls(length)),
      field('after', side === 'added' ? rows : nulls(length)),
    ],
  };
};

/** The pool's keys of each row, as a record of records where a key lies deeper; null for what a row lacks. */
export const keysOf = (rows: Vector, keys: KeyPaths, path: readonly string[] = []): Vector => {
  const names = [...new Set(keys.flatMap((key) => (startsWith(key, path) ? [key[path.length]!] : [])))];
  return {
    form: 'record',
    length: rows.length,
    fields: names.map((name) => {
      const inner = [...path, name];
      const isKey = keys.some((key) => key.length === inner.length && startsWith(key, path) && key.at(-1) === name);
      return field(name, isKey ? keyColumn(rows, inner) : keysOf(rows, keys, inner));
    }),
  };
};
const startsWith = (key: readonly string[], path: readonly string[]): boolean =>
  key.length > path.length && path.every((name, k) => key[k] === name);
