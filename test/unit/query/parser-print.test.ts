import { expect, test } from 'vitest';
import type { Expr } from '../../../src/query/ast.ts';
import { parse } from '../../../src/query/parse/parser.ts';
import { impliedName, printExpr } from '../../../src/query/print.ts';

function expressionOf(text: string): Expr {
  const [op] = parse(text).ops;
  if (op.kind !== 'values-op') throw new Error(`no values: ${text}`);
  return op.exprs[0];
}
const print = (text: string): string => printExpr(expressionOf(`values ${text}`), `values ${text}`);

test('and, or and in stand between blanks, other operators as they are written without', () => {
  expect(
    [
      'a[ "b" ]',
      'not t',
      'n BETWEEN 1 and 2',
      'sqrt( 2 ) / z',
      '- 82 + - 61 + 13',
      'this+500ms',
      'a = 1 AND b <> 2',
      'a LIKE "x"',
      'a NOT IN [1]',
      'a IN [1]',
      'a in [1]',
      'a is not null',
    ].map(print),
  ).toEqual([
    'a["b"]',
    '!t',
    '(n between 1 and 2)',
    'sqrt(2)/z',
    '-82+-61+13',
    'this+500ms',
    '(a=1) and (b<>2)',
    'aLIKE"x"',
    'anot in[1]',
    'aIN[1]',
    'a in [1]',
    'aIS NOT NULL',
  ]);
});
test('parentheses stand around weaker operators alone, as v0.2.0 writes them', () => {
  expect(
    [
      '(1+2)*3',
      '1-(2-3)',
      '(1*2)+3',
      '!(a==b)',
      '(a or b) and c',
      'a or (b or c)',
      '(a)[0]',
      '(a+b).c',
      'a+(b||c)',
      '(a+b)||c',
      '(a ? b : c)+1',
    ].map(print),
  ).toEqual([
    '(1+2)*3',
    '1-2-3',
    '1*2+3',
    '!(a==b)',
    '(a or b) and c',
    'a or b or c',
    'a[0]',
    'a+b.c',
    'a+(b||c)',
    'a+b||c',
    '(a) ? b : c+1',
  ]);
});
test('casts by :: and by CAST keep their form; types are written out', () => {
  expect(
    [
      's::string',
      '(a+1)::string',
      '-a::int64',
      'a::string==1',
      'a::text||"b"',
      'a::foo',
      'a::=foo',
      'a::(int64|string)',
      'a::(port=uint16)',
      'cast(s as varchar)',
      'cast(a as date)',
      'cast(a as (int64|string))',
    ].map(print),
  ).toEqual([
    's::<string>',
    'a+1::<string>',
    '-(a::<int64>)',
    '(a::<string>)==1',
    'a::<string>||"b"',
    'a::foo',
    'a::"foo"',
    'a::<(int64|string)>',
    'a::<port=(uint16)>',
    'CAST(s AS string)',
    'CAST(a AS date)',
    'CAST(a AS (int64|string))',
  ]);
});
test('null is empty', () => {
  expect(['[1,"a",null]', 'a==null', 'abs(null)'].map(print)).toEqual(['[1,"a",]', 'a==', 'abs()']);
});
test('subqueries print as they were written, with single blanks', () => {
  expect(print('x in (values   1,\n 2)')).toBe('x in (values 1, 2)');
});
test('implied names', () => {
  const name = (text: string, sql = false): string => impliedName(expressionOf(`values ${text}`), { sql });
  expect(
    ['a', 'a.b', 'this', 'upper(s)', 'Sum(distinct s)', '"x"', '1', '<int64>', 'null', 'n + 1'].map((text) =>
      name(text),
    ),
  ).toEqual(['a', 'b', 'that', 'upper', 'Sum', 'x', '1', '<int64>', '', 'n+1']);
  expect(name("'x y'", true)).toBe('"x y"');
  expect(['quiet(a)', 'QUIET(a.b)', 'quiet(a+1)', 'a["b"].c', '{a}.a'].map((text) => name(text))).toEqual([
    'a',
    'b',
    'a+1',
    'a["b"].c',
    '{a}.a',
  ]);
});
