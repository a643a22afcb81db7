/** What the watch of the machines knows of loads that nobody listened to, and tells who listens from then on. */
import { expect, test } from 'vitest';
import type { ActorRecord, MessageRecord } from '../../../src/recording/record.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { LoadWatch } from '../../../src/workers/watches.ts';

test('who begins to listen finds the loads that are there, and hears of what comes, numbered without a gap', () => {
  const watch = new MachineWatch(() => 7);
  const loads = ['a', 'b', 'c'].map((poolId) => new LoadWatch({ poolId }, watch.inspect));
  for (const load of loads) load.begin();
  loads[1]!.failed(new Error('gone'));
  const there = watch.actors();
  expect(there.map(({ actor, state, input }) => ({ actor, state, input }))).toEqual([
    { actor: 'load/1', state: ['receiving'], input: { poolId: 'a' } },
    { actor: 'load/3', state: ['receiving'], input: { poolId: 'c' } },
  ]);
  const told: (ActorRecord | MessageRecord)[] = [];
  const stop = watch.listen({ actor: (record) => told.push(record), message: (record) => told.push(record) });
  loads[2]!.failed(new Error('cut'));
  loads.push(new LoadWatch({ poolId: 'd' }, watch.inspect));
  stop();
  loads[0]!.failed(new Error('unheard'));
  const last = there.at(-1)!.seq;
  expect(told).toMatchObject([
    {
      kind: 'message',
      seq: last + 1,
      actor: 'load/3',
      event: { type: 'failed' },
      from: ['receiving'],
      outcome: 'ended',
    },
    { kind: 'actor', seq: last + 2, actor: 'load/4', input: { poolId: 'd' } },
  ]);
  expect(watch.actors().map(({ actor, seq }) => [actor, seq])).toEqual([['load/4', last + 3]]);
});
