/** Text of Zeek cells to data and back. */
import { isUtf8 } from 'node:buffer';
import { escapedText, secondsText } from '../log-cell.ts';
import { floatOf } from '../text-cell.ts';
import {
  decimalFloatText,
  parseFloat64,
  parseInteger,
  parseIp,
  parseNet,
  ipText,
  netText,
} from '../../vectors/literal.ts';
import { type Type, types, underType } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  canonicalSet,
  integer,
  bytesData,
  itemsData,
  memberData,
  numberData,
  numericData,
  stringData,
} from '../../vectors/value.ts';

/**
 * What a log's head says stands between the elements of a set or vector, for one without elements, and for what is
 * unset.
 */
export interface ZeekMarks {
  readonly setSeparator: string;
  readonly empty: string;
  readonly unset: string;
}

/**
 * Data of a cell of a column of type `type`, which is without its null; undefined for what is unset. @throws Error
 * saying what is wrong
 */
export const parseCell = (type: Type, text: string, marks: ZeekMarks): Data | undefined => {
  if (text === marks.unset) return undefined;
  if (type.kind !== 'array' && type.kind !== 'set') return parseSimple(underType(type), text);
  if (text === marks.empty) return [];
  const { element } = type;
  const member = element.kind === 'union' ? element.members.find((m) => m !== types.null)! : element;
  const items = text.split(marks.setSeparator).map((part): Value => {
    const data = part === marks.unset ? undefined : parseSimple(underType(member), part);
    return data === undefined ? { type: types.null, data: null } : { type: member, data };
  });
  return type.kind === 'set' ? canonicalSet(element, items) : items;
};

const parseSimple = (type: Type, text: string): Data => {
  switch (type) {
    case types.string:
      return unescaped(text);
    case types.bool:
      return bools.get(text) ?? fail('strconv.ParseBool', text);
    case types.int64:
    case types.uint64:
    case types.uint16:
      return wholeNumber(type, text);
    case types.float64:
      return floatOf(text) ?? fail('strconv.ParseFloat', text);
    case types.time:
    case types.duration:
      return nanosOf(text) ?? fail('strconv.ParseFloat', text);
    case types.ip:
      return parseIp(text) ?? fail('ParseAddr', text);
    default:
      return parseNet(text) ?? fail('netip.ParsePrefix', text);
  }
};
const bools: ReadonlyMap<string, boolean> = new Map([
  ...['T', 'true', 't', 'True', 'TRUE', '1'].map((text) => [text, true] as const),
  ...['F', 'false', 'f', 'False', 'FALSE', '0'].map((text) => [text, false] as const),
]);
const fail = (what: string, text: string): never => {
  throw new Error(`${what}: parsing "${text}": invalid syntax`);
};

const ranges: ReadonlyMap<Type, readonly [bigint, bigint]> = new Map([
  [types.int64, [-(1n << 63n), (1n << 63n) - 1n]],
  [types.uint64, [0n, (1n << 64n) - 1n]],
  [types.uint16, [0n, 65535n]],
] as const);
const wholeNumber = (type: Type, text: string): Data => {
  const x = parseInteger(text);
  const parser = type === types.int64 ? 'strconv.ParseInt' : 'strconv.ParseUint';
  if (x === undefined || (type !== types.int64 && text.startsWith('+'))) return fail(parser, text);
  const [least, most] = ranges.get(type)!;
  if (x < least || x > most) throw new Error(`${parser}: parsing "${text}": value out of range`);
  return x;
};

/** Nanoseconds of decimal seconds, exact to the last digit; digits beyond nanoseconds are cut. */
const nanosOf = (text: string): number | bigint | undefined => {
  const m = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
  if (!m) {
    const x = parseFloat64(text);
    return x === undefined || !Number.isFinite(x) ? undefined : int64Of(BigInt(Math.round(x * 1e9)));
  }
  if (m[2]!.length > 30) return undefined;
  const nanos = BigInt(m[2]!) * 1_000_000_000n + BigInt((m[3] ?? '').slice(0, 9).padEnd(9, '0'));
  return int64Of(m[1] ? -nanos : nanos);
};
/** Undefined: there is no such time. The least one has no positive counterpart. */
const int64Of = (nanos: bigint): number | bigint | undefined =>
  BigInt.asIntN(64, nanos) === nanos ? integer(nanos) : undefined;

const letters: Readonly<Record<string, number>> = { '\\': 0x5c, n: 10, r: 13, t: 9, b: 8, f: 12 };
/** Undoes `\xNN` and the short escapes. Bytes that make no UTF-8 stay escaped. */
const unescaped = (text: string): string => {
  if (!text.includes('\\')) return text;
  const source = Buffer.from(text);
  const bytes = Buffer.allocUnsafe(source.length);
  let length = 0;
  for (let i = 0; i < source.length; i++) {
    if (source[i] !== 0x5c || i + 1 === source.length) {
      bytes[length++] = source[i]!;
      continue;
    }
    const next = String.fromCharCode(source[i + 1]!);
    const hex = source.toString('latin1', i + 2, i + 4);
    if (next === 'x' && /^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes[length++] = Number.parseInt(hex, 16);
      i += 3;
    } else if (letters[next] !== undefined) {
      bytes[length++] = letters[next];
      i++;
    } else bytes[length++] = 0x5c;
  }
  return validText(bytes.subarray(0, length));
};
const validText = (bytes: Buffer): string => {
  if (isUtf8(bytes)) return bytes.toString();
  let out = '';
  for (let i = 0; i < bytes.length; ) {
    const size = characterSize(bytes, i);
    out += size === 0 ? `\\x${bytes[i]!.toString(16).padStart(2, '0')}` : bytes.toString('utf8', i, i + size);
    i += size || 1;
  }
  return out;
};
const characterSize = (bytes: Buffer, i: number): number => {
  for (let size = 1; size <= 4 && i + size <= bytes.length; size++)
    if (isUtf8(bytes.subarray(i, i + size))) return size;
  return 0;
};

/** The text of a cell. `inContainer`: commas separate there. */
export const cellText = (type: Type, data: Data, inContainer = false): string => {
  if (type.kind === 'named') return cellText(type.inner, data, inContainer);
  if (type.kind === 'union') {
    const member = memberData(data);
    return cellText(member.type, member.data, inContainer);
  }
  if (type.kind === 'array' || type.kind === 'set') {
    const items = itemsData(data);
    return items.length === 0 ? '(empty)' : items.map((d) => cellText(type.element, d, true)).join(',');
  }
  switch (type) {
    case types.null:
      return '-';
    case types.string:
      return escapedText(stringData(data), inContainer);
    case types.bool:
      return data ? 'T' : 'F';
    case types.time:
    case types.duration:
      return secondsText(numericData(data));
    case types.ip:
      return ipText(bytesData(data));
    case types.net:
      return netText(bytesData(data));
    case types.float64:
      return decimalFloatText(numberData(data));
    case types.float32:
    case types.float16:
      return decimalFloatText(numberData(data), 32);
    default:
      return String(data);
  }
};
