/**
 * Arrays and sets of the rows of each group: rows sorted by group, and one list vector for each element type that comes
 * up.
 */
import { checkStop } from '../../vectors/stop.ts';
import { type Type, arrayType, setType, unionOfDistinct } from '../../vectors/type.ts';
import { type Vector, flatten, gather, noRows, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { tidy } from '../expressions/rows.ts';

/**
 * For each group the list of its items, null where it has none. Item i belongs to group ids[i]; items keep their order.
 */
export const listsOfGroups = (kind: 'array' | 'set', items: Vector, ids: Uint32Array, groups: number): Vector => {
  checkStop();
  const { order, offsets } = sortByGroup(ids, items.length, groups);
  if (items.length === 0) return { form: 'null', length: groups };
  const sorted = areInOrder(ids) ? flatten(items) : gather(items, order);
  const { table, codes } = typesOf(sorted);
  const make = kind === 'array' ? arrayType : setType;
  if (!codes)
    return withNulls(
      { form: 'list', type: make(table[0]), length: groups, offsets, items: tidy(sorted) },
      offsets,
      groups,
    );
  return mixedLists(make, sorted, codes, table, offsets, groups);
};

/** Whether items have come group by group already, as the results of a subquery do: they need not be copied. */
const areInOrder = (ids: Uint32Array): boolean => {
  for (let i = 1; i < ids.length; i++) if (ids[i] < ids[i - 1]) return false;
  return true;
};

/** The rows in order of their groups, and where each group begins. */
export const sortByGroup = (
  ids: Uint32Array,
  length: number,
  groups: number,
): { readonly order: Uint32Array; readonly offsets: Uint32Array } => {
  const offsets = new Uint32Array(groups + 1);
  const next = new Uint32Array(groups);
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) offsets[ids[i] + 1]++;
  for (let g = 0; g < groups; g++) offsets[g + 1] += offsets[g];
  next.set(offsets.subarray(0, groups));
  for (let i = 0; i < length; i++) order[next[ids[i]]++] = i;
  return { order, offsets };
};

/** Null instead of the empty list. */
const withNulls = (lists: Vector, offsets: Uint32Array, groups: number): Vector => {
  const tags = new Uint32Array(groups);
  const slots = new Uint32Array(groups);
  let empty = 0;
  for (let g = 0; g < groups; g++) {
    slots[g] = g;
    if (offsets[g] !== offsets[g + 1]) continue;
    tags[g] = 1;
    empty++;
  }
  if (empty === 0) return lists;
  return { form: 'dynamic', length: groups, tags, slots, parts: [lists, { form: 'null', length: groups }] };
};

/** Groups whose items have the same types together share a list vector. */
const mixedLists = (
  make: (t: Type) => Extract<Type, { kind: 'array' | 'set' }>,
  items: Vector,
  codes: Uint32Array,
  table: readonly Type[],
  offsets: Uint32Array,
  groups: number,
): Vector => {
  const bySet = new Map<string, number[]>();
  for (let g = 0; g < groups; g++) {
    const own = new Set<number>();
    for (let i = offsets[g]; i < offsets[g + 1]; i++) own.add(codes[i]);
    const key = [...own].sort((a, b) => a - b).join();
    const known = bySet.get(key);
    if (known) known.push(g);
    else bySet.set(key, [g]);
  }
  const tags = new Uint32Array(groups);
  const slots = new Uint32Array(groups);
  const parts = [...bySet].map(([key, members], tag) => {
    members.forEach((g, slot) => {
      tags[g] = tag;
      slots[g] = slot;
    });
    if (key === '') return { form: 'null', length: members.length } as const;
    return listsOf(make, items, codes, table, key.split(',').map(Number), members, offsets);
  });
  return parts.length === 1 ? take(parts[0], slots) : { form: 'dynamic', length: groups, tags, slots, parts };
};

const listsOf = (
  make: (t: Type) => Extract<Type, { kind: 'array' | 'set' }>,
  items: Vector,
  codes: Uint32Array,
  table: readonly Type[],
  typeCodes: readonly number[],
  members: readonly number[],
  offsets: Uint32Array,
): Vector => {
  const own = new Uint32Array(members.length + 1);
  members.forEach((g, k) => {
    own[k + 1] = own[k] + offsets[g + 1] - offsets[g];
  });
  const index = new Uint32Array(own[members.length]);
  let to = 0;
  for (const g of members) for (let i = offsets[g]; i < offsets[g + 1]; i++) index[to++] = i;
  const element = unionOfDistinct(typeCodes.map((c) => table[c]));
  const rows = typeCodes.length === 1 ? tidy(gather(items, index)) : unionItems(element, items, index, codes, table);
  return { form: 'list', type: make(element), length: members.length, offsets: own, items: rows };
};

/** Items `index` as values of the union type. */
const unionItems = (
  type: Type,
  items: Vector,
  index: Uint32Array,
  codes: Uint32Array,
  table: readonly Type[],
): Vector => {
  if (type.kind !== 'union') throw new Error('several types make a union');
  const lists: number[][] = type.members.map(() => []);
  const member = table.map((t) => type.members.indexOf(t));
  const tags = new Uint32Array(index.length);
  const slots = new Uint32Array(index.length);
  for (let i = 0; i < index.length; i++) {
    const tag = member[codes[index[i]]];
    tags[i] = tag;
    slots[i] = lists[tag].push(index[i]) - 1;
  }
  const members = lists.map((rows) =>
    rows.length === 0 ? noRows : tidy(concat([take(items, Uint32Array.from(rows))])),
  );
  return { form: 'union', type, length: index.length, tags, slots, members };
};
