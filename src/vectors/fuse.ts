/**
 * Fusion: the one type that values of several types can be raised to (reference/formats/model.md section 8), and the
 * types that a vector's rows have.
 */
import {
  type Type,
  type RecordType,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  recordType,
  setType,
  underType,
  unionOfDistinct,
  unionType,
  membersOf,
} from './type.ts';
import { type Vector, type RecordVector, uniformType } from './vector.ts';

/** The fusion of two types. */
export const fuseTypes = (a: Type, b: Type): Type => {
  if (a === b) return a;
  const key = `${a.id} ${b.id}`;
  let fused = memo.get(key)?.deref();
  if (!fused) {
    if (memo.size >= memoMax) memo.clear();
    memo.set(key, new WeakRef((fused = fuse(underType(a), underType(b)))));
  }
  return fused;
};
const memoMax = 10_000;
/**
 * Fusions met before by the numbers of the two types. It keeps none: of thousands of wide records they would be
 * gigabytes, and nobody's.
 */
const memo = new Map<string, WeakRef<Type>>();

/**
 * The fusion of types one after the other. Records are gathered field by field: a type for each step between would take
 * the square of the number of fields.
 */
export class Fusion {
  private fused: Type | undefined;
  private gathered: FieldsGathered | undefined;
  constructor(start?: Type) {
    this.fused = start;
  }

  add(type: Type): void {
    const { fused } = this;
    if (fused === type || (fused === undefined && !this.gathered)) {
      this.fused = type;
      return;
    }
    const under = underType(type);
    if (under.kind === 'record' && !this.gathered && fused) {
      const before = underType(fused);
      if (before === under) this.fused = under;
      else if (before.kind === 'record') {
        this.gathered = new FieldsGathered(before);
        this.fused = undefined;
      }
    }
    if (this.gathered && under.kind === 'record') this.gathered.add(under);
    else if (this.fused !== under) this.settle(type);
  }
  private settle(type: Type): void {
    this.fused = fuseTypes(this.type!, type);
    this.gathered = undefined;
  }

  /** Undefined: of no type yet. */
  get type(): Type | undefined {
    return this.gathered ? this.gathered.type : this.fused;
  }
}

/** The fields of several record types, in the order in which they were met. */
class FieldsGathered {
  private readonly fields = new Map<string, { readonly fusion: Fusion; optional: boolean; records: number }>();
  private records = 0;
  private last: RecordType | undefined;
  constructor(first: RecordType) {
    this.add(first);
  }

  add(record: RecordType): void {
    if (record === this.last) return;
    this.last = record;
    this.records++;
    for (const { name, type, optional } of record.fields) {
      const known = this.fields.get(name);
      if (!known) this.fields.set(name, { fusion: new Fusion(type), optional, records: 1 });
      else {
        known.fusion.add(type);
        known.optional ||= optional;
        known.records++;
      }
    }
  }
  /** A field that some record lacks is optional. */
  get type(): RecordType {
    return recordType(
      Array.from(this.fields, ([name, { fusion, optional, records }]) => ({
        name,
        type: fusion.type!,
        optional: optional || records < this.records,
      })),
    );
  }
}

/** The fusion of several types; undefined of none. */
export const fuseAll = (types: Iterable<Type>, start?: Type): Type | undefined => {
  const fusion = new Fusion(start);
  for (const type of types) fusion.add(type);
  return fusion.type;
};

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
    return other
      ? { name: f.name, type: fuseTypes(f.type, other.type), optional: f.optional || other.optional }
      : { ...f, optional: true };
  });
  for (const f of theirs.values()) fields.push({ ...f, optional: true });
  return recordType(fields);
};

/**
 * Members of both, and those of unions among them; complex members of one kind are fused with each other, and one that
 * is left stands for itself.
 */
const fuseUnions = (a: Type, b: Type): Type => {
  const members: Type[] = [];
  for (const type of [a, b]) for (const m of innermostMembers(type)) addMember(members, m);
  return unionOfDistinct(members);
};
function* innermostMembers(type: Type): Iterable<Type> {
  for (const m of membersOf(type))
    if (underType(m).kind === 'union') yield* innermostMembers(underType(m));
    else yield m;
}
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

/**
 * The type of each row: row i has type table[codes[i]]; `codes` is absent if all rows have table[0]. Types that no row
 * has may be in the table.
 */
interface RowTypes {
  readonly table: readonly Type[];
  readonly codes?: Uint32Array;
}

/** The types of a vector's rows, found a column at a time. */
export const typesOf = (v: Vector): RowTypes => {
  const uniform = uniformType(v);
  if (uniform) return { table: [uniform] };
  switch (v.form) {
    case 'record':
      return recordTypes(v);
    case 'error':
      return mapTypes(typesOf(v.inner), errorType);
    case 'named':
      return mapTypes(typesOf(v.inner), (t) => namedType(v.name, t));
    case 'constant': {
      const inner = typesOf(v.inner);
      return { table: [inner.table[inner.codes?.[0] ?? 0]!] };
    }
    case 'dictionary':
      return lookUpTypes(typesOf(v.values), v.codes, v.length);
    case 'selected':
      return lookUpTypes(typesOf(v.base), v.index, v.length);
    case 'dynamic':
      return dynamicTypes(v.parts.map(typesOf), v.tags, v.slots, v.length);
    default:
      throw new Error(`vector of form ${v.form} without a type`);
  }
};

const mapTypes = (inner: RowTypes, wrap: (t: Type) => Type): RowTypes => ({
  table: inner.table.map(wrap),
  ...(inner.codes && { codes: inner.codes }),
});
const lookUpTypes = (base: RowTypes, index: Uint32Array, length: number): RowTypes => {
  if (!base.codes) return base;
  const codes = new Uint32Array(length);
  pick(base.codes, index, codes);
  return { table: base.table, codes };
};
const dynamicTypes = (parts: readonly RowTypes[], tags: Uint32Array, slots: Uint32Array, length: number): RowTypes => {
  const table = new Map<Type, number>();
  const maps = parts.map((p) => Uint32Array.from(p.table, (t) => codeOf(table, t)));
  if (table.size === 1) return { table: [...table.keys()] };
  const codes = new Uint32Array(length);
  if (parts.every((p) => !p.codes))
    pick(
      Uint32Array.from(maps, (m) => m[0]!),
      tags,
      codes,
    );
  else
    parts.forEach((p, tag) => {
      if (p.codes) pickPart(tag, tags, slots, p.codes, maps[tag]!, codes);
      else fillPart(tag, tags, maps[tag]![0]!, codes);
    });
  return { table: [...table.keys()], codes };
};

// The loops are functions of their own, which take arrays: the engine compiles them once, whatever vectors come.

const pick = (from: Uint32Array, index: Uint32Array, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) out[i] = from[index[i]!]!;
};
const pickPart = (
  part: number,
  tags: Uint32Array,
  slots: Uint32Array,
  from: Uint32Array,
  map: Uint32Array,
  out: Uint32Array,
): void => {
  for (let i = 0; i < out.length; i++) if (tags[i] === part) out[i] = map[from[slots[i]!]!]!;
};
const fillPart = (part: number, tags: Uint32Array, code: number, out: Uint32Array): void => {
  for (let i = 0; i < out.length; i++) if (tags[i] === part) out[i] = code;
};
const codeOf = (table: Map<Type, number>, t: Type): number => {
  let code = table.get(t);
  if (code === undefined) table.set(t, (code = table.size));
  return code;
};

/** Combines the codes of the fields two by two: combinations that occur are few. */
const recordTypes = (v: RecordVector): RowTypes => {
  const columns = v.fields.map((f) => typesOf(f.values));
  let codes: Uint32Array | undefined;
  let combinations: number[][] = [[]];
  for (const { table, codes: own } of columns) {
    if (!own) for (const c of combinations) c.push(0);
    else if (!codes && table.length <= fewTypes) {
      codes = own.length === v.length ? own : own.subarray(0, v.length);
      const [first] = combinations;
      combinations = table.map((_, code) => [...first!, code]);
    } else ({ codes, combinations } = combined(codes ?? new Uint32Array(v.length), combinations, own, table.length));
  }
  const table = combinations.map((c) =>
    recordType(v.fields.map((f, k) => ({ name: f.name, optional: f.optional, type: columns[k]!.table[c[k]!]! }))),
  );
  return codes ? { table, codes } : { table };
};

/** Of more types than this only those that rows have are combined. */
const fewTypes = 16;
/** More pairs of codes than this are looked up in a map. */
const pairsMax = 1 << 16;
const combined = (
  codes: Uint32Array,
  combinations: readonly number[][],
  own: Uint32Array,
  count: number,
): { readonly codes: Uint32Array; readonly combinations: number[][] } => {
  const next: number[][] = [];
  const out = new Uint32Array(codes.length);
  const pairs = combinations.length * count;
  const add = (row: number): number => next.push([...combinations[codes[row]!]!, own[row]!]) - 1;
  if (pairs <= pairsMax) {
    const known = new Int32Array(pairs).fill(-1);
    for (
      let row = combineKnown(codes, own, count, known, out, 0);
      row < out.length;
      row = combineKnown(codes, own, count, known, out, row)
    )
      known[codes[row]! * count + own[row]!] = add(row);
  } else {
    const known = new Map<number, number>();
    for (let row = 0; row < out.length; row++) {
      const pair = codes[row]! * count + own[row]!;
      let code = known.get(pair);
      if (code === undefined) known.set(pair, (code = add(row)));
      out[row] = code;
    }
  }
  return { codes: out, combinations: next };
};
/** The codes of pairs that are known, from `start` on; the first row whose pair is not. */
const combineKnown = (
  codes: Uint32Array,
  own: Uint32Array,
  count: number,
  known: Int32Array,
  out: Uint32Array,
  start: number,
): number => {
  for (let i = start; i < out.length; i++) {
    const code = known[codes[i]! * count + own[i]!]!;
    if (code < 0) return i;
    out[i] = code;
  }
  return out.length;
};

/** The fusion of the types of all rows, from `start` on (undefined: none yet). */
export const fuseRows = (v: Vector, start?: Type): Type | undefined => {
  if (v.length === 0) return start;
  const { table, codes } = typesOf(v);
  if (!codes) return start ? fuseTypes(start, table[0]!) : table[0]!;
  const fusion = new Fusion(start);
  const seen = new Uint8Array(table.length);
  for (
    let left = table.length, row = unseen(codes, seen, 0, v.length);
    left > 0 && row < v.length;
    left--, row = unseen(codes, seen, row, v.length)
  ) {
    const code = codes[row]!;
    seen[code] = 1;
    fusion.add(table[code]!);
  }
  return fusion.type;
};
/** The first row from `start` on whose code was not seen. */
const unseen = (codes: Uint32Array, seen: Uint8Array, start: number, length: number): number => {
  let row = start;
  while (row < length && seen[codes[row]!] === 1) row++;
  return row;
};
