/**
 * What enters and leaves a transaction's machine. Plain JSON: what is committed stays with the host
 * (src/lake/pool/transaction.ts).
 */

/** From the host: what the pools say, and how the one write for all of them went. */
export type TransactionEvent =
  /** The turn of the pool that was asked has come, and it waits. */
  | { readonly type: 'granted'; readonly poolId: string }
  /** The pool that was asked does not take it: it closes or has ended, its queue is full, its store failed. */
  | { readonly type: 'refused'; readonly poolId: string; readonly text: string }
  | { readonly type: 'written' }
  | { readonly type: 'not written'; readonly text: string }
  /** A pool that waited has settled its job, and goes on. */
  | { readonly type: 'let go'; readonly poolId: string };

/** `poolIds`: each once, in their order. */
export interface TransactionInput {
  readonly poolIds: readonly string[];
}
/** `held`: so many of the pools, from the first one on, wait. */
export interface TransactionContext extends TransactionInput {
  readonly held: number;
  readonly isWritten: boolean;
  /** Why it came to nothing. */
  readonly failure: string | null;
}

/** Tells the host to ask a pool, to write, and to let the pools go that wait. */
export type TransactionEmitted =
  | { readonly type: 'ask'; readonly poolId: string }
  | { readonly type: 'write' }
  | { readonly type: 'release'; readonly poolIds: readonly string[]; readonly isWritten: boolean };
