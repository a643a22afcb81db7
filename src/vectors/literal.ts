/**
 * Text of primitive values and back: floats, durations, times, addresses, networks, bytes. Every parser answers
 * undefined for text that is not of its kind; nothing here throws. Integers, durations and times are a number when
 * safe, else a bigint (see value.ts).
 */
import { chargeText, checkStopAt } from './stop.ts';
import { type Type, bitsOf, isUnsigned, types } from './type.ts';
import { type Data, integer, toFloat16, bytesData, numberData, numericData } from './value.ts';

/** The least int64. */
export const int64Min = -(1n << 63n);
/** The greatest int64. */
export const int64Max = (1n << 63n) - 1n;
/** The greatest uint64. */
export const uint64Max = (1n << 64n) - 1n;
/** Whether a 64-bit signed integer can hold it. */
export const fitsInt64 = (x: number | bigint): boolean => typeof x === 'number' || (x >= int64Min && x <= int64Max);
/** What 64 bits of nanoseconds hold, as errors name it. */
export const timesHeld = 'times are from 1677-09-21 to 2262-04-11';
/** The least and the greatest number of a type of integers; beyond 53 bits the nearest floats. */
export const boundsOf = (type: Type): { readonly least: number; readonly most: number } => {
  const bits = bitsOf(type);
  return isUnsigned(type)
    ? { least: 0, most: 2 ** bits - 1 }
    : { least: -(2 ** (bits - 1)), most: 2 ** (bits - 1) - 1 };
};
/** Whether a type of integers has a whole number. */
export const fitsInteger = (type: Type, x: number | bigint): boolean => {
  if (type === types.int64) return fitsInt64(x);
  if (type === types.uint64) return x >= 0 && x <= uint64Max;
  const { least, most } = boundsOf(type);
  return x >= least && x <= most;
};

// Integers

const integerSyntax = /^[+-]?[0-9]+$/;
const digitsMax = 1_000;
/** A decimal integer of any size with an optional sign. */
export const parseInteger = (text: string): number | bigint | undefined => {
  if (!integerSyntax.test(text)) return undefined;
  if (text.length < 16) return Number(text) + 0;
  const unsigned = text.replace(/^[+-]?0*/, '');
  // Far beyond every integer type one is as good as another, and all of the digits would take seconds.
  const x = BigInt(unsigned.length > digitsMax ? `1${'0'.repeat(digitsMax)}` : unsigned || '0');
  return integer(text.startsWith('-') ? -x : x);
};

/** A decimal integer of any size without a sign. */
export const parseUnsigned = (text: string): number | bigint | undefined =>
  /^[+-]/.test(text) ? undefined : parseInteger(text);

// Floats

// One way to match each text: two runs of digits side by side would be tried at every cut.
const floatSyntax = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const namedFloats: Readonly<Record<string, number>> = {
  NaN: NaN,
  nan: NaN,
  '+Inf': Infinity,
  '-Inf': -Infinity,
  '+inf': Infinity,
  '-inf': -Infinity,
};
/** A float as SUP spells it, integers too: `1.`, `.5`, `1e3`, `NaN`, `+Inf`. Not finite in 64 bits: undefined. */
export const parseFloat64 = (text: string): number | undefined => {
  if (Object.hasOwn(namedFloats, text)) return namedFloats[text];
  if (!floatSyntax.test(text)) return undefined;
  const x = Number(text);
  return Number.isFinite(x) ? x : undefined;
};

/** Shortest digits that read back as the same 32-bit float, in exponent form. */
const shortestSingle = (x: number): string => {
  for (let digits = 0; digits < 9; digits++) {
    const text = x.toExponential(digits);
    if (Math.fround(Number(text)) === x) return text;
  }
  return x.toExponential(9);
};

/**
 * Like C's `%g` with as many digits as needed: plain for exponents -4 to 5, else exponent form with two digits at
 * least.
 */
const generalFloat = (x: number, bits: number): string => {
  const size = Math.abs(x);
  if (bits === 64 && size >= 1e-4 && size < 1e6) return String(x);
  const [mantissa, exponentText] = (bits === 64 ? x.toExponential() : shortestSingle(x)).split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return bits === 64 ? String(x) : placePoint(mantissa, exponent);
  const absolute = Math.abs(exponent);
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${absolute < 10 ? '0' : ''}${absolute}`;
};
const placePoint = (mantissa: string, exponent: number): string => {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return sign + digits + '0'.repeat(exponent + 1 - digits.length);
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
};

const specialFloat = (x: number): string => (x > 0 ? '+Inf' : x < 0 ? '-Inf' : 'NaN');
/** The text of a float without a point for whole numbers: cells of CSV. `bits` is 64, or 32 for both smaller types. */
export const plainFloatText = (x: number, bits = 64): string => {
  if (Number.isInteger(x) && x >= -9223372036854775808 && x < 9223372036854775808)
    return Number.isSafeInteger(x) ? String(x) : BigInt(x).toString();
  return Number.isFinite(x) ? generalFloat(x, bits) : specialFloat(x);
};
/** The text of a float as casts to string and f-strings have it: an exponent from a million on, whole numbers too. */
export const castFloatText = (x: number): string =>
  Number.isFinite(x) ? (Object.is(x, -0) ? '-0' : generalFloat(x, 64)) : specialFloat(x);
/** All digits, without an exponent: cells of Zeek logs and tables. */
export const decimalFloatText = (x: number, bits = 64): string => {
  if (!Number.isFinite(x)) return specialFloat(x);
  if (x === 0) return Object.is(x, -0) ? '-0' : '0';
  const [mantissa, exponent] = (bits === 64 ? x.toExponential() : shortestSingle(x)).split('e') as [string, string];
  return placePoint(mantissa, Number(exponent));
};
/**
 * The fewest digits that tell a float apart from all others (`d.ddd` times ten to the exponent). Finite numbers but
 * zero.
 */
export const shortestDigits = (
  x: number,
  bits = 64,
): { readonly negative: boolean; readonly digits: string; readonly exponent: number } => {
  const [mantissa, exponent] = (bits === 64 ? x.toExponential() : shortestSingle(x)).split('e') as [string, string];
  return { negative: x < 0, digits: mantissa.replace(/[-.]/g, ''), exponent: Number(exponent) };
};
/** The text of a float as SUP spells it: whole numbers within 64 bits end in a point. */
export const floatText = (x: number, bits = 64): string => {
  const text = plainFloatText(x, bits);
  return Number.isInteger(x) && !text.includes('e') ? `${text}.` : text;
};
/** JSON's spelling: NaN and infinities are null. */
export const jsonFloatText = (x: number): string => (Object.is(x, -0) ? '-0' : Number.isFinite(x) ? String(x) : 'null');

/** Rounds to what the float type can hold. */
export const roundFloat = (type: Type, x: number): number =>
  type === types.float32 ? Math.fround(x) : type === types.float16 ? toFloat16(x) : x;

// Text

/** Text in double quotes with Go's escapes. */
export const goQuoted = (text: string): string => `"${text.replace(/["\\\p{Cc}]/gu, escaped)}"`;
const named: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};
const escaped = (char: string): string => {
  const code = char.charCodeAt(0);
  return (
    named[char] ??
    (code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`)
  );
};

// Durations

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
  y: 31_536_000_000_000_000n,
};
/** One after the other: an expression for all of them overflows the engine's stack on a long text. */
const durationPart = /(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|ms|s|m|h|d|w|y)/y;
/** The digits behind these are less than a nanosecond of a year. */
const fractionDigitsMax = 40;
/**
 * A duration in nanoseconds: `1h30m`, `-1.5s`; fractions are rounded to nanoseconds. Undefined also for what exceeds 64
 * bits.
 */
export const parseDuration = (text: string): number | bigint | undefined => {
  let at = text.startsWith('-') ? 1 : 0;
  if (at === text.length) return undefined;
  let total = 0n;
  while (at < text.length) {
    durationPart.lastIndex = at;
    const found = durationPart.exec(text);
    if (!found) return undefined;
    at = durationPart.lastIndex;
    checkStopAt(at);
    const [, whole, digits = '', unit] = found;
    const nanos = unitNanos[unit!]!;
    const fraction = digits.slice(0, fractionDigitsMax);
    if (whole!.length > digitsMax) return undefined;
    total += BigInt(whole || '0') * nanos;
    if (fraction) {
      const scale = 10n ** BigInt(fraction.length);
      total += (BigInt(fraction) * nanos * 2n + scale) / (scale * 2n);
    }
  }
  if (text.startsWith('-')) total = -total;
  return fitsInt64(total) ? integer(total) : undefined;
};

/** The text of a duration: years of 365 days, days, hours, minutes, then one of s, ms, us, ns with a fraction. */
export const durationText = (nanos: number | bigint): string => {
  let rest = BigInt(nanos);
  if (rest === 0n) return '0s';
  let out = '';
  if (rest < 0n) {
    out = '-';
    rest = -rest;
  }
  for (const unit of ['y', 'd', 'h', 'm'] as const) {
    const size = unitNanos[unit]!;
    if (rest >= size) {
      out += `${rest / size}${unit}`;
      rest %= size;
    }
  }
  if (rest === 0n) return out;
  const small = Number(rest);
  const [size, unit, places] =
    small >= 1e9
      ? ([1e9, 's', 9] as const)
      : small >= 1e6
        ? ([1e6, 'ms', 6] as const)
        : small >= 1e3
          ? ([1e3, 'us', 3] as const)
          : ([1, 'ns', 0] as const);
  const fraction = small % size;
  return `${out}${(small - fraction) / size}${fraction === 0 ? '' : `.${String(fraction).padStart(places, '0').replace(/0+$/, '')}`}${unit}`;
};

// Times

/** Days since 1970-01-01 of a date of the proleptic Gregorian calendar. */
export const daysOfDate = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719468;
};
/** The date of a day count since 1970-01-01. */
export const dateOfDays = (days: number): { readonly year: number; readonly month: number; readonly day: number } => {
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const dayOfEra = z - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * m + 2) / 5) + 1,
  };
};
/** Days of a month (1 to 12) in the Gregorian calendar. */
export const daysOfMonth = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : [4, 6, 9, 11].includes(month)
      ? 30
      : 31;

const timeSyntax = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;
/** An RFC 3339 time in nanoseconds since 1970; digits beyond nanoseconds are cut. Not bounded: ask `fitsInt64`. */
export const parseTime = (text: string): number | bigint | undefined => {
  const m = timeSyntax.exec(text);
  if (!m) return undefined;
  const year = Number(m[1]);
  const month = Number(m[2]);
  const day = Number(m[3]);
  const hour = Number(m[4]);
  const minute = Number(m[5]);
  const second = Number(m[6]);
  const offsetHour = Number(m[9] ?? 0);
  const offsetMinute = Number(m[10] ?? 0);
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month) || hour > 23 || minute > 59 || second > 59)
    return undefined;
  if (offsetHour > 23 || offsetMinute > 59) return undefined;
  const offset = (m[8] === '-' ? -1 : 1) * (offsetHour * 3600 + offsetMinute * 60);
  const seconds = daysOfDate(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
  return nanosOf(seconds, m[7] ? Number(m[7].slice(0, 9).padEnd(9, '0')) : 0);
};
const nanosOf = (seconds: number, nanos: number): number | bigint => {
  const x = seconds * 1e9 + nanos;
  return Number.isSafeInteger(x) ? x : integer(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
};

const two = (n: number): string => (n < 10 ? `0${n}` : String(n));
/** RFC 3339 in UTC, the fraction without its trailing zeros. */
export const timeText = (nanos: number | bigint): string => {
  let seconds: number;
  let rest: number;
  if (typeof nanos === 'number') {
    seconds = Math.floor(nanos / 1e9);
    rest = nanos - seconds * 1e9;
  } else {
    let remainder = nanos % 1_000_000_000n;
    if (remainder < 0n) remainder += 1_000_000_000n;
    rest = Number(remainder);
    seconds = Number((nanos - remainder) / 1_000_000_000n);
  }
  const days = Math.floor(seconds / 86400);
  const ofDay = seconds - days * 86400;
  const { year, month, day } = dateOfDays(days);
  const hour = Math.floor(ofDay / 3600);
  const minute = Math.floor((ofDay % 3600) / 60);
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`;
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(ofDay % 60)}${fraction}Z`;
};

// Addresses and networks

/** 4 or 16 bytes of a dotted quad or IPv6 text (no zone). */
export const parseIp = (text: string): Uint8Array | undefined =>
  text.includes(':') ? parseIpv6(text) : parseIpv4(text);
const quadPart = /^(?:0|[1-9][0-9]{0,2})$/;
const parseIpv4 = (text: string): Uint8Array | undefined => {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((p) => quadPart.test(p) && Number(p) < 256)) return undefined;
  return Uint8Array.from(parts, Number);
};
const hexGroup = /^[0-9a-fA-F]{1,4}$/;
const parseIpv6 = (text: string): Uint8Array | undefined => {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1]!, true) : [];
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const out = new Uint8Array(16);
  [...head, ...new Array<number>(missing).fill(0), ...tail].forEach((g, i) => {
    out[i * 2] = g >> 8;
    out[i * 2 + 1] = g & 0xff;
  });
  return out;
};
/** 16-bit groups; the last part may be a dotted quad where the text ends. */
const groupsOf = (text: string, last: boolean): number[] | undefined => {
  if (text === '') return [];
  const out: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (hexGroup.test(part)) out.push(Number.parseInt(part, 16));
    else {
      const quad = last && i === parts.length - 1 ? parseIpv4(part) : undefined;
      if (!quad) return undefined;
      out.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!);
    }
  }
  return out;
};

/** Canonical text of 4 or 16 bytes. */
export const ipText = (bytes: Uint8Array): string => {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((bytes[i]! << 8) | bytes[i + 1]!);
  if (groups.slice(0, 5).every((g) => g === 0) && groups[5] === 0xffff) return `::ffff:${ipText(bytes.subarray(12))}`;
  let start = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > length) {
      start = i;
      length = end - i;
    }
  }
  const hex = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((g) => g.toString(16))
      .join(':');
  return start < 0 ? hex(0, 8) : `${hex(0, start)}::${hex(start + length, 8)}`;
};

/** Address then mask, both as many bytes as the family has; the address is masked. */
export const netOf = (address: Uint8Array, bits: number): Uint8Array => {
  const size = address.length;
  const out = new Uint8Array(size * 2);
  for (let i = 0; i < size; i++) {
    const mask = bits >= (i + 1) * 8 ? 0xff : bits <= i * 8 ? 0 : (0xff << (8 - (bits - i * 8))) & 0xff;
    out[i] = address[i]! & mask;
    out[size + i] = mask;
  }
  return out;
};
/** `address/bits`, masked. */
export const parseNet = (text: string): Uint8Array | undefined => {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const address = parseIp(text.slice(0, slash));
  const bitsText = text.slice(slash + 1);
  if (!address || !quadPart.test(bitsText) || Number(bitsText) > address.length * 8) return undefined;
  return netOf(address, Number(bitsText));
};
/** Prefix length of a network. */
const netBits = (net: Uint8Array): number => {
  let bits = 0;
  for (let i = net.length / 2; i < net.length; i++) for (let b = net[i]!; b & 0x80; b = (b << 1) & 0xff) bits++;
  return bits;
};
/** `address/bits` of a network: 8 or 32 bytes, address then mask. */
export const netText = (net: Uint8Array): string => `${ipText(net.subarray(0, net.length / 2))}/${netBits(net)}`;

// Bytes

/** `0x` and an even number of hex digits. */
export const parseBytes = (text: string): Uint8Array | undefined => {
  if (!text.startsWith('0x') || text.length % 2 === 1 || /[^0-9a-fA-F]/.test(text.slice(2))) return undefined;
  const out = new Uint8Array(text.length / 2 - 1);
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(text.slice(i * 2 + 2, i * 2 + 4), 16);
  return out;
};
const fewBytes = 64;
const hexPairs = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));
/** `0x` and two lower-case hex digits a byte. */
export const bytesText = (bytes: Uint8Array): string => {
  if (bytes.length > fewBytes) {
    chargeText(bytes.length * 2, 'the text of bytes');
    return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`;
  }
  let out = '0x';
  for (const b of bytes) out += hexPairs[b]!;
  return out;
};

/**
 * Text of a number, duration, time, bool, null, ip, net or bytes as SUP spells it, without decorator; strings and types
 * are sup/print.ts's.
 */
export const primitiveText = (type: Type, data: Data): string => {
  switch (type) {
    case types.float64:
      return floatText(numberData(data));
    case types.float32:
    case types.float16:
      return floatText(numberData(data), 32);
    case types.duration:
      return durationText(numericData(data));
    case types.time:
      return timeText(numericData(data));
    case types.ip:
      return ipText(bytesData(data));
    case types.net:
      return netText(bytesData(data));
    case types.bytes:
      return bytesText(bytesData(data));
    default:
      return String(data);
  }
};
