/** The chart of a lake's copy in a bucket as the tests have it: what may come to it, and how it is seen in its host. */
import type { storeMachine } from '../../../machines/store.machine.ts';
import type { MachineHarness } from '../../support/machines/harness.ts';
import { seenOfStore } from '../../support/machines/live-store.ts';

export const harness: MachineHarness = {
  plan: {
    input: { isStandby: true },
    events: () => [
      ['bucket away', { type: 'bucket away', subject: 'log', text: 'no' }],
      ['bucket answered', { type: 'bucket answered', subject: 'log' }],
      ['folder ready', { type: 'folder ready' }],
      ['fence put', { type: 'fence put' }],
      ['promote asked', { type: 'promote asked' }],
      ['writer gone', { type: 'writer gone' }],
      ['overtaken', { type: 'overtaken' }],
      ['log broken', { type: 'log broken' }],
      ['leads', { type: 'leads' }],
      ['segment refused', { type: 'segment refused', text: 'no' }],
      ['cannot go on', { type: 'cannot go on', text: 'no' }],
      ['closed', { type: 'closed' }],
    ],
    key: ({ isAsked, logFault }) => [isAsked, logFault !== null],
  },
  see: (chart) => seenOfStore(chart as typeof storeMachine),
  excuses: [],
};
