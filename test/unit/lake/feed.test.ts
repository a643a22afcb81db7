/** Numbers of events: which of them answers of writes may tell. */
import { expect, test } from 'vitest';
import { Feed } from '../../../src/lake/feed.ts';
import type { LakeEvent } from '../../../src/lake/lake.types.ts';
import type { Tables } from '../../../src/lake/tables/tables.ts';

const empty = { get: () => undefined, keys: () => [] } as unknown as Tables;

test('a number that is told is of a settled change: none is of one that a crash could take back', () => {
  const feed = new Feed(empty, 100, () => undefined);
  const heard: number[] = [];
  feed.listen(({ id }) => heard.push(id));
  const drawn = (): LakeEvent => feed.make('01', [], (id) => ({ id, kind: 'pool-new', poolId: '01' }));
  const [first, second, third] = [drawn(), drawn(), drawn()];
  expect(feed.settledLast()).toBe(0);
  // The second one's writer is answered before those of the first: its own event is told, none behind it.
  feed.publish([second]);
  expect([feed.settledLast(), feed.last(), heard]).toEqual([2, 0, []]);
  feed.publish([first]);
  expect([feed.settledLast(), feed.last(), heard]).toEqual([2, 2, [1, 2]]);
  feed.publish([third]);
  expect([feed.settledLast(), feed.last(), heard]).toEqual([3, 3, [1, 2, 3]]);
});
