/** Further names that SQL has for functions of pipes; pipes do not know them. */
import type { FunctionRow } from './row.ts';
import { arrays } from './lists/arrays.ts';
import { calendar } from './times/calendar.ts';
import { integers } from './numbers/integers.ts';
import { datePartRow } from './times/date-parts.ts';
import { time } from './times/time.ts';
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
const parts: FunctionRow = { ...time.find((r) => r.name === 'date_part')!, make: datePartRow };
export const sqlNames: readonly FunctionRow[] = [
  named(strings, 'upper', 'ucase', ["select ucase('a') as s", '{s:"A"}']),
  named(strings, 'lower', 'lcase', ["select lcase('A') as s", '{s:"a"}']),
  named(substrings, 'substr', 'substring', ["select substring('hello', 2, 3) as s", '{s:"ell"}']),
  named(math, 'ceil', 'ceiling', ['select ceiling(1.2) as n', '{n:2.}']),
  named(integers, 'gcd', 'greatest_common_divisor', ['select greatest_common_divisor(12,8) as n', '{n:4}']),
  named(integers, 'lcm', 'least_common_multiple', ['select least_common_multiple(4,6) as n', '{n:12}']),
  named(arrays, 'list_position', 'list_indexof', ['select list_indexof([1,2],2) as n', '{n:2}']),
  named(arrays, 'list_position', 'array_indexof', ['select array_indexof([1,2],2) as n', '{n:2}']),
  named(arrays, 'list_reverse_sort', 'array_reverse_sort', ['select array_reverse_sort([1,2]) as a', '{a:[2,1]}']),
  named([parts], 'date_part', 'datepart', ["select datepart('week',timestamp '2024-07-30') as n", '{n:31}']),
  named(calendar, 'current_date', 'today', ['select today()=current_date as b', '{b:true}']),
  named(time, 'now', 'get_current_timestamp', ['select typeof(get_current_timestamp()) as t', '{t:<time>}']),
  named(time, 'now', 'transaction_timestamp', ['select typeof(transaction_timestamp()) as t', '{t:<time>}']),
  named(time, 'now', 'current_localtimestamp', ['select typeof(current_localtimestamp()) as t', '{t:<time>}']),
  named(strings, 'levenshtein', 'editdist3', ["select editdist3('ab', 'ba') as n", '{n:2}']),
];
