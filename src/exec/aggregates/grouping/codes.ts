/**
 * Codes of values: equal values (type and value) of a column get equal codes, 0 for the first met, across batches and
 * whatever form the vectors have. They serve as group keys, join keys and for distinctness. `sql`: as SQL tells values
 * apart, that is numbers by their value alone, names and unions not at all, what a record lacks as null.
 *
 * Numbers and strings go through hash tables of their own, dictionaries through their codes, records through the codes
 * of their fields, unions of plain values through those of their members; only lists, maps and other unions are encoded
 * one by one.
 */
import { asKeys } from '../../../vectors/decimal.ts';
import { type PrimitiveType, type Type, type UnionType, types } from '../../../vectors/type.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import { zeroData } from '../../../vectors/value.ts';
import {
  type Vector,
  type FlatVector,
  type BytesVector,
  type DictionaryVector,
  type DynamicVector,
  type RecordVector,
  type UnionVector,
  dataAt,
  dynamic,
  emptyVector,
  flatten,
  gather,
  range,
  take,
  typeAt,
} from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { charge } from '../../../vectors/stop.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { classOf, concat } from '../../../vectors/concat.ts';
import { opened, unionOfOne } from '../../../vectors/unions.ts';
import { areTimeTexts } from '../../../vectors/texts/times.ts';
import { overlay } from '../../expressions/rows.ts';
import {
  AnyNumberPart,
  BytesPart,
  EncodedPart,
  NumberPart,
  type Part,
  SmallPart,
  isOnlyNumber,
  unexpected,
} from './code-parts.ts';
import { CombinationTable } from './combinations.ts';
import { PairTable, none, what } from './pair-table.ts';
import { Cells, SharedRecordPart } from './shared-records.ts';
import { BytesTable, Room, lookUp } from './tables.ts';

/** What the codes of a column take before there are any, about. */
const columnBytes = 2048;
/** Beyond so many columns of records, of whatever shapes, those that come share one table (shared-records.ts). */
const ownColumnsMax = 1024;

/** Records of one shape: the codes of the fields, combined. Absent fields count by their type alone. */
class RecordPart implements Part {
  private readonly fields: readonly {
    readonly name: string;
    readonly optional: boolean;
    readonly codes: ColumnCodes;
    readonly absent: Map<Type, number>;
  }[];
  private readonly combinations: CombinationTable | undefined;
  private count = 0;
  constructor(v: RecordVector, sql: boolean) {
    charge(v.fields.length * columnBytes, what);
    this.fields = v.fields.map((f) => ({
      name: f.name,
      optional: f.optional && !sql,
      codes: new ColumnCodes(sql),
      absent: new Map<Type, number>(),
    }));
    // Codes of optional fields have gaps.
    this.combinations =
      v.fields.length > 1
        ? new CombinationTable(
            v.fields.length,
            this.fields.every((f) => !f.optional),
          )
        : undefined;
  }
  get size(): number {
    return this.combinations?.size ?? (this.fields.length === 0 ? this.count : this.single.size);
  }
  get bytes(): number {
    return this.fields.reduce((n, f) => n + columnBytes + f.codes.bytes, this.combinations?.bytes ?? this.single.bytes);
  }
  /** A single field's codes: those of present rows doubled, absent ones odd, made dense here. */
  private readonly single = new PairTable();
  codes(v: FlatVector, insert: boolean): Uint32Array {
    if (v.form !== 'record') return unexpected(v);
    if (this.fields.length === 0) {
      if (insert && v.length > 0) this.count = 1;
      return new Uint32Array(v.length).fill(this.count === 1 ? 0 : none);
    }
    const columns = v.fields.map((f, k) => this.fieldCodes(k, f.values, f.present, insert));
    const out = new Uint32Array(v.length);
    return (
      this.combinations?.codes(columns, { sizes: this.fields.map(codesBelow), insert, out }) ??
      this.single.codes(columns[0], out, v.length, insert, out)
    );
  }
  private fieldCodes(k: number, values: Vector, present: Uint8Array | undefined, insert: boolean): Uint32Array {
    const field = this.fields[k];
    if (!field.optional) return field.codes.codes(present ? nullWhereAbsent(values, present) : values, insert);
    const here: number[] = [];
    const out = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) {
      if (!present || present[i]) here.push(i);
      else out[i] = absentCode(field.absent, typeAt(values, i));
    }
    const codes = field.codes.codes(
      here.length === values.length ? values : take(values, Uint32Array.from(here)),
      insert,
    );
    here.forEach((row, n) => {
      out[row] = codes[n] === none ? none : codes[n] * 2;
    });
    return out;
  }
  values(): Vector {
    const length = this.size;
    const columns = this.fieldCodesOfRows();
    return {
      form: 'record',
      length,
      fields: this.fields.map((f, k) => {
        const codes = columns[k];
        if (!f.optional) return { name: f.name, optional: false, values: gather(f.codes.values(), codes) };
        const present = Uint8Array.from(codes, (c) => (c % 2 === 0 ? 1 : 0));
        const builder = new Builder();
        const absent = [...f.absent.keys()];
        const values = f.codes.values();
        for (const c of codes) {
          if (c % 2 === 0) builder.appendData(typeAt(values, c / 2), dataAt(values, c / 2));
          else builder.appendData(absent[(c - 1) / 2], zeroData(absent[(c - 1) / 2]));
        }
        return { name: f.name, optional: true, values: builder.finish(), present };
      }),
    };
  }
  /** Field codes of each record code. */
  private fieldCodesOfRows(): Uint32Array[] {
    if (this.fields.length === 0) return [];
    return this.combinations?.columnCodes() ?? [this.single.words().first];
  }
}
/** All codes of a field are below this: those of present rows are doubled where it is optional. */
const codesBelow = ({
  optional,
  codes,
  absent,
}: {
  readonly optional: boolean;
  readonly codes: ColumnCodes;
  readonly absent: ReadonlyMap<Type, number>;
}): number => (optional ? Math.max(codes.size, absent.size) * 2 : codes.size);
const nullWhereAbsent = (values: Vector, present: Uint8Array): Vector =>
  overlay(
    values,
    Uint8Array.from({ length: values.length }, (_, i) => 1 - present[i]),
    { form: 'null', length: values.length },
  );
const absentCode = (absent: Map<Type, number>, t: Type): number => {
  let n = absent.get(t);
  if (n === undefined) absent.set(t, (n = absent.size));
  return n * 2 + 1;
};

/** error(..) and named values: codes of what is inside. */
class WrapPart implements Part {
  private readonly inner: ColumnCodes;
  private readonly name: string | undefined;
  constructor(name: string | undefined, sql: boolean) {
    this.name = name;
    this.inner = new ColumnCodes(sql);
  }
  get size(): number {
    return this.inner.size;
  }
  get bytes(): number {
    return this.inner.bytes;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    return v.form === 'error' || v.form === 'named' ? this.inner.codes(v.inner, insert) : unexpected(v);
  }
  values(): Vector {
    const inner = this.inner.values();
    return this.name === undefined
      ? { form: 'error', length: inner.length, inner }
      : { form: 'named', name: this.name, length: inner.length, inner };
  }
}

/**
 * Unions of plain values, as columns that may be null are of: by the codes of their members. As keys within records,
 * which subqueries with outer columns group by, 1,000,000 of them took 4 times as long while each was encoded.
 */
class UnionPart implements Part {
  private readonly type: UnionType;
  private readonly inner = new ColumnCodes();
  constructor(type: UnionType) {
    this.type = type;
  }
  get size(): number {
    return this.inner.size;
  }
  get bytes(): number {
    return this.inner.bytes;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    return v.form === 'union' ? this.inner.codes(opened(v), insert) : unexpected(v);
  }
  values(): Vector {
    const { type } = this;
    if (this.size === 0) return emptyVector(type);
    const rows = flatten(this.inner.values());
    const members = type.members.map(emptyVector);
    if (rows.form !== 'dynamic') return unionOfOne(type, this.tagOf(rows), rows, members);
    const { length, tags, slots, parts } = rows;
    const own = Uint32Array.from(parts, (part) => this.tagOf(part));
    for (const [k, part] of parts.entries()) members[own[k]] = flatten(part);
    return { form: 'union', type, length, tags: tags.map((tag) => own[tag]), slots, members };
  }
  private tagOf(member: Vector): number {
    return this.type.members.indexOf(typeAt(member, 0));
  }
}

/** Lists of SQL, of elements of any types: by the codes of these. */
class ListPart implements Part {
  private readonly table = new BytesTable();
  private readonly inner = new ColumnCodes(true);
  private readonly lists: Vector[] = [];
  private known: Vector | undefined;
  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.held * 2 + this.inner.bytes;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    if (v.form !== 'list') return unexpected(v);
    const start = v.offsets[0] ?? 0;
    const end = v.length > 0 ? v.offsets[v.length] : start;
    const items = take(v.items, range(start, end));
    const codes = this.inner.codes(items, insert);
    const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
    const out = new Uint32Array(v.length);
    const firsts: number[] = [];
    for (let i = 0; i < v.length; i++) {
      const size = this.table.size;
      out[i] = this.table.code(bytes, (v.offsets[i] - start) * 4, (v.offsets[i + 1] - start) * 4, insert);
      if (this.table.size > size) firsts.push(i);
    }
    if (firsts.length > 0) {
      this.lists.push(gather(v, Uint32Array.from(firsts)));
      this.known = undefined;
    }
    return out;
  }
  values(): Vector {
    return (this.known ??= concat(this.lists));
  }
}

/** What SQL does not tell values apart by: the name of their type, or a union that they came in. */
type Label = string | UnionType | null;
/**
 * A part with the codes that its own codes have in the column. `names`: of SQL, what its values are named, null for
 * those without a name.
 */
interface Place {
  readonly part: Part;
  readonly global: Uint32List;
  same: boolean;
  readonly names: Set<Label>;
}

/** Codes of one column. */
export class ColumnCodes {
  private readonly places: Place[] = [];
  private readonly byClass = new Map<string | Type, number>();
  /**
   * Part and code in it of each code, once there is more than one part: the codes of the only one are the column's.
   * Group by 850,000 addresses takes 12 MB less that way.
   */
  private tags = new Uint32List();
  private slots = new Uint32List();
  /** Codes of dictionaries' values, by the vectors, the oldest first: the batches of a scan share theirs. */
  private readonly dictionaries = new Map<Vector, KnownDictionary>();
  private dictionaryBytes = 0;
  private readonly room = new Room();
  private readonly sql: boolean;
  /** Columns of records that have tables of their own, and the values of the others. */
  private ownColumns = 0;
  private cells: Cells | undefined;
  constructor(sql = false) {
    this.sql = sql;
  }
  get size(): number {
    const { places } = this;
    return places.length === 1 ? places[0].part.size : this.tags.length;
  }
  get bytes(): number {
    return this.places.reduce(
      (n, p) => n + p.part.bytes,
      this.tags.array.byteLength * 2 + this.dictionaryBytes + (this.cells?.bytes ?? 0),
    );
  }

  /**
   * The code of each row; `none` for unknown values unless `insert`. Unless `isKept` the answer is for use until the
   * next call.
   */
  codes(v: Vector, insert = true, isKept = true, name: Label = null): Uint32Array {
    switch (v.form) {
      case 'constant': {
        const code = v.length === 0 ? none : this.codes(v.inner, insert, true, name)[0];
        return this.out(v.length, isKept).fill(code);
      }
      case 'dictionary':
        return this.dictionaryCodes(v, insert, this.out(v.length, isKept), name);
      case 'selected':
        return v.base.form === 'bytes' && !areTimeTexts(v.base)
          ? this.pickedCodes(v.base, v.index, insert, this.out(v.length, isKept), name)
          : this.codes(gather(v.base, v.index), insert, isKept, name);
      case 'dynamic':
        return this.taggedCodes(v, v.parts, insert, this.out(v.length, isKept), name);
      case 'named':
        if (this.sql) {
          const keys = asKeys(v);
          return keys.form === 'named'
            ? this.codes(v.inner, insert, isKept, v.name)
            : this.codes(keys, insert, isKept, name);
        }
        break;
      case 'union':
        if (this.sql) {
          const label = v.type.members.includes(types.null) ? name : v.type;
          return this.taggedCodes(v, v.members, insert, this.out(v.length, isKept), label);
        }
        break;
      default:
    }
    return this.partCodes(v, insert, isKept ? undefined : this.room.of(v.length), name);
  }
  private out(length: number, isKept: boolean): Uint32Array {
    return isKept ? new Uint32Array(length) : this.room.of(length);
  }
  /** The value of each code. */
  values(): Vector {
    const parts = this.places.map(valuesOf);
    if (parts.length === 0) return { form: 'null', length: 0 };
    if (parts.length === 1) return parts[0];
    return parts.some((p) => p.form === 'dynamic')
      ? gatherDynamic(this.tags.done(), this.slots.done(), parts)
      : dynamic(this.tags.array.slice(0, this.size), this.slots.array.slice(0, this.size), parts);
  }
  /** The values of these codes. */
  valuesAt(codes: Uint32Array): Vector {
    const [place, ...others] = this.places;
    const own = others.length === 0 ? place?.part.valuesAt?.(codes) : undefined;
    return own ? named(place!, own) : gather(this.values(), codes);
  }

  /** The types of all values, if these are whole numbers that 64 bits with a sign hold, and have no names. */
  get wholeTypes(): ReadonlySet<PrimitiveType> | undefined {
    const [place, ...others] = this.places;
    if (!place || others.length > 0 || [...place.names].some((name) => name !== null)) return undefined;
    const { part } = place;
    return part instanceof NumberPart || part instanceof AnyNumberPart ? part.wholeTypes : undefined;
  }
  /** All values, if these are numbers of one class. */
  get wholeOrFloats(): Vector | undefined {
    const [place, ...others] = this.places;
    const isOne = place !== undefined && others.length === 0;
    return isOne && (place.part instanceof NumberPart || place.part instanceof AnyNumberPart)
      ? place.part.values()
      : undefined;
  }
  /** Forgets all values. */
  clear(): void {
    this.places.length = 0;
    this.byClass.clear();
    this.tags = new Uint32List();
    this.slots = new Uint32List();
    this.dictionaries.clear();
    this.dictionaryBytes = 0;
    this.ownColumns = 0;
    this.cells = undefined;
  }

  /** Looks up the dictionary's values that occur, once for each dictionary. */
  private dictionaryCodes(v: DictionaryVector, insert: boolean, out: Uint32Array, name: Label): Uint32Array {
    const known = this.knownCodes(v.values);
    if (lookUp(known, v.codes, out)) return out;
    if (insert && v.values.form === 'bytes') {
      this.meet(v.values, v.codes, known, out, name);
      return out;
    }
    const index = unknownOnes(known, v.codes, v.length);
    const codes = this.codes(take(v.values, index), insert, true, name);
    for (let k = 0; k < index.length; k++) known[index[k]] = codes[k];
    for (let i = 0; i < v.length; i++) out[i] = known[v.codes[i]];
    return out;
  }
  /**
   * Puts in the strings of a dictionary that rows lead to for the first time, as they are met, and their codes where
   * `out` has none.
   */
  private meet(values: BytesVector, index: Uint32Array, known: Uint32Array, out: Uint32Array, name: Label): void {
    const tag = this.placeOf(values, name);
    const place = this.places[tag];
    const { part } = place;
    if (!(part instanceof BytesPart)) return unexpected(values);
    for (let i = 0; i < out.length; i++) {
      if (out[i] !== none) continue;
      const at = index[i];
      if (known[at] === none) {
        const own = part.codeOf(values, at);
        this.adopt(tag, place);
        known[at] = place.same ? own : place.global.array[own];
      }
      out[i] = known[at];
    }
  }
  private knownCodes(values: Vector): Uint32Array {
    const known = this.dictionaries.get(values);
    if (known) return known.codes;
    const codes = new Uint32Array(values.length).fill(none);
    const bytes = codes.byteLength + sizeOf(values);
    this.dictionaries.set(values, { codes, bytes });
    this.dictionaryBytes += bytes;
    for (const [oldest, { bytes: freed }] of this.dictionaries) {
      if (this.dictionaryBytes <= dictionaryBytesMax || oldest === values) break;
      this.dictionaries.delete(oldest);
      this.dictionaryBytes -= freed;
    }
    return codes;
  }
  private taggedCodes(
    { tags, slots }: DynamicVector | UnionVector,
    parts: readonly Vector[],
    insert: boolean,
    out: Uint32Array,
    name: Label,
  ): Uint32Array {
    const counts = new Uint32Array(parts.length);
    const { length } = out;
    for (let i = 0; i < length; i++) counts[tags[i]]++;
    for (const [tag, part] of parts.entries()) {
      const count = counts[tag];
      if (count === 0) continue;
      if (part.form === 'null' || part.form === 'constant') {
        const code = this.codes(part.form === 'null' ? oneNull : part.inner, insert, true, name)[0];
        for (let i = 0; i < length; i++) if (tags[i] === tag) out[i] = code;
        continue;
      }
      const rows = new Uint32Array(count);
      const index = new Uint32Array(count);
      for (let i = 0, n = 0; n < count; i++) {
        if (tags[i] !== tag) continue;
        rows[n] = i;
        index[n++] = slots[i];
      }
      const codes = this.codes(take(part, index), insert, true, name);
      for (let n = 0; n < count; n++) out[rows[n]] = codes[n];
    }
    return out;
  }
  private partCodes(v: FlatVector, insert: boolean, out: Uint32Array | undefined, name: Label): Uint32Array {
    const tag = this.placeOf(v, name);
    const place = this.places[tag];
    return this.placed(tag, place, place.part.codes(v, insert, out));
  }
  /**
   * Rows of texts that a filter left, hashed where they are: group by a text of 245,000 of 1,000,000 rows takes 0.9 of
   * the time without a copy of these.
   */
  private pickedCodes(v: BytesVector, index: Uint32Array, insert: boolean, out: Uint32Array, name: Label): Uint32Array {
    const tag = this.placeOf(v, name);
    const place = this.places[tag];
    const { part } = place;
    return part instanceof BytesPart ? this.placed(tag, place, part.codesAt(v, index, insert, out)) : unexpected(v);
  }
  /** Codes of the column for those of a part. */
  private placed(tag: number, place: Place, codes: Uint32Array): Uint32Array {
    this.adopt(tag, place);
    if (place.same) return codes;
    const global = place.global.array;
    for (let i = 0; i < codes.length; i++) if (codes[i] !== none) codes[i] = global[codes[i]];
    return codes;
  }
  /** Gives codes of the column to what the part has met for the first time. */
  private adopt(tag: number, place: Place): void {
    if (this.places.length === 1) return;
    for (let own = place.global.length; own < place.part.size; own++) {
      if (own !== this.tags.length) place.same = false;
      place.global.push(this.tags.length);
      this.tags.push(tag);
      this.slots.push(own);
    }
  }
  private placeOf(v: FlatVector, name: Label): number {
    const key = this.sql ? sqlClassOf(v) : classOf(v);
    let tag = this.byClass.get(key);
    if (tag === undefined) {
      const [only, ...others] = this.places;
      this.byClass.set(key, (tag = this.places.length));
      this.places.push({ part: this.partFor(v), global: new Uint32List(), same: true, names: new Set() });
      if (only && others.length === 0) this.adopt(0, only);
    }
    if (this.sql && v.length > 0) this.places[tag].names.add(name);
    return tag;
  }
  private partFor(v: FlatVector): Part {
    if (v.form !== 'record') return newPart(v, this.sql);
    if (this.ownColumns + v.fields.length > ownColumnsMax)
      return new SharedRecordPart(v, (this.cells ??= new Cells(new ColumnCodes(this.sql), this.sql)), this.sql);
    this.ownColumns += v.fields.length;
    return new RecordPart(v, this.sql);
  }
}

/** The first row of each code from `before` up to `after`, in the order of the rows. */
export const firstRows = (codes: Uint32Array, length: number, before: number, after: number): Uint32Array => {
  const rows = new Uint32Array(after - before);
  const met = new Uint8Array(after - before);
  for (let i = 0, n = 0; n < rows.length && i < length; i++) {
    const fresh = codes[i] - before;
    if (fresh < 0 || met[fresh]) continue;
    met[fresh] = 1;
    rows[n++] = i;
  }
  return rows;
};

/** The values of a part, under their name if all have one. */
const valuesOf = (place: Place): Vector => named(place, place.part.values());
/** The values as they came, where all have one label. */
const named = ({ names }: Place, inner: Vector): Vector => {
  const [label, ...others] = names;
  if (label === undefined || label === null || others.length > 0) return inner;
  if (typeof label === 'string') return { form: 'named', name: label, length: inner.length, inner };
  const tag = inner.form === 'number' || inner.form === 'bytes' ? label.members.indexOf(inner.type) : -1;
  return tag < 0 ? inner : unionOfOne(label, tag, inner, label.members.map(emptyVector));
};
/**
 * What is told apart in SQL: numbers of all types are of one class, and so are lists, and records of the same names.
 */
const sqlClassOf = (v: FlatVector): string | Type => {
  switch (v.form) {
    case 'number':
      return isOnlyNumber(v.type) ? 'number' : v.type;
    case 'list':
      return 'list';
    case 'record':
      return `record ${JSON.stringify(v.fields.map((f) => f.name))}`;
    default:
      return classOf(v);
  }
};

const oneNull: Vector = { form: 'null', length: 1 };
/** A dictionary whose codes are remembered, and what they and its values, which stay with them, take. */
interface KnownDictionary {
  readonly codes: Uint32Array;
  readonly bytes: number;
}
/**
 * The newest is remembered however large it is, older ones beside it up to so many bytes: objects of a pool have
 * dictionaries of their own, and a scan comes back to few of them.
 */
const dictionaryBytesMax = 4 << 20;
/**
 * The places in the table that are `none` and that rows lead to, each once, as they are met. They are marked in
 * between.
 */
const unknownOnes = (table: Uint32Array, index: Uint32Array, length: number): Uint32Array => {
  const found = new Uint32Array(length);
  const marked = none - 1;
  let n = 0;
  for (let i = 0; i < length; i++) {
    const at = index[i];
    if (table[at] !== none) continue;
    table[at] = marked;
    found[n++] = at;
  }
  return found.subarray(0, n);
};

const newPart = (v: Exclude<FlatVector, RecordVector>, sql: boolean): Part => {
  switch (v.form) {
    case 'number':
      return sql && isOnlyNumber(v.type) ? new AnyNumberPart() : new NumberPart(v.type);
    case 'bytes':
      return new BytesPart(v.type);
    case 'enum':
      return new SmallPart(v.type);
    case 'bool':
    case 'null':
    case 'type':
      return new SmallPart(v.form);
    case 'error':
      return new WrapPart(undefined, sql);
    case 'named':
      return new WrapPart(v.name, sql);
    case 'list':
      return sql ? new ListPart() : new EncodedPart(v.type);
    case 'map':
      return new EncodedPart(v.type);
    case 'union':
      return v.type.members.every((m) => m.kind === 'primitive') ? new UnionPart(v.type) : new EncodedPart(v.type);
    case 'dynamic':
      return unexpected(v);
  }
};
const gatherDynamic = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  const bases = new Uint32Array(parts.length);
  for (let k = 1; k < parts.length; k++) bases[k] = bases[k - 1] + parts[k - 1].length;
  return take(
    concat(parts),
    Uint32Array.from(slots, (s, i) => bases[tags[i]] + s),
  );
};
