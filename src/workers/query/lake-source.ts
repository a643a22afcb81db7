/**
 * What a query in a worker reads from and writes to: pools by scanning objects, meta sources through the main thread,
 * files and URLs that the policy allows.
 */
import { LakeError } from '../../errors.ts';
import type { ExecutionContext, ExecutionHost, Progress, ScanRequest } from '../../exec/source.ts';
import { type FormatName, type ReadOptions, formatOfFile, isFormatName, openReader } from '../../formats/formats.ts';
import { sortIntoObjects } from '../../lake/load/sort.ts';
import { ColumnCache } from '../../lake/columns/cache.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { ReaderCache, ScanSource } from '../../lake/scan/scan.types.ts';
import { isInRange } from '../../lake/scan/range.ts';
import type { ObjectReader } from '../../lake/objects/reader.ts';
import type { ShareSizes } from '../../lake/scan/shares.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import type { ResolvedSource } from '../../query/plan/plan.ts';
import { working } from '../../vectors/stop.ts';
import { vectorOf } from '../../vectors/builder.ts';
import type { Vector } from '../../vectors/vector.ts';
import { fileBytes } from '../from/files.ts';
import { type UrlRequest, openUrl } from '../from/http.ts';
import type { FromPolicy } from '../from/policy.ts';
import type { PoolLayout } from '../messages.ts';
import { divider, readsInto } from './division.ts';
import { diffRows } from '../diff/diff.ts';
import type { DiffSide } from '../../lake/lake.types.ts';
import { metaValue } from './meta-values.ts';
import { type LoadBudget, sortingWithin } from '../load/task.ts';
import { unpackPage } from '../packed-page.ts';
import type { TaskSpill } from './spill.ts';
import type { Task } from '../task.ts';

/** Opened objects that a worker keeps for later scans: footers and dictionaries, no rows. */
const readersMax = 64;

/** The last readers used. What they hold is of the columns' budget, and their columns go with them. */
export class ReaderList implements ReaderCache {
  readonly columns: ColumnCache;
  private readonly bytesMax: number;
  private charged = 0;
  /** `bytesMax`: what the readers hold together, the newest aside. */
  constructor(columns: ColumnCache, bytesMax = Infinity) {
    this.columns = columns;
    this.bytesMax = bytesMax;
  }
  /** What the readers hold, as of the last look, and their columns. */
  get bytes(): number {
    return this.charged + this.columns.bytes;
  }
  /** Least recently used first. */
  private readonly readers = new Map<string, ObjectReader>();
  get(id: string): ObjectReader | undefined {
    const reader = this.readers.get(id);
    if (reader) {
      this.readers.delete(id);
      this.readers.set(id, reader);
    }
    return reader;
  }
  set(id: string, reader: ObjectReader): void {
    this.readers.set(id, reader);
    this.trim();
  }
  /** The object is gone. */
  forget(id: string): void {
    const reader = this.readers.get(id);
    if (!reader) return;
    this.drop(id, reader);
    this.trim();
  }
  /** Gives up what is too much, and charges the rest: readers hold more as they are used. */
  trim(): void {
    let held = 0;
    for (const reader of this.readers.values()) held += reader.heldBytes;
    for (const [id, reader] of this.readers) {
      if (this.readers.size === 1 || (this.readers.size <= readersMax && held <= this.bytesMax)) break;
      held -= reader.heldBytes;
      this.drop(id, reader);
    }
    if (held !== this.charged) this.columns.lend(held - this.charged);
    this.charged = held;
  }
  private drop(id: string, reader: ObjectReader): void {
    this.readers.delete(id);
    this.columns.forget(reader);
  }
}

/** What a worker has for all of its tasks: the lake's objects, what it keeps of them, budgets and limits. */
export interface WorkerTools {
  readonly objects: ObjectStore;
  readonly readers: ReaderList;
  readonly budget: LoadBudget;
  readonly batchRows: number;
  readonly queryMemoryBytesMax: number;
  readonly recursion: NonNullable<ExecutionContext['recursion']>;
  /** From where indexes count in texts that do not say it. */
  readonly indexBase?: 0 | 1;
  readonly thread: { readonly index: number; readonly of: number };
  readonly shareSizes: ShareSizes;
  readonly outputShares: ShareSizes;
  /** What queries may read besides pools. */
  readonly from: FromPolicy;
  /** What readers take at most, also of what is compressed. */
  readonly readLimits: ReadOptions;
}

/** The objects of a resolved pool source. */
export const poolSource = (
  task: Task,
  handle: string,
  layout: Pick<PoolLayout, 'keys' | 'order'>,
  { objects, readers }: WorkerTools,
): ScanSource => ({ ...layout, objects, readers, page: pagesOf(task, handle) });

/** Asks for pages, unless all objects have come along with the task. */
const pagesOf = (task: Task, handle: string): ScanSource['page'] => {
  const packed = task.prefetched.find((f) => f.source.handle === handle)?.objects;
  if (!packed) return async (page) => unpackPage(await task.call({ kind: 'page', handle, page }));
  const { objects } = unpackPage(packed);
  return ({ range, cursor = 0 }) => ({
    objects: objects
      .slice(cursor)
      .filter((o) => !range || isInRange({ firstKey: o.min.sort, lastKey: o.max.sort }, range, false)),
  });
};

/** The engine's surroundings for one query. */
export const executionHost = (
  task: Task,
  tools: WorkerTools,
  spill: TaskSpill,
  progress: Progress,
  debug: (batch: Vector) => void,
): ExecutionHost => ({
  scan: (source, request) => scan({ task, tools, spill, progress }, source, request),
  filters: (source) => source.kind === 'pool',
  open: (name) => {
    throw new LakeError('query-invalid', { text: `${name}: cannot open in a database environment` });
  },
  load: async (target, batches, note) => {
    const layout = await task.call({ kind: 'layout', handle: target.handle });
    const share = tools.budget.begin();
    try {
      const { objects: adds } = await sortIntoObjects(batches, sortingWithin(share, layout, { task, tools, spill }));
      const { author, message, meta } = note;
      const commit = await task.call({
        kind: 'commit',
        handle: target.handle,
        objects: adds,
        note: { ...(author && { author }), ...(message && { body: message }), ...(meta && { meta }) },
      });
      return new Uint8Array(Buffer.from(commit, 'hex'));
    } finally {
      share.end();
    }
  },
  changeRows: async ({ target, verb, text, indexBase }) => {
    const commit = await task.call({
      kind: 'change',
      handle: target.handle,
      verb,
      text,
      ...(indexBase !== undefined && { indexBase }),
    });
    return commit === undefined ? undefined : new Uint8Array(Buffer.from(commit, 'hex'));
  },
  changeView: async (change) => {
    const { change: made, view } = await task.call({ kind: 'view', change });
    return { change: made, version: view && new Uint8Array(Buffer.from(view.version, 'hex')) };
  },
  divide: divider(task, tools, progress),
  debug,
  progress,
  spill,
});

interface ScanTools {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly spill: TaskSpill;
  readonly progress: Progress;
}
const scan = (
  { task, tools, spill, progress }: ScanTools,
  source: ResolvedSource,
  request: ScanRequest,
): AsyncIterable<Vector> => {
  switch (source.kind) {
    case 'pool': {
      const pool = poolSource(
        task,
        source.handle,
        { keys: source.sortKeys ?? [['ts']], order: source.order ?? 'asc' },
        tools,
      );
      return scanObjects(pool, { ...request, batchRows: tools.batchRows, read: readsInto(progress, request.counts) });
    }
    case 'poolDiff':
      return diffOf({ task, tools, spill, progress }, source, request);
    case 'poolMeta':
    case 'lakeMeta':
      return metaRows(task, source, tools.batchRows);
    case 'url':
      return urlRows(source, tools, spill, request.signal);
    case 'file':
      return fileRows(source, tools, spill, request.signal);
  }
};

/** What the handle of a comparison says. */
interface DiffHandle extends Pick<PoolLayout, 'keys' | 'order'> {
  readonly diff: number;
}
const diffOf = (
  { task, tools, spill, progress }: ScanTools,
  source: ResolvedSource,
  request: ScanRequest,
): AsyncIterable<Vector> => {
  const { diff, keys, order } = JSON.parse(source.handle) as DiffHandle;
  const { objects, readers } = tools;
  const sideOf = (side: DiffSide): ScanSource => ({
    keys,
    order,
    objects,
    readers,
    page: async (page) => unpackPage(await task.call({ kind: 'diff', diff, side, page })),
  });
  return diffRows({
    before: sideOf('base'),
    after: sideOf('commit'),
    keys,
    order,
    spill,
    memoryBytesMax: tools.queryMemoryBytesMax,
    batchRows: tools.batchRows,
    signal: request.signal,
    read: readsInto(progress, request.counts),
  });
};

interface MetaHandle {
  readonly pool?: string;
  readonly commit?: string;
  readonly meta: string;
}
async function* metaRows(task: Task, source: ResolvedSource, batchRows: number): AsyncGenerator<Vector> {
  const meta = JSON.parse(source.handle) as MetaHandle;
  for (let next: string | undefined; ; ) {
    const page = await task.call({ kind: 'meta', source: meta, ...(next !== undefined && { next }) });
    for (let at = 0; at < page.rows.length; at += batchRows)
      yield vectorOf(page.rows.slice(at, at + batchRows).map(metaValue));
    next = page.next;
    if (next === undefined) return;
  }
}

async function* urlRows(
  source: ResolvedSource,
  { from, batchRows, readLimits, budget }: WorkerTools,
  spill: TaskSpill,
  signal: AbortSignal,
): AsyncGenerator<Vector> {
  const request = JSON.parse(source.handle) as UrlRequest & { readonly format?: string };
  const format = formatOf(request.format);
  const { codings, bytes } = await openUrl(request, { policy: from.http, signal });
  yield* await openReader(format, bytes, {
    ...readLimits,
    memory: budget.forReader(),
    scratch: () => spill.scratchBytes(),
    batchRows,
    contentCodings: codings,
    turn: (work) => working(signal, work),
  });
}

/** What a file source's handle says. */
interface FileHandle {
  readonly path: string;
  readonly format?: string;
}
async function* fileRows(
  source: ResolvedSource,
  { from, batchRows, readLimits, budget }: WorkerTools,
  spill: TaskSpill,
  signal: AbortSignal,
): AsyncGenerator<Vector> {
  const { path, format } = JSON.parse(source.handle) as FileHandle;
  const named = format === undefined ? (formatOfFile(path) ?? 'auto') : formatOf(format);
  yield* await openReader(named, fileBytes(path, from.files, signal), {
    ...readLimits,
    memory: budget.forReader(),
    scratch: () => spill.scratchBytes(),
    batchRows,
    turn: (work) => working(signal, work),
  });
}

const formatOf = (name: string | undefined): FormatName | 'auto' => {
  if (name === undefined || name === 'auto') return 'auto';
  if (!isFormatName(name)) throw new LakeError('format-unknown', { format: name });
  return name;
};
