/** Help for an aggregate of another thread: makes the groups of the second half of the keys, of all rows of its scan. */
import type { MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { pack, unpack } from '../../exec/carry.ts';
import { secondHalfOf } from '../../exec/compile.ts';
import type { HalfPlan } from '../../exec/source.ts';
import { isInRange } from '../../lake/scan/range.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { linkPart } from '../../vectors/stop.ts';
import { type WireError, toWire } from '../messages.ts';
import { noProgress, partContext } from '../part.ts';
import type { Task } from '../task.ts';
import { readsInto } from './division.ts';
import type { WorkerTools } from './tools.ts';

/** What the helper begins with. `plan` is packed; `memoryBytesMax`: what its groups may hold. */
export interface HalfStart {
  readonly plan: unknown;
  readonly keys: ScanSource['keys'];
  readonly order: ScanSource['order'];
  readonly objects: readonly ObjectMeta[];
  readonly memoryBytesMax: number;
  /** One number: bytes that the helper's operators hold. */
  readonly held: SharedArrayBuffer;
}
export interface ToGroupHelper {
  readonly type: 'half';
  readonly start: HalfStart;
}
/** `answer` is packed; `full`: the groups do not fit the memory. */
export type FromGroupHelper =
  | { readonly answer: unknown; readonly bytesRead: number }
  | { readonly full: true }
  | { readonly error: WireError };

/** One run of a helper. */
export class HalfRun {
  private readonly port: MessagePort;
  private readonly tools: WorkerTools;
  private readonly start: HalfStart;
  private readonly abort = new AbortController();

  constructor(task: Task, port: MessagePort, tools: WorkerTools, start: HalfStart) {
    this.port = port;
    this.tools = tools;
    this.start = start;
    linkPart(this.abort.signal, task.signal);
  }

  /** Sends the answer, or why there is none. */
  async run(): Promise<void> {
    const { start, tools, abort, port } = this;
    const progress = noProgress();
    const held = new Float64Array(start.held);
    try {
      const context = {
        ...partContext(tools, progress, abort.signal),
        memoryBytesMax: start.memoryBytesMax,
        held: (bytes: number) => {
          held[0] = bytes;
        },
      };
      const answer = await secondHalfOf(
        unpack(start.plan) as HalfPlan,
        (request) =>
          scanObjects(this.source(), {
            ...request,
            batchRows: tools.batchRows,
            read: readsInto(progress, request.counts),
          }),
        context,
      );
      const { content, buffers } = pack(answer);
      port.postMessage({ answer: content, bytesRead: progress.bytesRead } satisfies FromGroupHelper, [...buffers]);
    } catch (error) {
      if (abort.signal.aborted) return;
      const isFull = error instanceof LakeError && error.code === 'query-memory';
      port.postMessage((isFull ? { full: true } : { error: toWire(error) }) satisfies FromGroupHelper);
    }
  }
  stop(): void {
    this.abort.abort(new Error('the query has ended'));
  }

  private source(): ScanSource {
    const { keys, order, objects } = this.start;
    return {
      keys,
      order,
      objects: this.tools.objects,
      readers: this.tools.readers,
      page: ({ range, cursor = 0 }) => ({
        objects: objects
          .slice(cursor)
          .filter((o) => !range || isInRange({ firstKey: o.min.sort, lastKey: o.max.sort }, range, false)),
      }),
    };
  }
}
