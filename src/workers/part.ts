/** What the helpers of a query and those of its output have in common: shares of one scan are all that they read. */
import type { ExecutionContext } from '../exec/context.ts';
import type { Progress } from '../exec/source.ts';
import type { ScanSource } from '../lake/scan/scan.types.ts';
import type { WorkerTools } from './query/tools.ts';
import type { PartStart } from './query/division.ts';

const unavailable = (): never => {
  throw new Error('parts read shares of one scan alone');
};

/** The context of a helper: anything but reading shares is an error of ours. */
export const partContext = (tools: WorkerTools, progress: Progress, signal: AbortSignal): ExecutionContext => ({
  host: { scan: unavailable, open: unavailable, load: unavailable, debug: unavailable, filters: () => true, progress },
  signal,
  batchRows: tools.batchRows,
  memoryBytesMax: tools.queryMemoryBytesMax,
  names: new Map(),
});

/**
 * The source of the shares of a part. What a helper decodes is not kept: the threads' columns have one budget, of which
 * the queries that are not helped would have half.
 */
export const partSource = ({ objects, readers }: WorkerTools, { keys, order }: PartStart): ScanSource => ({
  keys,
  order,
  objects,
  readers: {
    get: (id) => readers.get(id),
    set(id, reader) {
      readers.set(id, reader);
    },
  },
  page: unavailable,
});

/** Nothing read yet. */
export const noProgress = (): Progress => ({ bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 });

/** What was read between two moments. */
export const progressSince = (before: Progress, now: Progress): Progress => ({
  bytesRead: now.bytesRead - before.bytesRead,
  bytesMatched: now.bytesMatched - before.bytesMatched,
  recordsRead: now.recordsRead - before.recordsRead,
  recordsMatched: now.recordsMatched - before.recordsMatched,
});
