/**
 * Rows that follow one another on both sides, compared column by column and many at once: bytes with bytes. Two versions
 * of a pool are mostly such runs, and of the columns of changed rows mostly few are others: hardly a value is looked at
 * by itself.
 *
 * Invariant: what is told of a pair of rows is what `Differences` (different.ts) tells, and with `byField` the fields are
 * those of `differingFields` (fields.ts).
 */
import type { TimeTexts } from '../../vectors/texts/times.ts';
import { timesBehind } from '../../vectors/texts/times.ts';
import { checkStop } from '../../vectors/stop.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { isFloat } from '../../vectors/type.ts';
import {
  type BytesVector,
  type DictionaryVector,
  type Field,
  type RecordVector,
  type SelectedVector,
  type Vector,
  range,
} from '../../vectors/vector.ts';
import { type Differences, type Pairs, alikeRecords, flatBehind } from './different.ts';

/** Places of rows that follow one another: `lengths[n]` rows from a[n] and from b[n] on, which are the pairs from at[n] on. */
export class Runs {
  private readonly a = new Uint32List();
  private readonly b = new Uint32List();
  private readonly lengths = new Uint32List();
  private readonly at = new Uint32List();
  /** Of all runs. */
  rows = 0;
  push(a: number, b: number, length: number, at = this.rows): void {
    this.a.push(a);
    this.b.push(b);
    this.lengths.push(length);
    this.at.push(at);
    this.rows += length;
  }
  each(take: (a: number, b: number, length: number, at: number) => void): void {
    for (let n = 0; n < this.lengths.length; n++)
      take(this.a.array[n]!, this.b.array[n]!, this.lengths.array[n]!, this.at.array[n]!);
  }
}

/** Runs of rows of two vectors. */
export interface RunPart {
  readonly before: Vector;
  readonly after: Vector;
  readonly runs: Runs;
}
/** In which pairs a field differs: 1 there. */
export interface FieldMarks {
  readonly path: readonly string[];
  readonly marks: Uint8Array;
}
export interface RunMarks {
  /** 1 for pairs of rows that differ. */
  readonly differs: Uint8Array;
  /** Of all pairs, the fields in the order of the record; undefined: not asked for, or not told by columns. */
  readonly fields: readonly FieldMarks[] | undefined;
}

/** What differs in the pairs of all parts, `total` together, which are `withoutViews`. */
export const markRuns = (
  parts: readonly RunPart[],
  total: number,
  { differences, byField }: { readonly differences: Differences; readonly byField: boolean },
): RunMarks => {
  const differs = new Uint8Array(total);
  const fields = new Map<string, FieldMarks>();
  let names: string | undefined;
  let areTold = byField;
  for (const part of parts) {
    const columns = columnsOf(part, byField && areTold);
    const own = JSON.stringify(columns?.map(({ path }) => path));
    if (!columns || (names ??= own) !== own) areTold = false;
    const rows = splitRuns(part.runs);
    for (const column of columns ?? [columnOf(part.before, part.after, [])]) {
      const marks = markColumn(column, rows, areTold ? undefined : differs, { total, differences });
      if (!marks || marks === differs) continue;
      const text = JSON.stringify(column.path);
      const known = fields.get(text)?.marks;
      if (known) for (let n = 0; n < total; n++) known[n]! |= marks[n]!;
      else fields.set(text, { path: column.path, marks });
    }
  }
  for (const { marks } of fields.values()) for (let n = 0; n < total; n++) differs[n]! |= marks[n]!;
  if (!areTold || names === undefined) return { differs, fields: undefined };
  const paths = JSON.parse(names) as readonly (readonly string[])[];
  return { differs, fields: paths.flatMap((path) => fields.get(JSON.stringify(path)) ?? []) };
};

/** Runs of the vectors that hold the rows themselves. */
export const withoutViews = (part: RunPart): RunPart => {
  const { before, after, runs } = part;
  if (before.form === 'selected')
    return withoutViews({ before: before.base, after, runs: followed(runs, before, (a) => a) });
  if (after.form === 'selected')
    return withoutViews({ before, after: after.base, runs: followed(runs, after, (_, b) => b) });
  if (before.form === 'named' && after.form === 'named' && before.name === after.name)
    return withoutViews({ before: before.inner, after: after.inner, runs });
  return part;
};
const followed = (runs: Runs, { index }: SelectedVector, pick: (a: number, b: number) => number): Runs => {
  const out = new Runs();
  runs.each((a, b, length, at) => {
    const isOfA = pick(1, 0) === 1;
    const start = pick(a, b);
    for (let from = 0, to = 0; from < length; from = to) {
      const place = index[start + from]!;
      for (to = from + 1; to < length && index[start + to] === place + to - from; to++);
      out.push(isOfA ? place : a + from, isOfA ? b + from : place, to - from, at + from);
    }
  });
  return out;
};

/** Whether `n` rows from `i` on of the one side are those from `j` on of the other; false: they may be. */
type SameRows = (i: number, j: number, n: number) => boolean;
/** Two columns that are compared. */
interface ColumnPair {
  readonly path: readonly string[];
  readonly a: Vector;
  readonly b: Vector;
}
const columnOf = (a: Vector, b: Vector, path: readonly string[]): ColumnPair => ({ path, a, b });

/** The columns of records of one shape. Undefined: they are others; `byField`: or fields in them are to be found deeper. */
const columnsOf = ({ before, after }: RunPart, byField: boolean): readonly ColumnPair[] | undefined => {
  const found: ColumnPair[] = [];
  const look = (a: Vector, b: Vector, path: readonly string[]): boolean => {
    if (a.form !== 'record' || b.form !== 'record' || !alikeRecords(a, b)) return false;
    return a.fields.every((field, k) => lookAt(field, b.fields[k]!, [...path, field.name]));
  };
  const lookAt = (a: Field, b: Field, path: readonly string[]): boolean => {
    const { length } = found;
    if (!a.present && !b.present && look(a.values, b.values, path)) return true;
    found.length = length;
    if (byField && mayHoldFields(a.values, b.values)) return false;
    if (!a.present && !b.present) found.push(columnOf(a.values, b.values, path));
    else found.push(columnOf(alone(a), alone(b), path));
    return true;
  };
  return look(before, after, []) ? found : undefined;
};
/** A field that some rows lack, as records of it. */
const alone = (field: Field): RecordVector => ({ form: 'record', length: field.values.length, fields: [field] });
const mayHoldFields = (a: Vector, b: Vector): boolean => {
  const [left, right] = [flatFormOf(a), flatFormOf(b)];
  return (
    left === 'dynamic' ||
    right === 'dynamic' ||
    (left === 'named' && right === 'named') ||
    (left === 'record' && right === 'record')
  );
};
const noPlaces = new Uint32Array(0);
const flatFormOf = (v: Vector): Vector['form'] => flatBehind(v, noPlaces)[0].form;

/** Rows that are compared at once, and those of a part of them where they are not the same. */
const runRows = 1024;
const partRows = 128;
/** Shorter runs are compared pair by pair. */
const shortRows = 8;

/** Runs that are long enough to be compared as such, and the pairs of the others with their numbers. */
interface SplitRuns {
  readonly long: Runs;
  readonly short: Pairs & { readonly at: Uint32Array };
}
const splitRuns = (runs: Runs): SplitRuns => {
  const long = new Runs();
  const [a, b, places] = [new Uint32List(), new Uint32List(), new Uint32List()];
  runs.each((i, j, n, at) => {
    if (n >= shortRows) long.push(i, j, n, at);
    else
      for (let k = 0; k < n; k++) {
        a.push(i + k);
        b.push(j + k);
        places.push(at + k);
      }
  });
  return { long, short: { a: a.done(), b: b.done(), at: places.done() } };
};

/** Marks the pairs that differ, in `into` or in an array of its own; undefined: there is none. */
const markColumn = (
  { a, b }: ColumnPair,
  { long, short }: SplitRuns,
  into: Uint8Array | undefined,
  { total, differences }: { readonly total: number; readonly differences: Differences },
): Uint8Array | undefined => {
  let out = into;
  const isSame = sameRowsOf(a, b, differences);
  const mark = markerOf(a, b, differences);
  const part = (i: number, j: number, n: number, at: number): void => {
    if (isSame?.(i, j, n) !== true) mark(i, j, n, (out ??= new Uint8Array(total)), at);
  };
  long.each((i, j, length, at) => {
    for (let k = 0; k < length; k += runRows) {
      checkStop();
      const n = Math.min(runRows, length - k);
      if (isSame?.(i + k, j + k, n)) continue;
      if (!isSame) mark(i + k, j + k, n, (out ??= new Uint8Array(total)), at + k);
      else
        for (let start = k; start < k + n; start += partRows)
          part(i + start, j + start, Math.min(partRows, k + n - start), at + start);
    }
  });
  if (short.at.length === 0) return out;
  const marks = new Uint8Array(short.at.length);
  differences.mark(a, b, short, marks);
  for (let n = marks.indexOf(1); n >= 0; n = marks.indexOf(1, n + 1)) (out ??= new Uint8Array(total))[short.at[n]!] = 1;
  return out;
};

/** Sets out[at + k] to 1 where row i + k of the one side is not row j + k of the other, for k below `n`. */
type Marker = (i: number, j: number, n: number, out: Uint8Array, at: number) => void;
const markerOf = (a: Vector, b: Vector, differences: Differences): Marker => {
  if (a.form === 'number' && b.form === 'number' && a.type === b.type) {
    const { values: x } = a;
    const { values: y } = b;
    if (x instanceof Float64Array && y instanceof Float64Array)
      return isFloat(a.type) ? floatMarker(x, y) : numberMarker(x, y);
  }
  if (a.form === 'dictionary' && b.form === 'dictionary' && a.values !== b.values)
    return codeMarker(a, b, differences.codesOf(a.values), differences.codesOf(b.values));
  return (i, j, n, out, at) => {
    differences.mark(a, b, { a: range(i, i + n), b: range(j, j + n) }, out.subarray(at, at + n));
  };
};
const numberMarker =
  (x: Float64Array, y: Float64Array): Marker =>
  (i, j, n, out, at) => {
    for (let k = 0; k < n; k++) out[at + k]! |= x[i + k] === y[j + k] ? 0 : 1;
  };
const floatMarker =
  (x: Float64Array, y: Float64Array): Marker =>
  (i, j, n, out, at) => {
    for (let k = 0; k < n; k++) {
      const p = x[i + k]!;
      const q = y[j + k]!;
      if (p === q ? p === 0 && !Object.is(p, q) : p === p || q === q) out[at + k] = 1;
    }
  };
const codeMarker =
  ({ codes: x }: DictionaryVector, { codes: y }: DictionaryVector, own: Uint32Array, other: Uint32Array): Marker =>
  (i, j, n, out, at) => {
    for (let k = 0; k < n; k++) out[at + k]! |= own[x[i + k]!] === other[y[j + k]!] ? 0 : 1;
  };

/** Undefined: bytes tell nothing. */
const sameRowsOf = (a: Vector, b: Vector, differences: Differences): SameRows | undefined => {
  switch (a.form) {
    case 'number':
      return b.form === 'number' && a.type === b.type && a.values.constructor === b.values.constructor
        ? sameBytes(a.values, b.values)
        : undefined;
    case 'bool':
      return b.form === 'bool' ? sameBytes(a.values, b.values) : undefined;
    case 'bytes':
      return b.form === 'bytes' && a.type === b.type ? sameTexts(a, b) : undefined;
    case 'enum':
      return b.form === 'enum' && a.type === b.type ? sameBytes(a.codes, b.codes) : undefined;
    case 'null':
      return b.form === 'null' ? () => true : undefined;
    case 'constant':
      return b.form === 'constant' ? sameConstant(a.inner, b.inner, differences) : undefined;
    case 'dictionary':
      return b.form === 'dictionary' ? sameCodes(a, b, differences) : undefined;
    case 'named':
      return b.form === 'named' && a.name === b.name ? sameRowsOf(a.inner, b.inner, differences) : undefined;
    case 'record':
      return b.form === 'record' && alikeRecords(a, b) ? sameRecords(a, b, differences) : undefined;
    default:
      return undefined;
  }
};
const sameRecords = (a: RecordVector, b: RecordVector, differences: Differences): SameRows | undefined => {
  const tests: SameRows[] = [];
  for (const [k, field] of a.fields.entries()) {
    const other = b.fields[k]!;
    const values = sameRowsOf(field.values, other.values, differences);
    if (!values || (field.present === undefined) !== (other.present === undefined)) return undefined;
    if (field.present && other.present) tests.push(sameBytes(field.present, other.present));
    tests.push(values);
  }
  return (i, j, n) => tests.every((isSame) => isSame(i, j, n));
};

type Numbers = Float64Array | BigInt64Array | BigUint64Array | Uint32Array | Uint8Array;
/** Numbers of the same bits: NaN is one number, -0. and 0. are two. */
const sameBytes = (x: Numbers, y: Numbers): SameRows => {
  const width = x.BYTES_PER_ELEMENT;
  const [a, b] = [bufferOf(x), bufferOf(y)];
  return (i, j, n) => a.compare(b, j * width, (j + n) * width, i * width, (i + n) * width) === 0;
};
const bufferOf = ({ buffer, byteOffset, byteLength }: Numbers): Buffer => Buffer.from(buffer, byteOffset, byteLength);

const sameTexts = (a: BytesVector, b: BytesVector): SameRows => {
  const [times, others] = [timesBehind(a), timesBehind(b)];
  if (times && others) return sameTimes(times, others);
  const [x, y] = [a.offsets, b.offsets];
  const [bytes, other] = [bufferOf(a.bytes), bufferOf(b.bytes)];
  return (i, j, n) => areShifted(x, y, i, j, n) && bytes.compare(other, y[j]!, y[j + n]!, x[i]!, x[i + n]!) === 0;
};
/** Texts of the same lengths. */
const areShifted = (x: Uint32Array, y: Uint32Array, i: number, j: number, n: number): boolean => {
  const shift = y[j]! - x[i]!;
  for (let k = 1; k <= n; k++) if (y[j + k]! - x[i + k]! !== shift) return false;
  return true;
};
const sameTimes = (x: TimeTexts, y: TimeTexts): SameRows => {
  const shift = (x.base - y.base) * 10 ** x.digits;
  if (x.digits !== y.digits || !Number.isSafeInteger(shift)) return () => false;
  const [a, b] = [x.distances, y.distances];
  if (shift === 0) return sameBytes(a, b);
  return (i, j, n) => {
    for (let k = 0; k < n; k++) if (a[i + k]! + shift !== b[j + k]) return false;
    return true;
  };
};

const sameConstant = (a: Vector, b: Vector, differences: Differences): SameRows => {
  const differs = new Uint8Array(1);
  differences.mark(a, b, { a: new Uint32Array(1), b: new Uint32Array(1) }, differs);
  return () => differs[0] === 0;
};

/** Codes of dictionaries that list the same values in the same order, or of others. */
const sameCodes = (a: DictionaryVector, b: DictionaryVector, differences: Differences): SameRows => {
  const isSame = sameBytes(a.codes, b.codes);
  if (a.values === b.values) return isSame;
  const [own, other] = [differences.codesOf(a.values), differences.codesOf(b.values)];
  if (own.length === other.length && own.every((code, k) => code === other[k])) return isSame;
  const [x, y] = [a.codes, b.codes];
  return (i, j, n) => {
    for (let k = 0; k < n; k++) if (own[x[i + k]!] !== other[y[j + k]!]) return false;
    return true;
  };
};
