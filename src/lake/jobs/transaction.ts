/** The pool's turn within a transaction of several pools, which makes the commits (pool/transaction.ts). */
import type { OtherKind } from './job.ts';

/** Its parts have conditions and branches of their own. */
export const transaction: OtherKind<'transaction'> = {
  work: ({ payload }, job) => payload(job.id).turn!(),
};
