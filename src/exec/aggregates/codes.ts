/**
 * Codes of values: equal values (type and value) of a column get equal codes, 0 for the first met, across batches and whatever form the vectors have.
 * They serve as group keys, join keys and for distinctness.
 *
 * Numbers and strings go through hash tables of their own, dictionaries through their codes, records through the codes of their fields; only lists,
 * maps and type values are encoded one by one.
 */
import { type EnumType, type PrimitiveType, type Type, isFloat, primitiveIds } from '../../vectors/type.ts';
import { ByteWriter, writeBody, zeroData } from '../../vectors/value.ts';
import {
  type Vector, type FlatVector, type BytesVector, type DictionaryVector, type DynamicVector, type RecordVector, dataAt, dynamic, gather, take, typeAt,
} from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { classOf, concat } from '../../vectors/concat.ts';
import { BytesTable, NumberTable, PairTable, Room, lookUp, none } from './tables.ts';

/** Codes of the values of one class (a type, a shape). */
interface Part {
  readonly size: number;
  readonly bytes: number;
  /** `out`: where the codes may go. */
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array;
  /** One row a code. */
  values(): Vector;
}

class NumberPart implements Part {
  private readonly table: NumberTable;
  private readonly type: PrimitiveType;
  constructor(type: PrimitiveType) {
    this.type = type;
    this.table = new NumberTable(!isFloat(type));
  }
  get size(): number { return this.table.size; }
  get bytes(): number { return this.table.bytes; }
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array {
    return v.form === 'number' ? this.table.codes(v.values, v.length, insert, out) : unexpected(v);
  }
  values(): Vector { return { form: 'number', type: this.type, length: this.size, values: this.table.values(this.type.id <= primitiveIds.uint64) }; }
}

class BytesPart implements Part {
  private readonly table = new BytesTable();
  private readonly type: PrimitiveType;
  constructor(type: PrimitiveType) { this.type = type; }
  get size(): number { return this.table.size; }
  get bytes(): number { return this.table.held; }
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array {
    return v.form === 'bytes' ? this.table.codes(v.bytes, v.offsets, v.length, insert, out) : unexpected(v);
  }
  /** The code of one row, which is put in. */
  codeOf(v: BytesVector, row: number): number { return this.table.code(v.bytes, v.offsets[row]!, v.offsets[row + 1]!, true); }
  values(): Vector {
    return { form: 'bytes', type: this.type, length: this.size, offsets: this.table.offsets.array.slice(0, this.size + 1), bytes: this.table.bytes.array.slice(0, this.table.bytes.length) };
  }
}

/** Small numbers of some kind: bools, enum symbols, null, types by their place in a table. */
class SmallPart implements Part {
  private readonly byNumber: Uint32Array[] = [new Uint32Array(8).fill(none)];
  private readonly numbers = new Uint32List();
  private readonly typeNumbers = new Map<Type, number>();
  private readonly kind: EnumType | 'bool' | 'null' | 'type';
  constructor(kind: EnumType | 'bool' | 'null' | 'type') { this.kind = kind; }
  get size(): number { return this.numbers.length; }
  get bytes(): number { return this.numbers.length * 40; }
  private code(n: number, insert: boolean): number {
    let table = this.byNumber[0]!;
    if (n >= table.length) {
      const grown = new Uint32Array(Math.max(n + 1, table.length * 2)).fill(none);
      grown.set(table);
      table = this.byNumber[0] = grown;
    }
    if (table[n] === none && insert) {
      table[n] = this.numbers.length;
      this.numbers.push(n);
    }
    return table[n]!;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    const out = new Uint32Array(v.length);
    switch (v.form) {
      case 'bool': for (let i = 0; i < v.length; i++) out[i] = this.code(v.values[i]!, insert); return out;
      case 'null': return v.length > 0 ? out.fill(this.code(0, insert)) : out;
      case 'enum': for (let i = 0; i < v.length; i++) out[i] = this.code(v.codes[i]!, insert); return out;
      case 'type': for (let i = 0; i < v.length; i++) out[i] = this.code(this.typeNumber(v.table[v.codes[i]!]!), insert); return out;
      default: return unexpected(v);
    }
  }
  private typeNumber(t: Type): number {
    let n = this.typeNumbers.get(t);
    if (n === undefined) this.typeNumbers.set(t, (n = this.typeNumbers.size));
    return n;
  }
  values(): Vector {
    const length = this.size, numbers = this.numbers.array.slice(0, length);
    if (this.kind === 'bool') return { form: 'bool', length, values: Uint8Array.from(numbers) };
    if (this.kind === 'null') return { form: 'null', length };
    if (this.kind === 'type') return { form: 'type', length, codes: numbers, table: [...this.typeNumbers.keys()] };
    return { form: 'enum', type: this.kind, length, codes: numbers };
  }
}

/** Records of one shape: the codes of the fields, combined two by two. Absent fields count by their type alone. */
class RecordPart implements Part {
  private readonly fields: readonly { readonly name: string; readonly optional: boolean; readonly codes: ColumnCodes; readonly absent: Map<Type, number> }[];
  private readonly pairs: readonly PairTable[];
  private count = 0;
  constructor(v: RecordVector) {
    this.fields = v.fields.map((f) => ({ name: f.name, optional: f.optional, codes: new ColumnCodes(), absent: new Map<Type, number>() }));
    this.pairs = v.fields.slice(1).map(() => new PairTable());
  }
  get size(): number { return this.fields.length === 0 ? this.count : this.fields.length === 1 ? this.single.size : this.pairs.at(-1)!.size; }
  get bytes(): number { return this.pairs.reduce((n, p) => n + p.bytes, 0) + this.fields.reduce((n, f) => n + f.codes.bytes, 0); }
  /** A single field's codes: those of present rows doubled, absent ones odd, made dense here. */
  private readonly single = new PairTable();
  codes(v: FlatVector, insert: boolean): Uint32Array {
    if (v.form !== 'record') return unexpected(v);
    if (this.fields.length === 0) {
      if (insert && v.length > 0) this.count = 1;
      return new Uint32Array(v.length).fill(this.count === 1 ? 0 : none);
    }
    const columns = v.fields.map((f, k) => this.fieldCodes(k, f.values, f.present, insert));
    if (columns.length === 1) return this.single.codes(columns[0]!, new Uint32Array(v.length), v.length, insert);
    let codes = columns[0]!;
    for (let k = 1; k < columns.length; k++) codes = this.pairs[k - 1]!.codes(codes, columns[k]!, v.length, insert);
    return codes;
  }
  private fieldCodes(k: number, values: Vector, present: Uint8Array | undefined, insert: boolean): Uint32Array {
    const field = this.fields[k]!;
    if (!field.optional) return field.codes.codes(values, insert);
    const here: number[] = [], out = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) {
      if (!present || present[i]) here.push(i);
      else out[i] = absentCode(field.absent, typeAt(values, i));
    }
    const codes = field.codes.codes(here.length === values.length ? values : take(values, Uint32Array.from(here)), insert);
    here.forEach((row, n) => { out[row] = codes[n] === none ? none : codes[n]! * 2; });
    return out;
  }
  values(): Vector {
    const length = this.size;
    const columns = this.fieldCodesOfRows(length);
    return {
      form: 'record', length,
      fields: this.fields.map((f, k) => {
        const codes = columns[k]!;
        if (!f.optional) return { name: f.name, optional: false, values: gather(f.codes.values(), codes) };
        const present = Uint8Array.from(codes, (c) => (c % 2 === 0 ? 1 : 0));
        const builder = new Builder(), absent = [...f.absent.keys()];
        const values = f.codes.values();
        for (const c of codes) {
          if (c % 2 === 0) builder.appendData(typeAt(values, c / 2), dataAt(values, c / 2));
          else builder.appendData(absent[(c - 1) / 2]!, zeroData(absent[(c - 1) / 2]!));
        }
        return { name: f.name, optional: true, values: builder.finish(), present };
      }),
    };
  }
  /** Field codes of each record code: the pairs undone. */
  private fieldCodesOfRows(length: number): Uint32Array[] {
    if (this.fields.length === 0) return [];
    if (this.fields.length === 1) return [this.single.first.array.slice(0, length)];
    const columns: Uint32Array[] = [];
    let codes = Uint32Array.from({ length }, (_, i) => i);
    for (let k = this.pairs.length - 1; k >= 0; k--) {
      const { first, second } = this.pairs[k]!;
      columns.unshift(Uint32Array.from(codes, (c) => second.array[c]!));
      codes = Uint32Array.from(codes, (c) => first.array[c]!);
    }
    return [codes, ...columns];
  }
}
const absentCode = (absent: Map<Type, number>, t: Type): number => {
  let n = absent.get(t);
  if (n === undefined) absent.set(t, (n = absent.size));
  return n * 2 + 1;
};

/** error(..) and named values: codes of what is inside. */
class WrapPart implements Part {
  private readonly inner = new ColumnCodes();
  private readonly name: string | undefined;
  constructor(name: string | undefined) { this.name = name; }
  get size(): number { return this.inner.size; }
  get bytes(): number { return this.inner.bytes; }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    return v.form === 'error' || v.form === 'named' ? this.inner.codes(v.inner, insert) : unexpected(v);
  }
  values(): Vector {
    const inner = this.inner.values();
    return this.name === undefined ? { form: 'error', length: inner.length, inner } : { form: 'named', name: this.name, length: inner.length, inner };
  }
}

/** Lists, maps and unions of one type, by their encoding. */
class EncodedPart implements Part {
  private readonly table = new BytesTable();
  /** The values since `given`; a builder gives its rows away. */
  private firsts: Builder;
  private given: Vector | undefined;
  private readonly type: Type;
  constructor(type: Type) {
    this.type = type;
    this.firsts = new Builder(type);
  }
  get size(): number { return this.table.size; }
  get bytes(): number { return this.table.held * 2; }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    const out = new Uint32Array(v.length), writer = new ByteWriter();
    for (let i = 0; i < v.length; i++) {
      const data = dataAt(v, i), size = this.table.size;
      writer.length = 0;
      writeBody(writer, this.type, data);
      out[i] = this.table.code(writer.bytes, 0, writer.length, insert);
      if (this.table.size > size) this.firsts.appendData(this.type, data);
    }
    return out;
  }
  values(): Vector {
    if (this.firsts.length > 0 || !this.given) {
      const rows = this.firsts.finish();
      this.given = this.given ? concat([this.given, rows]) : rows;
      this.firsts = new Builder(this.type);
    }
    return this.given;
  }
}
const unexpected = (v: Vector): never => { throw new Error(`vector of form ${v.form} where another class was promised`); };

/** A part with the codes that its own codes have in the column. */
interface Place { readonly part: Part; readonly global: Uint32List; same: boolean }

/** Codes of one column. */
export class ColumnCodes {
  private readonly places: Place[] = [];
  private readonly byClass = new Map<string | Type, number>();
  /** Part and code in it of each code, once there is more than one part. */
  private readonly tags = new Uint32List();
  private readonly slots = new Uint32List();
  /** Codes of dictionaries' values, by the vectors: the batches of a scan share theirs. */
  private readonly dictionaries = new Map<Vector, Uint32Array>();
  private dictionaryBytes = 0;
  private readonly room = new Room();
  get size(): number { return this.tags.length; }
  get bytes(): number { return this.places.reduce((n, p) => n + p.part.bytes, this.tags.array.byteLength * 2 + this.dictionaryBytes); }

  /** The code of each row; `none` for unknown values unless `insert`. Unless `isKept` the answer is for use until the next call. */
  codes(v: Vector, insert = true, isKept = true): Uint32Array {
    switch (v.form) {
      case 'constant': {
        const code = v.length === 0 ? none : this.codes(v.inner, insert)[0]!;
        return this.out(v.length, isKept).fill(code);
      }
      case 'dictionary': return this.dictionaryCodes(v, insert, this.out(v.length, isKept));
      case 'selected': return this.codes(gather(v.base, v.index), insert, isKept);
      case 'dynamic': return this.taggedCodes(v, insert, this.out(v.length, isKept));
      default: return this.partCodes(v, insert, isKept ? undefined : this.room.of(v.length));
    }
  }
  private out(length: number, isKept: boolean): Uint32Array { return isKept ? new Uint32Array(length) : this.room.of(length); }
  /** The value of each code. */
  values(): Vector {
    const parts = this.places.map((p) => p.part.values());
    if (parts.length === 0) return { form: 'null', length: 0 };
    if (parts.length === 1) return parts[0]!;
    return parts.some((p) => p.form === 'dynamic')
      ? gatherDynamic(this.tags.done(), this.slots.done(), parts)
      : dynamic(this.tags.array.slice(0, this.size), this.slots.array.slice(0, this.size), parts);
  }

  /** Looks up the dictionary's values that occur, once for each dictionary. */
  private dictionaryCodes(v: DictionaryVector, insert: boolean, out: Uint32Array): Uint32Array {
    const known = this.knownCodes(v.values);
    if (lookUp(known, v.codes, out)) return out;
    if (insert && v.values.form === 'bytes') {
      this.meet(v.values, v.codes, known, out);
      return out;
    }
    const index = unknownOnes(known, v.codes, v.length), codes = this.codes(take(v.values, index), insert);
    for (let k = 0; k < index.length; k++) known[index[k]!] = codes[k]!;
    for (let i = 0; i < v.length; i++) out[i] = known[v.codes[i]!]!;
    return out;
  }
  /** Puts in the strings of a dictionary that rows lead to for the first time, as they are met, and their codes where `out` has none. */
  private meet(values: BytesVector, index: Uint32Array, known: Uint32Array, out: Uint32Array): void {
    const tag = this.placeOf(values), place = this.places[tag]!, { part } = place;
    if (!(part instanceof BytesPart)) return unexpected(values);
    for (let i = 0; i < out.length; i++) {
      if (out[i] !== none) continue;
      const at = index[i]!;
      if (known[at] === none) {
        const own = part.codeOf(values, at);
        this.adopt(tag, place);
        known[at] = place.global.array[own]!;
      }
      out[i] = known[at]!;
    }
  }
  private knownCodes(values: Vector): Uint32Array {
    let known = this.dictionaries.get(values);
    if (known) return known;
    if (this.dictionaries.size >= dictionariesMax) {
      this.dictionaries.clear();
      this.dictionaryBytes = 0;
    }
    this.dictionaries.set(values, (known = new Uint32Array(values.length).fill(none)));
    this.dictionaryBytes += known.byteLength;
    return known;
  }
  private taggedCodes({ tags, slots, parts }: DynamicVector, insert: boolean, out: Uint32Array): Uint32Array {
    const counts = new Uint32Array(parts.length), { length } = out;
    for (let i = 0; i < length; i++) counts[tags[i]!]!++;
    for (const [tag, part] of parts.entries()) {
      const count = counts[tag]!;
      if (count === 0) continue;
      if (part.form === 'null' || part.form === 'constant') {
        const code = this.codes(part.form === 'null' ? oneNull : part.inner, insert)[0]!;
        for (let i = 0; i < length; i++) if (tags[i] === tag) out[i] = code;
        continue;
      }
      const rows = new Uint32Array(count), index = new Uint32Array(count);
      for (let i = 0, n = 0; n < count; i++) {
        if (tags[i] !== tag) continue;
        rows[n] = i;
        index[n++] = slots[i]!;
      }
      const codes = this.codes(take(part, index), insert);
      for (let n = 0; n < count; n++) out[rows[n]!] = codes[n]!;
    }
    return out;
  }
  private partCodes(v: FlatVector, insert: boolean, out: Uint32Array | undefined): Uint32Array {
    const tag = this.placeOf(v), place = this.places[tag]!;
    const codes = place.part.codes(v, insert, out);
    this.adopt(tag, place);
    if (place.same) return codes;
    const global = place.global.array;
    for (let i = 0; i < codes.length; i++) if (codes[i] !== none) codes[i] = global[codes[i]!]!;
    return codes;
  }
  /** Gives codes of the column to what the part has met for the first time. */
  private adopt(tag: number, place: Place): void {
    for (let own = place.global.length; own < place.part.size; own++) {
      if (own !== this.tags.length) place.same = false;
      place.global.push(this.tags.length);
      this.tags.push(tag);
      this.slots.push(own);
    }
  }
  private placeOf(v: FlatVector): number {
    const key = classOf(v);
    let tag = this.byClass.get(key);
    if (tag === undefined) {
      this.byClass.set(key, (tag = this.places.length));
      this.places.push({ part: newPart(v), global: new Uint32List(), same: true });
    }
    return tag;
  }
}

/** The first row of each code from `before` up to `after`, in the order of the rows. */
export const firstRows = (codes: Uint32Array, length: number, before: number, after: number): Uint32Array => {
  const rows = new Uint32Array(after - before), met = new Uint8Array(after - before);
  for (let i = 0, n = 0; n < rows.length && i < length; i++) {
    const fresh = codes[i]! - before;
    if (fresh < 0 || met[fresh]) continue;
    met[fresh] = 1;
    rows[n++] = i;
  }
  return rows;
};

const oneNull: Vector = { form: 'null', length: 1 };
/** Dictionaries whose codes are remembered. */
const dictionariesMax = 64;
/** The places in the table that are `none` and that rows lead to, each once, as they are met. They are marked in between. */
const unknownOnes = (table: Uint32Array, index: Uint32Array, length: number): Uint32Array => {
  const found = new Uint32Array(length), marked = none - 1;
  let n = 0;
  for (let i = 0; i < length; i++) {
    const at = index[i]!;
    if (table[at] !== none) continue;
    table[at] = marked;
    found[n++] = at;
  }
  return found.subarray(0, n);
};

const newPart = (v: FlatVector): Part => {
  switch (v.form) {
    case 'number': return new NumberPart(v.type);
    case 'bytes': return new BytesPart(v.type);
    case 'enum': return new SmallPart(v.type);
    case 'bool': case 'null': case 'type': return new SmallPart(v.form);
    case 'record': return new RecordPart(v);
    case 'error': return new WrapPart(undefined);
    case 'named': return new WrapPart(v.name);
    case 'list': case 'map': case 'union': return new EncodedPart(v.type);
    case 'dynamic': return unexpected(v);
  }
};
const gatherDynamic = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  const bases = new Uint32Array(parts.length);
  for (let k = 1; k < parts.length; k++) bases[k] = bases[k - 1]! + parts[k - 1]!.length;
  return take(concat(parts), Uint32Array.from(slots, (s, i) => bases[tags[i]!]! + s));
};
