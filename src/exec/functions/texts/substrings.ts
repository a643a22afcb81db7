/** Parts of strings by place and by what is around them. Places are code points, counted from 1. */
import { cut, countOf } from './code-points.ts';
import { aliasOf, type FunctionRow } from '../row.ts';
import { byRow } from '../typed.ts';

/**
 * From the end where `from` is negative; a negative count takes what is before. Place 0 is the one before the first.
 */
const substr = (s: string, from: number | bigint, count?: number | bigint): string => {
  const place = Number(from);
  const start = place > 0 ? place - 1 : place < 0 ? countOf(s) + place : -1;
  if (count === undefined) return cut(s, start, s.length);
  const length = Number(count);
  return length < 0 ? cut(s, start + length, start) : cut(s, start, start + length);
};
const left = (s: string, count: number | bigint): string =>
  cut(s, 0, count < 0 ? countOf(s) + Number(count) : Number(count));
const right = (s: string, count: number | bigint): string =>
  cut(s, count < 0 ? -Number(count) : countOf(s) - Number(count), s.length);

/** Part 1 is the first, -1 the last; an empty separator parts every code point. */
const splitPart = (s: string, separator: string, part: number | bigint): string => {
  const n = Number(part);
  if (n === 0) return '';
  if (separator === '') {
    const at = n > 0 ? n - 1 : countOf(s) + n;
    return cut(s, at, at + 1);
  }
  return n > 0 ? partFromStart(s, separator, n) : partFromEnd(s, separator, -n);
};
const partFromStart = (s: string, separator: string, n: number): string => {
  let start = 0;
  for (let k = 1; k < n; k++) {
    const at = s.indexOf(separator, start);
    if (at < 0) return '';
    start = at + separator.length;
  }
  const end = s.indexOf(separator, start);
  return s.slice(start, end < 0 ? undefined : end);
};
/** Separators are looked for from the start, so that the parts are those of `split`. */
const partFromEnd = (s: string, separator: string, n: number): string => {
  let count = 1;
  for (let at = s.indexOf(separator); at >= 0; at = s.indexOf(separator, at + separator.length)) count++;
  return n > count ? '' : partFromStart(s, separator, count - n + 1);
};

const placeOf = (s: string, part: string): number => {
  const at = s.indexOf(part);
  return at < 0 ? 0 : countOf(s, at) + 1;
};

const startsWith: FunctionRow = {
  name: 'starts_with',
  signature: 'starts_with(s, start)',
  text: 'Whether the string begins with the other one.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'starts_with("hello","he")', output: 'true' },
    { query: 'starts_with(1,"h")', output: 'error({message:"starts_with: string argument required",on:1})' },
  ],
  make: byRow('starts_with', ['string', 'string'], 'bool', (s, start) => s.startsWith(start)),
};
const endsWith: FunctionRow = {
  name: 'ends_with',
  signature: 'ends_with(s, end)',
  text: 'Whether the string ends with the other one.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'ends_with("hello","lo")', output: 'true' },
    { query: 'ends_with("h",1)', output: 'error({message:"ends_with: string argument required",on:1})' },
  ],
  make: byRow('ends_with', ['string', 'string'], 'bool', (s, end) => s.endsWith(end)),
};
const strpos: FunctionRow = {
  name: 'strpos',
  signature: 'strpos(s, sub)',
  text: 'The place of a string in another one, counted in code points from 1; 0 if it is not there.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'strpos("日本","本")', output: '2' },
    { query: 'strpos("a",1)', output: 'error({message:"strpos: string argument required",on:1})' },
  ],
  make: byRow('strpos', ['string', 'string'], 'integer', placeOf),
};

const charLength: FunctionRow = {
  name: 'char_length',
  signature: 'char_length(s)',
  text: 'How many code points a string has.',
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: 'char_length("é")', output: '1' },
    { query: 'char_length(1)', output: 'error({message:"char_length: string argument required",on:1})' },
  ],
  make: byRow('char_length', ['string'], 'integer', (s) => countOf(s)),
};

export const substrings: readonly FunctionRow[] = [
  {
    name: 'substr',
    signature: 'substr(s, start[, length])',
    text: 'The part of a string from a code point on, counted from 1, or from the end if it is negative.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'substr("hello",2,3)', output: '"ell"' },
      { query: 'substr("hello",-3)', output: '"llo"' },
      { query: 'substr("a","b")', output: 'error({message:"substr: integer argument required",on:"b"})' },
    ],
    make: byRow('substr', ['string', 'integer', 'integer'], 'string', substr),
  },
  {
    name: 'left',
    signature: 'left(s, n)',
    text: 'The first n code points of a string; without the last -n if n is negative.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values left("hello",2)', output: '"he"' },
      { query: 'values left("hello",-2)', output: '"hel"' },
      { query: 'values left(1,2)', output: 'error({message:"left: string argument required",on:1})' },
    ],
    make: byRow('left', ['string', 'integer'], 'string', left),
  },
  {
    name: 'right',
    signature: 'right(s, n)',
    text: 'The last n code points of a string; without the first -n if n is negative.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values right("hello",2)', output: '"lo"' },
      { query: 'values right("hello",-2)', output: '"llo"' },
      { query: 'values right("a",1.5)', output: 'error({message:"right: integer argument required",on:1.5})' },
    ],
    make: byRow('right', ['string', 'integer'], 'string', right),
  },
  {
    name: 'split_part',
    signature: 'split_part(s, sep, n)',
    text: 'The n-th part of a string between separators, counted from 1, or from the end if n is negative; "" if there is none.',
    argumentsMin: 3,
    argumentsMax: 3,
    examples: [
      { query: 'split_part("a,b,c",",",2)', output: '"b"' },
      { query: 'split_part("a,b,c",",",-1)', output: '"c"' },
      { query: 'split_part("a",1,1)', output: 'error({message:"split_part: string argument required",on:1})' },
    ],
    make: byRow('split_part', ['string', 'string', 'integer'], 'string', splitPart),
  },
  startsWith,
  aliasOf(startsWith, 'prefix', [{ query: 'prefix("hello","he")', output: 'true' }]),
  endsWith,
  aliasOf(endsWith, 'suffix', [{ query: 'suffix("hello","lo")', output: 'true' }]),
  strpos,
  charLength,
  aliasOf(charLength, 'character_length', [{ query: 'character_length("é")', output: '1' }]),
  aliasOf(strpos, 'instr', [{ query: 'instr("日本","本")', output: '2' }]),
];
