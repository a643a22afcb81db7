/**
 * Records of very many columns, or of very many shapes, told apart without tables for each of their columns: the values
 * of all columns have their codes in one table, and a record is known by the codes of its fields.
 *
 * A table for each column takes some kilobytes, however few its rows: 500 records of 500 fields of names of their own
 * took 900 MB that way, and take 4 MB.
 */
import type { Type } from '../../../vectors/type.ts';
import { charge, checkStop } from '../../../vectors/stop.ts';
import {
  type Field,
  type FlatVector,
  type RecordVector,
  type Vector,
  dataAt,
  gather,
  range,
  slice,
  typeAt,
  vectorBytes,
  ofForm,
} from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { concat } from '../../../vectors/concat.ts';
import { zeroData } from '../../../vectors/value.ts';
import { compact, flatSize } from '../../operators/compact.ts';
import { overlay, tidy } from '../../expressions/rows.ts';
import { type Part, unexpected } from './code-parts.ts';
import { none, what } from './pair-table.ts';
import { BytesTable } from './tables.ts';

/** What a shape takes beside its rows, and each of its fields, about. */
const shapeBytes = 1024;
const fieldBytes = 64;
/** Cells whose codes lie side by side at a time. */
const stretchCells = 1 << 18;
/** Codes of absent fields count down from here, one for each type that they have. */
const absentTop = none - 1;

/** Codes of values, as of a column. */
interface CellCodes {
  readonly size: number;
  readonly bytes: number;
  codes(v: Vector, insert: boolean): Uint32Array;
  values(): Vector;
}

/** The values of all columns of all records that share them. */
export class Cells {
  private readonly table: CellCodes;
  private readonly sql: boolean;
  private readonly absentTypes: Type[] = [];
  private readonly absent = new Map<Type, number>();
  private known: Vector | undefined;
  constructor(table: CellCodes, sql: boolean) {
    this.table = table;
    this.sql = sql;
  }
  get bytes(): number {
    return this.table.bytes;
  }
  /** The codes of a field's values. What is absent counts by its type alone, and is null in SQL. */
  codes({ values, present }: Field, insert: boolean): Uint32Array {
    if (!present) return this.table.codes(values, insert);
    const { length } = values;
    const absent = Uint8Array.from({ length }, (_, i) => 1 - present[i]);
    const filled = overlay(values, absent, { form: 'null', length });
    const codes = this.table.codes(filled, insert);
    if (!this.sql) for (let i = 0; i < length; i++) if (absent[i]) codes[i] = this.absentCode(typeAt(values, i));
    return codes;
  }
  private absentCode(type: Type): number {
    let code = this.absent.get(type);
    if (code === undefined) {
      this.absent.set(type, (code = absentTop - this.absentTypes.length));
      this.absentTypes.push(type);
    }
    return code;
  }
  /** A field whose values have these codes. */
  field({ name, optional }: Pick<Field, 'name' | 'optional'>, codes: Uint32Array): Field {
    if (this.known?.length !== this.table.size) this.known = this.table.values();
    const known = this.known;
    const least = absentTop - this.absentTypes.length;
    const present = optional ? Uint8Array.from(codes, (c) => (c > least ? 0 : 1)) : undefined;
    if (!present?.includes(0))
      return { name, optional, values: tidy(gather(known, codes)), ...(present && { present }) };
    const values = new Builder();
    for (const c of codes) {
      const type = c > least ? this.absentTypes[absentTop - c] : typeAt(known, c);
      values.appendData(type, c > least ? zeroData(type) : dataAt(known, c));
    }
    return { name, optional, values: values.finish(), present };
  }
}

/** Records of one shape, by the codes of their cells. */
export class SharedRecordPart implements Part {
  private readonly table = new BytesTable();
  private readonly cells: Cells;
  private readonly fields: readonly Pick<Field, 'name' | 'optional'>[];
  /** In SQL: the rows of the codes. Equal ones may differ in their types. */
  private readonly kept: Vector[] | undefined;
  private keptBytes = 0;
  constructor(v: RecordVector, cells: Cells, sql: boolean) {
    charge(shapeBytes + v.fields.length * fieldBytes, what);
    this.cells = cells;
    this.fields = v.fields.map(({ name, optional }) => ({ name, optional }));
    if (sql) this.kept = [];
  }
  get size(): number {
    return this.table.size;
  }
  /** Without its cells. */
  get bytes(): number {
    return shapeBytes + this.fields.length * fieldBytes + this.table.held + this.keptBytes;
  }
  codes(v: FlatVector, insert: boolean): Uint32Array {
    if (v.form !== 'record') return unexpected(v);
    const out = new Uint32Array(v.length);
    const rows = Math.max(1, Math.floor(stretchCells / this.fields.length));
    for (let start = 0; start < v.length; start += rows) {
      const piece = ofForm(slice(v, start, Math.min(v.length, start + rows)), 'record');
      this.codesOfPiece(piece, insert, out.subarray(start));
    }
    return out;
  }
  private codesOfPiece(v: RecordVector, insert: boolean, out: Uint32Array): void {
    const width = v.fields.length;
    charge(v.length * width * Uint32Array.BYTES_PER_ELEMENT, what);
    const keys = new Uint32Array(v.length * width);
    v.fields.forEach((f, k) => {
      const codes = this.cells.codes(f, insert);
      for (let i = 0, at = k; i < codes.length; i++, at += width) keys[at] = codes[i];
    });
    checkStop();
    const bytes = new Uint8Array(keys.buffer);
    const firsts: number[] = [];
    for (let i = 0; i < v.length; i++) {
      const { size } = this.table;
      out[i] = this.table.code(bytes, i * width * 4, (i + 1) * width * 4, insert);
      if (this.table.size > size) firsts.push(i);
    }
    if (!this.kept || firsts.length === 0) return;
    const rows = compact(gather(v, Uint32Array.from(firsts)));
    this.kept.push(rows);
    this.keptBytes += flatSize(rows) + width * vectorBytes;
  }
  values(): Vector {
    return this.kept ? concat(this.kept) : this.valuesAt(range(0, this.size));
  }
  valuesAt(codes: Uint32Array): Vector {
    if (this.kept) return gather(concat(this.kept), codes);
    const { length } = codes;
    const width = this.fields.length;
    charge(width * (vectorBytes + length * Uint32Array.BYTES_PER_ELEMENT), what);
    const { bytes } = this.table.runs(codes);
    const keys = new Uint32Array(bytes.buffer, bytes.byteOffset, length * width);
    return {
      form: 'record',
      length,
      fields: this.fields.map((f, k) => {
        const own = new Uint32Array(length);
        for (let i = 0, at = k; i < length; i++, at += width) own[i] = keys[at];
        return this.cells.field(f, own);
      }),
    };
  }
}
