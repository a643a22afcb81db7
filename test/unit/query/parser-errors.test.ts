import { describe, expect, test } from 'vitest';
import {
  compilationErrorsJson,
  CompileError,
  formatCompileErrors,
  joinSources,
} from '../../../src/query/parse/error.ts';
import { parse } from '../../../src/query/parse/parser.ts';

function fault(text: string, queryDepthMax?: number): CompileError {
  try {
    parse(text, { queryDepthMax });
  } catch (error) {
    if (error instanceof CompileError) return error;
    throw error;
  }
  throw new Error(`no parse error: ${text}`);
}
const errorText = (text: string): string => formatCompileErrors(text, fault(text).errors);
const column = (text: string): number => fault(text).errors[0].start + 1;

describe('parse errors', () => {
  test('point at the furthest byte', () => {
    expect(errorText('values é, ]')).toBe('parse error at line 1, column 12:\nvalues é, ]\n       === ^ ===');
    expect(errorText('fn f():null\nvalues {x:&f}\n')).toBe(
      'parse error at line 2, column 11:\nvalues {x:&f}\n      === ^ ===',
    );
    expect(errorText('   ')).toBe('parse error at line 1, column 4:\n   \n== ^ ===');
    expect(errorText(']')).toBe('parse error at line 1, column 1:\n]\n^ ===');
  });
  test('stand where the grammar stops', () => {
    expect(
      [
        'values sensor +',
        'x between 0 and 1',
        'where b >',
        'values t[',
        'count() by ,x,y',
        'select 1|3',
        'from `my pool` | values a',
        'values 1e308*10',
        'select from where',
      ].map(column),
    ).toEqual([16, 11, 10, 10, 12, 11, 6, 13, 18]);
  });
  test('what the language does not have', () => {
    const texts = [
      'values 1<2<3',
      'values [1,]',
      'values {a:1,}',
      "values 'it''s'",
      'a not in b',
      'select 1 intersect all',
      'select * from t natural left u',
      'select 1 from t fetch first x rows',
      'select 1 from t where a similar b',
      'select sum(a) over (order b)',
      'from p:objects@main',
      'sort x y',
    ];
    expect(texts.map((text) => fault(text).message)).toEqual(texts.map(() => 'parse error'));
  });
  test('too deep a query has a clear error, whatever nests', () => {
    for (const [open, close] of [
      ['(', ')'],
      ['[', ']'],
      ['{a:', '}'],
      ['f(', ')'],
      ['!', ''],
      ['- ', ''],
      ['a?b:', ''],
      ['(values ', ')'],
      ['<[', ''],
      ['case when ', ' then 1 end'],
      ['f"{', '}"'],
      ['1+', ''],
      ['a.', ''],
    ]) {
      expect(fault(`values ${open.repeat(100_000)}1${close.repeat(100_000)}`).message, open).toMatch(
        /^(query nested too deeply \(at most \d+ levels\)|parse error)$/,
      );
    }
    expect(fault(`values ${'('.repeat(100_000)}1${')'.repeat(100_000)}`).message).toBe(
      'query nested too deeply (at most 500 levels)',
    );
    expect(fault('values ((((1))))', 4).message).toBe('query nested too deeply (at most 4 levels)');
  });
  test('nesting costs no exponential time', () => {
    // Exponential time would end nowhere near the time of a test.
    for (const open of ['(', '((', '[{a:(', 'fork (', 'select a from (', 'f(', '? (', 'switch case a (']) {
      try {
        parse(open.repeat(60));
      } catch (error) {
        expect(error).toBeInstanceOf(CompileError);
      }
    }
  });
});

describe('texts of compile errors', () => {
  const sources = [
    { name: 'q1.spq', text: 'fn f(x): x\n' },
    { name: 'q2.spq', text: 'op o:\n (\n  foo(1)\n)' },
    { text: 'values 1' },
  ];
  test('name the file and underline the span up to the end of its line', () => {
    const start = joinSources(sources).indexOf('foo(1)');
    expect(
      formatCompileErrors(sources, [
        { message: 'no such function', start, end: start + 6 },
        { message: 'x', start, end: start + 8 },
      ]),
    ).toBe(
      'no such function in q2.spq at line 3, column 3:\n  foo(1)\n  ~~~~~~\nx in q2.spq at line 3, column 3:\n  foo(1)\n  ~~~~~~',
    );
  });
  test('the last text has no name, and an error without place stands alone', () => {
    const start = joinSources(sources).length - 1;
    expect(
      formatCompileErrors(sources, [
        { message: 'a', start, end: start + 1 },
        { message: 'sum: argument required', start: -1, end: -1 },
      ]),
    ).toBe('a at line 1, column 8:\nvalues 1\n       ~\nsum: argument required');
  });
  test('in JSON the end is the last byte, -1 for a point', () => {
    expect(
      compilationErrorsJson([
        { message: 'm', start: 10, end: 16 },
        { message: 'parse error', start: 15, end: -1 },
      ]),
    ).toEqual([
      { Msg: 'm', Pos: 10, End: 15 },
      { Msg: 'parse error', Pos: 15, End: -1 },
    ]);
  });
});
