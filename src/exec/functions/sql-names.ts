/** Further names that SQL has for functions of pipes; pipes do not know them. */
import type { FunctionRow } from './row.ts';
import { math } from './numbers/math.ts';
import { strings } from './texts/strings.ts';
import { substrings } from './texts/substrings.ts';

const named = (
  rows: readonly FunctionRow[],
  name: string,
  other: string,
  example: readonly [query: string, output: string],
): FunctionRow => {
  const row = rows.find((r) => r.name === name);
  if (!row) throw new TypeError(`no function ${name}`);
  return {
    ...row,
    name: other,
    signature: row.signature.replace(name, other),
    text: `In SQL the same as ${name}().`,
    sqlOnly: 'all',
    examples: [{ query: example[0], output: example[1] }],
  };
};
export const sqlNames: readonly FunctionRow[] = [
  named(strings, 'upper', 'ucase', ["select ucase('a') as s", '{s:"A"}']),
  named(strings, 'lower', 'lcase', ["select lcase('A') as s", '{s:"a"}']),
  named(substrings, 'substr', 'substring', ["select substring('hello', 2, 3) as s", '{s:"ell"}']),
  named(math, 'ceil', 'ceiling', ['select ceiling(1.2) as n', '{n:2.}']),
  named(strings, 'levenshtein', 'editdist3', ["select editdist3('ab', 'ba') as n", '{n:2}']),
];
