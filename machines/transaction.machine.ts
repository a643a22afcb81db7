/**
 * One transaction: commits in several pools, all or none. Asks the pools for their turns one after the other in the
 * order of their ids, writes once all of them wait, and lets them go. No I/O: the host asks, writes and lets go for
 * what is emitted.
 *
 * Invariants:
 * - Nothing is written unless every pool waits; no pool is let go before the write has ended, well or not.
 * - Each pool that was granted is let go once, also when one that was asked later refuses.
 * - Pools are asked in one order by all transactions: no two of them wait for each other.
 */
import { assign, emit, setup } from 'xstate';
import type {
  TransactionContext,
  TransactionEmitted,
  TransactionEvent,
  TransactionInput,
} from './transaction.events.ts';

export const transactionMachine = setup({
  types: {
    context: {} as TransactionContext,
    events: {} as TransactionEvent,
    emitted: {} as TransactionEmitted,
    input: {} as TransactionInput,
  },
  guards: {
    'it was the last one to be asked': ({ context }) => context.held + 1 === context.poolIds.length,
    'pools wait': ({ context }) => context.held > 0,
    'others wait': ({ context }) => context.held > 1,
    'it was written': ({ context }) => context.isWritten,
  },
  actions: {
    'ask the next pool': emit(({ context }) => ({ type: 'ask', poolId: context.poolIds[context.held]! })),
    'count one that waits': assign({ held: ({ context }) => context.held + 1 }),
    'count one that went': assign({ held: ({ context }) => context.held - 1 }),
    write: emit({ type: 'write' }),
    'remember that it was written': assign({ isWritten: true }),
    'remember why not': assign({ failure: ({ event }) => ('text' in event ? event.text : null) }),
    'let the pools go': emit(({ context }) => ({
      type: 'release',
      poolIds: context.poolIds.slice(0, context.held),
      isWritten: context.isWritten,
    })),
  },
}).createMachine({
  id: 'transaction',
  context: ({ input: { poolIds } }) => ({ poolIds, held: 0, isWritten: false, failure: null }),
  initial: 'asking',
  states: {
    asking: {
      entry: 'ask the next pool',
      on: {
        granted: [
          { guard: 'it was the last one to be asked', target: 'writing', actions: 'count one that waits' },
          { target: 'asking', reenter: true, actions: 'count one that waits' },
        ],
        refused: [
          { guard: 'pools wait', target: 'releasing', actions: 'remember why not' },
          { target: 'failed', actions: 'remember why not' },
        ],
      },
    },
    writing: {
      entry: 'write',
      on: {
        written: { target: 'releasing', actions: 'remember that it was written' },
        'not written': { target: 'releasing', actions: 'remember why not' },
      },
    },
    releasing: {
      entry: 'let the pools go',
      on: {
        'let go': [
          { guard: 'others wait', actions: 'count one that went' },
          { guard: 'it was written', target: 'committed', actions: 'count one that went' },
          { target: 'failed', actions: 'count one that went' },
        ],
      },
    },
    committed: { type: 'final' },
    failed: { type: 'final' },
  },
});
