/** What enters a load's machine. Plain JSON: bytes and objects stay with the host (src/workers/pool.ts). */
export type LoadEvent =
  /** Every value of the body was read. */
  | { readonly type: 'all rows read'; readonly bodyBytes: number }
  | { readonly type: 'rows sorted' }
  /** Every object is durable, or small enough to be inline. */
  | { readonly type: 'objects written'; readonly objects: readonly string[]; readonly records: number; readonly bytes: number }
  /** A small body is read, sorted and made into inline objects in one go. */
  | { readonly type: 'done at once'; readonly bodyBytes: number; readonly objects: readonly string[]; readonly records: number; readonly bytes: number }
  | { readonly type: 'committed'; readonly commit: string }
  | { readonly type: 'failed'; readonly text: string };
export interface LoadInput { readonly poolId: string }
export interface LoadContext extends LoadInput {
  readonly bodyBytes: number;
  readonly objects: readonly string[];
  readonly records: number;
  readonly bytes: number;
  readonly commit: string | null;
  readonly error: string | null;
}
