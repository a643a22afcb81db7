/** What enters a query's machine. Plain JSON: text, bytes and snapshots stay with the host (src/workers/pool.ts). */
export type QueryEvent =
  | { readonly type: 'compiled' }
  | { readonly type: 'first bytes' }
  /** All bytes were made, none is still waiting in the worker. */
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly text: string }
  /** The client went away, or the service closes. */
  | { readonly type: 'cancel' };
/** `keepMs`: how long the status of an ended query can be asked for. */
export interface QueryInput {
  readonly id: string;
  readonly keepMs: number;
}
/** What is known of the query until it expires. */
export interface QueryContext extends QueryInput {
  /** Empty if nothing went wrong. */
  readonly error: string;
}
