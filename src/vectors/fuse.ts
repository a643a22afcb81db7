/** Fusion: the one type that values of several types can be raised to (reference/formats/model.md section 8), and the types that a vector's rows have. */
import { type Type, type RecordType, type UnionType, arrayType, enumType, errorType, mapType, namedType, recordType, setType, underType, unionType } from './type.ts';
import { type Vector, type RecordVector, uniformType } from './vector.ts';

/** The fusion of two types. */
export const fuseTypes = (a: Type, b: Type): Type => {
  if (a === b) return a;
  const key = `${a.id} ${b.id}`;
  let fused = memo.get(key);
  if (!fused) {
    if (memo.size >= memoMax) memo.clear();
    memo.set(key, (fused = fuse(underType(a), underType(b))));
  }
  return fused;
};
const memoMax = 10_000;
const memo = new Map<string, Type>();

const fuse = (a: Type, b: Type): Type => {
  if (a === b) return a;
  if (a.kind === 'union' || b.kind === 'union') return fuseUnions(a, b);
  return fuseSameKind(a, b) ?? unionType([a, b]);
};

/** The fusion of two complex types of one kind, or undefined. */
const fuseSameKind = (a: Type, b: Type): Type | undefined => {
  if (a.kind === 'record' && b.kind === 'record') return fuseRecords(a, b);
  if (a.kind === 'array' && b.kind === 'array') return arrayType(fuseTypes(a.element, b.element));
  if (a.kind === 'set' && b.kind === 'set') return setType(fuseTypes(a.element, b.element));
  if (a.kind === 'map' && b.kind === 'map') return mapType(fuseTypes(a.key, b.key), fuseTypes(a.value, b.value));
  if (a.kind === 'error' && b.kind === 'error') return errorType(fuseTypes(a.inner, b.inner));
  if (a.kind === 'enum' && b.kind === 'enum') return enumType([...new Set([...a.symbols, ...b.symbols])]);
  return undefined;
};

const fuseRecords = (a: RecordType, b: RecordType): RecordType => {
  const theirs = new Map(b.fields.map((f) => [f.name, f]));
  const fields = a.fields.map((f) => {
    const other = theirs.get(f.name);
    theirs.delete(f.name);
    return other ? { name: f.name, type: fuseTypes(f.type, other.type), optional: f.optional || other.optional } : { ...f, optional: true };
  });
  for (const f of theirs.values()) fields.push({ ...f, optional: true });
  return recordType(fields);
};

/** Members of both; complex members of one kind are fused with each other. */
const fuseUnions = (a: Type, b: Type): UnionType => {
  const members: Type[] = [];
  for (const m of [...membersOf(a), ...membersOf(b)]) addMember(members, m);
  return unionType(members);
};
const membersOf = (t: Type): readonly Type[] => (t.kind === 'union' ? t.members : [t]);
const addMember = (members: Type[], m: Type): void => {
  if (members.includes(m)) return;
  const under = underType(m);
  for (const [k, other] of members.entries()) {
    const fused = underType(other) === under ? under : fuseSameKind(underType(other), under);
    if (!fused) continue;
    members[k] = fused;
    return;
  }
  members.push(m);
};

/** The type of each row: row i has type table[codes[i]]; `codes` is absent if all rows have table[0]. Types that no row has may be in the table. */
export interface RowTypes { readonly table: readonly Type[]; readonly codes?: Uint32Array }

/** The types of a vector's rows, found a column at a time. */
export const typesOf = (v: Vector): RowTypes => {
  const uniform = uniformType(v);
  if (uniform) return { table: [uniform] };
  switch (v.form) {
    case 'record': return recordTypes(v);
    case 'error': return mapTypes(typesOf(v.inner), errorType);
    case 'named': return mapTypes(typesOf(v.inner), (t) => namedType(v.name, t));
    case 'constant': {
      const inner = typesOf(v.inner);
      return { table: [inner.table[inner.codes?.[0] ?? 0]!] };
    }
    case 'dictionary': return lookUpTypes(typesOf(v.values), v.codes, v.length);
    case 'selected': return lookUpTypes(typesOf(v.base), v.index, v.length);
    case 'dynamic': return dynamicTypes(v.parts.map(typesOf), v.tags, v.slots, v.length);
    default: throw new Error(`vector of form ${v.form} without a type`);
  }
};

const mapTypes = (inner: RowTypes, wrap: (t: Type) => Type): RowTypes => ({ table: inner.table.map(wrap), ...(inner.codes && { codes: inner.codes }) });
const lookUpTypes = (base: RowTypes, index: Uint32Array, length: number): RowTypes => {
  if (!base.codes) return base;
  const codes = new Uint32Array(length);
  for (let i = 0; i < length; i++) codes[i] = base.codes[index[i]!]!;
  return { table: base.table, codes };
};
const dynamicTypes = (parts: readonly RowTypes[], tags: Uint32Array, slots: Uint32Array, length: number): RowTypes => {
  const table = new Map<Type, number>();
  const maps = parts.map((p) => Uint32Array.from(p.table, (t) => codeOf(table, t)));
  const codes = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const tag = tags[i]!, own = parts[tag]!.codes;
    codes[i] = maps[tag]![own ? own[slots[i]!]! : 0]!;
  }
  return table.size === 1 ? { table: [...table.keys()] } : { table: [...table.keys()], codes };
};
const codeOf = (table: Map<Type, number>, t: Type): number => {
  let code = table.get(t);
  if (code === undefined) table.set(t, (code = table.size));
  return code;
};

/** Combines the codes of the fields two by two: combinations that occur are few. */
const recordTypes = (v: RecordVector): RowTypes => {
  const columns = v.fields.map((f) => typesOf(f.values));
  let codes = new Uint32Array(v.length);
  let combinations: number[][] = [[]];
  for (const column of columns) {
    const own = column.codes;
    if (!own) {
      for (const c of combinations) c.push(0);
      continue;
    }
    const next: number[][] = [], known = new Map<number, number>(), out = new Uint32Array(v.length);
    for (let i = 0; i < v.length; i++) {
      const key = codes[i]! * column.table.length + own[i]!;
      let code = known.get(key);
      if (code === undefined) {
        known.set(key, (code = next.length));
        next.push([...combinations[codes[i]!]!, own[i]!]);
      }
      out[i] = code;
    }
    codes = out;
    combinations = next;
  }
  const table = combinations.map((c) => recordType(v.fields.map((f, k) => ({ name: f.name, optional: f.optional, type: columns[k]!.table[c[k]!]! }))));
  return { table, codes };
};

/** The fusion of the types of all rows, from `start` on (undefined: none yet). */
export const fuseRows = (v: Vector, start?: Type): Type | undefined => {
  if (v.length === 0) return start;
  const { table, codes } = typesOf(v);
  if (!codes) return start ? fuseTypes(start, table[0]!) : table[0]!;
  let fused = start;
  const seen = new Uint8Array(table.length);
  for (let i = 0; i < v.length; i++) {
    const code = codes[i]!;
    if (seen[code]) continue;
    seen[code] = 1;
    fused = fused ? fuseTypes(fused, table[code]!) : table[code]!;
  }
  return fused;
};
