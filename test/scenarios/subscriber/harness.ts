/** A subscriber's chart as the tests have it: what may come to it, and how it is seen in its host. */
import type { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { runCharts } from '../../../src/workers/watches.ts';
import type { MachineHarness } from '../../support/machines/harness.ts';
import { seenOfFeed } from '../../support/machines/live-feed.ts';

export const harness: MachineHarness = {
  plan: {
    input: { waitingMax: 2, lastId: 0 },
    events: () => [
      ['event came', { type: 'event came', id: 1 }],
      ['connection full', { type: 'connection full' }],
      ['connection drained', { type: 'connection drained', taken: 1, full: false }],
      ['connection drained', { type: 'connection drained', taken: 1, full: true }],
      ['fell behind', { type: 'fell behind' }],
      ['caught up', { type: 'caught up' }],
      ['log ended', { type: 'log ended' }],
      ['client left', { type: 'client left' }],
      ['service closing', { type: 'service closing' }],
    ],
    key: ({ waiting }) => waiting,
  },
  see: (chart) => seenOfFeed({ ...runCharts, subscriber: chart as typeof subscriberMachine }),
  excuses: [[/^subscriber\.catching up event came/, 'one that catches up reads the event from the log']],
};
