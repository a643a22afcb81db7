/** Functions on strings. */
import { textSize } from '../../../vectors/texts/codec.ts';
import { chargeText, checkStop, checkStopAt } from '../../../vectors/stop.ts';
import { types, arrayType } from '../../../vectors/type.ts';
import { type ListVector, type Vector, flatten, nulls, numbers, range, ofForm } from '../../../vectors/vector.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { concatKernel } from '../../expressions/construct.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { aliasOf, byKernel, isError, isNull, isText, onTexts, texts, type FunctionRow, type Kernel } from '../row.ts';
import { areAscii } from './code-points.ts';
import { splitAtBytes } from './splits.ts';

const stringOf = (text: (i: number) => string, length: number): Vector => {
  const out = new BytesBuilder(types.string);
  for (let i = 0; i < length; i++) {
    checkStop();
    out.text(text(i));
  }
  return out.finish();
};

/** Letters by a table of bytes where all rows are ASCII, else one code point after the other. */
const changeCase = (message: string, table: Uint8Array, change: (character: string) => string): Kernel =>
  onTexts(message, ([arg], length) => {
    const v = ofForm(flatten(arg!), 'bytes');
    if (areAscii(v)) {
      const start = v.offsets[0];
      const bytes = new Uint8Array(v.offsets[length] - start);
      for (let i = 0; i < bytes.length; i++) bytes[i] = table[v.bytes[start + i]];
      return {
        ...v,
        bytes,
        offsets: start === 0 ? v.offsets : v.offsets.subarray(0, length + 1).map((o) => o - start),
      };
    }
    const text = texts(v);
    return stringOf((i) => byRuns(text(i), (run) => run.map(change).join('')), length);
  });
const runLengthMax = 4096;
/** What becomes of the characters (code points) of a text, some thousand at a time: no array is as long as the text. */
const byRuns = (text: string, change: (run: readonly string[]) => string): string => {
  const out: string[] = [];
  let run: string[] = [];
  for (const c of text) {
    if (run.push(c) < runLengthMax) continue;
    checkStop();
    out.push(change(run));
    run = [];
  }
  if (run.length > 0) out.push(change(run));
  return out.join('');
};
/** The code points of a text as numbers. */
const codePoints = (text: string): Uint32Array => {
  const out = new Uint32Array(text.length);
  let n = 0;
  for (let i = 0; i < text.length; n++) {
    checkStopAt(n);
    const c = text.codePointAt(i)!;
    out[n] = c;
    i += c > 0xffff ? 2 : 1;
  }
  return out.subarray(0, n);
};
/** Only changes that give one character: `ß` has no upper case letter of its own. */
export const single = (changed: string, character: string): string =>
  changed.length === 1 || [...changed].length === 1 ? changed : character;
const upperTable = Uint8Array.from({ length: 128 }, (_, b) => (b >= 97 && b <= 122 ? b - 32 : b));
const lowerTable = Uint8Array.from({ length: 128 }, (_, b) => (b >= 65 && b <= 90 ? b + 32 : b));

const replaceAll = (text: string, old: string, by: string): string => {
  if (old === '') {
    chargeText(text.length * (by.length + 1), 'replace');
    return by + byRuns(text, (run) => run.join(by) + by);
  }
  const most = text.length + (text.length / old.length) * (by.length - old.length);
  if (most > longText) chargeText(text.length + countOf(text, old) * (by.length - old.length), 'replace');
  return text.split(old).join(by);
};
/** What may become longer is measured before it is made. */
const longText = 1 << 16;
const countOf = (text: string, part: string): number => {
  let n = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    checkStopAt(n);
    n++;
  }
  return n;
};

const positionOf = (text: string, part: string): number => {
  const at = text.indexOf(part);
  return at < 0 ? 0 : textSize(text.slice(0, at)) + 1;
};

/** Least number of inserted, deleted and changed code points. */
const levenshtein = (left: string, right: string): number => {
  const a = codePoints(left);
  const b = codePoints(right);
  let row: Uint32Array = range(0, b.length + 1);
  let next: Uint32Array = new Uint32Array(b.length + 1);
  for (let i = 0; i < a.length; i++) {
    checkStop();
    next[0] = i + 1;
    for (let k = 0; k < b.length; k++) {
      checkStopAt(k);
      next[k + 1] = Math.min(row[k] + (a[i] === b[k] ? 0 : 1), row[k + 1] + 1, next[k] + 1);
    }
    [row, next] = [next, row];
  }
  return row[b.length];
};

const join: Kernel = (args, length) => {
  if (args.some(isNull)) return nulls(length);
  const [list, separator] = args;
  const v = flatten(list!);
  if (v.form !== 'list' || v.type.kind !== 'array' || v.type.element !== types.string)
    return wrapErrors('join: array of string arg required', list!);
  if (separator && !isText(separator)) return wrapErrors('join: separator must be string', separator);
  const between = separator ? texts(separator) : (): string => '';
  const item = texts(flatten(v.items));
  return stringOf((i) => {
    const parts: string[] = [];
    const by = between(i);
    let size = 0;
    for (let at = v.offsets[i]; at < v.offsets[i + 1]; at++) {
      checkStopAt(at);
      const part = item(at);
      size += part.length + by.length;
      parts.push(part);
    }
    if (size > longText) chargeText(size, 'join');
    return parts.join(by);
  }, length);
};

/** One array of strings a row. */
export const textLists = (lists: (i: number) => Iterable<string>, length: number): ListVector => {
  const offsets = new Uint32Array(length + 1);
  const items = new BytesBuilder(types.string);
  for (let i = 0; i < length; i++) {
    for (const text of lists(i)) {
      checkStopAt(items.length);
      items.text(text);
    }
    offsets[i + 1] = items.length;
  }
  return { form: 'list', type: arrayType(types.string), length, offsets, items: items.finish() };
};

/** The parts of a text, one after the other: no array is as long as they are many. */
export function* textParts(text: string, by: string): Generator<string> {
  let start = 0;
  for (let at = text.indexOf(by); at >= 0; at = text.indexOf(by, start)) {
    yield text.slice(start, at);
    start = at + by.length;
  }
  yield text.slice(start);
}

const split: Kernel = (args, length) => {
  const [s, separator] = args;
  if (args.some(isNull)) return nulls(length);
  if (isError(s!)) return s!;
  if (isError(separator!)) return s!;
  const other = args.find((a) => !isText(a));
  if (other) return wrapErrors('split: string arg required', other);
  const text = texts(s!);
  const by = texts(separator!);
  return textLists((i) => (by(i) === '' ? text(i) : textParts(text(i), by(i))), length);
};

const levenshteinKernel = onTexts('levenshtein: string args required', ([a, b], length) => {
  const x = texts(a!);
  const y = texts(b!);
  return numbers(
    types.int64,
    Float64Array.from({ length }, (_, i) => levenshtein(x(i), y(i))),
  );
});
const position = onTexts('position: string arguments required', ([s, part], length) => {
  const text = texts(s!);
  const wanted = texts(part!);
  return numbers(
    types.int64,
    Float64Array.from({ length }, (_, i) => positionOf(text(i), wanted(i))),
  );
});
const replacing = (replaced: typeof replaceAll): Kernel =>
  onTexts('replace: string arg required', ([s, old, by], length) => {
    const text = texts(s!);
    const from = texts(old!);
    const to = texts(by!);
    return stringOf((i) => replaced(text(i), from(i), to(i)), length);
  });
const replace = replacing(replaceAll);
/** In SQL an empty text is found nowhere. */
export const replaceInSql = replacing((text, old, by) => (old === '' ? text : replaceAll(text, old, by)));
const splitRow: FunctionRow = {
  name: 'split',
  signature: 'split(s, sep)',
  text: 'The parts of a string between separators; its code points if the separator is empty.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'split("a,b",",")', output: '["a","b"]' },
    { query: 'split("abc","")', output: '["a","b","c"]' },
    { query: 'split("",",")', output: '[""]' },
    { query: 'split(1,",")', output: 'error({message:"split: string arg required",on:1})' },
  ],
  make: byKernel(splitAtBytes(split), 'bare'),
};

export const strings: readonly FunctionRow[] = [
  {
    name: 'upper',
    signature: 'upper(s)',
    text: 'The string in upper case.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'upper("abc")', output: '"ABC"' },
      { query: 'upper(1)', output: 'error({message:"upper: string arg required",on:1})' },
    ],
    make: byKernel(
      changeCase('upper: string arg required', upperTable, (c) => single(c.toUpperCase(), c)),
      'bare',
    ),
  },
  {
    name: 'lower',
    signature: 'lower(s)',
    text: 'The string in lower case.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'lower("ABC")', output: '"abc"' },
      { query: 'lower(1)', output: 'error({message:"lower: string arg required",on:1})' },
    ],
    make: byKernel(
      changeCase('lower: string arg required', lowerTable, (c) => (c === 'İ' ? 'i' : single(c.toLowerCase(), c))),
      'bare',
    ),
  },
  {
    name: 'concat',
    signature: 'concat(s, ...)',
    text: 'The strings joined; null if any is null.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'concat("a","b","c")', output: '"abc"' },
      { query: 'values concat("a",null)', output: 'null' },
      { query: 'concat("a",1)', output: 'error({message:"concat: string arg required",on:1})' },
    ],
    make: byKernel(concatKernel, 'bare'),
  },
  {
    name: 'join',
    signature: 'join(a[, sep])',
    text: 'The strings of an array with the separator in between (nothing by default).',
    argumentsMin: 1,
    argumentsMax: 2,
    examples: [
      { query: 'join(["a","b"],",")', output: '"a,b"' },
      { query: 'join(["a","b"])', output: '"ab"' },
      { query: 'join([1],",")', output: 'error({message:"join: array of string arg required",on:[1]})' },
      { query: 'join(["a",null],",")', output: 'error({message:"join: array of string arg required",on:["a",null]})' },
      { query: 'join(["a"],1)', output: 'error({message:"join: separator must be string",on:1})' },
    ],
    make: byKernel(join, 'bare'),
  },
  splitRow,
  aliasOf(splitRow, 'string_split', [{ query: 'string_split("a,b",",")', output: '["a","b"]' }]),
  aliasOf(splitRow, 'str_split', [{ query: 'str_split("a,b",",")', output: '["a","b"]' }]),
  aliasOf(splitRow, 'string_to_array', [{ query: 'string_to_array("a,b",",")', output: '["a","b"]' }]),
  {
    name: 'replace',
    signature: 'replace(s, old, new)',
    text: 'The string with each occurrence of `old` replaced by `new`.',
    argumentsMin: 3,
    argumentsMax: 3,
    examples: [
      { query: 'replace("oink oink","oink","moo")', output: '"moo moo"' },
      { query: 'replace("abc","","x")', output: '"xaxbxcx"' },
      { query: 'replace("a",1,"b")', output: 'error({message:"replace: string arg required",on:1})' },
    ],
    make: byKernel(replace, 'bare'),
  },
  {
    name: 'position',
    signature: 'position(s, sub)',
    text: 'The place of a string in another one, counted in bytes from 1; 0 if it is not there.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'position("hello","l")', output: '3' },
      { query: 'position("l" in "hello")', output: '3' },
      { query: 'position("hello","z")', output: '0' },
      { query: 'position("a",1)', output: 'error({message:"position: string arguments required",on:1})' },
    ],
    make: byKernel(position),
  },
  {
    name: 'levenshtein',
    signature: 'levenshtein(a, b)',
    text: 'The edit distance of two strings.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'levenshtein("kitten","sitting")', output: '3' },
      { query: 'levenshtein("a",1)', output: 'error({message:"levenshtein: string args required",on:1})' },
    ],
    make: byKernel(levenshteinKernel, 'bare'),
  },
];
