import type { ExecutionContext } from '../exec/context.ts';
import type { FormatLimits } from '../formats/formats.ts';
import type { S3Options } from '../store/s3.ts';
import type { QueryShares, ShareSizes } from '../lake/scan/shares.ts';
import type { FromPolicy } from './from/policy.ts';

/** Which data objects are compressed: those that compactions write, and rewrites of such, or all. */
export type CompressedObjects = 'none' | 'compacted' | 'all';

/** What a worker thread is told when it starts. */
export interface WorkerSettings {
  readonly lakeDirectory: string;
  /** The bucket that the lake is in. */
  readonly store?: S3Options;
  /** Ids are above this one. */
  readonly idsAbove: string;
  readonly spillDirectory: string;
  readonly loadMemoryBytesMax: number;
  readonly queryMemoryBytesMax: number;
  /** Decoded columns that this thread keeps. */
  readonly cacheBytesMax: number;
  readonly cacheCounts: SharedArrayBuffer;
  readonly windowBytesMax: number;
  readonly batchRows: number;
  readonly expandedBytesMax: number;
  readonly formatLimits: FormatLimits;
  readonly recursion: NonNullable<ExecutionContext['recursion']>;
  readonly indexBase?: 0 | 1;
  readonly from: FromPolicy;
  /** Numbers of tasks that were given up, by their place (`stopPlace`). */
  readonly stops: SharedArrayBuffer;
  /** What tasks have counted (task-counts.ts). */
  readonly counts: SharedArrayBuffer;
  /** Which thread goes on where memory is short (turn-claim.ts). */
  readonly claim: SharedArrayBuffer;
  /** Which data objects are compressed. */
  readonly compress: CompressedObjects;
  /** How long its code may be made warm before it is needed; 0: not at all. */
  readonly warmUpMs: number;
  /** What the whole process may take, about. */
  readonly residentBytesMax: number;
  /** Its number among the threads, from 0. */
  readonly thread: { readonly index: number; readonly of: number };
  /** When one query is worth more than one thread. */
  readonly shareSizes: QueryShares;
  /** When the bytes of an answer are. */
  readonly outputShares: ShareSizes;
}
