/** A query's chart as the tests have it: what may come to it, and how it is seen in its host. */
import type { queryMachine } from '../../../machines/query.machine.ts';
import type { MachineHarness } from '../../support/machines/harness.ts';

export const harness: MachineHarness = {
  plan: {
    input: { id: 'q' },
    events: () => [
      ['begun', { type: 'begun' }],
      ['compiled', { type: 'compiled' }],
      ['first bytes', { type: 'first bytes' }],
      ['ended', { type: 'ended' }],
      ['failed', { type: 'failed', text: 'no' }],
      ['cancel', { type: 'cancel' }],
      ['time is over', { type: 'time is over' }],
    ],
    key: () => null,
  },
  see: (chart, runs) => runs.seenOfQueries(chart as typeof queryMachine),
  excuses: [
    [
      /^query\.working\.compiling compiled/,
      'it is seen only of a query that has no rows yet: test/operations/progress.test.ts',
    ],
    [/^query\.working\.compiling first bytes/, 'workers tell that a text is compiled before its first bytes'],
  ],
};
