/**
 * Rows that follow one another on both sides, compared many at once: bytes with bytes. Two versions of a pool are mostly
 * such runs, so that hardly a row is looked at by itself.
 *
 * Invariant: what is found to be the same is. What is not may be still, in other bytes: different.ts tells.
 */
import type { TimeTexts } from '../../vectors/time-texts.ts';
import { timesBehind } from '../../vectors/time-texts.ts';
import { checkStop } from '../../vectors/stop.ts';
import { Uint32List } from '../../vectors/lists.ts';
import type { BytesVector, DictionaryVector, Field, RecordVector, Vector } from '../../vectors/vector.ts';
import type { Differences } from './different.ts';

/** Places of rows that follow one another: `length[n]` rows from a[n] and from b[n] on. */
export class Runs {
  private readonly a = new Uint32List();
  private readonly b = new Uint32List();
  private readonly lengths = new Uint32List();
  rows = 0;
  push(a: number, b: number, length: number): void {
    this.a.push(a);
    this.b.push(b);
    this.lengths.push(length);
    this.rows += length;
  }
  each(take: (a: number, b: number, length: number) => void): void {
    for (let n = 0; n < this.lengths.length; n++) take(this.a.array[n]!, this.b.array[n]!, this.lengths.array[n]!);
  }
}

/** Whether `n` rows from `i` on of the one side are those from `j` on of the other; false: they may be. */
type SameRows = (i: number, j: number, n: number) => boolean;
/** `rest`: what the rows have besides, which is to be compared row by row. */
export interface RunTest {
  readonly isSame: SameRows;
  readonly rest: { readonly a: Vector; readonly b: Vector } | undefined;
}

/** Undefined: nothing of them is in a form of which bytes tell something. */
export const runTest = (a: Vector, b: Vector, differences: Differences): RunTest | undefined => {
  if (a.form !== 'record' || b.form !== 'record' || !isAlike(a, b)) return undefined;
  const tests: SameRows[] = [];
  const rest: { readonly a: Field; readonly b: Field }[] = [];
  a.fields.forEach((field, k) => {
    const other = b.fields[k]!;
    const test = fieldTest(field, other, differences);
    if (test) tests.push(test);
    else rest.push({ a: field, b: other });
  });
  if (tests.length === 0) return undefined;
  const side = (of: 'a' | 'b'): RecordVector => ({
    form: 'record',
    length: (of === 'a' ? a : b).length,
    fields: rest.map((fields) => fields[of]),
  });
  return { isSame: allOf(tests), rest: rest.length > 0 ? { a: side('a'), b: side('b') } : undefined };
};
const isAlike = ({ fields: a }: RecordVector, { fields: b }: RecordVector): boolean =>
  a.length === b.length && a.every((f, k) => f.name === b[k]!.name && f.optional === b[k]!.optional);
const allOf =
  (tests: readonly SameRows[]): SameRows =>
  (i, j, n) => {
    for (const isSame of tests) if (!isSame(i, j, n)) return false;
    return true;
  };

const fieldTest = (a: Field, b: Field, differences: Differences): SameRows | undefined => {
  const values = valuesTest(a.values, b.values, differences);
  if (!values || (!a.present && !b.present)) return values;
  if (!a.present || !b.present) return undefined;
  return allOf([sameBytes(a.present, b.present), values]);
};
const valuesTest = (a: Vector, b: Vector, differences: Differences): SameRows | undefined => {
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
      return b.form === 'named' && a.name === b.name ? valuesTest(a.inner, b.inner, differences) : undefined;
    case 'record': {
      if (b.form !== 'record' || !isAlike(a, b)) return undefined;
      const tests = a.fields.map((field, k) => fieldTest(field, b.fields[k]!, differences));
      return tests.every((test) => test !== undefined) ? allOf(tests) : undefined;
    }
    default:
      return undefined;
  }
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

/** Rows that are compared at once, and those of a part of them where they are not the same. */
const runRows = 1024;
const partRows = 128;

/** Tells of the rows of runs that are the same for sure, and of others, at most so many rows at a time. */
export const splitRuns = (
  runs: Runs,
  isSame: SameRows,
  { same, open }: { readonly same: (i: number, j: number, n: number) => void; readonly open: typeof same },
): void => {
  runs.each((a, b, length) => {
    for (let at = 0; at < length; at += runRows) {
      checkStop();
      const n = Math.min(runRows, length - at);
      if (isSame(a + at, b + at, n)) {
        same(a + at, b + at, n);
        continue;
      }
      for (let part = at; part < at + n; part += partRows) {
        const m = Math.min(partRows, at + n - part);
        if (n > partRows && isSame(a + part, b + part, m)) same(a + part, b + part, m);
        else open(a + part, b + part, m);
      }
    }
  });
};
