/** What takes long for a batch of rows is done in pieces: others of the thread have turns between them. */
import { describe, expect, test } from 'vitest';
import { Pace } from '../../../src/exec/operators/rows/pace.ts';
import { linkTask } from '../../../src/vectors/stop.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { runQuery } from '../../support/queries/case.ts';

/** How often others of the thread had a turn while a query ran. */
const turnsOf = async (query: string, input: string): Promise<{ readonly turns: number; readonly answer: string }> => {
  const { signal } = new AbortController();
  linkTask(signal, {});
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    return { answer: await runQuery(query, input, { signal }), turns };
  } finally {
    isOver = true;
  }
};

describe('long texts', () => {
  const words = 'lorem ipsum sit amet '.repeat(250);
  const rows = Array.from({ length: 1500 }, (_, i) => `{k:${i},t:"${words}${i}"}`).join('\n');
  test.each([
    ['in a filter', "select count(*) as n from input where regexp_matches(t, '(a|b|lorem)*ipsum.*7$')", '{n:150}\n'],
    [
      'in a filter beside others',
      'from input | where k >= 0 and regexp_replace(t, "[aeiou]", "") like "%7" | count()',
      '150\n',
    ],
    ['in an aggregate', "select sum(len(regexp_replace(t, '[aeiou]', 'zz', 'g'))) as n from input", '{n:10504890}\n'],
    [
      'in a column',
      "select max(n) as n from (select len(regexp_replace(t, '[aeiou]', 'zz', 'g')) as n from input)",
      '{n:7004}\n',
    ],
  ])('%s', async (_what, query, answer) => {
    const found = await turnsOf(query, rows);
    expect(found.answer).toBe(answer);
    expect(found.turns).toBeGreaterThan(8);
  });
});

describe('the pace of a scan', () => {
  const short = vectorOf(parseSupValues(Array.from({ length: 4096 }, (_, i) => `{k:${i}}`).join('\n')));
  test('rows that take little come as they are', () => {
    const pace = new Pace();
    for (const ms of [1, 30, 90, 2, 90, 1]) {
      expect(pace.rowsOf(short)).toBe(4096);
      pace.took(4096, ms);
    }
  });
  test('those that take long come in pieces, which grow as soon as they take little', () => {
    const pace = new Pace();
    pace.took(4096, 4096);
    expect(pace.rowsOf(short)).toBe(4096);
    pace.took(4096, 8192);
    expect(pace.rowsOf(short)).toBe(20);
    pace.took(20, 20);
    expect(pace.rowsOf(short)).toBe(20);
    for (const rows of [20, 80, 320, 1280]) {
      expect(pace.rowsOf(short)).toBe(rows);
      pace.took(rows, 1);
    }
    expect(pace.rowsOf(short)).toBe(4096);
  });
});
