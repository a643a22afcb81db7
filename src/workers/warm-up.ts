/**
 * Makes a thread's code warm before the first query needs it: runs queries of many kinds over rows of its own, in
 * memory, while the thread has nothing else to do.
 *
 * Invariants:
 * - A task that comes ends the query that runs, or holds up the load, within some milliseconds; the rest goes on when
 *   the thread is idle again, or never.
 * - Nothing is left of it but compiled code: neither columns in the cache nor files.
 */
import { setImmediate as nextTurn, setTimeout as later } from 'node:timers/promises';
import { CacheCounters } from './cache-counts.ts';
import { collectInSteps } from './collector.ts';
import { type FormatName, openReader } from '../formats/formats.ts';
import { ColumnCache } from '../lake/columns/cache.ts';
import { sortIntoObjects } from '../lake/load/sort.ts';
import type { ObjectSink, ObjectStore } from '../lake/objects/objects.ts';
import { ReaderList, type WorkerTools } from './query/lake-source.ts';
import type { Foreseen } from './messages.ts';
import { packPage } from './packed-page.ts';
import { runQuery } from './query/task.ts';
import type { TaskSpill } from './query/spill.ts';
import { type Post, Task } from './task.ts';
import { type WarmLoadKind, warmLoad } from './warm-load.ts';

/** What is run, the most common kinds first. */
const texts: readonly string[] = [
  'from warm | count()',
  'from warm | head 1',
  "from warm | at > '2020-01-01T00:30:00Z' and at < '2020-01-01T00:45:00Z' | count()",
  'from warm | count() by shape | sort shape',
  'select count(*) as n from warm where code <> 200 and size > 250000 and port is null',
  'select sum(size) as s, avg(sent + 1) as a, min(port) as l, count(key) as n from warm',
  "select verb, count(*) as n, min(path) as p from warm where path like '%17%' and code <= 301 and verb <> '' group by verb",
  "from warm | shape=='b' and code==404 | count() by verb | sort verb",
  'from warm | sum(size), avg(took) by who | sort -r sum | head 10',
  'from warm | sort -r size | head 5',
  "from warm | grep('text 17', this) | count()",
  'from warm | dcount(key)',
  "from warm | key=='k777'",
  "from warm | shape=='c' | unnest marks | count() by this | sort this",
  "from warm | shape=='a' | put total:=sent+got, rate:=(sent+got)/(took+1.) | max(rate), sum(total)",
  'from warm | count() by bucket(at::time, 1m) | count()',
  "from warm | shape=='a' | sort sent, key | tail 1",
  'select shape, verb, count(*) as n, avg(took) as d from warm group by shape, verb having count(*) > 10 order by shape, verb',
  "from warm | shape=='c' | join (from warm | shape=='c') as {l,r} on l.key==r.key | count()",
  "from warm | shape=='c' | cut at, key, marks | head 1000",
  'values 1',
];
/** First of all, several times over few rows: a tenth of a second for what all queries have in common. */
const shortTexts = [...texts.slice(0, 4), 'values 1'];
const shortRounds = 5;
const fewRows = 300;
/** Answers of many rows, for their writers; run every few rounds. */
const outputs: readonly (readonly [text: string, format: FormatName])[] = [
  ['from warm', 'json'],
  ['from warm', 'bsup'],
  ['from warm', 'sup'],
  ["from warm | shape=='a' | fuse", 'arrows'],
  ["from warm | shape=='a' | fuse", 'parquet'],
  ["from warm | shape=='a' | fuse", 'csv'],
];
const outputsEvery = 4;
/** Loads, each behind a round. */
const loads: readonly WarmLoadKind[] = ['in order', 'shuffled', 'in order', 'shuffled'];
const kinds = {
  plain: texts.map((text) => [text, 'json'] as const),
  withOutputs: [...texts.map((text) => [text, 'json'] as const), ...outputs],
};
const rowsCount = 8192;
/** Much of what a query does it does once a block: many small ones make that warm too. */
const blockRows = 4096;
/** More of them gain nothing. */
const roundsMax = 12;
/** Nobody else is to be held up: the thread has been idle so long before each query. */
const idleMs = 30;
const cacheBytes = 8 << 20;

/** What is run, for how long, and when the thread is free for it. */
interface WarmUpOptions {
  readonly tools: WorkerTools;
  /** Time that is spent in all. */
  readonly budgetMs: number;
  readonly windowBytes: number;
  readonly spill: () => TaskSpill;
  /** How often all of them are run at most. */
  readonly rounds?: number;
  /** Whether the thread has nothing else to do. */
  readonly isIdle: () => boolean;
}

/** A pool in memory, as queries find it. */
interface Pool {
  readonly tools: WorkerTools;
  readonly foreseen: readonly Foreseen[];
}

/** The warm-up of one worker, which goes on only while the worker has no task. */
export class WarmUp {
  private readonly options: WarmUpOptions;
  private current: Task | undefined;
  private spentMs = 0;
  constructor(options: WarmUpOptions) {
    this.options = options;
  }

  /** Somebody wants the thread. */
  yield(): void {
    this.current?.cancel();
  }

  async run(): Promise<void> {
    await this.all();
    // What it made would stay until the first tasks have made as much again.
    if (this.options.isIdle()) collectInSteps();
  }

  private async all(): Promise<void> {
    const few = await this.poolOf(await linesOf(fewRows));
    for (let round = 0; round < shortRounds; round++)
      for (const text of shortTexts) if (!(await this.timed(text, 'json', few))) return;
    const lines = await linesOf(rowsCount);
    const pool = await this.poolOf(lines);
    for (let round = 0; round < (this.options.rounds ?? roundsMax); round++) {
      for (const [text, format] of round % outputsEvery === 0 ? kinds.withOutputs : kinds.plain)
        if (!(await this.timed(text, format, pool))) return;
      const load = loads[round];
      if (load) this.spentMs += await this.load(load, lines);
    }
  }

  /** What queries need to read rows that were loaded. */
  private async poolOf(lines: Uint8Array): Promise<Pool> {
    const objects = new MemoryObjects();
    const breathe = (): Promise<void> => this.breathe();
    const rows = await openReader('json', piecesOf(lines, breathe), this.options.tools.readLimits);
    const page = await sortIntoObjects(rows, {
      keys: [['at']],
      order: 'asc',
      blockRows,
      threshold: 1 << 30,
      memoryBytesMax: 64 << 20,
      objects,
      spill: () => objects,
      breathe,
    });
    const source = { kind: 'pool', name: 'warm', handle: '0', sortKeys: [['at']], order: 'asc' } as const;
    const counters = new CacheCounters(1).of(0);
    return {
      foreseen: [{ name: 'warm', source, objects: packPage(page) }],
      tools: { ...this.options.tools, objects, readers: new ReaderList(new ColumnCache(cacheBytes, counters)) },
    };
  }

  /** Runs a query when the thread is free for it; false if the time is over. */
  private async timed(text: string, format: FormatName, pool: Pool): Promise<boolean> {
    await this.idle();
    const began = performance.now();
    await this.query({ text, format }, pool);
    this.spentMs += performance.now() - began;
    await nextTurn();
    return this.spentMs <= this.options.budgetMs;
  }

  /** The time that it took, without what it waited for others. */
  private async load(kind: WarmLoadKind, lines: Uint8Array): Promise<number> {
    const objects = new MemoryObjects();
    const began = performance.now();
    let waitedMs = 0;
    const breathe = async (): Promise<void> => {
      const since = performance.now();
      await this.breathe();
      waitedMs += performance.now() - since;
    };
    await breathe();
    await warmLoad(kind, {
      readLimits: this.options.tools.readLimits,
      lines,
      rows: rowsCount,
      digitsAt: dayAt,
      keys: [['at']],
      objects,
      breathe,
    });
    return performance.now() - began - waitedMs;
  }
  private async breathe(): Promise<void> {
    await nextTurn();
    await this.idle();
  }
  private async idle(): Promise<void> {
    while (!this.options.isIdle()) await later(idleMs, undefined, { ref: false });
  }

  private async query(
    { text, format }: { readonly text: string; readonly format: FormatName },
    { tools, foreseen }: Pool,
  ): Promise<void> {
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
    const task = new Task(-1, this.options.windowBytes, post, foreseen);
    const spill = this.options.spill();
    this.current = task;
    try {
      await runQuery(task, { kind: 'query', text, format, control: false }, tools, spill);
    } catch (error) {
      if (!task.signal.aborted) throw error;
    } finally {
      this.current = undefined;
      spill.dispose();
    }
  }
}

/** So much at a time takes some milliseconds when nothing is warm. */
const pieceBytes = 64 << 10;
async function* piecesOf(bytes: Uint8Array, breathe: () => Promise<void>): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    await breathe();
    yield bytes.subarray(at, at + pieceBytes);
  }
}

/** Lines of records of three shapes, in order, all of one day. */
const linesOf = async (count: number): Promise<Uint8Array> => {
  const pieceRows = 512;
  const out: Buffer[] = [];
  for (let at = 0; at < count; at += pieceRows) {
    await nextTurn();
    out.push(
      Buffer.from(`${Array.from({ length: Math.min(pieceRows, count - at) }, (_, i) => lineOf(at + i)).join('\n')}\n`),
    );
  }
  return new Uint8Array(Buffer.concat(out));
};
/** Where in a line the day of the month stands. */
const dayAt = '{"at":"2020-01-'.length;
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
