/** Functions on times and durations. */
import { strict as assert } from 'node:assert';
import { types } from '../../../vectors/type.ts';
import { integer, numericData } from '../../../vectors/value.ts';
import {
  type NumberArray,
  type NumberVector,
  type Vector,
  flatten,
  nulls,
  numbers,
  take,
  ofForm,
} from '../../../vectors/vector.ts';
import { BytesBuilder, NumberBuilder } from '../../../vectors/builder-leaves.ts';
import { narrowed } from '../../expressions/wide-arithmetic.ts';
import { combine, wrapErrors } from '../../expressions/rows.ts';
import { joinSeconds, secondsOf, splitSeconds } from '../../expressions/time-bytes.ts';
import { aliasOf, byKernel, data, isNull, isOf, isText, texts, type FunctionRow, type Kernel } from '../row.ts';
import { compileFormat, momentOf, type Moment } from './strftime.ts';

const bucket: Kernel = (args, length) => {
  const [t, span] = args;
  if (args.some(isNull)) return nulls(length);
  if (!isOf(t!, types.time) && !isOf(t!, types.duration))
    return wrapErrors('bucket: first argument is not a time or duration', t!);
  if (!isOf(span!, types.duration)) return wrapErrors('bucket: second argument is not a duration', span!);
  const v = ofForm(flatten(t!), 'number');
  if (span!.form === 'constant') {
    const size = numericData(data(span!)(0));
    const quick = typeof size === 'number' && size > 0 ? bucketQuickly(v, size) : undefined;
    if (quick) return numbers(v.type, quick);
  }
  const size = data(span!);
  const out = new BigInt64Array(length);
  for (let i = 0; i < length; i++) {
    const x = BigInt(v.values[i]);
    const s = BigInt(numericData(size(i)));
    out[i] = s === 0n ? x : x - (x % s);
  }
  return numbers(v.type, narrowed(out));
};
/** Buckets of whole seconds, or of parts of a second, without a bigint per row; undefined where that does not work. */
const bucketQuickly = (v: NumberVector, size: number): NumberArray | undefined => {
  if (v.values instanceof Float64Array) {
    const out = new Float64Array(v.length);
    for (let i = 0; i < v.length; i++) out[i] = v.values[i] - (v.values[i] % size) + 0;
    return out;
  }
  if (size % 1e9 === 0) return bucketSeconds(v.values, v.length, size / 1e9);
  if (1e9 % size !== 0) return undefined;
  const { seconds, nanos } = splitSeconds(v);
  for (let i = 0; i < v.length; i++) {
    // Buckets are cut toward zero, and these parts are rounded down.
    if (seconds[i] < 0) return undefined;
    nanos[i] = nanos[i] - (nanos[i] % size);
  }
  return joinSeconds(seconds, nanos);
};
/** Nanoseconds that a rounded double may be off. */
const roundingMax = 1024;
/**
 * Buckets of whole seconds: rows that are well inside the bucket of the row before are told by a rounded double.
 * Undefined for numbers below zero.
 */
const bucketSeconds = (
  values: BigInt64Array | BigUint64Array,
  length: number,
  span: number,
): NumberArray | undefined => {
  const halves = new Int32Array(values.buffer, values.byteOffset, length * 2);
  const out = new BigInt64Array(length);
  const outHalves = new Int32Array(out.buffer);
  let least = 1;
  let greatest = 0;
  let low = 0;
  let high = 0;
  let most = 0;
  for (let i = 0; i < length; i++) {
    const x = halves[i * 2 + 1] * 4294967296 + (halves[i * 2] >>> 0);
    if (x < least || x > greatest) {
      if (halves[i * 2 + 1] < 0) return undefined;
      // Whole numbers below 2^34, whose quotients never round up to the next whole number.
      const start = Math.floor(secondsOf(halves[i * 2], x) / span) * span;
      if (start > most) most = start;
      low = Math.imul(start, 1_000_000_000);
      high = Math.round((start * 1e9 - (low >>> 0)) / 4294967296);
      least = start * 1e9 + roundingMax;
      greatest = (start + span) * 1e9 - roundingMax;
    }
    outHalves[i * 2] = low;
    outHalves[i * 2 + 1] = high;
  }
  return most < 9007201 ? narrowed(out) : out;
};

const dateParts: Readonly<Record<string, (m: Moment) => number>> = {
  day: (m) => m.day,
  dow: (m) => m.weekday,
  dayofweek: (m) => m.weekday,
  hour: (m) => m.hour,
  minute: (m) => m.minute,
  month: (m) => m.month,
  second: (m) => m.second,
  year: (m) => m.year,
  microseconds: (m) => m.second * 1e6 + Math.floor(m.nanos / 1e3),
  milliseconds: (m) => m.second * 1e3 + Math.floor(m.nanos / 1e6),
};
const datePart: Kernel = ([part, time], length) => {
  if (!isText(part!)) return wrapErrors('date_part: string value required for part argument', part!);
  if (!isOf(time!, types.time)) return wrapErrors('date_part: time value required for time argument', time!);
  const name = texts(part!);
  const { seconds, nanos } = splitSeconds(ofForm(flatten(time!), 'number'));
  const constantPart = part!.form === 'constant' ? clockPart(name(0), seconds) : undefined;
  if (constantPart) return numbers(types.int64, constantPart);
  const out = new Float64Array(length);
  const known = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const text = name(i).toLowerCase();
    const read = Object.hasOwn(dateParts, text) ? dateParts[text] : undefined;
    slots[i] = i;
    if (read) out[i] = read(momentOf(seconds[i], nanos[i]));
    else known[i] = 1;
  }
  return combine(known, slots, [numbers(types.int64, out), wrapErrors('date_part: unsupported part name', part!)]);
};
/** The parts that need no calendar, in a loop. */
const clockPart = (name: string, seconds: Float64Array): Float64Array | undefined => {
  const [size, count] =
    name === 'hour' ? [3600, 24] : name === 'minute' ? [60, 60] : name === 'second' ? [1, 60] : [0, 0];
  if (size === 0) return undefined;
  return seconds.map((s) => {
    const x = Math.floor(s / size!) % count!;
    return x < 0 ? x + count! : x;
  });
};

const formats = new Map<string, ReturnType<typeof compileFormat>>();
const formatsMax = 200;
const formatOf = (format: string): ReturnType<typeof compileFormat> => {
  let found = formats.get(format);
  if (found === undefined) {
    if (formats.size >= formatsMax) formats.clear();
    formats.set(format, (found = compileFormat(format)));
  }
  return found;
};
const strftime: Kernel = ([format, time], length) => {
  if (isNull(format!) || isNull(time!)) return nulls(length);
  if (!isText(format!)) return wrapErrors('strftime: string value required for format arg', format!);
  if (!isOf(time!, types.time)) return wrapErrors('strftime: time value required for time arg', time!);
  const pattern = texts(format!);
  const { seconds, nanos } = splitSeconds(ofForm(flatten(time!), 'number'));
  const out = new BytesBuilder(types.string);
  const failed = new Map<string, number[]>();
  for (let i = 0; i < length; i++) {
    const write = formatOf(pattern(i));
    if (typeof write === 'string') {
      const rows = failed.get(write) ?? [];
      failed.set(write, rows);
      rows.push(i);
      out.text('');
    } else out.text(write(momentOf(seconds[i], nanos[i])));
  }
  return withFailures(out.finish(), failed, format!);
};
const withFailures = (good: Vector, failed: ReadonlyMap<string, readonly number[]>, format: Vector): Vector => {
  if (failed.size === 0) return good;
  const tags = new Uint32Array(good.length);
  const slots = new Uint32Array(good.length);
  for (let i = 0; i < slots.length; i++) slots[i] = i;
  const parts: Vector[] = [good];
  for (const [text, rows] of failed) {
    const tag =
      parts.push(
        wrapErrors(
          `strftime: failed to compile format: pattern compilation failed: ${text}`,
          take(format, Uint32Array.from(rows)),
        ),
      ) - 1;
    rows.forEach((row, n) => {
      tags[row] = tag;
      slots[row] = n;
    });
  }
  return combine(tags, slots, parts);
};

/**
 * The process's own clock, that nobody sets, when it last said something else than the system's, and what that one
 * said.
 */
const known = { ms: 0, at: 0 };
/** A difference that is more than the system's clock being slewed. */
const setMs = 10;
/**
 * Nanoseconds since 1970 as the system's clock has them, rising from call to call within a millisecond by the process's
 * own.
 */
const nowNanos = (): number | bigint => {
  const at = performance.now();
  const system = Date.now();
  if (Math.abs(known.ms + at - known.at - system) > setMs) Object.assign(known, { ms: system, at });
  const ms = known.ms + at - known.at;
  assert(Number.isFinite(ms));
  return integer(BigInt(Math.floor(ms * 1000)) * 1000n);
};
const now = (length: number): Vector => {
  const out = new NumberBuilder(types.time);
  for (let i = 0; i < length; i++) out.push(nowNanos());
  return out.finish();
};

const nowRow: FunctionRow = {
  name: 'now',
  signature: 'now()',
  text: 'The time of the evaluation; in SQL that of the query, the same in all of its rows.',
  argumentsMin: 0,
  argumentsMax: 0,
  impure: true,
  examples: [{ query: 'typeof(now())', output: '<time>' }],
  make: () => (_, length) => now(length),
};

export const time: readonly FunctionRow[] = [
  {
    name: 'bucket',
    signature: 'bucket(t, d)',
    text: 'The time or duration cut down to a multiple of the duration.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'bucket(2020-05-26T15:27:47Z,5m)', output: '2020-05-26T15:25:00Z' },
      { query: 'bucket(-90m,1h)', output: '-1h' },
      { query: 'bucket(1h17m,0s)', output: '1h17m' },
      { query: 'bucket(1,1h)', output: 'error({message:"bucket: first argument is not a time or duration",on:1})' },
    ],
    make: byKernel(bucket, 'bare'),
  },
  {
    name: 'date_part',
    signature: 'date_part(part, t)',
    text: 'A part of a time (UTC): year, month, day, dow, hour, minute, second, milliseconds or microseconds.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'date_part("year",2020-05-26T15:27:47.123456Z)', output: '2020' },
      { query: 'date_part("dow",2020-05-26T15:27:47Z)', output: '2' },
      { query: 'date_part("milliseconds",2020-05-26T15:27:47.123456Z)', output: '47123' },
      {
        query: 'date_part("foo",2020-05-26T15:27:47Z)',
        output: 'error({message:"date_part: unsupported part name",on:"foo"})',
      },
    ],
    make: byKernel(datePart, 'whole'),
  },
  nowRow,
  aliasOf(nowRow, 'current_timestamp', [{ query: 'typeof(current_timestamp())', output: '<time>' }]),
  {
    name: 'strftime',
    signature: 'strftime(format, t)',
    text: 'The time (UTC) as text: %Y year, %m month, %d day, %H hour, %M minute, %S second and others.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'strftime("%Y-%m-%d",2024-07-30T20:05:15Z)', output: '"2024-07-30"' },
      {
        query: 'strftime("%A %a %B %b %C %c %D %e %j %k %l %p %r %U %u %V %v %W %w %y %Z %z %%",2024-07-30T20:05:15Z)',
        output:
          '"Tuesday Tue July Jul 20 Tue Jul 30 20:05:15 2024 07/30/24 30 212 20  8 PM 08:05:15 PM 31 2 31 30-Jul-2024 31 2 24 UTC +0000 %"',
      },
      {
        query: 'strftime("%Q",2024-07-30T20:05:15Z)',
        output:
          'error({message:"strftime: failed to compile format: pattern compilation failed: lookup failed: \'%Q\' was not found in specification set",on:"%Q"})',
      },
      { query: 'strftime("%Y",1)', output: 'error({message:"strftime: time value required for time arg",on:1})' },
    ],
    make: byKernel(strftime, 'whole'),
  },
];
