import { expect, test } from 'vitest';
import type { Expr } from '../../../src/query/ast.ts';
import { parse } from '../../../src/query/parser.ts';
import { impliedName, printExpr } from '../../../src/query/print.ts';

function expressionOf(text: string): Expr {
  const [op] = parse(text).ops;
  if (op.kind !== 'values-op') throw new Error(`no values: ${text}`);
  return op.exprs[0];
}
const print = (text: string): string => printExpr(expressionOf(`values ${text}`), `values ${text}`);

test('symbols stand without blanks, words with them', () => {
  expect(['a[ "b" ]', 'not t', 'n BETWEEN 1 and 2', 's::string', 'sqrt( 2 ) / z', '- 82 + - 61 + 13', 'this+500ms', 'a = 1 AND b <> 2'].map(print)).toEqual(
    ['a["b"]', '!t', '(n between 1 and 2)', 'CAST(s AS string)', 'sqrt(2)/z', '-82+-61+13', 'this+500ms', 'a==1 and b!=2']);
});
test('parentheses stand only where they are needed', () => {
  expect(['(1+2)*3', '1-(2-3)', '(1*2)+3', '!(a==b)', '(a or b) and c', 'a or (b or c)', '(a)[0]', '(a+b).c'].map(print)).toEqual(
    ['(1+2)*3', '1-(2-3)', '1*2+3', '!(a==b)', '(a or b) and c', 'a or b or c', 'a[0]', '(a+b).c']);
});
test('subqueries print as they were written, with single blanks', () => {
  expect(print('x in (values   1,\n 2)')).toBe('x in (values 1, 2)');
});
test('implied names', () => {
  const name = (text: string, sql = false): string => impliedName(expressionOf(`values ${text}`), { sql });
  expect(['a', 'a.b', 'this', 'upper(s)', 'Sum(distinct s)', '"x"', '1', '<int64>', 'null', 'n + 1'].map((text) => name(text))).toEqual(
    ['a', 'b', 'that', 'upper', 'Sum', 'x', '1', '<int64>', '', 'n+1']);
  expect(name("'x y'", true)).toBe('"x y"');
});
