/**
 * What is left of both sides as records {change, key, before, after}; where the pool has an identity, what went and came
 * of one record is one {change: "changed", key, before, after, fields}. Fields of these that nobody looks at are not made.
 */
import { compact } from '../../exec/operators/compact.ts';
import { combine } from '../../exec/expressions/rows.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Field, type Vector, constant, lookUp, nulls, range } from '../../vectors/vector.ts';
import { stringValue } from '../../vectors/value.ts';
import type { Left } from './bag.ts';
import type { Differences, Pairs } from './different.ts';
import { differingFields, listsOfFields } from './fields.ts';
import { versionsOf, versionsOfPairs } from './versions.ts';
import { type Compared, type Leftover, type Pieces, type Window, leftover, lengthOf, rowsAt } from './window.ts';

type KeyPaths = readonly (readonly string[])[];

type Changes = Vector & { readonly form: 'record' };

const changeFields = ['change', 'key', 'before', 'after', 'fields'] as const;
type ChangeField = (typeof changeFields)[number];

const field = (name: ChangeField, values: Vector): Field => ({ name, optional: false, values });

/** One vector each: columns of them are put together as they are. */
const names = {
  added: vectorOf([stringValue('added')]),
  changed: vectorOf([stringValue('changed')]),
  removed: vectorOf([stringValue('removed')]),
} as const;

/** What the records of a pool are told apart with. `identity` empty: none is a version of another. */
export interface ChangeTools {
  readonly keys: KeyPaths;
  readonly identity: KeyPaths;
  readonly wanted: ReadonlySet<ChangeField>;
  readonly differences: Differences;
}
/** The fields of the records that are looked at, by paths into them; absent: all. */
export const wantedOf = (paths: KeyPaths | undefined): ChangeTools['wanted'] =>
  new Set(paths ? changeFields.filter((name) => paths.some(([first = name]) => first === name)) : changeFields);

/** The records of a window. */
export const changesOf = (compared: Compared, tools: ChangeTools): Vector => {
  const { window, pairs, fields, numbers, isPairsAlone } = compared;
  const { identity, keys } = tools;
  if (identity.length === 0) return changesOfRows({ window, left: leftover(compared) }, tools);
  const versions = versionsOfPairs(compared, { identity, keys, differences: tools.differences });
  const own: Pairs = versions ? { a: lookUp(pairs.a, versions), b: lookUp(pairs.b, versions) } : pairs;
  const told = fields && listsOfFields(fields, versions ? lookUp(numbers, versions) : numbers);
  if (isPairsAlone && !versions) return changedRecords(window, own, tools, told);
  const partners = new Uint32Array(lengthOf(window.before));
  for (let n = 0; n < own.a.length; n++) partners[own.a[n]!] = own.b[n]! + 1;
  const areMore = pairInBags(compared, tools, partners);
  return changesOfRows({ window, left: leftover(compared) }, tools, { partners, told: areMore ? undefined : told });
};
/** Rows of one record of which others have the same key; whether there are any. */
const pairInBags = ({ window, bags, keeps }: Compared, tools: ChangeTools, partners: Uint32Array): boolean => {
  const gone = bags.before.filter((row) => keeps.before[row] === 1);
  const come = bags.after.filter((row) => keeps.after[row] === 1);
  if (gone.length === 0 || come.length === 0) return false;
  let areAny = false;
  versionsOf(rowsAt(window.before, gone), rowsAt(window.after, come), tools.identity, tools.keys).forEach(
    (other, n) => {
      if (other === 0) return;
      partners[gone[n]!] = come[other - 1]! + 1;
      areAny = true;
    },
  );
  return areAny;
};

/** Which rows are versions of one record. */
interface Versions {
  /** For each row that went, one more than the row that came of the same record; 0 for none. */
  readonly partners: Uint32Array;
  /** The fields in which these differ, in order, if they are known. */
  readonly told: Vector | undefined;
}
/** Rows of both sides, all of them of one record a group. */
export interface RowsLeft {
  readonly window: Window;
  readonly left: Leftover;
}
/** The same of rows that are left, whatever they are; `versions` absent: they are to be found, if there is an identity. */
export const changesOfRows = ({ window, left }: RowsLeft, tools: ChangeTools, known?: Versions): Vector => {
  const { added, rows } = left;
  const gone = rows.filter((_, n) => added[n] === 0);
  const come = rows.filter((_, n) => added[n] === 1);
  if (come.length === 0) return changesOfSide('removed', compactAt(window.before, gone), tools);
  if (gone.length === 0) return changesOfSide('added', compactAt(window.after, come), tools);
  const { partners, told } = known ?? { partners: partnersOf(window, gone, come, tools), told: undefined };
  const isPaired = new Uint8Array(lengthOf(window.after));
  for (const row of gone) if (partners[row]! > 0) isPaired[partners[row]! - 1] = 1;
  const rest = { removed: new Uint32List(), added: new Uint32List(), tags: new Uint32List(), slots: new Uint32List() };
  const [a, b] = [new Uint32List(), new Uint32List()];
  const tags = new Uint32List();
  const slots = new Uint32List();
  for (let n = 0; n < added.length; n++) {
    const isAdded = added[n] === 1;
    const row = rows[n]!;
    if (isAdded && isPaired[row] === 1) continue;
    // What is a version of a record comes where the former one went.
    const isChange = !isAdded && partners[row]! > 0;
    tags.push(isChange ? 1 : 0);
    slots.push(isChange ? a.length : rest.tags.length);
    if (isChange) {
      a.push(row);
      b.push(partners[row]! - 1);
    } else {
      const side = isAdded ? rest.added : rest.removed;
      rest.tags.push(isAdded ? 1 : 0);
      rest.slots.push(side.length);
      side.push(row);
    }
  }
  const changed = a.length > 0 ? changedRecords(window, { a: a.done(), b: b.done() }, tools, told) : undefined;
  if (changed && rest.tags.length === 0) return changed;
  const others = mixed(
    rest.tags.done(),
    rest.slots.done(),
    changesOfSide('removed', compactAt(window.before, rest.removed.done()), tools),
    changesOfSide('added', compactAt(window.after, rest.added.done()), tools),
  );
  return changed ? combine(tags.done(), slots.done(), [others, changed]) : others;
};
const partnersOf = (window: Window, gone: Uint32Array, come: Uint32Array, tools: ChangeTools): Uint32Array => {
  const partners = new Uint32Array(lengthOf(window.before));
  if (tools.identity.length === 0) return partners;
  const [before, after] = [rowsAt(window.before, gone), rowsAt(window.after, come)];
  versionsOf(before, after, tools.identity, tools.keys).forEach((other, n) => {
    if (other > 0) partners[gone[n]!] = come[other - 1]! + 1;
  });
  return partners;
};
/** Rows that are given away hold no more than themselves. */
const compactAt = (rows: Pieces, places: Uint32Array): Vector => compact(rowsAt(rows, places));

/** Rows of both sides as one: row n is `slots[n]` of those that came where `tags[n]` is 1, else of those that went. */
const mixed = (tags: Uint32Array, slots: Uint32Array, removed: Changes, fresh: Changes): Changes => ({
  form: 'record',
  length: slots.length,
  fields: removed.fields.map((f, k) => ({
    ...f,
    values: combine(tags, slots, [f.values, fresh.fields[k]!.values]),
  })),
});

const changedRecords = (window: Window, { a, b }: Pairs, tools: ChangeTools, told: Vector | undefined): Changes => {
  const { keys, wanted, differences } = tools;
  const { length } = a;
  const isTold = !wanted.has('fields') || told !== undefined;
  const gone = wanted.has('before') || !isTold ? compactAt(window.before, a) : nulls(length);
  const come = wanted.has('after') || wanted.has('key') || !isTold ? compactAt(window.after, b) : nulls(length);
  const all = range(0, isTold ? 0 : length);
  return record(length, tools, {
    change: () => constant(names.changed, length),
    key: () => keysOf(come, keys),
    before: () => gone,
    after: () => come,
    fields: () => told ?? differingFields(gone, come, { a: all, b: all }, differences),
  });
};

/** The same of rows that one side has alone. */
export const changesOfSide = (side: Left['side'], rows: Vector, tools: ChangeTools): Changes => {
  const { length } = rows;
  return record(length, tools, {
    change: () => constant(names[side], length),
    key: () => keysOf(rows, tools.keys),
    before: () => (side === 'removed' ? rows : nulls(length)),
    after: () => (side === 'added' ? rows : nulls(length)),
  });
};
const record = (
  length: number,
  { wanted }: ChangeTools,
  makers: Partial<Readonly<Record<ChangeField, () => Vector>>>,
): Changes => ({
  form: 'record',
  length,
  fields: changeFields.flatMap((name) => {
    const make = makers[name];
    return make && wanted.has(name) ? field(name, make()) : [];
  }),
});

/** The pool's keys of each row, as a record of records where a key lies deeper; null for what a row lacks. */
export const keysOf = (rows: Vector, keys: KeyPaths, path: readonly string[] = []): Vector => {
  const names = [...new Set(keys.flatMap((key) => (startsWith(key, path) ? [key[path.length]!] : [])))];
  return {
    form: 'record',
    length: rows.length,
    fields: names.map((name) => {
      const inner = [...path, name];
      const isKey = keys.some((key) => key.length === inner.length && startsWith(key, path) && key.at(-1) === name);
      return { name, optional: false, values: isKey ? keyColumn(rows, inner) : keysOf(rows, keys, inner) };
    }),
  };
};
const startsWith = (key: readonly string[], path: readonly string[]): boolean =>
  key.length > path.length && path.every((name, k) => key[k] === name);
