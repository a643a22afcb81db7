/**
 * Strings made longer, turned round and rewritten by their characters. What a result needs is charged before it is
 * made.
 */
import { charge, chargeText, checkStopAt } from '../../../vectors/stop.ts';
import { firstCodePoint } from '../../../vectors/texts/codec.ts';
import { types } from '../../../vectors/type.ts';
import { type Vector, flatten, nulls } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { castVector } from '../../expressions/cast.ts';
import { changedInRuns, countOf, cut } from './code-points.ts';
import { byKernel, isError, isNull, isText, texts, type FunctionRow, type Kernel } from '../row.ts';
import { single } from './strings.ts';
import { Refusal, byRow } from '../typed.ts';

/** A text so many times, charged to `what`. */
export const repeated = (text: string, times: number, what: string): string => {
  if (text === '' || times < 1) return '';
  chargeText(text.length * times, what);
  return text.repeat(times);
};
/** `count` code points of the padding again and again. */
const paddingOf = (by: string, count: number, what: string): string => {
  const size = countOf(by);
  const whole = Math.floor(count / size);
  return repeated(by, whole, what) + cut(by, 0, count - whole * size);
};
const pad =
  (name: string, side: 'left' | 'right') =>
  (s: string, to: number | bigint, by = ' '): string | Refusal => {
    const length = Number(to);
    const missing = length - countOf(s);
    if (missing <= 0) return cut(s, 0, length);
    if (by === '') return new Refusal('nothing to pad with', 2);
    const padding = paddingOf(by, missing, name);
    return side === 'left' ? padding + s : s + padding;
  };

const isAscii = /^[\0-\x7f]*$/;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** What an entry of an array and its string take. */
const pieceBytes = 32;
/** What one sees as a character stays whole: letters with their accents, emojis of several code points. */
const reverse = (s: string): string => {
  if (isAscii.test(s)) {
    if (s.length > longText) chargeText(s.length * 2, 'reverse');
    return Buffer.from(s, 'latin1').reverse().toString('latin1');
  }
  if (s.length > longText) charge(s.length * pieceBytes, 'reverse');
  const parts: string[] = [];
  for (const { segment } of graphemes.segment(s)) {
    checkStopAt(parts.length);
    parts.push(segment);
  }
  return parts.reverse().join('');
};
/** What may become longer is measured from so many characters on. */
const longText = 1 << 16;

/** A character of `from` becomes the one at its place in `to`, or nothing where `to` is shorter. */
const translate = (s: string, from: string, to: string): string => {
  const table = new Map<string, string>();
  const by = [...to];
  [...from].forEach((c, i) => {
    if (!table.has(c)) table.set(c, by[i] ?? '');
  });
  return mapped(s, 'translate', (c) => table.get(c) ?? c);
};
const mapped = (s: string, what: string, change: (character: string) => string): string => {
  const out = new TextPieces(what);
  for (const c of s) out.add(change(c));
  return out.text();
};
/** Words are letters and digits that follow one another. */
const initcap = (s: string): string => {
  let inWord = false;
  return mapped(s, 'initcap', (c) => {
    const changed = single(inWord ? c.toLowerCase() : c.toUpperCase(), c);
    inWord = /[\p{L}\p{N}]/u.test(c);
    return changed;
  });
};
const withoutAccents = (s: string): string =>
  changedInRuns(s, 'strip_accents', (run) => run.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC'));
const composed = (s: string): string => changedInRuns(s, 'nfc_normalize', (run) => run.normalize('NFC'));

const codePointMax = 0x10ffff;
const chr = (n: number | bigint): string | Refusal =>
  n < 0 || n > codePointMax || (n >= 0xd800 && n <= 0xdfff)
    ? new Refusal('not a code point')
    : String.fromCodePoint(Number(n));

/** Nulls are left out; a null separator gives null. Values of other types count as the text that they are cast to. */
/** concat_ws(). */
export const concatWithSeparator: Kernel = (args, length) => {
  const [separator, ...values] = args;
  if (isNull(separator!)) return nulls(length);
  if (!isText(separator!)) return wrapErrors('concat_ws: string argument required', separator!);
  const casts = values
    .filter((v) => !isNull(v))
    .map((v) => (isText(v) || isError(v) ? v : flatten(castVector(v, types.string))));
  const other = casts.find((v) => !isText(v));
  if (other) return wrapErrors('concat_ws: string argument required', other);
  return joined(texts(separator!), casts.map(texts), length);
};
const joined = (
  separator: (i: number) => string,
  parts: readonly ((i: number) => string)[],
  length: number,
): Vector => {
  const out = new BytesBuilder(types.string);
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const by = separator(i);
    const texts = parts.map((part) => part(i));
    const size = texts.reduce((n, t) => n + t.length + by.length, 0);
    if (size > longText) chargeText(size, 'concat_ws');
    out.text(texts.join(by));
  }
  return out.finish();
};

export const padding: readonly FunctionRow[] = [
  {
    name: 'lpad',
    signature: 'lpad(s, n[, by])',
    text: 'The string made n code points long: padded in front (with blanks), or cut.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'lpad("hi",5,"xy")', output: '"xyxhi"' },
      { query: 'lpad("hello",3)', output: '"hel"' },
      { query: 'lpad("a",2,"")', output: 'error({message:"lpad: nothing to pad with",on:""})' },
      { query: 'lpad("a","b")', output: 'error({message:"lpad: integer argument required",on:"b"})' },
    ],
    make: byRow('lpad', ['string', 'integer', 'string'], 'string', pad('lpad', 'left')),
  },
  {
    name: 'rpad',
    signature: 'rpad(s, n[, by])',
    text: 'The string made n code points long: padded at the end (with blanks), or cut.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'rpad("hi",5,"xy")', output: '"hixyx"' },
      { query: 'rpad(1,2)', output: 'error({message:"rpad: string argument required",on:1})' },
    ],
    make: byRow('rpad', ['string', 'integer', 'string'], 'string', pad('rpad', 'right')),
  },
  {
    name: 'repeat',
    signature: 'repeat(s, n)',
    text: 'The string n times.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'repeat("ab",2)', output: '"abab"' },
      { query: 'repeat(1,2)', output: 'error({message:"repeat: string argument required",on:1})' },
    ],
    make: byRow('repeat', ['string', 'integer'], 'string', (s, times) => repeated(s, Number(times), 'repeat')),
  },
  {
    name: 'reverse',
    signature: 'reverse(s)',
    text: 'The string backwards; letters keep their accents.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'reverse("abc")', output: '"cba"' },
      { query: 'reverse(1)', output: 'error({message:"reverse: string argument required",on:1})' },
    ],
    make: byRow('reverse', ['string'], 'string', reverse),
  },
  {
    name: 'translate',
    signature: 'translate(s, from, to)',
    text: 'The string with each character of `from` replaced by the one at its place in `to`, or left out if there is none.',
    argumentsMin: 3,
    argumentsMax: 3,
    examples: [
      { query: 'translate("abcde","bd","x")', output: '"axce"' },
      { query: 'translate("a",1,"b")', output: 'error({message:"translate: string argument required",on:1})' },
    ],
    make: byRow('translate', ['string', 'string', 'string'], 'string', translate),
  },
  {
    name: 'initcap',
    signature: 'initcap(s)',
    text: 'The string with each word in lower case but for its first letter.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'initcap("hello wORLD")', output: '"Hello World"' },
      { query: 'initcap(1)', output: 'error({message:"initcap: string argument required",on:1})' },
    ],
    make: byRow('initcap', ['string'], 'string', initcap),
  },
  {
    name: 'strip_accents',
    signature: 'strip_accents(s)',
    text: 'The string without accents.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'strip_accents("mühle")', output: '"muhle"' },
      { query: 'strip_accents(1)', output: 'error({message:"strip_accents: string argument required",on:1})' },
    ],
    make: byRow('strip_accents', ['string'], 'string', withoutAccents),
  },
  {
    name: 'nfc_normalize',
    signature: 'nfc_normalize(s)',
    text: "The string in Unicode's composed form (NFC): one character for a letter and its accent.",
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'nfc_normalize("e\\u0301") == "é"', output: 'true' },
      { query: 'nfc_normalize(1)', output: 'error({message:"nfc_normalize: string argument required",on:1})' },
    ],
    make: byRow('nfc_normalize', ['string'], 'string', composed),
  },
  {
    name: 'ascii',
    signature: 'ascii(s)',
    text: 'The number of the first code point; 0 for "".',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'ascii("é")', output: '233' },
      { query: 'ascii(1)', output: 'error({message:"ascii: string argument required",on:1})' },
    ],
    make: byRow('ascii', ['string'], 'integer', (s) => firstCodePoint(s) ?? 0),
  },
  {
    name: 'chr',
    signature: 'chr(n)',
    text: 'The character with that code point.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'chr(233)', output: '"é"' },
      { query: 'chr(-1)', output: 'error({message:"chr: not a code point",on:-1})' },
      { query: 'chr("a")', output: 'error({message:"chr: integer argument required",on:"a"})' },
    ],
    make: byRow('chr', ['integer'], 'string', chr),
  },
  {
    name: 'concat_ws',
    signature: 'concat_ws(sep, v, ...)',
    text: 'The values as strings with the separator in between; nulls are left out.',
    argumentsMin: 2,
    argumentsMax: Infinity,
    examples: [
      { query: 'concat_ws(",","a",null,1)', output: '"a,1"' },
      { query: 'values concat_ws(null,"a")', output: 'null' },
      { query: 'concat_ws(1,"a")', output: 'error({message:"concat_ws: string argument required",on:1})' },
    ],
    make: byKernel(concatWithSeparator, 'bare'),
  },
];
