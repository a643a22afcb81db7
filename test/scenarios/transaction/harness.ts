/** A transaction's chart as the tests have it: what may come to it, and how it is seen in its host. */
import { lakeMachine } from '../../../machines/lake.machine.ts';
import { poolMachine } from '../../../machines/pool.machine.ts';
import type { transactionMachine } from '../../../machines/transaction.machine.ts';
import type { MachineHarness } from '../../support/machines/harness.ts';
import { seenOfLake, transactionParts } from '../../support/machines/live-lake.ts';

export const harness: MachineHarness = {
  plan: {
    input: { poolIds: ['a', 'b', 'c'] },
    // Each is the answer to what was emitted.
    events: (snapshot) => {
      if (snapshot.matches('asking'))
        return [
          ['granted', { type: 'granted', poolId: 'a' }],
          ['refused', { type: 'refused', poolId: 'a', text: 'no' }],
        ];
      if (snapshot.matches('writing'))
        return [
          ['written', { type: 'written' }],
          ['not written', { type: 'not written', text: 'no' }],
        ];
      return [['let go', { type: 'let go', poolId: 'a' }]];
    },
    key: ({ held, isWritten }) => [held, isWritten],
  },
  see: (chart) =>
    seenOfLake(
      { lake: lakeMachine, pool: poolMachine, transaction: chart as typeof transactionMachine },
      transactionParts,
    ),
  excuses: [
    [
      /^transaction\.releasing let go\[0\]/,
      'pools that are let go together settle within the same turn of the event loop, before the answer goes out',
    ],
  ],
};
