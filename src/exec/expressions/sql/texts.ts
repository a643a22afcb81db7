/**
 * Numbers, times and truth from text as SQL's casts read them, and values as their text in SQL. White space around a
 * text counts for nothing.
 */
import { charge, checkStopAt } from '../../../vectors/stop.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { textToBytes } from '../../../vectors/texts/codec.ts';
import {
  dateOfDays,
  daysOfDate,
  daysOfMonth,
  int64Max,
  int64Min,
  ipText,
  netText,
  shortestDigits,
  timesHeld,
} from '../../../vectors/literal.ts';
import { type Exact, exactOf, exactOfText, exactText, unitsAt } from '../../../vectors/decimal.ts';
import { spanOf, spanRecord } from '../../../vectors/spans.ts';
import { type Type, hasPlaces, isFloat, types } from '../../../vectors/type.ts';
import {
  type Data,
  type Value,
  integer,
  underValue,
  bytesData,
  entriesData,
  fieldsData,
  itemsData,
  memberData,
  numberData,
  numericData,
  stringData,
} from '../../../vectors/value.ts';
import { supText } from '../../../vectors/sup/print.ts';
import { uuidOfBytes } from './uuids.ts';
import { type SqlType, sqlTypeOfName } from '../../../query/sql/values/types.ts';
import { goFloat } from '../number-text.ts';
import { timeOfText } from '../time-text.ts';
import { type ZoneFault, momentOf } from '../time-zones.ts';

const decimalSyntax = /^([+-]?)(\d+(?:_\d+)*)?(?:\.(\d+(?:_\d+)*)?)?(?:[eE]([+-]?\d{1,9}))?$/;
const prefixedSyntax = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+)$/;
/** More places than this make any number too large or nothing. */
const exponentMax = 400;

/** A decimal as digits and the power of ten that they are multiplied with. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}
const decimalOfText = (text: string): Decimal | undefined => {
  const m = decimalSyntax.exec(text);
  if (!m || (m[2] === undefined && m[3] === undefined)) return undefined;
  const whole = (m[2] ?? '').replaceAll('_', '');
  const fraction = (m[3] ?? '').replaceAll('_', '');
  return {
    negative: m[1] === '-',
    digits: (whole + fraction).replace(/^0+(?=\d)/, ''),
    exponent: Number(m[4] ?? 0) - fraction.length,
  };
};
/** The whole number that is nearest, halves away from zero; undefined beyond any range. */
const roundedDecimal = ({ negative, digits, exponent }: Decimal): bigint | undefined => {
  if (digits === '0') return 0n;
  if (digits.length + exponent > exponentMax) return undefined;
  const size = exponent >= 0 ? BigInt(digits + '0'.repeat(exponent)) : roundedDigits(digits, -exponent);
  return negative ? -size : size;
};
const roundedDigits = (digits: string, dropped: number): bigint => {
  if (dropped > digits.length) return 0n;
  return BigInt(digits.slice(0, digits.length - dropped) || '0') + (digits[digits.length - dropped] >= '5' ? 1n : 0n);
};

/** A whole number: fractions and exponents are rounded, halves away from zero. */
export const sqlInteger = (text: string): bigint | undefined => {
  const plain = text.trim();
  const prefixed = prefixedSyntax.exec(plain);
  if (prefixed) return BigInt(prefixed[2]) * (prefixed[1] === '-' ? -1n : 1n);
  const decimal = decimalOfText(plain);
  return decimal && roundedDecimal(decimal);
};
export const sqlFloat = (text: string): number | undefined => goFloat(text.trim());

/**
 * A number times ten to the `scale`, rounded to a whole one, halves away from zero: its decimal digits count, not the
 * float behind them.
 */
export const scaledDecimal = (text: string, scale: number): bigint | undefined => {
  const decimal = decimalOfText(text.trim());
  return decimal && roundedDecimal({ ...decimal, exponent: decimal.exponent + scale });
};

const yes: ReadonlySet<string> = new Set(['1', 't', 'true', 'y', 'yes', 'on']);
const no: ReadonlySet<string> = new Set(['0', 'f', 'false', 'n', 'no', 'off']);
export const sqlBool = (text: string): boolean | undefined => {
  const word = text.trim().toLowerCase();
  return yes.has(word) ? true : no.has(word) ? false : undefined;
};

const timeSyntax =
  /^(\d{1,7})([-/])(\d{1,2})\2(\d{1,2})(?:(?:[T ]\s*)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9})\d*)?)?)?\s*(Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?)?$/i;
/**
 * Nanoseconds since 1970 of a date or a timestamp; without an offset it is UTC. Undefined for what is none, `range` for
 * what 64 bits do not hold.
 */
export const sqlTime = (text: string): number | bigint | 'range' | undefined => {
  const plain = text.trim();
  const m = timeSyntax.exec(plain);
  if (!m)
    return /^epoch$/i.test(plain)
      ? 0
      : /[A-Za-z]{3}/.test(plain)
        ? timeOfText(plain)
        : /^[+-]?infinity$/i.test(plain)
          ? 'range'
          : undefined;
  const [year, month, day, hour, minute, second] = [m[1], m[3], m[4], m[5] ?? 0, m[6] ?? 0, m[7] ?? 0].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month) || hour > 23 || minute > 59 || second > 59)
    return undefined;
  const offset = (Number(m[11] ?? 0) * 3600 + Number(m[12] ?? 0) * 60 + Number(m[13] ?? 0)) * (m[10] === '-' ? -1 : 1);
  const seconds = daysOfDate(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
  const nanos = BigInt(seconds) * 1_000_000_000n + BigInt((m[8] ?? '').padEnd(9, '0'));
  return nanos > int64Max || nanos < int64Min ? 'range' : integer(nanos);
};
/** A zone by its name behind a date or a clock; Z, UTC and GMT are read with what is before them. */
const zoneSyntax =
  /(?<=^\d+[-/]\d+[-/]\d+|:\d+(?:[.,]\d+)?(?:\s*[ap]\.?m\.?)?)\s*(?!(?:Z|UTC|GMT|[ap]\.?m|T)\b(?!\/))([A-Z][A-Z0-9_+/-]*)(?=$|\s+\d{4}$)/i;
/** The same as a moment: the name of a zone behind it says where clocks show it; `zone` for a name that is none. */
export const sqlMoment = (text: string): number | bigint | ZoneFault | undefined => {
  const plain = text.trim();
  const zone = zoneSyntax.exec(plain);
  if (!zone) return sqlTime(plain);
  const shown = sqlTime(plain.slice(0, zone.index) + plain.slice(zone.index + zone[0].length));
  return typeof shown === 'string' || shown === undefined ? shown : momentOf(shown, zone[1]);
};
/** What is wrong with the text of a time; undefined if nothing is known. */
export const faultOfSqlTime = (text: string, type: SqlType): string | undefined => {
  if (/^\s*[+-]?infinity\s*$/i.test(text)) return 'there is no infinite time here';
  const found = type.kind === 'timestamp' && type.zoned ? sqlMoment(text) : sqlTime(text);
  if (found === 'zone') return 'unknown time zone, expected a name such as UTC or Europe/Paris';
  return found === 'range' || /^\s*\d+-\d+-\d+ \(bc\)/i.test(text) ? timesHeld : undefined;
};

/** `2.0`, `0.1`, `1e+20`: the shortest digits, and a point in whole numbers. */
export const sqlFloatText = (x: number, bits: number): string => {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'nan' : x > 0 ? 'inf' : '-inf';
  if (x === 0) return Object.is(x, -0) ? '-0.0' : '0.0';
  const { negative, digits, exponent } = shortestDigits(x, bits);
  const sign = negative ? '-' : '';
  if (exponent < -4 || exponent > 15) {
    const power = Math.abs(exponent);
    return `${sign}${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ''}e${exponent < 0 ? '-' : '+'}${power < 10 ? '0' : ''}${power}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
};

const two = (n: number): string => String(n).padStart(2, '0');
const secondsOfDay = 86400;
const fractionText = (nanos: number): string =>
  nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
const clockText = (seconds: number, nanos: number): string =>
  `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fractionText(nanos)}`;
const parted = (t: number | bigint): { readonly days: number; readonly seconds: number; readonly nanos: number } => {
  const x = BigInt(t);
  const nanos = ((x % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const all = Number((x - nanos) / 1_000_000_000n);
  const days = Math.floor(all / secondsOfDay);
  return { days, seconds: all - days * secondsOfDay, nanos: Number(nanos) };
};
/** `1992-01-01`. */
export const sqlDateText = (t: number | bigint): string => {
  const { year, month, day } = dateOfDays(parted(t).days);
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
};
/** `1992-01-01 00:00:00.5`. */
export const sqlTimeText = (t: number | bigint): string => {
  const { seconds, nanos } = parted(t);
  return `${sqlDateText(t)} ${clockText(seconds, nanos)}`;
};
/** The time of day of a time, or of so many nanoseconds: `12:30:00.5`. */
export const sqlClockText = (t: number | bigint): string => {
  const { seconds, nanos } = parted(t);
  return clockText(seconds, nanos);
};
const clockSyntax = /^(?:\d{1,7}-\d{1,2}-\d{1,2}[T ])?\s*(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9})\d*)?)?$/;
/** The nanoseconds since midnight of a time of day, cut to so many digits of a second; undefined for what is none. */
export const sqlClock = (text: string, digits: number): bigint | undefined => {
  const m = clockSyntax.exec(text.trim());
  const [hour, minute, second] = [m?.[1], m?.[2], m?.[3] ?? 0].map(Number);
  if (!m || hour! > 23 || minute! > 59 || second! > 59) return undefined;
  const unit = 10n ** BigInt(9 - digits);
  const nanos = BigInt((m[4] ?? '').padEnd(9, '0'));
  return BigInt(hour! * 3600 + minute! * 60 + second!) * 1_000_000_000n + (nanos / unit) * unit;
};
/** `2 days 01:00:00`. */
export const sqlDurationText = (d: number | bigint): string => {
  const negative = d < 0;
  const { days, seconds, nanos } = parted(negative ? -BigInt(d) : d);
  const parts = [
    ...(days > 0 ? [`${negative ? '-' : ''}${days} day${days === 1 ? '' : 's'}`] : []),
    ...(seconds > 0 || nanos > 0 || days === 0
      ? [`${negative && (seconds > 0 || nanos > 0) ? '-' : ''}${clockText(seconds, nanos)}`]
      : []),
  ];
  return parts.join(' ');
};

/** Bytes that are no printable ASCII are `\xHH`. */
const bytesText = (bytes: Uint8Array): string => {
  const out = new TextPieces('the text of bytes');
  for (let i = 0; i < bytes.length; i++) {
    checkStopAt(i);
    out.add(bytePieces[bytes[i]]);
  }
  return out.text();
};
const bytePieces = Array.from({ length: 256 }, (_, b) =>
  b < 32 || b > 126 || b === 92 ? `\\x${b.toString(16).toUpperCase().padStart(2, '0')}` : String.fromCharCode(b),
);
const escapedByteBytes = 64;
/** The bytes of a text in which `\xHH` stands for one; undefined if it has a backslash that stands for none. */
export const sqlBytes = (text: string): Uint8Array | undefined => {
  if (!text.includes('\\')) return textToBytes(text);
  // A part, its place in a list, and its bytes, for each four characters.
  charge(text.length * escapedByteBytes, 'the bytes of a text');
  const parts = text.split(/\\x([0-9a-fA-F]{2})/);
  if (parts.some((part, k) => k % 2 === 0 && part.includes('\\'))) return undefined;
  return Buffer.concat(parts.map((part, k) => (k % 2 === 0 ? textToBytes(part) : Buffer.from(part, 'hex'))));
};

/** The text of any value, as a cast to text gives it. `known`: what the query says of it and of what is in it. */
export const sqlText = (v: Value, known?: SqlType): string => {
  const { type, data } = underValue(v);
  for (const of of data === null ? [] : [known, knownByName(v)]) {
    const text = of && knownText(of, data);
    if (text !== undefined) return text;
  }
  switch (type.kind) {
    case 'primitive':
      return primitiveText(type, data);
    case 'enum':
      return type.symbols[numberData(data)] ?? '';
    case 'array':
    case 'set': {
      const element = known?.kind === 'list' ? known.element : undefined;
      return `[${itemsData(data)
        .map((x) => innerText({ type: type.element, data: x }, element))
        .join(', ')}]`;
    }
    case 'record': {
      if (type === spanRecord) return spanText({ type, data })!;
      const parts = fieldsData(data).map((x, k) => {
        const { name, type: of } = type.fields[k];
        return [name, innerText({ type: of, data: x ?? null }, fieldOf(known, name))] as const;
      });
      return hasPlaces(type.fields)
        ? `(${parts.map(([, text]) => text).join(', ')})`
        : `{${parts.map(([name, text]) => `'${name}': ${text}`).join(', ')}}`;
    }
    case 'map': {
      const [key, value] = known?.kind === 'map' ? [known.key, known.value] : [];
      return `{${entriesData(data)
        .map(
          ([k, x]) =>
            `${innerText({ type: type.key, data: k }, key)}=${innerText({ type: type.value, data: x }, value)}`,
        )
        .join(', ')}}`;
    }
    default:
      return supText(v);
  }
};
const fieldOf = (known: SqlType | undefined, name: string): SqlType | undefined =>
  known?.kind === 'struct' ? known.fields.find((f) => f.name === name)?.type : undefined;
/** What the name of a value's type says of it in SQL. */
const knownByName = (v: Value): SqlType | undefined => {
  if (v.type.kind === 'union') return knownByName(memberData(v.data));
  return v.type.kind === 'named' ? sqlTypeOfName(v.type.name) : undefined;
};
/** The text of a value of which SQL's type is known; undefined where that makes no difference. */
export const knownText = (known: SqlType, data: Data): string | undefined => {
  if (data instanceof Uint8Array)
    return known.kind === 'uuid'
      ? uuidOfBytes(data)
      : known.kind === 'plain' && known.type === types.duration
        ? spanText({ type: types.bytes, data })
        : undefined;
  if (Array.isArray(data))
    return known.kind === 'plain' && known.type === types.duration ? spanText({ type: spanRecord, data }) : undefined;
  if (typeof data === 'string')
    return known.kind === 'decimal' ? textOfDecimal(exactOfText(data), known.scale) : undefined;
  if (typeof data !== 'number' && typeof data !== 'bigint') return undefined;
  switch (known.kind) {
    case 'date':
      return sqlDateText(data);
    case 'clock':
      return sqlClockText(data);
    case 'decimal':
      return textOfDecimal(
        exactOf({ type: typeof data === 'bigint' ? types.int64 : types.float64, data }),
        known.scale,
      );
    default:
      return undefined;
  }
};
/** `1 year 2 months 3 days 04:00:00` of an interval that is no duration. */
const spanText = (interval: Value): string | undefined => {
  const span = spanOf(interval);
  if (!span) return undefined;
  const counted = (n: number, unit: string): string[] =>
    n === 0 ? [] : [`${n} ${unit}${Math.abs(n) === 1 ? '' : 's'}`];
  const parts = [
    ...counted(Math.trunc(span.months / 12), 'year'),
    ...counted(span.months % 12, 'month'),
    ...counted(span.days, 'day'),
  ];
  return (span.nanos !== 0n || parts.length === 0 ? [...parts, sqlDurationText(span.nanos)] : parts).join(' ');
};
/** With so many places behind the point. */
const textOfDecimal = (exact: Exact | undefined, scale: number): string | undefined =>
  exact && exactText({ units: unitsAt(exact, scale), scale });
const quotedInside = /^\s|\s$|^$|[,[\](){}"'=:\\]|^null$/i;
const innerText = (v: Value, known: SqlType | undefined): string => {
  const { type, data } = underValue(v);
  if (data === null) return 'NULL';
  const text = sqlText(v, known);
  const isWhole = type.kind === 'primitive' || type === spanRecord;
  return isWhole && quotedInside.test(text) ? `'${text.replace(/['\\]/g, '\\$&')}'` : text;
};
const primitiveText = (type: Type, data: Data): string => {
  switch (type) {
    case types.string:
      return stringData(data);
    case types.time:
      return sqlTimeText(numericData(data));
    case types.duration:
      return sqlDurationText(numericData(data));
    case types.bytes:
      return bytesText(bytesData(data));
    case types.ip:
      return ipText(bytesData(data));
    case types.net:
      return netText(bytesData(data));
    case types.bool:
      return String(data);
    case types.null:
      return 'NULL';
    case types.type:
      return supText({ type, data });
    default:
      return isFloat(type) ? sqlFloatText(numberData(data), type === types.float32 ? 32 : 64) : String(data);
  }
};
