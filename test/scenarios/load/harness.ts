/** A load's chart as the tests have it: what may come to it, and how it is seen in its host. */
import type { loadMachine } from '../../../machines/load.machine.ts';
import type { MachineHarness } from '../../support/machines/harness.ts';

export const harness: MachineHarness = {
  plan: {
    input: { poolId: 'p' },
    events: () => [
      ['begun', { type: 'begun' }],
      ['all rows read', { type: 'all rows read', bodyBytes: 1 }],
      ['rows sorted', { type: 'rows sorted' }],
      ['objects written', { type: 'objects written', objects: ['a'], records: 1, bytes: 1 }],
      ['done at once', { type: 'done at once', bodyBytes: 1, objects: ['a'], records: 1, bytes: 1 }],
      ['commit asked', { type: 'commit asked' }],
      ['committed', { type: 'committed', commit: 'c' }],
      ['failed', { type: 'failed', text: 'no' }],
      ['cancelled', { type: 'cancelled', text: 'by request' }],
    ],
    key: () => null,
  },
  see: (chart, runs) => runs.seenOfLoads(chart as typeof loadMachine),
  excuses: [],
};
