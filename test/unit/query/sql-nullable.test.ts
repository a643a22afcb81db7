/**
 * Functions, operators and casts of SQL take a value that may be null (a union of its type with null, as files and
 * pools have it) as the value itself.
 */
import { describe, expect, test } from 'vitest';
import { functionTable } from '../../../src/exec/functions/functions.ts';
import { runQuery } from '../../support/queries/case.ts';

/** Values by type: the plain text and the same within a union with null. */
const samples: Readonly<Record<string, string>> = {
  int64: '3',
  float64: '2.5',
  string: '"2024-02-03"',
  bool: 'true',
  time: '2024-02-03T04:05:06Z',
  duration: '90m',
  bytes: '0x6162',
  ip: '10.0.0.1',
  net: '10.0.0.0/8',
  '[int64]': '[3,1,2]',
  '[string]': '["b","a"]',
  '{a:int64}': '{a:1}',
};
const answer = async (query: string, input: string): Promise<string> => {
  try {
    return await runQuery(query, input);
  } catch (error) {
    return String(error);
  }
};
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
/** Errors show the value that they are around: its type in the error is of no matter. */
const bare = (text: string): string =>
  text.replace(/::\([^()]*\|null\)|::\(null\|[^()]*\)|::\(\[[^()]*\]\|null\)|::\(\{[^()]*\}\|null\)/g, '');

const names = Object.keys(samples);
const combinations = (count: number): readonly (readonly string[])[] =>
  count === 0
    ? [[]]
    : combinations(count - 1).flatMap((rest) =>
        (count > 2 ? rest.slice(-1).concat(rest.length === 0 ? names : []) : names).map((name) => [...rest, name]),
      );

const impure = new Set([
  'now',
  'ksuid',
  'random',
  'current_timestamp',
  'error',
  'is_error',
  'has_error',
  'typeof',
  'kind',
  'typename',
  'under',
  'cast',
  'upcast',
  'defuse',
  'nameof',
  'unblend',
  'is',
  'downcast',
  'fuse',
  'blend',
]);
describe('functions', () => {
  for (const row of functionTable) {
    if (impure.has(row.name) || row.impure || row.argumentsMin === 0 || row.argumentsMin > 3) continue;
    test(row.name, async () => {
      const call = `select ${row.name}(${Array.from({ length: row.argumentsMin }, (_, k) => `f${k}`).join(', ')}) as x`;
      const all = combinations(row.argumentsMin);
      const wrong: string[] = [];
      const record = (kinds: readonly string[], form: (text: string, type: string) => string): string =>
        `{${kinds.map((kind, k) => `f${k}:${form(samples[kind]!, kind)}`).join(',')}}`;
      const plainRow = (kinds: readonly string[]): string => record(kinds, (text) => text);
      const nullableRow = (kinds: readonly string[]): string =>
        record(kinds, (text, type) => `${text}::(${type}|null)`);
      const compare = (kinds: readonly string[], plain: string, nullable: string): void => {
        if (!plain.includes('error(') && bare(nullable) !== bare(plain))
          wrong.push(`${row.name}(${kinds.join(', ')}): ${plain.trim()} but ${nullable.trim()}`);
      };
      // One query over all rows, unless one of them ends it.
      const plains = linesOf(await answer(call, all.map(plainRow).join('\n')));
      const nullables = linesOf(await answer(call, all.map(nullableRow).join('\n')));
      if (plains.length === all.length && nullables.length === all.length)
        all.forEach((kinds, i) => {
          compare(kinds, plains[i]!, nullables[i]!);
        });
      else
        for (const kinds of all)
          compare(kinds, await answer(call, plainRow(kinds)), await answer(call, nullableRow(kinds)));
      expect(wrong).toEqual([]);
    });
  }
});

describe('operators and casts', () => {
  test.each([
    'f0+1',
    'f0-1',
    'f0*2',
    'f0/2',
    'f0%2',
    '-f0',
    'f0=3',
    "f0='3'",
    'f0<4',
    'f0 between 1 and 3',
    'f0 in (1,3)',
    "f0||'x'",
    'not f0',
    'f0 and true',
    'f0 or false',
    "f0 like '2%'",
    "f0 similar to '2.*'",
    'f0 is null',
    'f0 is distinct from 3',
    'f0::int',
    'f0::double',
    'f0::varchar',
    'f0::boolean',
    'f0::timestamp',
    'f0::date',
    'f0::interval',
    'f0::decimal(5,1)',
    'f0::bigint[]',
    "f0 + INTERVAL '1 day'",
    'f0 + INTERVAL 1 MONTH',
    'f0[1]',
    'f0[1:2]',
    'f0.a',
    'case f0 when 3 then 1 else 2 end',
    'case when f0 then 1 else 2 end',
    'coalesce(f0, f0)',
    'extract(year from f0)',
    'substring(f0 from 1 for 2)',
    'sum(f0)',
    'min(f0)',
    'max(f0)',
    'avg(f0)',
    'count(f0)',
    "string_agg(f0, ',')",
  ])('%s', async (expression) => {
    const wrong: string[] = [];
    for (const [type, text] of Object.entries(samples)) {
      const plain = await answer(`select ${expression} as x`, `{f0:${text}}`);
      const nullable = await answer(`select ${expression} as x`, `{f0:${text}::(${type}|null)}`);
      if (!/error\(|Error/.test(plain) && bare(nullable) !== bare(plain))
        wrong.push(`${type}: ${plain.trim()} but ${nullable.trim()}`);
    }
    expect(wrong).toEqual([]);
  });
  test('null itself is null', async () => {
    expect(
      await runQuery(
        "select date_part('year', n) as a, ceil(n) as b, extract(epoch from n) as c, strftime(n, '%Y') as d",
        '{n:null}',
      ),
    ).toBe('{a:null,b:null,c:null,d:null}\n');
    for (const type of ['int64', 'float64', 'string', 'time']) {
      expect(
        bare(
          await runQuery('select f0+1 as a, f0=3 as b, abs(f0) as c, f0::varchar as d', `{f0:null::(${type}|null)}`),
        ),
      ).toMatch(/^\{a:null,b:null,c:null,d:null\}/);
    }
  });
});
