/** The collector at chosen moments: what threads do when the process takes much of its memory. */
import { type PerformanceEntry, PerformanceObserver, constants } from 'node:perf_hooks';
import { setTimeout as later } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import {
  bytesInUse,
  collectAll,
  collectIdle,
  collectPassed,
  collectRead,
  collectRest,
  collectTight,
  collectLarge,
  collectPause,
  collectWorthwhile,
  noteResident,
  noteShared,
} from '../../../src/workers/collector.ts';
import { QueryStream } from '../../../src/workers/query/reply.ts';
import type { RunningTask } from '../../../src/workers/thread.ts';
import { QueryWatch } from '../../../src/workers/watches.ts';

afterAll(() => {
  noteResident(0, Infinity);
});

const gc = runInNewContext('gc') as () => void;
const mb = 1 << 20;
/** Buffers that nobody keeps: less than makes the engine collect by itself. */
const waste = (megabytes: number): void => {
  for (let i = 0; i < megabytes; i++) new Uint8Array(mb).fill(1);
};
/** Nothing is left that nobody uses, and the collector knows how much there is. */
const settled = async (): Promise<void> => {
  // Buffers are given back beside the thread.
  for (let i = 0; i < 2; i++) {
    gc();
    await later(20);
  }
  await seenBy(collectAll, 2);
};
/** Collections that `run` asked for, `least` of them, as `all` and `young`. */
const seenBy = async (run: () => void, least: number): Promise<readonly string[]> => {
  const seen: string[] = [];
  const note = (list: readonly PerformanceEntry[]): void => {
    for (const { startTime, detail } of list as readonly (PerformanceEntry & {
      readonly detail: { readonly kind: number; readonly flags: number };
    })[]) {
      // The observer is told of those before, too, when they come late.
      if (startTime >= began && (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0)
        seen.push(detail.kind === constants.NODE_PERFORMANCE_GC_MINOR ? 'young' : 'all');
    }
  };
  const observer = new PerformanceObserver((list) => {
    note(list.getEntries());
  });
  observer.observe({ entryTypes: ['gc'] });
  const began = performance.now();
  run();
  await later(50);
  for (let i = 0; i < 200 && seen.length < least; i++) await later(20);
  note(observer.takeRecords());
  observer.disconnect();
  return seen;
};
const askedFor = async (run: () => void, least: number): Promise<readonly string[]> => {
  await settled();
  return seenBy(run, least);
};

test('a task that reads columns has young buffers collected when the process takes much of its memory, else not', async () => {
  const read = (): void => {
    waste(24);
    collectRead(8 * mb);
  };
  noteResident(700, 1000);
  expect(await askedFor(read, 0)).toEqual([]);
  noteResident(800, 1000);
  // Node 24 ends a marking that it has begun by itself, in place of it.
  expect(await askedFor(read, 1)).toHaveLength(1);
});
test('a thread without a task collects at once then', async () => {
  const rest = (): void => {
    waste(24);
    collectTight();
  };
  noteResident(700, 1000);
  expect(await askedFor(rest, 0)).toEqual([]);
  noteResident(800, 1000);
  expect(await askedFor(rest, 2)).toEqual(['all', 'young']);
});
test('shared buffers, which no heap counts, are collected when the process takes much of its memory', async () => {
  const passOn = (look: () => void, megabytes: number) => (): void => {
    noteShared(megabytes * mb);
    look();
  };
  noteResident(700, 1000);
  expect(await askedFor(passOn(collectLarge, 48), 0)).toEqual([]);
  noteResident(800, 1000);
  for (const look of [collectLarge, collectTight]) {
    expect(await askedFor(passOn(look, 24), 0)).toEqual([]);
    expect(await askedFor(passOn(look, 40), 2)).toEqual(['all', 'young']);
  }
});
test('so are those of an answer that its client leaves', async () => {
  const leaves = (megabytes: number) => (): void => {
    const stream = new QueryStream();
    const stats = { startMs: 0, updateMs: 0, bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 };
    for (let i = 0; i < 2; i++) stream.push(new Uint8Array(new SharedArrayBuffer((megabytes * mb) / 2)), stats);
    const task = { credit: () => undefined } as unknown as RunningTask;
    const chunks = stream.reply('q', task, new QueryWatch({ id: 'q' }), () => undefined).chunks[Symbol.asyncIterator]();
    void chunks.next();
    void chunks.return?.().then(() => {
      collectLarge();
    });
  };
  noteResident(800, 1000);
  expect(await askedFor(leaves(24), 0)).toEqual([]);
  expect(await askedFor(leaves(40), 2)).toEqual(['all', 'young']);
});
test('a thread whose task put rows aside collects what it left', async () => {
  noteResident(0, Infinity);
  const rest = (megabytes: number) => (): void => {
    waste(megabytes);
    collectIdle();
  };
  expect(await askedFor(rest(8), 0)).toEqual([]);
  expect(await askedFor(rest(24), 2)).toEqual(['all', 'young']);
});
test('a task that puts rows aside keeps its compiled code, but where the process takes much of its memory', async () => {
  const kept: Uint8Array[] = [];
  const keeps = (): void => {
    for (let i = 0; i < 40; i++) kept.push(new Uint8Array(mb).fill(1));
    collectWorthwhile();
  };
  noteResident(700, 1000);
  expect(await askedFor(keeps, 1)).toEqual(['young']);
  noteResident(800, 1000);
  expect(await askedFor(keeps, 3)).toEqual(['young', 'all', 'young']);
  expect(kept).toHaveLength(80);
});
test('a thread that had no task for some seconds collects what is much, and else keeps its compiled code', async () => {
  const pause = (megabytes: number) => (): void => {
    waste(megabytes);
    collectPause();
  };
  noteResident(0, Infinity);
  expect(await askedFor(pause(8), 1)).toEqual(['young']);
  // The engine collects so much garbage by itself; what is kept came since the last collection, too.
  const kept: Uint8Array[] = [];
  const keeps = (): void => {
    for (let i = 0; i < 40; i++) kept.push(new Uint8Array(mb).fill(1));
    collectPause();
  };
  expect(await askedFor(keeps, 2)).toEqual(['all', 'young']);
  expect(kept).toHaveLength(40);
  noteShared(40 * mb);
  expect(await seenBy(collectPause, 2)).toEqual(['all', 'young']);
  noteResident(800, 1000);
  expect(await askedFor(pause(8), 2)).toEqual(['all', 'young']);
});
test('a thread that had no task for long collects what is little, too', async () => {
  noteResident(0, Infinity);
  expect(await askedFor(collectRest, 2)).toEqual(['all', 'young']);
});
test('a collection of all gives back what has become old', async () => {
  const held = { buffers: Array.from({ length: 64 }, () => new Uint8Array(mb).fill(1)) as readonly Uint8Array[] };
  await settled();
  const full = process.memoryUsage().arrayBuffers;
  held.buffers = [];
  collectAll();
  for (let i = 0; i < 200 && process.memoryUsage().arrayBuffers > full - 60 * mb; i++) await later(20);
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(full - 60 * mb);
});

test('a thread that passes bytes on collects the pieces of its sockets every 16 MB', async () => {
  const passOn = (megabytes: number) => (): void => {
    for (let i = 0; i < megabytes; i++) {
      waste(1);
      collectPassed(mb);
    }
  };
  expect(await askedFor(passOn(15), 0)).toEqual([]);
  // Not each time: the engine may just have done so by itself.
  expect(await askedFor(passOn(33), 1)).not.toEqual([]);
});

test('buffers that nobody keeps do not count any more when all was collected', () => {
  for (let round = 0; round < 4; round++) {
    collectAll();
    const before = bytesInUse();
    for (let i = 0; i < 8; i++) new Uint8Array(4 * mb).fill(1);
    collectAll();
    expect(bytesInUse() - before).toBeLessThan(8 * mb);
  }
});
