/** Long loops look whether their work is still wanted: counted, since times depend on the machine. */
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { UnionState } from '../../../src/exec/aggregates/union.ts';
import { rankRuns } from '../../../src/exec/operators/sort/runs.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { checked, linkTask, nextTurn, working } from '../../../src/vectors/stop.ts';
import { types } from '../../../src/vectors/type.ts';
import { canonicalSet, intValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, gather, range } from '../../../src/vectors/vector.ts';
import { runQuery } from '../../support/queries/case.ts';

/** How often a piece of work looks; `wantedFor`: after so many looks it was given up. */
const looksOf = (work: () => unknown, wantedFor = Infinity): number => {
  const { signal } = new AbortController();
  let looks = 0;
  linkTask(signal, { isStopped: () => ++looks > wantedFor });
  working(signal, work);
  return looks;
};
const texts = (count: number, text: (i: number) => string): Vector =>
  vectorOf(Array.from({ length: count }, (_, i) => stringValue(text(i))));

describe('a loop over many rows that was given up ends', () => {
  const rows = 70_000;
  const some = texts(rows, (i) => `row ${(i * 7919) % rows} of many`);
  const fewer = gather(some, range(0, 9000));
  const pieces: Readonly<Record<string, () => unknown>> = {
    'a set of many values': () => {
      const state = new UnionState();
      state.update(new Uint32Array(fewer.length), fewer);
      return state.result(1);
    },
    'a set as a cast makes it': () =>
      canonicalSet(
        types.int64,
        Array.from({ length: 9000 }, (_, i) => intValue(i).data),
      ),
    'ranks of texts': () => {
      if (fewer.form !== 'bytes') throw new Error('texts are bytes');
      return rankRuns(fewer.bytes, fewer.offsets, fewer.length, false);
    },
    'copies of rows': () => gather(some, range(0, rows)),
    'rows put one behind the other': () => concat([some, some]),
    comparisons: () => Array.from({ length: 5000 }, (_, i) => (i * 7919) % 5000).sort(checked((a, b) => a - b)),
  };
  test.each(Object.entries(pieces))('%s', (_what, piece) => {
    const looks = looksOf(piece);
    expect(looks).toBeGreaterThan(0);
    // In the last look as in the first.
    for (const wantedFor of [0, looks - 1]) expect(() => looksOf(piece, wantedFor)).toThrow('query was cancelled');
    expect(looksOf(piece, looks)).toBe(looks);
  });
});

describe('a function of one long text that was given up ends', () => {
  const long = 'äbcdefgh'.repeat(8192);
  const looksIn = async (query: string, wantedFor = Infinity): Promise<number> => {
    const { signal } = new AbortController();
    let looks = 0;
    linkTask(signal, { isStopped: () => ++looks > wantedFor });
    await runQuery(query, JSON.stringify(long), { signal });
    return looks;
  };
  test.each(['levenshtein("abc", this)', 'replace(this, "", "xy")', 'upper(this)', 'split(this, "")'])(
    '%s',
    async (call) => {
      const idle = await looksIn('values len(this)');
      const looks = await looksIn(`values ${call}`);
      expect(looks).toBeGreaterThan(idle);
      await expect(looksIn(`values ${call}`, idle)).rejects.toThrow('query was cancelled');
    },
  );
});

test('no character more or less where a text is taken apart in runs', async () => {
  for (const length of [0, 1, 4095, 4096, 4097, 8192]) {
    const text = 'ä'.repeat(length);
    expect(
      await runQuery(
        'values replace(this, "", "x"), upper(this), len(split(this, "")), levenshtein(this, "ä")',
        JSON.stringify(text),
      ),
    ).toBe(
      `${JSON.stringify(`x${'äx'.repeat(length)}`)}\n${JSON.stringify('Ä'.repeat(length))}\n${length}\n${Math.abs(length - 1)}\n`,
    );
  }
});

describe('turns of the tasks of a thread', () => {
  /** Tasks that have given up so many turns wait for the next one; answers who had it in each turn of the event loop. */
  const order = async (turnsTaken: Readonly<Record<string, number>>): Promise<readonly string[]> => {
    const names: string[] = [];
    const waiting = Object.entries(turnsTaken).map(async ([name, turns]) => {
      const { signal } = new AbortController();
      linkTask(signal, { turns });
      await nextTurn(signal);
      names.push(name);
    });
    const seen: string[] = [];
    for (let loops = 0; seen.length < waiting.length; loops++) {
      expect(loops).toBeLessThan(20);
      await turnOfLoop();
      expect(names.length).toBeLessThanOrEqual(seen.length + 1);
      seen.push(...names.slice(seen.length));
    }
    await Promise.all(waiting);
    return seen;
  };
  test('one goes on in each turn of the event loop, in the order in which they came', async () => {
    expect(await order({ a: 100, b: 300, c: 200 })).toEqual(['a', 'b', 'c']);
  });
  test('short ones go first, the shortest before others, and long ones every second time', async () => {
    const first = await order({ a: 100, b: 200, middle: 8, short: 0, shorter: 0 });
    expect(first.filter((name) => name.length > 1)).toEqual(['short', 'shorter', 'middle']);
    expect(first.filter((name) => name.length === 1)).toEqual(['a', 'b']);
    expect(first.indexOf('short')).toBeLessThan(2);
    expect(first.indexOf('b')).toBeLessThan(4);
  });
});
