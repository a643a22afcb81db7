/**
 * Values written as SUP text, for loads of JavaScript values.
 *
 * Whole numbers become `int64`, others `float64`; a bigint is an `int64`, or a `uint64` above its range; a Date is a
 * `time`. What a query gave goes back as the type it had, but for the width of numbers.
 */
import { nameText } from './types.ts';
import { Address, Duration, ErrorValue, Network, Symbolic, Time, TypeValue } from './values.ts';

const int64Max = 2n ** 63n - 1n;
const int64Min = -(2n ** 63n);
const uint64Max = 2n ** 64n - 1n;
/** The service takes no deeper ones. */
const levelsMax = 1000;

const numberText = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value);
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.`;
};
const bigintText = (value: bigint): string => {
  if (value < int64Min || value > uint64Max) throw new RangeError(`${value} exceeds 64 bits`);
  return value > int64Max ? `${value}::uint64` : String(value);
};
const timeText = (time: Time): string => {
  if (time.nanoseconds < int64Min || time.nanoseconds > int64Max)
    throw new RangeError('a time before 1677-09-21 or after 2262-04-11 has no type in the lake');
  return time.toString();
};
/** JSON's quoting is SUP's; a lone surrogate has no UTF-8 and is written as its replacement. */
const stringText = (value: string): string => JSON.stringify(value.toWellFormed());
const bytesText = (bytes: Uint8Array): string =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/**
 * The value as SUP text on one line. @throws RangeError, TypeError for what the data model has no type for: functions,
 * symbols, cycles, promises, buffers other than Uint8Array.
 */
export const supText = (value: unknown, within: readonly object[] = []): string => {
  switch (typeof value) {
    case 'boolean':
      return String(value);
    case 'number':
      return numberText(value);
    case 'bigint':
      return bigintText(value);
    case 'string':
      return stringText(value);
    case 'undefined':
      return 'null';
    case 'object':
      return value === null ? 'null' : objectText(value, within);
    default:
      throw new TypeError(`a ${typeof value} has no type in the lake`);
  }
};

const objectText = (value: object, within: readonly object[]): string => {
  if (value instanceof Date) return timeText(Time.of(value));
  if (value instanceof Time) return timeText(value);
  if (value instanceof Duration || value instanceof Address || value instanceof Network || value instanceof TypeValue)
    return value.toString();
  if (value instanceof Symbolic) return stringText(value.text);
  if (value instanceof Uint8Array) return bytesText(value);
  if (within.includes(value)) throw new TypeError('a value that holds itself has no text');
  if (within.length >= levelsMax) throw new RangeError(`a value nested deeper than ${levelsMax} levels is refused`);
  const path = [...within, value];
  const inner = (each: unknown): string => supText(each, path);
  if (value instanceof ErrorValue) return `error(${inner(value.value)})`;
  // A hole in an array is null, as undefined is.
  if (Array.isArray(value)) return `[${Array.from(value, inner).join(',')}]`;
  if (value instanceof Set) return `|[${[...value].map(inner).join(',')}]|`;
  if (value instanceof Map) return `|{${[...value].map(([key, each]) => `${inner(key)} :${inner(each)}`).join(',')}}|`;
  // What keeps its value elsewhere (promises, errors, buffers) would be an empty record.
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (kind !== 'Object') throw new TypeError(`a ${kind} has no type in the lake`);
  return `{${Object.entries(value)
    .flatMap(([name, each]) => (each === undefined ? [] : [`${nameText(name)}:${inner(each)}`]))
    .join(',')}}`;
};
