/**
 * What a query in a worker reads from and writes to: pools by scanning objects, meta sources through the main thread,
 * files and URLs that the policy allows.
 */
import { LakeError } from '../../errors.ts';
import type { ExecutionHost, Progress, ScanRequest } from '../../exec/source.ts';
import { type FormatName, formatOfFile, isFormatName, openReader } from '../../formats/formats.ts';
import { sortIntoObjects } from '../../lake/load/sort.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import type { ResolvedSource } from '../../query/plan/plan.ts';
import { working } from '../../vectors/stop.ts';
import { vectorOf } from '../../vectors/builder.ts';
import type { Vector } from '../../vectors/vector.ts';
import { fileBytes } from '../from/files.ts';
import { type UrlRequest, openUrl } from '../from/http.ts';
import type { PoolLayout } from '../messages.ts';
import { divider, readsInto } from './division.ts';
import { diffRows } from '../diff/diff.ts';
import type { DiffSide } from '../../lake/lake.types.ts';
import { metaValue } from './meta-values.ts';
import { type WorkerTools, poolSource } from './tools.ts';
import { sortingWithin } from '../load/task.ts';
import { unpackPage } from '../packed-page.ts';
import type { TaskSpill } from './spill.ts';
import type { Task } from '../task.ts';

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
    return { change: made, name: view?.name, version: view && new Uint8Array(Buffer.from(view.version, 'hex')) };
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
  readonly identity: readonly (readonly string[])[];
}
const diffOf = (
  { task, tools, spill, progress }: ScanTools,
  source: ResolvedSource,
  request: ScanRequest,
): AsyncIterable<Vector> => {
  const { diff, keys, order, identity } = JSON.parse(source.handle) as DiffHandle;
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
    identity,
    ...(request.columns && { wanted: request.columns }),
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
