/** The columns of a CSV of any dialect: their names, and how their cells are read. */
import type { LakeError } from '../../errors.ts';
import { Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import {
  fitsInt64,
  int64Max,
  int64Min,
  parseDuration,
  parseInteger,
  parseIp,
  parseNet,
  parseTime,
  parseUnsigned,
} from '../../vectors/literal.ts';
import { arrayType, componentsMax, types } from '../../vectors/type.ts';
import { floatOf } from '../text-cell.ts';
import { appendCell, bools } from './cells.ts';
import type { ColumnType, CsvDialect } from './dialect.ts';

/** Names of columns without a header. */
export const placesOf = (length: number): readonly string[] => Array.from({ length }, (_, i) => placeName(i));
const placeName = (i: number): string => `c${i + 1}`;
/** Names of several lines are joined, where they are not empty. */
export const namesOf = (heads: readonly (readonly string[])[]): readonly string[] => {
  const length = Math.max(...heads.map((head) => head.length));
  return Array.from({ length }, (_, i) =>
    heads
      .map((head) => (head[i] ?? '').trim())
      .filter((word) => word !== '')
      .join(' '),
  );
};

/** Cells that are tried in one builder. */
const trialsMax = 8192;

/** The columns of an input, and how their cells are read. */
export class Columns {
  private readonly names: readonly string[];
  private readonly dialect: CsvDialect;
  private readonly cells: readonly AppendCell[];
  /** Of columns whose type nobody said. */
  private readonly found: AppendCell;
  private readonly nulls: ReadonlySet<string>;
  private readonly shapes = new Map<number, Shape>();
  /** Columns whose type was said, and where their cells are tried. */
  private readonly typed: readonly number[];
  private trial = new Builder();

  constructor(names: readonly string[], dialect: CsvDialect, broken: (fault: string) => LakeError) {
    this.dialect = dialect;
    if (names.length > componentsMax) throw broken(`more than ${componentsMax} columns`);
    this.names = this.unique(names, broken);
    this.nulls = new Set(dialect.nulls);
    const said = new Map(dialect.types === 'none' ? [] : dialect.types);
    for (const name of said.keys())
      if (!this.names.includes(name))
        throw broken(
          `no column ${JSON.stringify(name)}, of which types tells: the columns are ${this.names.join(', ')}`,
        );
    this.typed = this.names.flatMap((name, i) => (said.has(name) ? [i] : []));
    const found = dialect.types === 'none' ? appendString : dialect.decimalComma ? appendCommaCell : appendFound;
    this.found = found;
    this.cells = this.names.map((name) => {
      const type = said.get(name);
      if (!type) return found;
      const typed = appendTyped[type];
      // Texts and times have no decimal sign.
      return dialect.decimalComma && numeric.has(type) ? (into, text) => typed(into, withPoint(text) ?? text) : typed;
    });
  }

  append(record: readonly string[], builder: Builder, line: number, broken: (fault: string) => LakeError): void {
    const wanted = this.names.length;
    if (record.length !== wanted) {
      const { ragged } = this.dialect;
      if (!ragged) throw broken(this.lengthFault(record));
      if (ragged === 'wrap') {
        appendWrapped(builder, record, this.lengths(record), line);
        return;
      }
    }
    const into = builder.record(this.shapeOf(Math.max(record.length, wanted)));
    const { fields } = into;
    for (let i = 0; i < fields.length; i++)
      if (!this.appendCell(fields[i], record, i)) throw broken(this.cellFault(record, i));
    into.end();
  }

  /** What `append` would refuse the row with. */
  fault(record: readonly string[]): string | undefined {
    const wanted = this.names.length;
    if (record.length !== wanted && !this.dialect.ragged) return this.lengthFault(record);
    if (record.length !== wanted && this.dialect.ragged === 'wrap') return undefined;
    for (const i of this.typed)
      if (i < record.length && !this.appendCell(this.trial, record, i)) return this.cellFault(record, i);
    if (this.trial.length > trialsMax) this.trial = new Builder();
    return undefined;
  }

  /** False: it cannot be what it should. */
  private appendCell(cell: Builder, record: readonly string[], i: number): boolean {
    const text = record[i] ?? '';
    if (text !== '' && !this.nulls.has(text)) return (this.cells[i] ?? this.found)(cell, text);
    cell.null();
    return true;
  }
  private cellFault(record: readonly string[], i: number): string {
    return `column ${JSON.stringify(this.names[i])}: ${JSON.stringify(record[i])} is not of the type that types gives it`;
  }
  private lengthFault(record: readonly string[]): string {
    return `wrong number of fields: ${this.lengths(record)} (csv.ragged=fill or wrap takes such rows, csv.skip lines before the header)`;
  }
  private lengths({ length }: readonly string[]): string {
    return `${length} ${length === 1 ? 'cell' : 'cells'} in place of ${this.names.length}`;
  }

  /** Of a row of so many cells: those behind the last column are named by their place. */
  private shapeOf(length: number): Shape {
    let shape = this.shapes.get(length);
    if (!shape) {
      const names = placesOf(length).map((place, i) => this.names[i] ?? place);
      shape = shapeOf(numbered(names).map((name) => ({ name })));
      this.shapes.set(length, shape);
    }
    return shape;
  }

  private unique(names: readonly string[], broken: (fault: string) => LakeError): readonly string[] {
    const seen = new Set<string>();
    const again = this.dialect.names === 'number' ? undefined : names.find((name) => seen.size === seen.add(name).size);
    if (again !== undefined) throw broken(`duplicate field: "${again}" (csv.names=number tells them apart)`);
    return numbered(names);
  }
}

/** The names, each once: one that comes again has a number. */
const numbered = (names: readonly string[]): readonly string[] => {
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((name) => {
    let own = name;
    let n = numbers.get(name) ?? 1;
    while (seen.has(own)) own = `${name}_${++n}`;
    numbers.set(name, n);
    seen.add(own);
    return own;
  });
};

const wrapped = shapeOf([{ name: 'message' }, { name: 'line' }, { name: 'cells' }]);
const strings = arrayType(types.string);
const appendWrapped = (builder: Builder, record: readonly string[], fault: string, line: number): void => {
  const into = builder.error().record(wrapped);
  into.fields[0].text(fault);
  into.fields[1].number(types.int64, line);
  into.fields[2].append({ type: strings, data: record });
  into.end();
};

/** `1.234,5` as `1234.5`; undefined: it is no such number. A group of thousands does not begin with 0. */
const withPoint = (text: string): string | undefined =>
  /^\s*[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?(?:e[+-]?\d+)?\s*$/i.test(text)
    ? text.trim().replaceAll('.', '').replace(',', '.')
    : undefined;

const numeric: ReadonlySet<ColumnType> = new Set(['float64', 'int64', 'uint64']);

/** Appends the text of a cell; false: it cannot be what it should. */
type AppendCell = (builder: Builder, text: string) => boolean;
const appendString: AppendCell = (builder, text) => {
  builder.text(text);
  return true;
};
const appendFound: AppendCell = (builder, text) => {
  const bytes = Buffer.from(text);
  appendCell(builder, bytes, 0, bytes.length);
  return true;
};
/** With a decimal comma a point stands between thousands: `1.5` is a text. */
const appendCommaCell: AppendCell = (builder, text) => {
  const number = withPoint(text);
  return number === undefined && text.includes('.')
    ? appendString(builder, text)
    : appendFound(builder, number ?? text);
};
const whole =
  (parse: (text: string) => number | bigint | undefined, type: typeof types.int64 | typeof types.uint64): AppendCell =>
  (builder, text) => {
    const x = parse(text.trim());
    if (x === undefined || (type === types.int64 && (BigInt(x) > int64Max || BigInt(x) < int64Min))) return false;
    builder.number(type, x);
    return true;
  };
const run =
  (parse: (text: string) => Uint8Array | undefined, type: typeof types.ip | typeof types.net): AppendCell =>
  (builder, text) => {
    const bytes = parse(text.trim());
    if (bytes) builder.run(type, bytes, 0, bytes.length);
    return bytes !== undefined;
  };
const nanos =
  (parse: (text: string) => number | bigint | undefined, type: typeof types.time | typeof types.duration): AppendCell =>
  (builder, text) => {
    const x = parse(text.trim());
    if (x === undefined || !fitsInt64(x)) return false;
    builder.number(type, x);
    return true;
  };
/** Readers of columns whose type is said. */
const appendTyped: Readonly<Record<ColumnType, AppendCell>> = {
  string: appendString,
  bool: (builder, text) => {
    const x = bools.get(text.trim());
    if (x !== undefined) builder.bool(x);
    return x !== undefined;
  },
  int64: whole(parseInteger, types.int64),
  uint64: whole(parseUnsigned, types.uint64),
  float64: (builder, text) => {
    const x = floatOf(text.trim());
    if (x !== undefined) builder.number(types.float64, x);
    return x !== undefined;
  },
  time: nanos((text) => parseTime(dateTime(text)), types.time),
  duration: nanos(parseDuration, types.duration),
  ip: run(parseIp, types.ip),
  net: run(parseNet, types.net),
};
/** A date alone, or with a time behind a blank and without a zone, is one of UTC. */
const dateTime = (text: string): string => {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (!parts) return text;
  const [, date, time = '00:00:00', zone = 'Z'] = parts;
  return `${date}T${time.length === 5 ? `${time}:00` : time}${zone}`;
};
