/**
 * Queries: text to plan to batches to bytes.
 *
 * Invariants:
 * - The first batch is written and sent at once; later bytes are gathered into larger chunks, but never held back for
 *   long.
 * - Before the first byte a failure is the task's failure; after it, too, but with `control` the error goes into the
 *   bytes as a message.
 */
import { messageOf } from '../../errors.ts';
import { aggregateCatalog } from '../../exec/aggregates/aggregates.ts';
import { windowCatalog } from '../../exec/windows/windows.ts';
import { execute } from '../../exec/compile.ts';
import { batches } from '../../exec/operator.ts';
import { flatSize } from '../../exec/operators/compact.ts';
import { evaluateConstant } from '../../exec/expressions/compile.ts';
import { functionCatalog } from '../../exec/functions/functions.ts';
import { type Encoder, createEncoder } from '../../formats/codings/encode.ts';
import { type ControlMessage, type FormatName, type Writer, createWriter, formatTable } from '../../formats/formats.ts';
import { type PartJoiner, joinParts } from '../../formats/parts.ts';
import { compile } from '../../query/analyze.ts';
import { channelsOf } from '../../query/plan/channels.ts';
import { parse } from '../../query/parse/parser.ts';
import type { CompileEnvironment, SourceRequest } from '../../query/plan/plan.ts';
import type { ChunkBuffers } from '../../vectors/texts/chunk-buffers.ts';
import { joinBytes } from '../../vectors/texts/join-bytes.ts';
import { working } from '../../vectors/stop.ts';
import { type RecordType, types } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type Value, intValue, recordValue, stringValue } from '../../vectors/value.ts';
import { executionHost } from './lake-source.ts';
import type { WorkerTools } from './tools.ts';
import type { TaskRequest } from '../messages.ts';
import { rowTypeByPools } from './empty-answer.ts';
import { atHead } from '../prefetch.ts';
import { divideOutput } from './output-division.ts';
import { poolContent } from './pool-content.ts';
import type { QueryStats } from '../pool.types.ts';
import type { TaskSpill } from './spill.ts';
import type { Task } from '../task.ts';
import type { TaskCounter } from '../task-counts.ts';

type QueryTask = Extract<TaskRequest, { kind: 'query' }>;
type CompileTask = Extract<TaskRequest, { kind: 'compile' }>;

/** Bytes that are gathered into one chunk once the first is out: each message wakes the main thread. */
const chunkBytes = 512 << 10;
/** The longest time that bytes wait for more. */
const gatherMsMax = 100;
/**
 * How long the first bytes of files of columns wait: an error that comes so long is the answer, not a file that breaks
 * off. The beginning of a Parquet file is of no use to anybody.
 */
const firstMsOf: Readonly<Partial<Record<FormatName, number>>> = { arrows: gatherMsMax, parquet: Infinity };
const statisticsEveryMs = 1000;

/** An error that the client has been told of in the bytes. */
export class ToldError extends Error {
  readonly stats: QueryStats;
  constructor(cause: unknown, stats: QueryStats) {
    super('told', { cause });
    this.stats = stats;
  }
}

/** Where names of a query lead: pools, through the main thread. */
export const lakeEnvironment = (
  task: Task,
  tools: WorkerTools,
  { head, indexBase = tools.indexBase }: Pick<QueryTask, 'head' | 'indexBase'> = {},
): CompileEnvironment => {
  const named = (source: SourceRequest): SourceRequest =>
    source.kind === 'name' && !source.forLoad ? atHead(source, head) : source;
  return {
    mode: 'lake',
    ...(tools.from.files.length > 0 && { filesToo: true }),
    functions: functionCatalog,
    aggregates: aggregateCatalog,
    windows: windowCatalog,
    evaluate: (expr, functions) => working(task.signal, () => evaluateConstant(expr, functions)),
    turn: (work) => working(task.signal, work),
    known: (request) => {
      const source = named(request);
      if (source.kind !== 'name' || source.meta !== undefined || source.format !== undefined || source.forLoad)
        return undefined;
      const found = task.prefetched.find(
        (f) => f.name === source.name && f.commit === source.commit && source.asof === undefined,
      );
      return found && [found.source];
    },
    resolve: (source) => task.call({ kind: 'resolve', source: named(source) }),
    content: poolContent(task, tools),
    ...(indexBase !== undefined && { indexBase }),
    ...(head?.pool !== undefined && { defaultSource: { kind: 'name', name: head.pool } as const }),
  };
};

/** Tree and plan of a query text, as data. */
export const runCompile = async (
  task: Task,
  request: CompileTask,
  tools: WorkerTools,
): Promise<{ readonly ast: unknown; readonly plan: unknown }> => ({
  ast: parse(request.text),
  plan: await compile(request.text, lakeEnvironment(task, tools, request)),
});

/** Runs a query; its bytes are sent as they come. */
export const runQuery = async (
  task: Task,
  request: QueryTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<QueryStats> => {
  const progress = task.counter;
  const { format, coding, channelIds = false, arrowFile = false } = request;
  const { fusesSelect } = formatTable[format];
  const environment = lakeEnvironment(task, tools, request);
  const { plan, varies } = await tools.plans.of({
    text: request.text,
    environment,
    options: {
      rowType: formatTable[format].hasTypeAlone === true,
      ending: {
        ...request.ending,
        recordsOnly: formatTable[format].recordsOnly === true,
        ...(fusesSelect && { fuseSelect: fusesSelect }),
      },
    },
    meaning: request,
    prefetched: task.prefetched,
  });
  const writer = createWriter(format, {
    httpArray: format === 'json',
    channelIds,
    arrowFile,
    buffers: task.buffers,
    gatherBytesMax: task.gatherBytesMax,
    isAwaited: () => !task.isHeldUp,
    // What was done is done: its answer is one in every format.
    othersAsText: plan.pipeline.ops.some(
      ({ kind }) => kind === 'load' || kind === 'changeRows' || kind === 'changeView',
    ),
  });
  const encoder = coding && (await createEncoder(coding));
  const output = new Output({
    task,
    writer,
    progress,
    encoder,
    control: request.control && writer.control !== undefined,
    firstMsMax: firstMsOf[format] ?? 0,
  });
  try {
    task.step('compiled', { ...(plan.warnings && { warnings: plan.warnings }), ...(varies && { varies }) });
    for (const text of plan.warnings ?? []) await output.warn(text);
    const debugged: Vector[] = [];
    const tellDebugged = async (): Promise<void> => {
      for (const batch of debugged.splice(0)) await output.batch('debug', batch);
    };
    const host = executionHost(task, tools, spill, progress, (batch) => {
      debugged.push(batch);
    });
    const context = {
      host,
      signal: task.signal,
      batchRows: tools.batchRows,
      memoryBytesMax: tools.queryMemoryBytesMax,
      recursion: tools.recursion,
      names: new Map(),
    };
    const parts =
      request.control || plan.analyze
        ? undefined
        : await divideOutput(plan, { format, task, tools, context, sizes: tools.outputShares });
    if (parts) await output.parts(parts, joinParts(format === 'json'));
    else {
      for await (const { channel, batch } of execute(plan, context)) {
        await output.batch(channel, batch);
        await tellDebugged();
        await task.breathe();
      }
      await tellDebugged();
    }
    const isTold = plan.rowType !== undefined || !formatTable[format].hasTypeAlone || progress.recordsSent > 0;
    const rowType = isTold ? plan.rowType : await rowTypeByPools(request.text, environment, task, tools);
    return await output.end(
      channelsOf(plan).map(({ name }) => name),
      rowType,
    );
  } catch (error) {
    if (!(await output.fail(error))) throw error;
    throw new ToldError(error, output.stats());
  } finally {
    encoder?.close();
  }
};

interface OutputOptions {
  readonly task: Task;
  readonly writer: Writer;
  readonly progress: TaskCounter;
  readonly encoder: Encoder | undefined;
  readonly control: boolean;
  readonly firstMsMax: number;
}

class Output {
  private readonly task: Task;
  private readonly writer: Writer;
  private readonly progress: TaskCounter;
  private readonly encoder: Encoder | undefined;
  private readonly control: boolean;
  private readonly firstMsMax: number;
  private readonly startMs = Date.now();
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private heldSince = 0;
  private started = false;
  /** What the format has at its end. */
  private ending = (rowType: RecordType | undefined): Iterable<Uint8Array> => this.writer.end(rowType);
  private readonly channels = new Set<string>();
  private channel: string | undefined;
  private toldAt = performance.now();

  constructor({ task, writer, progress, encoder, control, firstMsMax }: OutputOptions) {
    this.task = task;
    this.writer = writer;
    this.progress = progress;
    this.encoder = encoder;
    this.control = control;
    this.firstMsMax = firstMsMax;
  }

  async batch(channel: string, batch: Parameters<Writer['write']>[0]): Promise<void> {
    if (this.control) {
      if (channel !== this.channel) await this.tell('QueryChannelSet', channelValue(channel));
      this.channel = channel;
      this.channels.add(channel);
      if (performance.now() - this.toldAt >= statisticsEveryMs) await this.tell('QueryStats', this.statsValue());
    }
    for (const rows of this.pieces(batch)) {
      this.progress.recordsSent += rows.length;
      await this.hold(this.writer.write(rows));
      if (performance.now() - this.heldSince >= (this.started ? gatherMsMax : this.firstMsMax)) await this.flush();
    }
  }

  /** A writer holds some bytes for each row that it is given: where it may gather little, it gets few at a time. */
  private *pieces(batch: Vector): Generator<Vector> {
    const bytesMax = this.task.gatherBytesMax();
    const bytes = bytesMax < chunkBytes && batch.length > 1 ? flatSize(batch) : 0;
    if (bytes <= bytesMax) yield batch;
    else yield* batches(batch, Math.max(1, Math.floor((batch.length * bytesMax) / bytes)));
  }

  /** What the text may not mean as it was written. */
  async warn(text: string): Promise<void> {
    if (this.control) await this.tell('QueryWarning', recordValue([{ name: 'warning', value: stringValue(text) }]));
  }

  /** Bytes that writers of parts have made. */
  async parts(chunks: AsyncIterable<Uint8Array>, join: PartJoiner): Promise<void> {
    for await (const bytes of chunks) {
      join.chunk(bytes);
      await this.hold([bytes]);
      if (!this.started || performance.now() - this.heldSince >= gatherMsMax) await this.flush();
    }
    this.ending = join.end;
  }

  /** `channels`: those of the plan, which end whether rows came in them or not; `rowType`: of its rows. */
  async end(channels: readonly string[], rowType: RecordType | undefined): Promise<QueryStats> {
    if (this.control) {
      for (const channel of new Set([...this.channels, ...channels]))
        await this.tell('QueryChannelEnd', channelValue(channel));
      await this.tell('QueryStats', this.statsValue());
    }
    await this.finish(rowType);
    return this.stats();
  }

  /**
   * Puts the error into the bytes if the client reads messages and has bytes already; answers whether it did. What the
   * writer gave before it failed is sent in any case: rows before a failure do not depend on where batches end. But of
   * a file of columns nothing is sent where nothing was: the error is the answer then.
   */
  async fail(error: unknown): Promise<boolean> {
    if (this.task.signal.aborted) return false;
    if (this.firstMsMax > 0 && !this.started) return false;
    if (!this.control) await this.flush();
    if (!this.control || !this.started) return false;
    await this.tell('QueryError', recordValue([{ name: 'error', value: stringValue(messageOf(error)) }]));
    await this.finish();
    return true;
  }

  stats(): QueryStats {
    const { bytesRead, bytesMatched, recordsRead, recordsMatched } = this.progress;
    return { startMs: this.startMs, updateMs: Date.now(), bytesRead, bytesMatched, recordsRead, recordsMatched };
  }

  private tell(type: ControlMessage['type'], value: Value): Promise<void> {
    this.toldAt = performance.now();
    return this.hold(this.writer.control!({ type, value }));
  }

  /** Writers make their chunks as they are asked for them, so a slow client holds up the writing too. */
  private async hold(chunks: Iterable<Uint8Array>): Promise<void> {
    if (this.heldBytes === 0) this.heldSince = performance.now();
    const iterator = chunks[Symbol.iterator]();
    const next = (): IteratorResult<Uint8Array> => iterator.next();
    for (;;) {
      const { done, value } = working(this.task.signal, next);
      if (done) return;
      this.held.push(value);
      this.heldBytes += value.length;
      if (this.heldBytes >= Math.min(chunkBytes, this.task.gatherBytesMax())) await this.flush();
    }
  }

  private async flush(): Promise<void> {
    if (this.heldBytes === 0) return;
    const { held } = this;
    this.held = [];
    this.heldBytes = 0;
    this.started = true;
    for (const bytes of joined(held, this.task.buffers, (length) => this.task.room(length))) {
      await this.task.send(this.encoder ? await this.encoder.encode(bytes) : bytes, this.stats());
      if (this.encoder) this.task.done(bytes);
    }
  }

  /** The ends of the format and of the coding; no bytes at all stay none. */
  private async finish(rowType?: RecordType): Promise<void> {
    await this.hold(this.ending(rowType));
    await this.flush();
    if (!this.encoder || !this.started) return;
    const last = await this.encoder.end();
    if (last.length > 0) await this.task.send(last, this.stats());
  }

  private statsValue(): Value {
    const { startMs, updateMs, bytesRead, bytesMatched, recordsRead, recordsMatched } = this.stats();
    const time = (ms: number): Value => ({ type: types.time, data: BigInt(ms) * 1_000_000n });
    return recordValue([
      { name: 'start_time', value: time(startMs) },
      { name: 'update_time', value: time(updateMs) },
      { name: 'bytes_read', value: intValue(bytesRead) },
      { name: 'bytes_matched', value: intValue(bytesMatched) },
      { name: 'records_read', value: intValue(recordsRead) },
      { name: 'records_matched', value: intValue(recordsMatched) },
    ]);
  }
}

const channelValue = (channel: string): Value => recordValue([{ name: 'channel', value: stringValue(channel) }]);

/** Chunks in buffers that can be sent go as they are, others that follow each other together, in such a buffer. */
const joined = (
  chunks: readonly Uint8Array[],
  buffers: ChunkBuffers,
  room: (length: number) => Uint8Array,
): readonly Uint8Array[] => {
  const out: Uint8Array[] = [];
  for (let start = 0; start < chunks.length; ) {
    if (buffers.has(chunks[start]!)) {
      out.push(chunks[start++]!);
      continue;
    }
    let end = start;
    let length = 0;
    while (
      end < chunks.length &&
      !buffers.has(chunks[end]!) &&
      (end === start || length + chunks[end]!.length <= buffers.size)
    )
      length += chunks[end++]!.length;
    out.push(end - start === 1 ? chunks[start]! : joinBytes(chunks.slice(start, end), room(length)));
    start = end;
  }
  return out;
};
