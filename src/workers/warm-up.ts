/**
 * What a thread does in its first tenth of a second: some queries over rows of its own, in memory, until the first task
 * comes. With it the first hundred queries of all take 0.8 times the processor time and 0.6 times as long.
 *
 * Invariants:
 * - A task that comes ends it, within some milliseconds.
 * - Nothing is left of it but compiled code: neither columns in the cache nor files.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CacheCounters } from './cache-counts.ts';
import { openReader } from '../formats/formats.ts';
import { ColumnCache } from '../lake/columns/cache.ts';
import { sortIntoObjects } from '../lake/load/sort.ts';
import type { ObjectSink, ObjectStore } from '../lake/objects/objects.ts';
import { ReaderList, type WorkerTools } from './query/tools.ts';
import type { Prefetched } from './messages.ts';
import { packPage } from './packed-page.ts';
import { runQuery } from './query/task.ts';
import type { TaskSpill } from './query/spill.ts';
import { type Post, Task } from './task.ts';

/** What is run, over and over, until the time is over. */
const texts: readonly string[] = [
  'from warm | count()',
  'from warm | head 1',
  "from warm | at > '2020-01-01T00:30:00Z' and at < '2020-01-01T00:45:00Z' | count()",
  'from warm | count() by shape | sort shape',
  'values 1',
];
const roundsMax = 5;
const rowsCount = 300;
const blockRows = 4096;
const cacheBytes = 8 << 20;

/** What it is run with, and for how long. */
interface WarmUpOptions {
  readonly tools: WorkerTools;
  /** Time that is spent in all. */
  readonly budgetMs: number;
  readonly windowBytes: number;
  readonly spill: () => TaskSpill;
}

/** A pool in memory, as queries find it. */
interface Pool {
  readonly tools: WorkerTools;
  readonly prefetched: readonly Prefetched[];
}

/** The warm-up of one worker. */
export class WarmUp {
  private readonly options: WarmUpOptions;
  private current: Task | undefined;
  private ended = false;
  constructor(options: WarmUpOptions) {
    this.options = options;
  }

  /** Somebody wants the thread. */
  end(): void {
    this.ended = true;
    this.current?.cancel();
  }

  async run(): Promise<void> {
    if (this.ended) return;
    const began = performance.now();
    const pool = await this.poolOf(linesOf(rowsCount));
    for (let round = 0; round < roundsMax; round++)
      for (const text of texts) {
        if (this.ended || performance.now() - began > this.options.budgetMs) return;
        await this.query(text, pool);
        await nextTurn();
      }
  }

  /** What queries need to read rows that were loaded. */
  private async poolOf(lines: Uint8Array): Promise<Pool> {
    const objects = new MemoryObjects();
    const rows = await openReader('json', once(lines), this.options.tools.readLimits);
    const page = await sortIntoObjects(rows, {
      keys: [['at']],
      order: 'asc',
      blockRows,
      threshold: 1 << 30,
      memoryBytesMax: 64 << 20,
      objects,
      spill: () => objects,
      breathe: () => nextTurn(),
    });
    const source = { kind: 'pool', name: 'warm', handle: '0', sortKeys: [['at']], order: 'asc' } as const;
    const counters = new CacheCounters(1).of(0);
    return {
      prefetched: [{ name: 'warm', source, objects: packPage(page) }],
      tools: { ...this.options.tools, objects, readers: new ReaderList(new ColumnCache(cacheBytes, counters)) },
    };
  }

  private async query(text: string, { tools, prefetched }: Pool): Promise<void> {
    // What is written goes nowhere, and its buffers back.
    const post: Post = (message) => {
      if (message.type === 'chunk')
        task.take({
          type: 'credit',
          task: -1,
          bytes: message.bytes.length,
          ...(task.buffers.has(message.bytes) && { buffers: [message.bytes.buffer as SharedArrayBuffer] }),
        });
    };
    const task = new Task(-1, () => this.options.windowBytes, post, prefetched);
    const spill = this.options.spill();
    this.current = task;
    try {
      await runQuery(task, { kind: 'query', text, format: 'json', control: false }, tools, spill);
    } catch (error) {
      if (!task.signal.aborted) throw error;
    } finally {
      this.current = undefined;
      spill.dispose();
    }
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Lines of records of three shapes, in order, all of one day. */
const linesOf = (count: number): Uint8Array =>
  new Uint8Array(Buffer.from(Array.from({ length: count }, (_, i) => lineOf(i)).join('\n')));
const lineOf = (i: number): string => {
  // Spread out, the same each time.
  const x = Math.imul(i + 1, 0x9e3779b1) >>> 0;
  const at = new Date(Date.UTC(2020, 0, 1) + i * 250 + (x % 200)).toISOString();
  const took = x % 9 === 0 ? 'null' : (x % 7_919_017) / 1e6;
  switch (x % 20 < 7 ? 'a' : x % 20 < 19 ? 'b' : 'c') {
    case 'a':
      return `{"at":"${at}","shape":"a","key":"k${x % 100_003}","from":"10.${x & 255}.${(x >> 8) & 255}.7","port":${x % 5000},"kind":"${x % 3 ? 'one' : 'two'}","sent":${x % 120_011},"got":${(x >> 3) % 70_001},"took":${took}}`;
    case 'b':
      return `{"at":"${at}","shape":"b","key":"k${x % 100_003}","who":"user${x % 3001}","verb":"${['GET', 'PUT', 'POST'][x % 3]!}","path":"/some/where/${x % 7001}","code":${[200, 200, 301, 404, 500][x % 5]!},"size":${x % 500_009},"took":${took}}`;
    default:
      return `{"at":"${at}","shape":"c","key":"k${x % 100_003}","note":"some text ${x % 100} of a note","grade":${x % 5},"place":{"name":"n${x % 50}","at":{"line":${x % 999}}},"marks":["m${x % 7}","m${x % 11}"]}`;
  }
};

/** Objects that live as long as they are of use. */
export class MemoryObjects implements ObjectStore {
  private readonly bodies = new Map<string, Uint8Array>();
  create(id: string): ObjectSink {
    const chunks: Uint8Array[] = [];
    return {
      write: (chunk) => {
        chunks.push(chunk.slice());
      },
      close: async () => {
        this.bodies.set(id, new Uint8Array(Buffer.concat(chunks)));
      },
      abort: async () => undefined,
    };
  }
  async put(id: string, bytes: Uint8Array): Promise<void> {
    this.bodies.set(id, bytes);
  }
  readRange(id: string, offset: number, length: number): Uint8Array {
    return this.bodies.get(id)!.slice(offset, offset + length);
  }
  async delete(id: string): Promise<void> {
    this.bodies.delete(id);
  }
  forget(): void {
    /* Nothing is open. */
  }
  async *list(): AsyncIterable<string> {
    yield* this.bodies.keys();
  }
  close(): void {
    this.bodies.clear();
  }
}
