/**
 * The rows of writers whose records must all have one type: the first row's. Batches are gathered to groups of a given
 * size.
 *
 * Invariant: what is given out has the type that `start` was called with; the rows before one of another type are given
 * out before the error.
 */
import { LakeError } from '../../errors.ts';
import { concat } from '../../vectors/concat.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { supText } from '../../vectors/sup/print.ts';
import { type RecordType, type Type, typeText } from '../../vectors/type.ts';
import { shownSize } from '../../vectors/shown-size.ts';
import { chargeHeld } from '../../vectors/stop.ts';
import { type RecordVector, type Vector, flatten, slice, valueAt } from '../../vectors/vector.ts';
import { settled } from './out.ts';
import { withoutLongDecimals } from './decimals.ts';

/** How a writer takes its rows. */
interface RowGroups {
  /** What the errors call the writer. */
  readonly writer: string;
  /** Rows that are given out together, save for the last ones. */
  readonly rows: number;
  /** Rows that take about so many bytes are given out, however few they are. */
  readonly bytes: number;
  /** The same, if it is less at the moment. */
  readonly gatherBytesMax?: (() => number) | undefined;
  /** Told the type of the records before the first of them. @throws LakeError `write-columns-unsupported` */
  start(type: RecordType): void;
}

/** The rows of one writer: batches go in, groups come out. */
export class RecordRows {
  private readonly groups: RowGroups;
  private type: RecordType | undefined;
  /** The type of the rows that wait, which may have long decimals where others have none. */
  private own: RecordType | undefined;
  private pending: RecordVector[] = [];
  private length = 0;
  private bytes = 0;

  constructor(groups: RowGroups) {
    this.groups = groups;
  }

  /** @throws LakeError `write-columns-not-record`, `write-columns-types`, `write-columns-unsupported` */
  *add(batch: Vector): Generator<RecordVector> {
    const plain = unwrapped(batch);
    const { table, codes } = typesOf(plain);
    const records = table.map(recordOf);
    for (let start = 0; start < plain.length; ) {
      const own = records[codes ? codes[start] : 0];
      const type = own && withoutLong(own);
      if (!type || (this.type && type !== this.type)) {
        yield* this.flush();
        throw this.fault(batch, start, type);
      }
      if (!this.type) {
        this.groups.start(type);
        this.type = type;
      }
      let end = codes ? start + 1 : plain.length;
      while (codes && end < plain.length && records[codes[end]] === own) end++;
      if (own !== this.own) yield* this.flush();
      this.own = own;
      yield* this.take(slice(plain, start, end));
      start = end;
    }
  }
  /** The rows that wait. */
  *flush(): Generator<RecordVector> {
    if (this.length > 0) yield this.joined();
  }

  private *take(rows: Vector): Generator<RecordVector> {
    const { rows: rowsMax, bytes, gatherBytesMax } = this.groups;
    const bytesMax = Math.min(bytes, gatherBytesMax?.() ?? bytes);
    const rowBytes = shownSize(rows) / rows.length;
    for (let start = 0; start < rows.length; ) {
      const fit = rowBytes === 0 ? rowsMax : Math.max(1, Math.floor((bytesMax - this.bytes) / rowBytes));
      const end = Math.min(rows.length, start + rowsMax - this.length, start + fit);
      this.pending.push(recordsOf(slice(rows, start, end)));
      this.length += end - start;
      this.bytes += (end - start) * rowBytes;
      chargeHeld((end - start) * rowBytes);
      if (this.length >= rowsMax || this.bytes + rowBytes > bytesMax) yield this.joined();
      start = end;
    }
  }
  private joined(): RecordVector {
    const all = this.pending.length === 1 ? this.pending[0] : recordsOf(concat(this.pending));
    this.pending = [];
    this.length = 0;
    this.bytes = 0;
    return all;
  }
  private fault(v: Vector, row: number, type: RecordType | undefined): LakeError {
    const { writer } = this.groups;
    if (!type) return new LakeError('write-columns-not-record', { writer, value: supText(valueAt(v, row)) });
    return new LakeError('write-columns-types', { writer, first: typeText(this.type!), other: typeText(type) });
  }
}

/** Rows without the names and unions around them. */
const unwrapped = (v: Vector): Vector => {
  switch (v.form) {
    case 'named':
      return unwrapped(v.inner);
    case 'union':
      return unwrapped({ form: 'dynamic', length: v.length, tags: v.tags, slots: v.slots, parts: v.members });
    case 'dynamic':
      return v.parts.some((p) => p.form === 'named' || p.form === 'union' || p.form === 'selected')
        ? { ...v, parts: v.parts.map(unwrapped) }
        : v;
    case 'selected':
      return v.base.form === 'record' ? v : unwrapped(flatten(v));
    case 'dictionary':
    case 'constant':
      return unwrapped(flatten(v));
    default:
      return v;
  }
};
const withoutLong = (type: RecordType): RecordType => {
  const plain = withoutLongDecimals(type);
  return plain.kind === 'record' ? plain : type;
};
const recordOf = (type: Type): RecordType | undefined =>
  type.kind === 'record' ? type : type.kind === 'named' ? recordOf(type.inner) : undefined;
/** Rows of one record type as a record vector. */
const recordsOf = (v: Vector): RecordVector => {
  switch (v.form) {
    case 'record':
      return v;
    case 'named':
      return recordsOf(v.inner);
    case 'dynamic':
      return recordsOf(settled(v));
    default:
      return recordsOf(flatten(v));
  }
};
