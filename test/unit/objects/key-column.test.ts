import { expect, test } from 'vitest';
import { keyColumn } from '../../../src/lake/load/sort-rows.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../src/vectors/vector.ts';

test('the key of a row is what a query reads at the path: fields, and entries of maps; else null', () => {
  const rows = vectorOf(
    parseSupValues(
      '{a:{b:1}} {a:|{"b":2,"c":3}|} |{"a":{b:4}}| |{"a":|{"b":"x"}|}| |{1:2}| {a:{b?:_::int64}} {a:5} 7 {a:{b:6}}::=row',
    ),
  );
  const keys = keyColumn(rows, ['a', 'b']);
  expect(Array.from({ length: keys.length }, (_, i) => supText(valueAt(keys, i)))).toEqual([
    '1',
    '2',
    '4',
    '"x"',
    'null',
    'null',
    'null',
    'null',
    '6',
  ]);
});
