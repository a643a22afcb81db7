/**
 * A data object's rows as a Parquet file, in row groups (cuts.ts), with the ids of the table's columns, and what the
 * manifests say of it.
 */
import type { ColumnMetaData, RowGroup } from 'hyparquet';
import { ParquetFile } from '../formats/parquet/file.ts';
import { smallPages } from '../formats/parquet/page-codecs.ts';
import { schemaOf } from '../formats/parquet/schema-write.ts';
import type { Vector } from '../vectors/vector.ts';
import type { TableColumn } from './columns.ts';
import { Digest } from './stored/digest.ts';
import { Cuts, groupBytes, groupRows } from './cuts.ts';
import { type FileColumns, Fitting } from './fit.ts';
import { isSized, partsOf } from './kinds.ts';
import { parquetColumns } from './schema.ts';

/** Columns that the manifests tell the bounds of: the pool's key and the first ones. */
const boundedColumnsMax = 16;
/** What bounds have of texts (characters) and bytes at most; readers cut them there as well. */
const boundLengthMax = 16;

/** What is known of a column of a file. Bounds as Iceberg encodes single values, in base64. */
export interface ColumnFigures {
  readonly id: number;
  readonly bytes: number;
  readonly values: number;
  readonly nulls: number;
  readonly lower?: string;
  readonly upper?: string;
}
/** What is known of a file. */
export interface FileFigures {
  readonly rows: number;
  readonly bytes: number;
  readonly digest: string;
  readonly columns: readonly ColumnFigures[];
}

/** Writes one file: `add` for each batch of rows, then `end`; both give bytes as they are made. */
export class RenditionWriter {
  private readonly columns: FileColumns;
  private readonly fitting: Fitting;
  private readonly file = new ParquetFile(smallPages);
  private cuts = new Cuts();
  /** Of rows that wait for their group. */
  private heldBytes = 0;
  private rows = 0;
  private bytes = 0;
  private readonly digest = new Digest();

  /** `columns`: those that the rows need, as their survey found. */
  constructor(columns: FileColumns) {
    this.columns = columns;
    this.fitting = new Fitting(this.columns);
  }

  *add(batch: Vector): Generator<Uint8Array> {
    for (const { piece, bytes, isEnd } of this.cuts.of(batch)) {
      const { length } = this.fitting;
      if (length > 0 && (length + piece.length > groupRows || this.heldBytes + bytes > groupBytes)) yield* this.group();
      this.fitting.add(piece);
      this.heldBytes += bytes;
      if (isEnd) yield* this.group();
    }
  }
  /** The rows of another object follow: they are cut where a file of its own has them cut. */
  next(): void {
    this.cuts = new Cuts();
  }
  *end(): Generator<Uint8Array> {
    if (this.fitting.length > 0) yield* this.group();
    this.start();
    yield* this.counted(this.file.end());
  }
  /** Once, at the end. */
  figures(): FileFigures {
    return {
      rows: this.rows,
      bytes: this.bytes,
      digest: this.digest.end(),
      columns: figuresOf(this.columns, this.file.groups),
    };
  }

  /** The rows of the first group say how variants are shredded. */
  private start(): void {
    if (this.file.hasSchema) return;
    this.fitting.shape();
    const { shapes } = this.columns;
    this.file.start(schemaOf(parquetColumns({ below: (parent) => this.columns.below(parent), shapes })));
  }
  private *group(): Generator<Uint8Array> {
    this.start();
    const rows = this.fitting.take();
    this.heldBytes = 0;
    this.rows += rows.length;
    yield* this.counted(this.file.group(rows));
  }
  private *counted(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
    for (const piece of pieces) {
      this.bytes += piece.length;
      this.digest.add(piece);
      yield piece;
    }
  }
}

const figuresOf = (columns: FileColumns, groups: readonly RowGroup[]): readonly ColumnFigures[] => {
  const scalars = columns.below(0).filter(({ kind }) => partsOf(kind).form === 'scalar');
  const chunks = new Map<string, ColumnMetaData[]>(scalars.map(({ name }) => [name, []]));
  for (const group of groups)
    for (const { meta_data: data } of group.columns)
      if (data?.path_in_schema.length === 1) chunks.get(data.path_in_schema[0]!)?.push(data);
  return scalars.slice(0, boundedColumnsMax).map((column) => figuresIn(column, chunks.get(column.name) ?? []));
};

const figuresIn = (column: TableColumn, chunks: readonly ColumnMetaData[]): ColumnFigures => {
  let bytes = 0;
  let values = 0;
  let nulls = 0;
  const lows: Bound[] = [];
  const highs: Bound[] = [];
  let isBounded = true;
  for (const { statistics, num_values, total_compressed_size } of chunks) {
    bytes += Number(total_compressed_size);
    values += Number(num_values);
    nulls += Number(statistics?.null_count ?? 0);
    const low = boundOf(statistics?.min_value);
    const high = boundOf(statistics?.max_value);
    if (low !== undefined && high !== undefined) {
      lows.push(low);
      highs.push(high);
    } else if (statistics?.null_count !== num_values) isBounded = false;
  }
  const known = { id: column.id, bytes, values, nulls };
  if (!isBounded || lows.length === 0) return known;
  const lower = encoded(
    column.kind,
    lows.reduce((a, b) => (isBelow(b, a) ? b : a)),
    'lower',
  );
  const upper = encoded(
    column.kind,
    highs.reduce((a, b) => (isBelow(a, b) ? b : a)),
    'upper',
  );
  return {
    ...known,
    ...(lower && { lower: lower.toString('base64') }),
    ...(upper && { upper: upper.toString('base64') }),
  };
};

type Bound = number | bigint | boolean | Uint8Array;
const boundOf = (value: unknown): Bound | undefined =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value instanceof Uint8Array
    ? value
    : undefined;
const isBelow = (a: Bound, b: Bound): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) < 0 : a < b;

/** A bound as Iceberg has single values (appendix D of its specification); undefined where there is none so short. */
const encoded = (kind: string, bound: Bound, end: 'lower' | 'upper'): Buffer | undefined => {
  if (typeof bound === 'boolean') return Buffer.of(bound ? 1 : 0);
  if (bound instanceof Uint8Array) return kind === 'bytes' ? cutBytes(bound, end) : cutText(bound, end);
  if (isSized(kind)) return shortestBytes(BigInt(bound));
  const out = Buffer.alloc(kind === 'date' ? 4 : 8);
  if (kind === 'date') out.writeInt32LE(Number(bound));
  else if (typeof bound === 'bigint') out.writeBigInt64LE(bound);
  else out.writeDoubleLE(bound);
  return out;
};
/** An integer as decimals have it: in as few bytes as it needs, the most significant one first. */
const shortestBytes = (value: bigint): Buffer => {
  const out = Buffer.alloc(8);
  out.writeBigInt64BE(value);
  let size = 1;
  while (BigInt.asIntN(size * 8, value) !== value) size++;
  return out.subarray(8 - size);
};
const cutBytes = (bytes: Uint8Array, end: 'lower' | 'upper'): Buffer | undefined => {
  const cut = Buffer.from(bytes.subarray(0, boundLengthMax));
  if (bytes.length <= boundLengthMax || end === 'lower') return cut;
  for (let at = cut.length - 1; at >= 0; at--) {
    if (cut[at]! === 0xff) continue;
    cut[at]!++;
    return cut.subarray(0, at + 1);
  }
  return undefined;
};
const surrogates = { first: 0xd800, after: 0xe000 };
const cutText = (bytes: Uint8Array, end: 'lower' | 'upper'): Buffer | undefined => {
  const points = Array.from(Buffer.from(bytes).toString('utf8'), (c) => c.codePointAt(0)!);
  const cut = points.slice(0, boundLengthMax);
  if (points.length > boundLengthMax && end === 'upper') {
    while (cut.length > 0 && cut.at(-1)! >= 0x10ffff) cut.pop();
    const last = cut.pop();
    if (last === undefined) return undefined;
    cut.push(last + 1 === surrogates.first ? surrogates.after : last + 1);
  }
  return Buffer.from(String.fromCodePoint(...cut), 'utf8');
};
