/**
 * Text as bytes, numbers and addresses, and back: encodings, digits to a base, percent signs, code points. Further
 * parts of strings as SQL names them.
 */
import { firstCodePoint, textToBytes } from '../../../vectors/texts/codec.ts';
import { charge, chargeText, checkStopAt } from '../../../vectors/stop.ts';
import { isInteger, types } from '../../../vectors/type.ts';
import { type Value, intValue, stringValue, bytesData, numericData, stringData } from '../../../vectors/value.ts';
import { flatten, nulls, numbers, take } from '../../../vectors/vector.ts';
import { apply } from '../../expressions/apply.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { listOf } from '../lists/lists.ts';
import { countOf, cut } from './code-points.ts';
import { decodedBytes, encodedText, isBase64 } from './coding.ts';
import { compiled } from './matches.ts';
import { type Evaluate, type FunctionRow, type Kernel, byVectors, rowsOf } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const decoded = (bytes: Uint8Array): string | Refusal => {
  try {
    return decoder.decode(bytes);
  } catch {
    return new Refusal('bytes are no UTF-8');
  }
};
const hexBytes = (text: string): Uint8Array | Refusal => {
  const digits = text.length % 2 === 1 ? `0${text}` : text;
  return !/[^0-9a-fA-F]/.test(digits) ? decodedBytes(digits, 'hex') : new Refusal('not hexadecimal');
};
const binaryBytes = (text: string): Uint8Array | Refusal => {
  if (/[^01]/.test(text)) return new Refusal('not binary');
  const size = Math.ceil(text.length / 8);
  charge(size, 'unbin');
  const out = new Uint8Array(size);
  // The first byte has the digits that are left over.
  for (let i = 0, at = text.length - size * 8; i < size; i++, at += 8)
    out[i] = Number.parseInt(text.slice(Math.max(at, 0), at + 8), 2);
  return out;
};
const base64Bytes = (text: string): Uint8Array | Refusal =>
  isBase64(text) ? decodedBytes(text, 'base64') : new Refusal('not base64');

const percent = 0x25;
/** The value of a hexadecimal digit; NaN for other bytes. */
const hexDigit = (code: number | undefined): number =>
  code === undefined ? NaN : Number.parseInt(String.fromCharCode(code), 16);
/** In its bytes, which become no more. */
const urlDecoded = (text: string): string => {
  const bytes = Buffer.from(text);
  let n = 0;
  for (let i = 0; i < bytes.length; i++) {
    checkStopAt(i);
    const code = bytes[i] === percent ? hexDigit(bytes[i + 1]) * 16 + hexDigit(bytes[i + 2]) : NaN;
    if (code === code) i += 2;
    bytes[n++] = code === code ? code : bytes[i];
  }
  return bytes.toString('utf8', 0, n);
};
/** Shorter texts are not worth a charge. */
const longText = 1 << 16;
/** A byte becomes three, in a text that is there twice for a moment. */
const urlEncoded = (text: string): string => {
  if (text.length > longText) chargeText(Buffer.byteLength(text) * 6, 'url_encode');
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
};

const baseMin = 2;
const baseMax = 36;
const lengthMax = 64;
const inBase = (n: number | bigint, base: number | bigint, length: number | bigint = 0): string | Refusal => {
  if (n < 0) return new Refusal('negative number');
  if (base < baseMin || base > baseMax) return new Refusal(`base must be ${baseMin} to ${baseMax}`, 1);
  return length < 0 || length > lengthMax
    ? new Refusal(`length must be 0 to ${lengthMax}`, 2)
    : BigInt(n).toString(Number(base)).toUpperCase().padStart(Number(length), '0');
};
const binaryDigits = (v: Value): string | Refusal => {
  if (isInteger(v.type)) return BigInt.asUintN(64, BigInt(numericData(v.data))).toString(2);
  return v.type === types.string
    ? bitsOfBytes(textToBytes(stringData(v.data)))
    : new Refusal('integer or string argument required');
};
const zeroDigit = 0x30;
/** Eight digits a byte. */
const bitsOfBytes = (bytes: Uint8Array): string => {
  chargeText(bytes.length * 16, 'bin');
  const out = Buffer.allocUnsafe(bytes.length * 8);
  for (let i = 0; i < bytes.length; i++) {
    checkStopAt(i);
    for (let bit = 0; bit < 8; bit++) out[i * 8 + bit] = zeroDigit + ((bytes[i] >> (7 - bit)) & 1);
  }
  return out.toString('latin1');
};
/** The bytes lie one string after the other: nothing is decoded. */
const byteLengths: Kernel = ([arg], length) => {
  const v = flatten(arg!);
  if (v.form === 'null') return nulls(length);
  if (v.form !== 'bytes' || v.type !== types.string) return wrapErrors('strlen: string argument required', arg!);
  const sizes = new Float64Array(length);
  for (let i = 0; i < length; i++) sizes[i] = v.offsets[i + 1] - v.offsets[i];
  return numbers(types.int64, sizes);
};
/** A view of so many times fewer rows than it is made from is copied first. */
const viewedMax = 4;
/**
 * The lengths behind a view are taken in place of its strings: copying them was a tenth of the mean length of 980,000 of
 * 1,000,000 addresses by an id.
 */
const byteLengthsOf: Evaluate = ([arg], length) =>
  arg!.form === 'selected' && arg!.base.length <= length * viewedMax
    ? take(apply([arg!.base], arg!.base.length, byteLengths, 'bare'), arg!.index)
    : apply([arg!], length, byteLengths, 'bare');
const codePoint = (s: string, none: number): number => firstCodePoint(s) ?? none;
const sizeOf = (v: Value): number | Refusal => {
  if (v.type === types.bytes) return bytesData(v.data).length;
  return v.type === types.string
    ? textToBytes(stringData(v.data)).length
    : new Refusal('string or bytes argument required');
};
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** What a grapheme takes with the object that it comes in, until this is garbage. */
const graphemeBytes = 160;
const graphemes = (s: string): string[] => {
  charge(s.length * graphemeBytes, 'graphemes');
  return Array.from(segments.segment(s), (x) => x.segment);
};
/** As substr() counts, by graphemes. */
const graphemesOf = (s: string, from: number | bigint, count?: number | bigint): string => {
  const all = graphemes(s);
  const place = Number(from);
  const start = place > 0 ? place - 1 : place < 0 ? all.length + place : -1;
  const [a, b] =
    count === undefined
      ? [start, all.length]
      : count < 0
        ? [start + Number(count), start]
        : [start, start + Number(count)];
  return all.slice(Math.max(a, 0), Math.max(b, 0)).join('');
};
const overlaid = (s: string, by: string, from: number | bigint, count?: number | bigint): string => {
  const start = Number(from) - 1;
  const length = count === undefined || count < 0 ? countOf(by) : Number(count);
  chargeText(s.length + by.length, 'overlay');
  return cut(s, 0, start) + by + cut(s, start + length, s.length);
};

const text = (name: string, rest = ''): readonly [string, string] => [
  `${name}(1${rest})`,
  `error({message:"${name}: string argument required",on:1})`,
];
const integerError = (name: string, rest = ''): readonly [string, string] => [
  `${name}("a"${rest})`,
  `error({message:"${name}: integer argument required",on:"a"})`,
];
export const textCodes: readonly FunctionRow[] = [
  ...rowsOf(
    'encode(s)',
    'The bytes of a string in UTF-8.',
    byRow('encode', ['string'], 'bytes', (s) => textToBytes(s)),
    [['encode("ä")', '0xc3a4'], text('encode')],
  ),
  ...rowsOf('decode(b)', 'The string that bytes are in UTF-8.', byRow('decode', ['bytes'], 'string', decoded), [
    ['decode(0xc3a4)', '"ä"'],
    ['decode(0xff)', 'error({message:"decode: bytes are no UTF-8",on:0xff})'],
  ]),
  ...rowsOf(
    'unhex(s)',
    'The bytes of hexadecimal digits.',
    byRow('unhex', ['string'], 'bytes', hexBytes),
    [
      ['unhex("C3A4")', '0xc3a4'],
      ['unhex("x")', 'error({message:"unhex: not hexadecimal",on:"x"})'],
    ],
    { also: ['from_hex'] },
  ),
  ...rowsOf(
    'unbin(s)',
    'The bytes of binary digits.',
    byRow('unbin', ['string'], 'bytes', binaryBytes),
    [
      ['unbin("0101")', '0x05'],
      ['unbin("2")', 'error({message:"unbin: not binary",on:"2"})'],
    ],
    { also: ['from_binary'] },
  ),
  ...rowsOf('from_base64(s)', 'The bytes of base64.', byRow('from_base64', ['string'], 'bytes', base64Bytes), [
    ['from_base64("w6Q=")', '0xc3a4'],
    ['from_base64("?")', 'error({message:"from_base64: not base64",on:"?"})'],
  ]),
  ...rowsOf(
    'to_base64(b)',
    'Bytes as base64.',
    byRow('to_base64', ['bytes'], 'string', (b) => encodedText(b, 'base64')),
    [
      ['to_base64(0xc3a4)', '"w6Q="'],
      ['to_base64(1)', 'error({message:"to_base64: bytes argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'url_encode(s)',
    'A string with percent signs, as a part of an address has it.',
    byRow('url_encode', ['string'], 'string', urlEncoded),
    [['url_encode("a b/ü")', '"a%20b%2F%C3%BC"'], text('url_encode')],
  ),
  ...rowsOf(
    'url_decode(s)',
    'The string that stands with percent signs.',
    byRow('url_decode', ['string'], 'string', urlDecoded),
    [['url_decode("a%20b")', '"a b"'], text('url_decode')],
  ),
  ...rowsOf(
    'to_base(n, base[, length])',
    'The digits of a whole number to a base from 2 to 36, with zeros in front to a length.',
    byRow('to_base', ['integer', 'integer', 'integer'], 'string', inBase),
    [
      ['to_base(10,2,8)', '"00001010"'],
      ['to_base(-1,2)', 'error({message:"to_base: negative number",on:-1})'],
      ['to_base(1,1)', 'error({message:"to_base: base must be 2 to 36",on:1})'],
      integerError('to_base', ',2'),
    ],
  ),
  ...rowsOf(
    'bin(v)',
    'The binary digits of a whole number, or of the bytes of a string.',
    byRow('bin', ['value'], 'string', binaryDigits),
    [
      ['bin(10)', '"1010"'],
      ['bin(0.5)', 'error({message:"bin: integer or string argument required",on:0.5})'],
      ['bin([1])', 'error({message:"bin: integer or string argument required",on:[1]})'],
    ],
    { also: ['to_binary'] },
  ),
  ...rowsOf(
    'ord(s)',
    'The number of the first code point of a string; -1 if it is empty.',
    byRow('ord', ['string'], 'integer', (s) => codePoint(s, -1)),
    [['ord("€")', '8364'], text('ord')],
    { also: ['unicode'] },
  ),
  ...rowsOf('strlen(s)', 'How many bytes a string has in UTF-8.', byVectors(byteLengthsOf), [
    ['strlen("é")', '2'],
    text('strlen'),
  ]),
  ...rowsOf(
    'octet_length(v)',
    'How many bytes a string or bytes have.',
    byRow('octet_length', ['value'], 'value', (v) => {
      const size = sizeOf(v);
      return size instanceof Refusal ? size : intValue(size);
    }),
    [
      ['octet_length(0x0102)', '2'],
      ['octet_length(1)', 'error({message:"octet_length: string or bytes argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'bit_length(v)',
    'How many bits a string or bytes have.',
    byRow('bit_length', ['value'], 'value', (v) => {
      const size = sizeOf(v);
      return size instanceof Refusal ? size : intValue(size * 8);
    }),
    [
      ['bit_length("é")', '16'],
      ['bit_length(1)', 'error({message:"bit_length: string or bytes argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'length_grapheme(s)',
    'How many characters a string has as people count them.',
    byRow('length_grapheme', ['string'], 'integer', (s) => graphemes(s).length),
    [['length_grapheme("e\\u0301a")', '2'], text('length_grapheme')],
  ),
  ...rowsOf(
    'substring_grapheme(s, start[, length])',
    'A part of a string, counted in characters as people count them.',
    byRow('substring_grapheme', ['string', 'integer', 'integer'], 'string', graphemesOf),
    [['substring_grapheme("abc",2,1)', '"b"'], text('substring_grapheme', ',1')],
  ),
  ...rowsOf(
    'left_grapheme(s, n)',
    'The first n characters of a string as people count them; without the last -n if n is negative.',
    byRow('left_grapheme', ['string', 'integer'], 'string', (s, n) => {
      const all = graphemes(s);
      return all.slice(0, n < 0 ? Math.max(all.length + Number(n), 0) : Number(n)).join('');
    }),
    [['left_grapheme("abc",2)', '"ab"'], text('left_grapheme', ',1')],
  ),
  ...rowsOf(
    'right_grapheme(s, n)',
    'The last n characters of a string as people count them; without the first -n if n is negative.',
    byRow('right_grapheme', ['string', 'integer'], 'string', (s, n) => {
      const all = graphemes(s);
      return all.slice(n < 0 ? -Number(n) : Math.max(all.length - Number(n), 0)).join('');
    }),
    [['right_grapheme("abc",2)', '"bc"'], text('right_grapheme', ',1')],
  ),
  ...rowsOf(
    'overlay(s, by, start[, length])',
    'A string with a part of it, from a place on, replaced by another; in SQL also overlay(s placing t from start for length).',
    byRow('overlay', ['string', 'string', 'integer', 'integer'], 'string', overlaid),
    [
      ['overlay("abcdef","XX",3)', '"abXXef"'],
      ['overlay("abcdef","XY",0,2)', '"XYbcdef"'],
      ['overlay(1,"b",1)', 'error({message:"overlay: string argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'string_split_regex(s, re[, options])',
    'The parts of a string between the matches of an RE2 expression; one that matches nothing parts all code points.',
    byRow('string_split_regex', ['string', 'string', 'string'], 'value', (s, pattern, options = '') => {
      const re = compiled(pattern, options, 2);
      if (re instanceof Refusal) return re;
      const parts: string[] = [];
      let start = 0;
      for (const matcher = re.matcher(s); matcher.find(); ) {
        const from = matcher.start(0);
        const to = matcher.end(0);
        if (to === from && (from === start || from >= s.length)) continue;
        parts.push(s.slice(start, from));
        start = to;
      }
      return listOf([...parts, s.slice(start)].map(stringValue), types.string);
    }),
    [['string_split_regex("a1b22c","[0-9]+")', '["a","b","c"]'], text('string_split_regex', ',"a"')],
    { also: ['str_split_regex'] },
  ),
];
