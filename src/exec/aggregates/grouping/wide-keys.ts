/**
 * Groups by several keys where whole numbers come in very many values, such as ids and addresses: these are part of the
 * group's row as they are, in one or two words, and have no codes of their own. Other keys are there by their codes.
 *
 * A table of codes for each column and one of their combinations took 2.5 times the memory for 1,000,000 groups by two
 * ids, so that most of them were spilled, and a place far away to look at for each of the columns.
 */
import { type PrimitiveType, commonNumber } from '../../../vectors/type.ts';
import { type NumberArray, type Vector, flatten, numbers, gather } from '../../../vectors/vector.ts';
import type { ColumnCodes } from './codes.ts';
import { none } from './pair-table.ts';
import { RowTable } from './row-table.ts';
import { Room } from './tables.ts';

/** A table has room for no more rows than that before they come: 4 MB of three words each. */
const roomMax = 1 << 17;

/** Columns with fewer values keep their codes. */
const wideValuesMin = 1 << 14;

/** Where a key is in the row: from word `at` on. */
interface Place {
  readonly codes: ColumnCodes;
  readonly at: number;
  /** Of numbers, in one word as far as all of them fit. */
  readonly numbers?: { readonly types: ReadonlySet<PrimitiveType>; readonly words: 1 | 2 };
}
type Whole = Float64Array | BigInt64Array;

export class WideKeys {
  private readonly places: Place[] = [];
  private table: RowTable;
  private readonly given = new Room();
  private constructor(columns: readonly (readonly [ColumnCodes, Place['numbers']])[], rows: number) {
    let at = 0;
    for (const [codes, own] of columns) {
      this.places.push({ codes, at, ...(own && { numbers: own }) });
      at += own?.words ?? 1;
    }
    this.table = new RowTable(at, rows);
  }

  /** The groups that there are, by the codes of each column; undefined where no column is of many numbers. */
  static of(columns: readonly ColumnCodes[], codes: () => readonly Uint32Array[]): WideKeys | undefined {
    const types = columns.map((c) => (c.size >= wideValuesMin ? c.wholeTypes : undefined));
    if (types.every((t) => t === undefined)) return undefined;
    const given = codes();
    const length = given[0].length;
    const values = columns.map((c, k) => (types[k] ? gather(c.values(), given[k]) : undefined));
    const wide = new WideKeys(
      columns.map((c, k) => {
        const v = values[k];
        const own = types[k];
        return [
          c,
          own && v?.form === 'number' ? { types: own, words: isNarrow(v.values as Whole, length) ? 1 : 2 } : undefined,
        ];
      }),
      length,
    );
    wide.fill(
      length,
      wide.places.map((p, k) => (p.numbers ? values[k]! : given[k]!)),
    );
    for (const { codes: column, numbers: own } of wide.places) if (own) column.clear();
    return wide;
  }
  /**
   * The same kinds of keys, without groups; `columns`: where the other keys have their codes; `rows`: so many come,
   * most of which may be groups of their own. 130,000 of them take 0.75 of the processor time in a table that need not
   * grow.
   */
  empty(columns: readonly ColumnCodes[], rows: number): WideKeys {
    return new WideKeys(
      this.places.map((p, k) => [columns[k], p.numbers]),
      Math.min(rows, roomMax),
    );
  }
  /** Puts in rows of numbers, or of codes where a column has these. */
  private fill(length: number, columns: readonly (Vector | Uint32Array)[]): void {
    const { words } = this.table;
    const rows = new Uint32Array(length * words);
    this.places.forEach(({ at, numbers: own }, k) => {
      const column = columns[k];
      if (column instanceof Uint32Array) place(rows, words, at, column, length);
      else if (column.form === 'number')
        placeNumbers(rows, { words, at, wide: own!.words === 2 }, column.values as Whole, length);
    });
    this.table.codes(rows, length, true, new Uint32Array(length));
  }

  get size(): number {
    return this.table.size;
  }
  get bytes(): number {
    return this.table.bytes + this.places.reduce((n, p) => n + p.codes.bytes, 0);
  }

  /** The group of each row; undefined where a key is not of the kind that its column has had so far. */
  codes(keys: readonly Vector[], length: number, insert: boolean, out: Uint32Array): Uint32Array | undefined {
    const columns = keys.map((k, n) => wholeNumbers(k, this.places[n]));
    if (this.places.some((p, k) => p.numbers && !columns[k])) return undefined;
    this.widen(columns, length);
    const { words } = this.table;
    const rows = this.given.of(length * words);
    let unknown: Uint32Array | undefined;
    this.places.forEach(({ codes, at, numbers: own }, k) => {
      if (own) placeNumbers(rows, { words, at, wide: own.words === 2 }, columns[k]!, length);
      else {
        const column = codes.codes(keys[k], insert, false);
        place(rows, words, at, column, length);
        if (!insert && column.includes(none)) unknown = merged(unknown, column);
      }
    });
    this.table.codes(rows, length, insert, out);
    if (unknown) for (let i = 0; i < length; i++) if (unknown[i] === none) out[i] = none;
    return out;
  }
  /** Columns of one word get two if numbers come that do not fit. */
  private widen(columns: readonly (Whole | undefined)[], length: number): void {
    const grows = this.places.map((p, k) => p.numbers?.words === 1 && !isNarrow(columns[k]!, length));
    if (!grows.includes(true)) return;
    const { size } = this;
    const before = this.places.map((p) => this.column(p, 0));
    const wider = new WideKeys(
      this.places.map((p, k) => [p.codes, p.numbers && grows[k] ? { ...p.numbers, words: 2 } : p.numbers]),
      size,
    );
    wider.fill(size, before);
    this.table = wider.table;
    this.places.splice(0, this.places.length, ...wider.places);
  }

  /** The key columns of the groups from `of` on, or of those that it names. */
  keys(of: number | Uint32Array): Vector[] {
    return this.places.map((p) => {
      const column = this.column(p, of);
      return column instanceof Uint32Array ? p.codes.valuesAt(column) : column;
    });
  }
  /** The numbers of a column, or its codes. */
  private column({ at, numbers: own }: Place, of: number | Uint32Array): Vector | Uint32Array {
    const low = this.table.column(at, of);
    if (!own) return low;
    const type = [...own.types].reduce((a, b) => (a === b ? a : commonNumber(a, b)));
    if (own.words === 1) return numbers(type, narrowNumbers(low));
    return numbers(type, wideNumbers(low, this.table.column(at + 1, of)));
  }
  /** Codes of all groups in each column, which have them again from here on. */
  codesOfAll(): Uint32Array[] {
    return this.places.map((p) => {
      const column = this.column(p, 0);
      if (column instanceof Uint32Array) return column;
      let codes = new Uint32Array(0);
      for (const type of p.numbers!.types)
        codes = p.codes.codes({ ...column, type } as Vector) as Uint32Array<ArrayBuffer>;
      return codes;
    });
  }
}

/** The numbers of a key, if they are of a type that its column has had so far. */
const wholeNumbers = (key: Vector, { numbers: own }: Place): Whole | undefined => {
  if (!own) return undefined;
  const v = flatten(key);
  return v.form === 'number' && own.types.has(v.type) && isWhole(v.values) ? v.values : undefined;
};
const isWhole = (values: NumberArray): values is Whole => !(values instanceof BigUint64Array);

/** Whether all numbers fit 32 bits. */
const isNarrow = (values: Whole, length: number): boolean => {
  if (values instanceof Float64Array) {
    for (let i = 0; i < length; i++) if ((values[i] | 0) !== values[i]) return false;
    return true;
  }
  const halves = new Int32Array(values.buffer, values.byteOffset, length * 2);
  for (let i = 0; i < halves.length; i += 2) if (halves[i] >> 31 !== halves[i + 1]) return false;
  return true;
};

const place = (rows: Uint32Array, words: number, at: number, column: Uint32Array, length: number): void => {
  for (let i = 0, to = at; i < length; i++, to += words) rows[to] = column[i];
};
const placeNumbers = (
  rows: Uint32Array,
  { words, at, wide }: { readonly words: number; readonly at: number; readonly wide: boolean },
  values: Whole,
  length: number,
): void => {
  if (!(values instanceof Float64Array)) {
    const halves = new Uint32Array(values.buffer, values.byteOffset, length * 2);
    for (let i = 0, to = at; i < length; i++, to += words) rows[to] = halves[2 * i];
    if (wide) for (let i = 0, to = at + 1; i < length; i++, to += words) rows[to] = halves[2 * i + 1];
    return;
  }
  for (let i = 0, to = at; i < length; i++, to += words) rows[to] = values[i];
  if (wide) for (let i = 0, to = at + 1; i < length; i++, to += words) rows[to] = Math.floor(values[i] / 4294967296);
};
const narrowNumbers = (low: Uint32Array): Float64Array => {
  const out = new Float64Array(low.length);
  for (let i = 0; i < out.length; i++) out[i] = low[i] | 0;
  return out;
};
const wideNumbers = (low: Uint32Array, high: Uint32Array): Whole => {
  const out = new Float64Array(low.length);
  for (let i = 0; i < out.length; i++) {
    const x = (high[i] | 0) * 4294967296 + low[i];
    if (!Number.isSafeInteger(x)) return bigNumbers(low, high);
    out[i] = x;
  }
  return out;
};
const bigNumbers = (low: Uint32Array, high: Uint32Array): BigInt64Array => {
  const halves = new Uint32Array(low.length * 2);
  for (let i = 0; i < low.length; i++) {
    halves[2 * i] = low[i];
    halves[2 * i + 1] = high[i];
  }
  return new BigInt64Array(halves.buffer);
};
/** Rows that have no code in one of the columns or the other. */
const merged = (unknown: Uint32Array | undefined, column: Uint32Array): Uint32Array =>
  unknown ? unknown.map((x, i) => (x === none ? none : column[i])) : column.slice();
