/** The parts of a column's codes that have no parts of their own: see codes.ts. */
import {
  type EnumType,
  type PrimitiveType,
  type Type,
  commonNumber,
  isFloat,
  isInteger,
  isUnsigned,
  primitiveIds,
  types,
} from '../../../vectors/type.ts';
import { type BytesVector, type FlatVector, type Vector, dataAt, dynamic, range } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { concat } from '../../../vectors/concat.ts';
import { ByteWriter, writeBody } from '../../../vectors/value.ts';
import { Uint32List, Uint8List } from '../../../vectors/lists.ts';
import { tidy } from '../../expressions/rows.ts';
import { NumberTable } from './number-table.ts';
import { none } from './pair-table.ts';
import { BytesTable } from './tables.ts';

/** Codes of the values of one class (a type, a shape). */
export interface Part {
  readonly size: number;
  readonly bytes: number;
  /** `out`: where the codes may go. */
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array;
  /** One row a code. */
  values(): Vector;
  /** The rows of these codes, where that is less than a copy of all. */
  valuesAt?(codes: Uint32Array): Vector;
}

/** Types of numbers that are nothing else, such as times. */
export const isOnlyNumber = (t: Type): boolean => isInteger(t) || isFloat(t);

/** Numbers of one type. */
export class NumberPart implements Part {
  private readonly table: NumberTable;
  private readonly type: PrimitiveType;
  constructor(type: PrimitiveType) {
    this.type = type;
    this.table = new NumberTable();
  }
  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.bytes;
  }
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array {
    return v.form === 'number'
      ? this.table.codes(v.values, v.length, { whole: !isFloat(this.type), insert }, out)
      : unexpected(v);
  }
  /** Its type, if that is of whole numbers with a sign. */
  get wholeTypes(): ReadonlySet<PrimitiveType> | undefined {
    return isFloat(this.type) || isUnsigned(this.type) ? undefined : new Set([this.type]);
  }
  values(): Vector {
    return {
      form: 'number',
      type: this.type,
      length: this.size,
      values: this.table.values(this.type.id <= primitiveIds.uint64),
    };
  }
}

/**
 * Numbers of all types, by their value. Integers come out as one type that holds all of them, and so do floats; what
 * was both is as it was met first.
 */
export class AnyNumberPart implements Part {
  private readonly table = new NumberTable(true);
  private readonly integers = new Set<PrimitiveType>();
  private readonly floats = new Set<PrimitiveType>();
  /** 1 for the codes that were met as floats. */
  private readonly asFloat = new Uint8List();
  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.bytes + this.asFloat.array.byteLength;
  }
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array {
    if (v.form !== 'number') return unexpected(v);
    const { asFloat, table } = this;
    const whole = !isFloat(v.type);
    const codes = table.codes(v.values, v.length, { whole, insert }, out);
    if (insert && v.length > 0) (whole ? this.integers : this.floats).add(v.type);
    while (asFloat.length < table.size) asFloat.push(whole ? 0 : 1);
    return codes;
  }
  /** The types of its numbers, if they are whole and 64 bits with a sign hold them. */
  get wholeTypes(): ReadonlySet<PrimitiveType> | undefined {
    return this.floats.size > 0 || this.table.isHuge || isUnsigned(common(this.integers)) ? undefined : this.integers;
  }
  values(): Vector {
    const { table, size } = this;
    const integer = common(this.integers);
    const float = common(this.floats);
    const floats: Vector = {
      form: 'number',
      type: float,
      length: size,
      values: this.floats.size > 0 ? table.floats() : new Float64Array(0),
    };
    if (this.integers.size === 0 && this.floats.size > 0) return floats;
    const unsigned: Vector = {
      form: 'number',
      type: types.uint64,
      length: size,
      values: table.isHuge ? table.values(true) : new Float64Array(0),
    };
    if (this.floats.size === 0 && table.isHuge && isUnsigned(integer)) return { ...unsigned, type: integer };
    const integers: Vector = { form: 'number', type: integer, length: size, values: table.values(isUnsigned(integer)) };
    if (this.floats.size === 0 && !table.isHuge) return integers;
    const tags = Uint32Array.from(this.asFloat.array.subarray(0, size));
    for (const code of table.huge()) if (tags[code] === 0) tags[code] = 2;
    return tidy(dynamic(tags, range(0, size), [integers, floats, unsigned]));
  }
}
const common = (of: ReadonlySet<PrimitiveType>): PrimitiveType =>
  [...of].reduce((x, y) => commonNumber(x, y), of.values().next().value ?? types.int64);

/** Runs of bytes of one type. */
export class BytesPart implements Part {
  private readonly table = new BytesTable();
  private readonly type: PrimitiveType;
  private known: BytesVector | undefined;
  constructor(type: PrimitiveType) {
    this.type = type;
  }
  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.held;
  }
  codes(v: FlatVector, insert: boolean, out?: Uint32Array): Uint32Array {
    return v.form === 'bytes' ? this.table.codes(v.bytes, v.offsets, v.length, { insert }, out) : unexpected(v);
  }
  /** Codes of the rows of `v` that `index` names, which are not copied for that. */
  codesAt(v: BytesVector, index: Uint32Array, insert: boolean, out?: Uint32Array): Uint32Array {
    return this.table.codes(v.bytes, v.offsets, index.length, { insert, index }, out);
  }
  /** The code of one row, which is put in. */
  codeOf(v: BytesVector, row: number): number {
    return this.table.code(v.bytes, v.offsets[row], v.offsets[row + 1], true);
  }
  values(): Vector {
    if (this.known?.length !== this.size) this.known = this.valuesAt(range(0, this.size));
    return this.known;
  }
  valuesAt(codes: Uint32Array): BytesVector {
    return { form: 'bytes', type: this.type, length: codes.length, ...this.table.runs(codes) };
  }
}

/** Small numbers of some kind: bools, enum symbols, null, types by their place in a table. */
export class SmallPart implements Part {
  private readonly byNumber: Uint32Array[] = [new Uint32Array(8).fill(none)];
  private readonly numbers = new Uint32List();
  private readonly typeNumbers = new Map<Type, number>();
  private readonly kind: EnumType | 'bool' | 'null' | 'type';
  constructor(kind: EnumType | 'bool' | 'null' | 'type') {
    this.kind = kind;
  }
  get size(): number {
    return this.numbers.length;
  }
  get bytes(): number {
    return this.numbers.length * 40;
  }
  private code(n: number, insert: boolean): number {
    let table = this.byNumber[0];
    if (n >= table.length) {
      const grown = new Uint32Array(Math.max(n + 1, table.length * 2)).fill(none);
      grown.set(table);
      table = this.byNumber[0] = grown;
    }
    if (table[n] === none && insert) {
      table[n] = this.numbers.length;
      this.numbers.push(n);
    }
    return table[n];
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    const out = new Uint32Array(v.length);
    switch (v.form) {
      case 'bool':
        for (let i = 0; i < v.length; i++) out[i] = this.code(v.values[i], insert);
        return out;
      case 'null':
        return v.length > 0 ? out.fill(this.code(0, insert)) : out;
      case 'enum':
        for (let i = 0; i < v.length; i++) out[i] = this.code(v.codes[i], insert);
        return out;
      case 'type':
        for (let i = 0; i < v.length; i++) out[i] = this.code(this.typeNumber(v.table[v.codes[i]]), insert);
        return out;
      default:
        return unexpected(v);
    }
  }
  private typeNumber(t: Type): number {
    let n = this.typeNumbers.get(t);
    if (n === undefined) this.typeNumbers.set(t, (n = this.typeNumbers.size));
    return n;
  }
  values(): Vector {
    const length = this.size;
    const numbers = this.numbers.array.slice(0, length);
    if (this.kind === 'bool') return { form: 'bool', length, values: Uint8Array.from(numbers) };
    if (this.kind === 'null') return { form: 'null', length };
    if (this.kind === 'type') return { form: 'type', length, codes: numbers, table: [...this.typeNumbers.keys()] };
    return { form: 'enum', type: this.kind, length, codes: numbers };
  }
}

/** Lists, maps and unions of one type, by their encoding. */
export class EncodedPart implements Part {
  private readonly table = new BytesTable();
  /** The values since `given`; a builder gives its rows away. */
  private firsts: Builder;
  private given: Vector | undefined;
  private readonly type: Type;
  constructor(type: Type) {
    this.type = type;
    this.firsts = new Builder(type);
  }
  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.held * 2;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    const out = new Uint32Array(v.length);
    const writer = new ByteWriter();
    for (let i = 0; i < v.length; i++) {
      const data = dataAt(v, i);
      const size = this.table.size;
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

/** A vector of another class came. */
export const unexpected = (v: Vector): never => {
  throw new Error(`vector of form ${v.form} where another class was promised`);
};
