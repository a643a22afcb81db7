/**
 * A bucket of an object store, as the lake uses it: whole objects under keys, put, got and removed.
 *
 * Invariants:
 * - What `put`, `putNew` or `putFile` have resolved is in the bucket with the bytes that were sent: what the store says
 *   of them was compared.
 * - What `get` and `getFile` give is whole and has the checksum that it was put with.
 * - Faults that may pass are tried again within bounds; then they are errors.
 */

/** Where a bucket is, and how it is asked. */
export interface BucketAddress {
  readonly bucket: string;
  /** Empty, or ends in a slash. */
  readonly prefix: string;
  /** `https://HOST[:PORT]`; empty: AWS. */
  readonly endpoint: string;
  readonly region: string;
  /** `path`: the bucket is in the path; `host`: in the host's name. */
  readonly style: 'path' | 'host';
}
/** `s3://BUCKET/PREFIX`. */
export const bucketName = ({ bucket, prefix }: BucketAddress): string => `s3://${bucket}/${prefix}`.replace(/\/$/, '');

/** What the bucket says of an object. */
export interface ObjectHead {
  readonly bytes: number;
  /** In hexadecimal digits; of an object that others put: empty. */
  readonly sha256: string;
}
/** A key below the prefix, in a listing. */
export interface ListedKey {
  readonly key: string;
  readonly bytes: number;
  /** When it was put, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** A bucket below a prefix. @throws store-unreachable, store-refused, store-corrupt */
export interface Bucket {
  readonly name: string;
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Puts what must not be there yet: false if something else is. What was put although the answer was lost counts as
   * put.
   */
  putNew(key: string, bytes: Uint8Array): Promise<boolean>;
  /** The bytes of a file, in parts if it is long. */
  putFile(key: string, path: string): Promise<void>;
  /** Undefined: there is no such object. */
  get(key: string): Promise<Buffer | undefined>;
  /**
   * Exactly those bytes of an object, whose sum is not known: who asks compares. Undefined: there is no such object.
   */
  getRange(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /** Into a file, which is made; false: there is no such object, and no file. */
  getFile(key: string, path: string): Promise<boolean>;
  head(key: string): Promise<ObjectHead | undefined>;
  /** No error if there is none. */
  delete(key: string): Promise<void>;
  /** All keys that begin so, in their order; those behind `after` alone. */
  list(prefix: string, from?: { readonly after: string }): AsyncIterable<ListedKey>;
  /** What was asked so far. */
  readonly counts: BucketCounts;
  /** Ends what is waited for, and the connections. */
  close(): void;
}
/** `retries`: requests that were sent again. */
export interface BucketCounts {
  requests: number;
  retries: number;
  sentBytes: number;
  receivedBytes: number;
  lists: number;
}
