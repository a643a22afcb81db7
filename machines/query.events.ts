/** What enters a query's machine. Plain JSON: text, bytes and snapshots stay with the host (src/workers/watches.ts). */
export type QueryEvent =
  /** A thread has it. */
  | { readonly type: 'begun' }
  | { readonly type: 'compiled' }
  | { readonly type: 'first bytes' }
  /** Its answer is over. */
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly text: string }
  /** It was told to end, or its client left, or the service closes. */
  | { readonly type: 'cancel' }
  /** Its status was kept long enough. */
  | { readonly type: 'time is over' };
/** The id of its request. */
export interface QueryInput {
  readonly id: string;
}
/** What is known of the query until it expires. */
export interface QueryContext extends QueryInput {
  /** Empty if nothing went wrong. */
  readonly error: string;
}
