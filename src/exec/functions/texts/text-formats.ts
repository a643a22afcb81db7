/** Values written by formats: printf with %, format with {}; sizes of bytes; bars. */
import { castVector } from '../../expressions/cast.ts';
import { sqlText } from '../../expressions/sql/texts.ts';
import { exactOf, isLongDecimal, nearValue } from '../../../vectors/decimal.ts';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import {
  type Value,
  intValue,
  nullValue,
  stringValue,
  wrappedError,
  numberData,
  numericData,
  stringData,
} from '../../../vectors/value.ts';
import { checkStop } from '../../../vectors/stop.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { valueAt } from '../../../vectors/vector.ts';
import { vectorOf } from '../../../vectors/builder.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';
import { exponentDigits, fixedDigits, powerOf } from './float-digits.ts';

/** One place of a format: how a value is written there. */
interface Spec {
  readonly fill: string;
  readonly align: '<' | '>' | '^' | undefined;
  readonly sign: string;
  readonly alternate: boolean;
  readonly zero: boolean;
  readonly width: number;
  readonly thousands: string;
  readonly precision: number | undefined;
  readonly type: string;
}
/** `width`: the argument that has the width, where a format leaves it to one. */
type Piece = string | { readonly spec: Spec; readonly argument: number; readonly width?: number };

const widthMax = 100_000;
const printfSyntax = /%(?:%|([-+ #0]*)([,'_]?)(\d*|\*)(?:\.(\d*))?(?:hh?|ll?|[qjzt])?([a-zA-Z]))/gy;
/** The pieces of a format one after the other, for it may be long; undefined, at the end, if it is none. */
type Pieces = (format: string) => Generator<Piece | undefined>;

/** The pieces of a format of printf. */
function* printfPieces(format: string): Generator<Piece | undefined> {
  let argument = 0;
  for (let at = 0; at < format.length; ) {
    const next = format.indexOf('%', at);
    const end = next < 0 ? format.length : next;
    if (end > at) yield format.slice(at, end);
    if (next < 0) break;
    printfSyntax.lastIndex = next;
    const found = printfSyntax.exec(format);
    if (!found) {
      yield undefined;
      return;
    }
    at = next + found[0].length;
    if (found[0] === '%%') {
      yield '%';
      continue;
    }
    const [, flags = '', thousands = '', width, precision, type = ''] = found;
    const byArgument = width === '*' ? { width: argument++ } : {};
    yield {
      ...byArgument,
      argument: argument++,
      spec: {
        fill: ' ',
        align: flags.includes('-') ? '<' : '>',
        sign: flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '',
        alternate: flags.includes('#'),
        zero: flags.includes('0') && !flags.includes('-'),
        // A point without digits parts thousands, as in DuckDB.
        width: width === '*' ? 0 : Number(width || 0),
        thousands: precision === '' && 'diu'.includes(type) ? '.' : thousands,
        precision: precision === undefined ? undefined : Number(precision || 0),
        type: type === 'i' || type === 'u' ? 'd' : type,
      },
    };
  }
}
const braceSyntax =
  /\{\{|\}\}|\{(\d*)(?::(?:([^{}])?([<>^]))?([-+ ]?)(#?)(0?)(\d*)(?:([,_'])|t([^{}]))?(?:\.(\d+))?([a-zA-Z]?))?\}/gy;
/** The pieces of a format with braces. */
function* bracePieces(format: string): Generator<Piece | undefined> {
  let argument = 0;
  for (let at = 0; at < format.length; ) {
    const next = format.slice(at).search(/[{}]/);
    const end = next < 0 ? format.length : at + next;
    if (end > at) yield format.slice(at, end);
    if (next < 0) break;
    braceSyntax.lastIndex = end;
    const found = braceSyntax.exec(format);
    if (!found) {
      yield undefined;
      return;
    }
    at = end + found[0].length;
    if (found[0] === '{{' || found[0] === '}}') {
      yield found[0][0]!;
      continue;
    }
    const [
      ,
      place,
      fill,
      align,
      sign = '',
      alternate,
      zero,
      width,
      known = '',
      thousands = known,
      precision,
      type = '',
    ] = found;
    yield {
      argument: place ? Number(place) : argument++,
      spec: {
        fill: fill ?? ' ',
        align: align as Spec['align'],
        sign: sign === '-' ? '' : sign,
        alternate: alternate === '#',
        zero: zero === '0',
        width: Number(width || 0),
        thousands,
        precision: precision === undefined ? undefined : Number(precision),
        type,
      },
    };
  }
}

const isNumber = (v: Value): boolean => isInteger(v.type) || isFloat(v.type);
/** Integers of 128 bits as bigints; other long decimals as the nearest floats. */
const plainNumber = (v: Value): Value => {
  if (!isLongDecimal(v.type)) return v;
  const exact = exactOf(v);
  return exact?.scale === 0 ? { type: types.int64, data: exact.units } : nearValue(v);
};
/** The digits of a number without its sign; undefined where the letter does not fit. */
const digitsOf = (v: Value, { type, precision, alternate }: Spec): string | undefined => {
  if (isInteger(v.type)) {
    const x = BigInt(numericData(v.data));
    const size = x < 0n ? -x : x;
    switch (type) {
      case '':
      case 'd':
        return size.toString();
      case 'x':
        return `${alternate ? '0x' : ''}${size.toString(16)}`;
      case 'X':
        return `${alternate ? '0X' : ''}${size.toString(16).toUpperCase()}`;
      case 'o':
        return `${alternate ? '0' : ''}${size.toString(8)}`;
      case 'b':
        return `${alternate ? '0b' : ''}${size.toString(2)}`;
      case 'c':
        return String.fromCodePoint(Number(size));
      case 'f':
      case 'F':
        return precision === 0 ? size.toString() : `${size}.${'0'.repeat(Math.min(precision ?? 6, 100))}`;
      default:
        return 'eEgG'.includes(type) ? floatDigits(Math.abs(Number(x)), type, precision) : undefined;
    }
  }
  return type === '' || 'eEfFgG'.includes(type)
    ? floatDigits(Math.abs(numberData(v.data)), type, precision)
    : undefined;
};
const exponent = (text: string): string => text.replace(/e([+-])(\d)$/, 'e$10$2');
const floatDigits = (x: number, type: string, precision: number | undefined): string => {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'nan' : 'inf';
  const digits = Math.min(precision ?? 6, 100);
  const upper = type >= 'A' && type <= 'Z';
  const text = ((): string => {
    switch (type.toLowerCase()) {
      case 'f':
        return fixedDigits(x, digits);
      case 'e':
        return exponent(exponentDigits(x, digits));
      case 'g':
        return generalDigits(x, digits || 1);
      default:
        return precision === undefined ? shortest(x) : generalDigits(x, digits || 1, true);
    }
  })();
  return upper ? text.toUpperCase() : text;
};
const shortest = (x: number): string => (Number.isInteger(x) && x < 1e16 ? `${x}.0` : exponent(String(x)));
/** So many digits that count; `whole`: zeros at the end too. */
const generalDigits = (x: number, digits: number, whole = false): string => {
  if (x === 0) return whole && digits > 1 ? `0.${'0'.repeat(digits - 1)}` : '0';
  const scientific = exponentDigits(x, Math.min(digits - 1, 100));
  const power = powerOf(scientific);
  if (power < -4 || power >= digits) return exponent(scientific.replace(/\.?0+e/, 'e'));
  const fixed = fixedDigits(x, Math.min(Math.max(digits - 1 - power, 0), 100));
  return fixed.includes('.') && !whole ? fixed.replace(/\.?0+$/, '') : fixed;
};
const grouped = (digits: string, by: string): string =>
  digits.replace(/^\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, by));
const isNegative = (v: Value): boolean =>
  typeof v.data === 'bigint' ? v.data < 0n : (v.data as number) < 0 || Object.is(v.data, -0);
const textFor = (v: Value): string => {
  if (v.type === types.string) return stringData(v.data);
  const cast = v.type === types.bytes ? v : valueAt(castVector(vectorOf([v]), types.string), 0);
  return typeof cast.data === 'string' ? cast.data : sqlText(v);
};
/** A value as its place says, or undefined if it does not fit there. */
const written = (v: Value, spec: Spec): string | undefined => {
  if (v.type === types.null) return 'NULL';
  if (!isNumber(v)) {
    if (spec.type !== '' && spec.type !== 's')
      return v.type === types.bool && spec.type === 'd' ? padded(String(Number(v.data)), spec, '>') : undefined;
    const text = textFor(v);
    return padded(spec.precision === undefined ? text : [...text].slice(0, spec.precision).join(''), spec, '<');
  }
  const digits = digitsOf(v, spec);
  if (digits === undefined) return undefined;
  const sign = isNegative(v) ? '-' : spec.sign;
  const body = spec.thousands ? grouped(digits, spec.thousands) : digits;
  if (spec.zero && spec.align !== '<' && spec.align !== '^') return sign + body.padStart(spec.width - sign.length, '0');
  return padded(sign + body, spec, '>');
};
const padded = (text: string, { width, fill, align }: Spec, usual: '<' | '>'): string => {
  const room = width - [...text].length;
  if (room <= 0) return text;
  switch (align ?? usual) {
    case '<':
      return text + fill.repeat(room);
    case '>':
      return fill.repeat(room) + text;
    case '^':
      return fill.repeat(Math.floor(room / 2)) + text + fill.repeat(Math.ceil(room / 2));
  }
};

const formatted =
  (name: string, piecesOf: Pieces) =>
  (format: Value, ...given: readonly Value[]): string | Refusal => {
    if (format.type !== types.string) return new Refusal('string argument required');
    const pieces = piecesOf(stringData(format.data));
    const values = given.filter((v) => v !== undefined);
    const out = new TextPieces(name);
    for (let next = pieces.next(); !next.done; next = pieces.next()) {
      checkStop();
      const text = pieceText(next.value, values);
      if (text instanceof Refusal) return isFormat(pieces) ? text : noFormat;
      out.add(text);
    }
    return out.text();
  };
const noFormat = new Refusal('invalid format');
const pieceText = (piece: Piece | undefined, values: readonly Value[]): string | Refusal => {
  if (typeof piece === 'string') return piece;
  if (!piece) return noFormat;
  const value = values[piece.argument];
  const width = piece.width === undefined ? undefined : values[piece.width];
  if (value === undefined) return new Refusal('too few arguments for the format');
  if (width && !isInteger(width.type)) return new Refusal('integer argument required', piece.width! + 1);
  const spec = width
    ? { ...piece.spec, width: Math.abs(Number(width.data)), ...(Number(width.data) < 0 && { align: '<' as const }) }
    : piece.spec;
  if (spec.width > widthMax || (spec.precision ?? 0) > widthMax)
    return new Refusal(`width must be at most ${widthMax}`);
  return (
    written(plainNumber(value), spec) ?? new Refusal(`'${spec.type}' does not fit the argument`, piece.argument + 1)
  );
};
/** Whether the rest is one: what is no format is refused as that, whatever else is wrong. */
const isFormat = (rest: ReturnType<Pieces>): boolean => {
  for (const piece of rest) if (piece === undefined) return false;
  return true;
};

/** The same over rows of which some values are long decimals. */
const formattedExactly =
  (name: string, piecesOf: Pieces): FunctionRow['exact'] =>
  (args) => {
    const [format, ...values] = args;
    if (!format || format.type === types.null) return nullValue;
    const found = formatted(name, piecesOf)(format, ...values);
    return found instanceof Refusal
      ? wrappedError(`${name}: ${found.text}`, args[found.argument]!)
      : stringValue(found);
  };

const binaryUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const decimalUnits = ['kB', 'MB', 'GB', 'TB', 'PB'];
/** With one digit behind the point, cut. */
const sizeText = (n: number | bigint, base: bigint, units: readonly string[]): string => {
  const x = BigInt(n);
  const size = x < 0n ? -x : x;
  const sign = x < 0n ? '-' : '';
  if (size < base) return `${sign}${size} byte${size === 1n ? '' : 's'}`;
  let unit = 0;
  let divisor = base;
  while (unit + 1 < units.length && size >= divisor * base) {
    divisor *= base;
    unit++;
  }
  return `${sign}${size / divisor}.${((size * 10n) / divisor) % 10n} ${units[unit]!}`;
};
const sizeSyntax = /^\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-z]+)\s*$/i;
const sizeUnits: Readonly<Record<string, number>> = {
  b: 1,
  byte: 1,
  bytes: 1,
  kb: 1e3,
  k: 1e3,
  kilobyte: 1e3,
  kilobytes: 1e3,
  mb: 1e6,
  m: 1e6,
  megabyte: 1e6,
  megabytes: 1e6,
  gb: 1e9,
  g: 1e9,
  gigabyte: 1e9,
  gigabytes: 1e9,
  tb: 1e12,
  t: 1e12,
  terabyte: 1e12,
  terabytes: 1e12,
  kib: 2 ** 10,
  kibibyte: 2 ** 10,
  kibibytes: 2 ** 10,
  mib: 2 ** 20,
  mebibyte: 2 ** 20,
  mebibytes: 2 ** 20,
  gib: 2 ** 30,
  gibibyte: 2 ** 30,
  gibibytes: 2 ** 30,
  tib: 2 ** 40,
  tebibyte: 2 ** 40,
  tebibytes: 2 ** 40,
};
const parsedSize = (text: string): number | undefined => {
  const [, number, unit = ''] = sizeSyntax.exec(text) ?? [];
  const factor = sizeUnits[unit.toLowerCase()];
  return number === undefined || factor === undefined ? undefined : Math.floor(Number(number) * factor);
};

const barWidth = 80;
const barWidthMax = 1000;
const eighths = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const bar = (x: number, low: number, high: number, width: number = barWidth): string | Refusal => {
  if (!Number.isFinite(width) || width < 1 || width > barWidthMax)
    return new Refusal(`width must be 1 to ${barWidthMax}`, 3);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return new Refusal('finite bounds required', 1);
  const share = Number.isNaN(x) || x <= low ? 0 : x >= high ? width : (width * (x - low)) / (high - low);
  const parts = Math.floor(share * 8 + 1e-9);
  const full = Math.floor(parts / 8);
  const text = '█'.repeat(full) + (parts % 8 > 0 ? eighths[parts % 8]! : '');
  return text.padEnd(Math.ceil(width), ' ');
};

const wrongInteger = (name: string): readonly [string, string] => [
  `${name}("a")`,
  `error({message:"${name}: integer argument required",on:"a"})`,
];
export const textFormats: readonly FunctionRow[] = [
  ...rowsOf(
    'printf(format, v, ...)',
    'Values in a format of C: %d, %s, %.2f, %5d, %-5s, %05d, %x, %e, %,d and the like.',
    byRow('printf', ['value', 'value'], 'string', formatted('printf', printfPieces)),
    [
      ['printf("%d is %s",1,"a")', '"1 is a"'],
      ['printf("%.2f|%05d",3.14159,7)', '"3.14|00007"'],
      ['printf("%d",1.5)', 'error({message:"printf: \'d\' does not fit the argument",on:1.5})'],
      ['printf("%d")', 'error({message:"printf: too few arguments for the format",on:"%d"})'],
      ['printf("%")', 'error({message:"printf: invalid format",on:"%"})'],
    ],
    { exact: formattedExactly('printf', printfPieces) },
  ).map((row) => ({ ...row, argumentsMin: 1 })),
  ...rowsOf(
    'format(format, v, ...)',
    'Values in a format with braces: {}, {1}, {:,}, {:.2f}, {:>5}, {:05d}, {:x} and the like.',
    byRow('format', ['value', 'value'], 'string', formatted('format', bracePieces)),
    [
      ['format("{} is {}",1,"a")', '"1 is a"'],
      ['format("{1}{0:>3}",1,"a")', '"a  1"'],
      ['format("{}")', 'error({message:"format: too few arguments for the format",on:"{}"})'],
      ['format("{")', 'error({message:"format: invalid format",on:"{"})'],
    ],
    { exact: formattedExactly('format', bracePieces) },
  ).map((row) => ({ ...row, argumentsMin: 1 })),
  ...rowsOf(
    'format_bytes(n)',
    'A number of bytes with a unit of 1024: KiB, MiB and so on.',
    byRow('format_bytes', ['integer'], 'string', (n) => sizeText(n, 1024n, binaryUnits)),
    [['format_bytes(123456)', '"120.5 KiB"'], ['format_bytes(1)', '"1 byte"'], wrongInteger('format_bytes')],
    { also: ['formatreadablesize'] },
  ),
  ...rowsOf(
    'formatreadabledecimalsize(n)',
    'A number of bytes with a unit of 1000: kB, MB and so on.',
    byRow('formatreadabledecimalsize', ['integer'], 'string', (n) => sizeText(n, 1000n, decimalUnits)),
    [['formatreadabledecimalsize(123456)', '"123.4 kB"'], wrongInteger('formatreadabledecimalsize')],
  ),
  ...rowsOf(
    'parse_formatted_bytes(s)',
    'The number of bytes that a size with a unit says.',
    byRow('parse_formatted_bytes', ['string'], 'value', (s) => {
      const found = parsedSize(s);
      if (found === undefined) return new Refusal('number with a unit required');
      return Number.isFinite(found) && fitsInt64(BigInt(found)) ? intValue(BigInt(found)) : new Refusal('out of range');
    }),
    [
      ['parse_formatted_bytes("1.5 KiB")', '1536'],
      ['parse_formatted_bytes("1")', 'error({message:"parse_formatted_bytes: number with a unit required",on:"1"})'],
      [
        'parse_formatted_bytes("10000000 TiB")',
        'error({message:"parse_formatted_bytes: out of range",on:"10000000 TiB"})',
      ],
    ],
  ),
  ...rowsOf(
    'bar(x, min, max[, width])',
    'A bar of blocks that is so far between two bounds, of 80 characters or another width.',
    byRow('bar', ['number', 'number', 'number', 'number'], 'string', bar),
    [
      ['bar(5,0,10,4)', '"██  "'],
      ['bar(1,0,1,0)', 'error({message:"bar: width must be 1 to 1000",on:0})'],
    ],
  ),
];
