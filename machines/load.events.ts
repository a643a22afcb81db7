/** What enters a load's machine. Plain JSON: bytes and objects stay with the host (src/workers/watches.ts). */
export type LoadEvent =
  /** A thread has it, or the main thread itself for a small body. */
  | { readonly type: 'begun' }
  /** Every value of the body was read. */
  | { readonly type: 'all rows read'; readonly bodyBytes: number }
  | { readonly type: 'rows sorted' }
  /** Every object is durable, or small enough to be inline. */
  | {
      readonly type: 'objects written';
      readonly objects: readonly string[];
      readonly records: number;
      readonly bytes: number;
    }
  /** A small body is read, sorted and made into inline objects in one go. */
  | {
      readonly type: 'done at once';
      readonly bodyBytes: number;
      readonly objects: readonly string[];
      readonly records: number;
      readonly bytes: number;
    }
  /** Its pool was given the job: from here on it cannot be cancelled. */
  | { readonly type: 'commit asked' }
  /** Also at once: the same request was committed before. */
  | { readonly type: 'committed'; readonly commit: string }
  | { readonly type: 'failed'; readonly text: string }
  /** It failed because it was told to end, or its client left. */
  | { readonly type: 'cancelled'; readonly text: string };
/** The pool that the load is for. */
export interface LoadInput {
  readonly poolId: string;
}
/** What is known of the load so far. */
export interface LoadContext extends LoadInput {
  /** Length of the body as it was sent, content codings included; 0 until it is read. */
  readonly bodyBytes: number;
  /** Ids of the data objects that were made; empty before. */
  readonly objects: readonly string[];
  /** Values in the objects. */
  readonly records: number;
  /** Bytes of the objects. */
  readonly bytes: number;
  /** Id of the commit; null unless there is one. */
  readonly commit: string | null;
  /** Why the load came to nothing; null unless it did. */
  readonly error: string | null;
}
