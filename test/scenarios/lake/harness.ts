/** The lake's chart as the tests have it: what may come to it, and how it is seen in its host. */
import { lakeMachine } from '../../../machines/lake.machine.ts';
import { poolMachine } from '../../../machines/pool.machine.ts';
import type { RecordedEvent } from '../../../src/recording/record.ts';
import { broke, childrenOf, done, outcomesOf, type MachineHarness } from '../../support/machines/harness.ts';
import { seenOfLake } from '../../support/machines/live-lake.ts';

export const harness: MachineHarness = {
  plan: {
    input: { waitingMax: 2 },
    events: (snapshot) => [
      ['job', { type: 'job', job: { id: 1, kind: 'delete pool', poolId: 'aa' } }],
      ['pool wanted', { type: 'pool wanted', poolId: 'aa' }],
      ['store failed', { type: 'store failed', reason: 'I/O error' }],
      ['close', { type: 'close' }],
      ...childrenOf(snapshot).flatMap(({ id, source }): readonly (readonly [string, RecordedEvent])[] => {
        if (source === 'pool')
          return [
            ["pool's actor ended", done(id)],
            ["pool's actor ended", broke(id)],
          ];
        const [outcome] = outcomesOf((snapshot.context as { readonly running: unknown }).running);
        const ends: readonly unknown[] =
          source === 'work'
            ? [
                { outcome },
                { outcome, closePool: 'aa' },
                { outcome, closePool: 'bb' },
                { outcome, unsound: 'I/O error' },
              ]
            : [undefined];
        return [...ends.map((output) => ['its work done', done(id, output)] as const), ['its work broke', broke(id)]];
      }),
      ...(childrenOf(snapshot).some(({ source }) => source === 'pool')
        ? []
        : [["pool's actor ended", done('away')] as const]),
    ],
    key: ({ waiting, running, openPools, closeAsked, failure }) => [
      (waiting as unknown[]).length,
      running !== null,
      openPools,
      closeAsked,
      failure !== null,
    ],
  },
  see: (chart) => seenOfLake({ lake: chart as typeof lakeMachine, pool: poolMachine }),
  excuses: [
    [/^lake xstate\.error\.actor/, "a pool's actor has no way to break"],
    [/^lake\.closing\.store ends shut down broke/, 'shutting down reports its faults and goes on'],
    [/^lake\.closing (job|pool wanted)/, 'the lake asks its own state before it sends'],
    [/^lake\.failed /, 'nobody holds a lake that could not start'],
  ],
};
