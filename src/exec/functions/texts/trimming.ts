/** Strings without what is at their ends: white space, or the characters that one names. */
import { checkStopAt } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { BytesBuilder } from '../../../vectors/builder-leaves.ts';
import { byKernel, onTexts, texts, type FunctionRow } from '../row.ts';

type Ends = 'both' | 'start' | 'end';

const blank = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
/** By hand: an expression for white space at the end would take quadratic time. */
const withoutBlanks = (text: string, ends: Ends): string => {
  let start = 0;
  let end = text.length;
  if (ends !== 'start') while (end > 0 && blank.test(text[end - 1])) end--;
  if (ends !== 'end') while (start < end && blank.test(text[start])) start++;
  return text.slice(start, end);
};
const without = (text: string, characters: ReadonlySet<string>, ends: Ends): string => {
  let start = 0;
  let end = text.length;
  while (ends !== 'end' && start < end) {
    checkStopAt(start);
    const c = String.fromCodePoint(text.codePointAt(start)!);
    if (!characters.has(c)) break;
    start += c.length;
  }
  while (ends !== 'start' && end > start) {
    checkStopAt(end);
    const c = lastCharacter(text, end);
    if (!characters.has(c)) break;
    end -= c.length;
  }
  return text.slice(start, end);
};
const lastCharacter = (text: string, end: number): string =>
  text.slice(end - (/[\udc00-\udfff]/.test(text[end - 1]) ? 2 : 1), end);

const trimRow = (name: string, ends: Ends, text: string, examples: FunctionRow['examples']): FunctionRow => ({
  name,
  signature: `${name}(s[, characters])`,
  text,
  argumentsMin: 1,
  argumentsMax: 2,
  examples: [...examples, { query: `${name}(1)`, output: `error({message:"${name}: string arg required",on:1})` }],
  make: byKernel(
    onTexts(`${name}: string arg required`, ([s, characters], length) => {
      const read = texts(s!);
      const named = characters && texts(characters);
      const out = new BytesBuilder(types.string);
      for (let i = 0; i < length; i++)
        out.text(named ? without(read(i), new Set(named(i)), ends) : withoutBlanks(read(i), ends));
      return out.finish();
    }),
    'bare',
  ),
});

export const trimming: readonly FunctionRow[] = [
  trimRow('trim', 'both', 'The string without white space, or characters of the second string, at its ends.', [
    { query: 'trim(" a ")', output: '"a"' },
    { query: 'trim("xaxyx","xy")', output: '"a"' },
  ]),
  trimRow('ltrim', 'start', 'The string without white space, or characters of the second string, at its beginning.', [
    { query: 'ltrim(" a ")', output: '"a "' },
    { query: 'ltrim("xyax","xy")', output: '"ax"' },
  ]),
  trimRow('rtrim', 'end', 'The string without white space, or characters of the second string, at its end.', [
    { query: 'rtrim(" a ")', output: '" a"' },
    { query: 'rtrim("xaxy","xy")', output: '"xa"' },
  ]),
];
