/** The pools of a small body: what one of them says is its own matter. */
import { expect, test } from 'vitest';
import { HeldLoads } from '../../../src/workers/ingest/held-loads.ts';
import { bodyPoolsMax } from '../../../src/workers/ingest/pool-loads.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { intValue } from '../../../src/vectors/value.ts';

const rows = (...values: readonly number[]) => vectorOf(values.map(intValue));
const layout = { keys: [['ts']], order: 'asc', threshold: 1 << 20 } as const;
const loads = (asked: string[] = [], sorted: string[] = []): HeldLoads =>
  new HeldLoads({
    layoutOf: async (pool) => {
      asked.push(pool);
      if (pool === 'closed') throw new Error('closed takes none');
      return layout;
    },
    sort: (batches, { keys }) => {
      sorted.push(`${keys.length} key: ${batches.map(({ length }) => length).join('+')}`);
      if (batches.length === 3) throw new Error('no room');
      return { objects: [], records: batches.reduce((n, { length }) => n + length, 0), bytes: 0 };
    },
  });

test('a pool is asked for with its first records, and sorted when all are there', async () => {
  const asked: string[] = [];
  const sorted: string[] = [];
  const held = loads(asked, sorted);
  await held.emit('a', rows(1, 2));
  await held.emit('b', rows(3));
  await held.emit('a', rows(4));
  expect([asked, sorted]).toEqual([['a', 'b'], []]);
  const found = await held.end();
  expect([...found].map(([pool, one]) => [pool, 'error' in one ? String(one.error) : one.records])).toEqual([
    ['a', 3],
    ['b', 1],
  ]);
  expect(sorted).toEqual(['1 key: 2+1', '1 key: 1']);
});

test('a pool that takes none, one whose records cannot be sorted and one too many fail alone', async () => {
  const held = loads();
  await held.emit('closed', rows(1));
  for (let k = 0; k < 3; k++) await held.emit('full', rows(k));
  for (let k = 2; k <= bodyPoolsMax; k++) await held.emit(`p${k}`, rows(k));
  const found = await held.end();
  const failed = [...found].flatMap(([pool, one]) => ('error' in one ? [[pool, String(one.error)]] : []));
  expect(failed).toEqual([
    ['closed', 'Error: closed takes none'],
    ['full', 'Error: no room'],
    ['p100', 'LakeError: p100: request body has records for more than 100 pools; send the rest again'],
  ]);
  expect(found.size).toBe(bodyPoolsMax + 1);
});

test('of a body that failed nothing is sorted', async () => {
  const sorted: string[] = [];
  const held = loads([], sorted);
  await held.emit('closed', rows(1));
  await held.emit('a', rows(1));
  await held.abort();
  expect([sorted, (await held.end()).size]).toEqual([[], 0]);
});
