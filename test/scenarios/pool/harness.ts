/** A pool's chart as the tests have it: what may come to it, and how it is seen in its host. */
import { lakeMachine } from '../../../machines/lake.machine.ts';
import type { poolMachine } from '../../../machines/pool.machine.ts';
import { broke, childrenOf, done, outcomesOf, type MachineHarness } from '../../support/machines/harness.ts';
import { seenOfLake } from '../../support/machines/live-lake.ts';

const group = { jobs: [{ id: 1, kind: 'load', branch: 'main', objects: [] }], waiting: 0 };
const noGroup = { jobs: [], waiting: 0 };
/** More of them under way are no more situations. */
const walkedGroups = 2;

export const harness: MachineHarness = {
  plan: {
    input: { poolId: 'p' },
    events: (snapshot) => {
      const { running } = snapshot.context as { readonly running: readonly unknown[] };
      const isAtWork = snapshot.matches('working') || snapshot.matches('closing');
      const first = outcomesOf(running).slice(0, 1);
      return [
        ['close', { type: 'close' }],
        ...childrenOf(snapshot).flatMap(
          ({ id }) =>
            [
              ['its work done', done(id)],
              ['its work broke', broke(id)],
            ] as const,
        ),
        // The host sends it while the machine has no group, or is at work on few; the others only while it has begun one.
        ...(running.length === 0 || (isAtWork && running.length < walkedGroups)
          ? [['work waiting', { type: 'work waiting', ...group }] as const]
          : []),
        ...(isAtWork
          ? [group, noGroup].flatMap(
              (next) =>
                [
                  ['its work done', { type: 'done', outcomes: first, ...next }],
                  [
                    'its work found the store unsound',
                    { type: 'done', outcomes: first, unsound: 'I/O error', ...next },
                  ],
                  ['its work broke', { type: 'broke', text: 'broken', count: 1, ...next }],
                ] as const,
            )
          : []),
      ];
    },
    key: ({ running, closeAsked, failure }) => [(running as unknown[]).length, closeAsked, failure !== null],
  },
  see: (chart) => seenOfLake({ lake: lakeMachine, pool: chart as typeof poolMachine }),
  excuses: [
    [/^pool\.idle always\[0\]/, '`closing` does what `working` does; its name is for those who watch'],
    [/^pool\.opening open broke/, 'opening a pool reads its branches; a row that is damaged fails jobs, not the pool'],
    [
      /^pool\.(working|closing) broke\[[01]\]/,
      'what has its place in the log, with others behind it, breaks by mistakes of ours alone',
    ],
    [
      /^pool\.closing (work waiting|done)\[0\]/,
      'of what waits when the lake closes only 1,024 loads and more go in groups',
    ],
  ],
};
