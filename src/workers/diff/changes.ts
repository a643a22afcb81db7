/**
 * What is left of both sides as records {change, key, before, after}; where the pool has an identity, what went and came
 * of one record is one {change: "changed", key, before, after, fields}.
 */
import { compact } from '../../exec/operators/compact.ts';
import { combine } from '../../exec/expressions/rows.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { constantOf } from '../../vectors/builder.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Field, type Vector, nulls, take } from '../../vectors/vector.ts';
import { stringValue } from '../../vectors/value.ts';
import type { Left } from './bag.ts';
import type { Differences, Pairs } from './different.ts';
import { differingFields } from './fields.ts';
import { versionsOf } from './versions.ts';
import type { Leftover, Window } from './window.ts';

type KeyPaths = readonly (readonly string[])[];

type Changes = Vector & { readonly form: 'record' };

const field = (name: string, values: Vector): Field => ({ name, optional: false, values });

/** What the records of a pool are told apart with. `identity` empty: none is a version of another. */
export interface ChangeTools {
  readonly keys: KeyPaths;
  readonly identity: KeyPaths;
  readonly differences: Differences;
}

/** The records of a window. */
export const changesOf = ({ before, after }: Window, { added, rows }: Leftover, tools: ChangeTools): Vector => {
  const { keys, identity, differences } = tools;
  const { length } = rows;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const removedPlaces = new Uint32Array(length);
  const addedPlaces = new Uint32Array(length);
  let removedCount = 0;
  let addedCount = 0;
  for (let n = 0; n < length; n++) {
    tags[n] = added[n]!;
    if (added[n] === 1) addedPlaces[(slots[n] = addedCount++)] = rows[n]!;
    else removedPlaces[(slots[n] = removedCount++)] = rows[n]!;
  }
  const removedRows = removedPlaces.subarray(0, removedCount);
  const addedRows = addedPlaces.subarray(0, addedCount);
  if (addedRows.length === 0) return changesOfSide('removed', compact(take(before, removedRows)), keys);
  if (removedRows.length === 0) return changesOfSide('added', compact(take(after, addedRows)), keys);
  const gone = compact(take(before, removedRows));
  const come = compact(take(after, addedRows));
  const pairs = identity.length > 0 ? versionsOf(gone, come, identity, keys) : undefined;
  if (pairs?.some((other) => other > 0)) return changesOfPairs({ gone, come, added, pairs }, keys, differences);
  return mixed(tags, slots, changesOfSide('removed', gone, keys), changesOfSide('added', come, keys));
};

/** Rows of both sides as one: row n is `slots[n]` of those that came where `tags[n]` is 1, else of those that went. */
const mixed = (tags: Uint32Array, slots: Uint32Array, removed: Changes, fresh: Changes): Changes => ({
  form: 'record',
  length: slots.length,
  fields: removed.fields.map((f, k) => field(f.name, combine(tags, slots, [f.values, fresh.fields[k]!.values]))),
});

/** What went and came, of which some are versions of one record: those come where the former one went. */
const changesOfPairs = (
  {
    gone,
    come,
    added,
    pairs,
  }: { readonly gone: Vector; readonly come: Vector; readonly added: Uint8Array; readonly pairs: Uint32Array },
  keys: KeyPaths,
  differences: Differences,
): Vector => {
  const isPaired = new Uint8Array(come.length);
  for (const other of pairs) if (other > 0) isPaired[other - 1] = 1;
  const rest = { removed: new Uint32List(), added: new Uint32List(), tags: new Uint32List(), slots: new Uint32List() };
  const [a, b] = [new Uint32List(), new Uint32List()];
  const tags = new Uint32List();
  const slots = new Uint32List();
  for (let n = 0, i = 0, j = 0; n < added.length; n++) {
    const isAdded = added[n] === 1;
    const row = isAdded ? j++ : i++;
    if (isAdded && isPaired[row] === 1) continue;
    const isChange = !isAdded && pairs[row]! > 0;
    tags.push(isChange ? 1 : 0);
    slots.push(isChange ? a.length : rest.tags.length);
    if (isChange) {
      a.push(row);
      b.push(pairs[row]! - 1);
    } else {
      const side = isAdded ? rest.added : rest.removed;
      rest.tags.push(isAdded ? 1 : 0);
      rest.slots.push(side.length);
      side.push(row);
    }
  }
  const changed = changedRecords(gone, come, { a: a.done(), b: b.done() }, keys, differences);
  if (rest.tags.length === 0) return changed;
  const others = mixed(
    rest.tags.done(),
    rest.slots.done(),
    changesOfSide('removed', take(gone, rest.removed.done()), keys),
    changesOfSide('added', take(come, rest.added.done()), keys),
  );
  return combine(tags.done(), slots.done(), [others, changed]);
};

const changedRecords = (
  gone: Vector,
  come: Vector,
  pairs: Pairs,
  keys: KeyPaths,
  differences: Differences,
): Changes => {
  const { length } = pairs.a;
  const [before, after] = [take(gone, pairs.a), take(come, pairs.b)];
  return {
    form: 'record',
    length,
    fields: [
      field('change', constantOf(stringValue('changed'), length)),
      field('key', keysOf(after, keys)),
      field('before', before),
      field('after', after),
      field('fields', differingFields(gone, come, pairs, differences)),
    ],
  };
};

/** The same of rows that one side has alone. */
export const changesOfSide = (side: Left['side'], rows: Vector, keys: KeyPaths): Changes => {
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
