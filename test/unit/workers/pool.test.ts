import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SnapshotFrom } from 'xstate';
import type { queryMachine } from '../../../machines/query.machine.ts';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { LakeError } from '../../../src/errors.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PoolConfig } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { LoadRequest, WorkerPool } from '../../../src/workers/pool.types.ts';
import { leavesOf } from '../../../src/recording/watch.ts';
import { LoadWatch } from '../../../src/workers/watches.ts';
import { answerOf, threadsOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-workers-'));
let lake: Lake;
let workers: WorkerPool;
let pool: PoolConfig;
let names = 0;
/** The states that the chart of each query went through, by its id; with its error once it has one. */
const seen = new Map<string, string[]>();
const inspect = (inspected: unknown): void => {
  const { type, snapshot } = inspected as {
    readonly type: string;
    readonly snapshot?: SnapshotFrom<typeof queryMachine>;
  };
  if (type !== '@xstate.snapshot' || !snapshot || !('id' in snapshot.context)) return;
  const { id, error } = snapshot.context;
  const state = leavesOf(snapshot.value).join().replace('working.', '');
  seen.set(id, [...(seen.get(id) ?? []), error === '' || state === 'expired' ? state : `${state}: ${error}`]);
};

beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 1, loadMemoryBytesMax: 4 << 20, inspect }, lake);
  pool = await newPool();
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const newPool = async (
  layout: { readonly threshold?: number; readonly order?: 'asc' | 'desc' } = {},
): Promise<PoolConfig> =>
  (await lake.createPool({ name: `pool${names++}`, order: 'asc', keys: [['k']], ...layout })).pool;
async function* chunksOf(text: string | Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const load = async (target: PoolConfig, text: string): Promise<void> => {
  const outcome = await workers.load({ pool: target, body: chunksOf(text), format: 'sup' });
  await outcome.settled(lake.pool(target.name).load('main', outcome.objects));
};
const query = (text: string, id = 'q'): Promise<string> => answerOf(workers, text, { id });
const files = (): number =>
  readdirSync(join(directory, 'objects'), { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).length;
const failure = async (work: Promise<unknown>): Promise<LakeError> => {
  const error = await work.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(LakeError);
  return error as LakeError;
};

describe('loads', () => {
  test('a body becomes a sorted object, and a commit makes it visible', async () => {
    const target = await newPool();
    await load(target, '{k:2,s:"b"} {k:1,s:"a"} {s:"none"}');
    expect(await query(`from ${target.name}`)).toBe('{k:1,s:"a"}\n{k:2,s:"b"}\n{s:"none"}\n');
  });

  test('gzip and the format are found by themselves', async () => {
    const outcome = await workers.load({ pool, body: chunksOf(gzipSync('{"k":3}\n{"k":1}\n'), 7) });
    expect([outcome.records, outcome.objects.map((o) => [o.min.text, o.max.text]), outcome.warnings]).toEqual([
      2,
      [['1', '3']],
      [],
    ]);
  });

  test('what could not be kept digit by digit is a warning, once a column; a crowd of them ends in a count', async () => {
    const fileOf = (count: number): Uint8Array =>
      new Uint8Array(
        parquetWriteBuffer({
          columnData: Array.from({ length: count }, (_, i) => ({
            name: `c${i}`,
            data: [12345678901234567890123456789012345678912n, 12345678901234567890123456789012345678912n],
          })),
          schema: [
            { name: 'root', num_children: count },
            ...Array.from(
              { length: count },
              (_, i) =>
                ({
                  name: `c${i}`,
                  type: 'BYTE_ARRAY',
                  converted_type: 'DECIMAL',
                  repetition_type: 'REQUIRED',
                  precision: 50,
                  scale: 2,
                }) as const,
            ),
          ],
        }),
      );
    const warnings = async (count: number): Promise<readonly string[]> =>
      (await workers.load({ pool, body: chunksOf(fileOf(count), 1 << 16), format: 'parquet' })).warnings;
    expect(await warnings(1)).toEqual([
      'parquet: column c0: decimal(50,2) is kept as float64, which does not hold all of its digits (first: 123456789012345678901234567890123456789.12)',
    ]);
    const many = await warnings(8);
    expect([many.length, many.at(-1)]).toEqual([6, '3 more']);
  });

  test('a body without values is an error', async () => {
    expect((await failure(workers.load({ pool, body: chunksOf(''), format: 'sup' }))).message).toBe(
      'no records in request',
    );
  });

  test('a body that breaks in the middle loads nothing and leaves no file', async () => {
    const before = files();
    const rows = Array.from({ length: 60_000 }, (_, i) => `{k:${i},n:${(i * 2_654_435_761) % 4_294_967_291}}\n`).join(
      '',
    );
    const error = await failure(workers.load({ pool, body: chunksOf(`${rows}{k:`, 65_536), format: 'sup' }));
    expect(error.status).toBe(400);
    expect(files()).toBe(before);
    expect(readdirSync(join(directory, 'spill'))).toEqual([]);
  });

  test('a client that goes away in the middle ends its load', async () => {
    const leave = new AbortController();
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield Buffer.from('{k:1}\n'.repeat(10_000));
        if (!leave.signal.aborted) leave.abort();
      }
    }
    const error = await failure(workers.load({ pool, body: endless(), format: 'sup', signal: leave.signal }));
    expect(error.code).toBe('load-cancelled');
    expect(workers.status().loadsRunning).toBe(0);
  });

  test('a whole body that a worker reads is ended as well, whatever the request is made of', async () => {
    const bytes = gzipSync('{k:1}\n');
    class Asked implements LoadRequest {
      readonly pool = pool;
      readonly format = 'sup';
      readonly body = chunksOf('', 1);
      get whole(): () => Promise<Uint8Array> {
        return () => Promise.resolve(bytes);
      }
      get signal(): AbortSignal {
        return AbortSignal.abort();
      }
    }
    expect((await failure(workers.load(new Asked()))).code).toBe('load-cancelled');
  });

  test('a load that was done when its client left leaves no file', async () => {
    const before = files();
    const leave = new AbortController();
    const watch = new (class extends LoadWatch {
      override sorted(): void {
        // This thread hears nothing of the worker, which ends its work, until it has given the load up.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
        leave.abort();
      }
    })({ poolId: pool.id });
    const rows = Array.from({ length: 30_000 }, (_, i) => `{k:${i},n:${(i * 2_654_435_761) % 4_294_967_291}}\n`).join(
      '',
    );
    expect(
      (await failure(workers.load({ pool, body: chunksOf(rows, 65_536), format: 'sup', watch, signal: leave.signal })))
        .code,
    ).toBe('load-cancelled');
    await expect.poll(files).toBe(before);
  });

  test.each(['lake-failed', 'jobs-full'] as const)(
    'a commit that fails with %s: its files go only where it is known not to exist',
    async (code) => {
      const rows = Array.from({ length: 30_000 }, (_, i) => `{k:${i},n:${(i * 2_654_435_761) % 4_294_967_291}}\n`).join(
        '',
      );
      const outcome = await workers.load({ pool, body: chunksOf(rows, 65_536), format: 'sup' });
      const written = files();
      await outcome.settled(Promise.reject(new LakeError(code, { fault: 'so' }))).catch(() => undefined);
      expect(written - files()).toBe(code === 'jobs-full' ? outcome.objects.length : 0);
    },
  );

  test('a commit that a branch refuses leaves no file, whoever asked for it', async () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `{k:${i},n:${(i * 2_654_435_761) % 4_294_967_291}}\n`).join(
      '',
    );
    const before = files();
    const { objects } = await workers.load({ pool, body: chunksOf(rows, 65_536), format: 'sup' });
    expect(files()).toBeGreaterThan(before);
    expect((await failure(lake.pool(pool.name).load('gone', objects))).code).toBe('branch-not-found');
    expect(files()).toBe(before);
  });

  test('a body is read no faster than it is taken', async () => {
    let given = 0;
    async function* wide(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 200; i++) {
        const chunk = Buffer.alloc(100_000, `{k:${i},text:"${'x'.repeat(80)}"}\n`);
        const whole = chunk.subarray(0, chunk.lastIndexOf('\n') + 1);
        given += whole.length;
        yield whole;
      }
    }
    const outcome = await workers.load({ pool, body: wide(), format: 'sup' });
    expect(outcome.records).toBeGreaterThan(100_000);
    expect(given).toBeGreaterThan(19_000_000);
    await outcome.settled(Promise.reject(new LakeError('lake-closing'))).catch(() => undefined);
    for (const { id, inline } of outcome.objects)
      if (!inline) expect(() => openObjects(directory).readRange(id, 0, 8)).toThrow('file does not exist');
  });
});

describe('queries', () => {
  test('compile errors come before the first byte; the chart has failed with the error', async () => {
    const error = await failure(query('from nowhere', 'status-1'));
    expect([error.status, error.message, error.details]).toEqual([
      400,
      'nowhere: pool not found at line 1, column 6:\nfrom nowhere\n     ~~~~~~~',
      { compilation_errors: [{ Msg: 'nowhere: pool not found', Pos: 5, End: 11 }] },
    ]);
    expect(seen.get('status-1')).toEqual(['waiting', 'compiling', `failed: ${error.message}`, 'expired']);
  });

  test('a query that ended well went through all states of its chart', async () => {
    const reply = await workers.query({ id: 'status-2', text: 'values 1', format: 'sup', control: false });
    for await (const chunk of reply.chunks) expect(Buffer.from(chunk).toString()).toBe('1\n');
    await expect.poll(() => seen.get('status-2')?.at(-1)).toBe('expired');
    expect(seen.get('status-2')).toEqual(['waiting', 'compiling', 'running', 'streaming', 'done', 'expired']);
  });

  test('a query without rows is empty in SUP and an array in JSON', async () => {
    const sup = await workers.query({
      id: 'e1',
      text: `from ${(await newPool()).name}`,
      format: 'sup',
      control: false,
    });
    expect(sup.empty).toBe(true);
    const json = await workers.query({
      id: 'e2',
      text: `from ${(await newPool()).name}`,
      format: 'json',
      control: false,
    });
    expect(json.empty).toBe(false);
    for await (const chunk of json.chunks) expect(Buffer.from(chunk).toString().trim()).toBe('[]');
  });

  test('rows that are not read hold the query up, and leaving cancels it at once', async () => {
    const target = await newPool();
    await load(target, Array.from({ length: 100_000 }, (_, i) => `{k:${i},s:"some text to fill the line"}`).join(' '));
    const reply = await workers.query({ id: 'slow', text: `from ${target.name}`, format: 'sup', control: false });
    let taken = 0;
    for await (const chunk of reply.chunks) {
      taken += chunk.length;
      await new Promise((resolve) => {
        setTimeout(resolve, 200);
      });
      break;
    }
    expect(reply.stats().recordsRead).toBeLessThan(60_000);
    expect(taken).toBeGreaterThan(0);
    await expect.poll(() => seen.get('slow')?.slice(-2)).toEqual(['cancelled: query was cancelled', 'expired']);
    while (workers.status().queriesRunning > 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    expect(await query('values 2')).toBe('2\n');
  });

  test('several queries share a thread', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `values ${i}`);
    expect(await Promise.all(texts.map((text, i) => query(text, `many-${i}`)))).toEqual(texts.map((_, i) => `${i}\n`));
  });

  test('a page of the lake is one commit however long the query runs', async () => {
    const target = await newPool();
    await load(target, '{k:1}');
    const reply = await workers.query({ id: 'pinned', text: `from ${target.name}`, format: 'sup', control: false });
    await load(target, '{k:2}');
    let out = '';
    for await (const chunk of reply.chunks) out += Buffer.from(chunk).toString();
    expect(out).toBe('{k:1}\n');
  });
});

describe('types with more ways through them than time', () => {
  const types = `type t0={a:int64,b:int64} ${Array.from({ length: 39 }, (_, i) => `type t${i + 1}={a:t${i},b:t${i}}`).join(' ')} `;
  test('a type is bound, printed, compared and grouped by, however often it has another one in it', async () => {
    expect(await query(`${types} values <t39>==<t39>, len(<t39>::string)`)).toBe('true\n549\n');
    expect(await query(`${types} values <t39>,<t38>,<t39> | count() by this | count()`)).toBe('2\n');
  });
  test('the last binding of a name counts, in whatever order a type is gone through', async () => {
    expect(
      await query('type x=int64 type y=string values <{a:x,b:{c:y},d:x}> | values typename("x"), typename("y")'),
    ).toBe('<x=int64>\n<y=string>\n');
  });
  test.each(['fields(<t39>)', 'null::t39'])('%s needs too much memory, and says so', async (expression) => {
    expect((await failure(query(`${types} values ${expression}`))).code).toBe('query-memory');
  });
});

describe('bytes of answers', () => {
  // The collector does not count shared memory: a buffer of another size would not be used again, and stay for long.
  test.each(['arrows', 'json', 'bsup', 'sup', 'parquet'] as const)(
    'large values go in buffers of one size (%s)',
    async (format) => {
      const target = await newPool();
      await load(target, Array.from({ length: 12 }, (_, k) => `{k:${k},s:"${'x'.repeat(700_000)}"}\n`).join(''));
      const { chunks } = await workers.query({
        id: 'large',
        text: `from ${target.name} | values {k,s:concat(s,s)}`,
        format,
        control: false,
      });
      const sizes = new Set<number>();
      let bytes = 0;
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (chunk.buffer instanceof SharedArrayBuffer) sizes.add(chunk.buffer.byteLength);
      }
      expect([sizes.size, bytes > 12 * (format === 'bsup' || format === 'parquet' ? 100 : 1_400_000)]).toEqual([
        1,
        true,
      ]);
    },
  );
});

describe('rewrites', () => {
  test('delete where rewrites only objects that hold matches; null and error rows stay', async () => {
    const target = await newPool();
    await load(target, '{k:1,x:1} {k:2,x:2} {k:3,x:null} {k:4} {k:5,x:"one"}');
    await load(target, '{k:6,x:7}');
    const before = await query(`from ${target.name}:objects | values id`);
    await lake.pool(target.name).deleteWhere('main', workers.prepareDelete('x == 1'));
    expect(await query(`from ${target.name}`)).toBe('{k:2,x:2}\n{k:3,x:null}\n{k:4}\n{k:5,x:"one"}\n{k:6,x:7}\n');
    const after = (await query(`from ${target.name}:objects | values id`)).trim().split('\n');
    expect(after.filter((id) => before.includes(id)).length).toBe(1);
  });
  test('a filter that matches nothing and a text that is no filter are errors', async () => {
    const target = await newPool();
    await load(target, '{k:1}');
    expect((await failure(lake.pool(target.name).deleteWhere('main', workers.prepareDelete('k == 7')))).message).toBe(
      'empty transaction: the filter selects no row of the branch',
    );
    expect((await failure(lake.pool(target.name).deleteWhere('main', workers.prepareDelete('sort k')))).message).toBe(
      'invalid delete where query: must be a single filter operation',
    );
    expect(await query(`from ${target.name}`)).toBe('{k:1}\n');
  });
  test('compaction makes one object of several', async () => {
    const target = await newPool();
    for (const text of ['{k:3}', '{k:1}', '{k:2}']) await load(target, text);
    const ids = lakeIds(await query(`from ${target.name}:objects | values id`));
    expect(ids.length).toBe(3);
    await lake.pool(target.name).compact('main', ids, workers.prepareCompact(ids));
    expect(await query(`from ${target.name}:objects | cut min, max, count`)).toBe('{min:1,max:3,count:3::uint64}\n');
    expect(await query(`from ${target.name}`)).toBe('{k:1}\n{k:2}\n{k:3}\n');
  });
  const lakeIds = (text: string): string[] => [...text.matchAll(/0x([0-9a-f]{40})/g)].map((m) => m[1]!);
});

describe('threads', () => {
  test('one that has worked last is asked again', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'fifth'), threads: 2 }, lake);
    const asked: number[] = [];
    for (const [index, thread] of (
      threadsOf(other) as unknown as readonly { start: (...given: readonly unknown[]) => unknown }[]
    ).entries()) {
      const start = thread.start.bind(thread);
      thread.start = (...given) => {
        asked.push(index);
        return start(...given);
      };
    }
    try {
      await Promise.all([other.compile('values 1'), other.compile('values 2')]);
      await other.compile('values 3');
      await other.compile('values 4');
      expect(asked).toEqual([0, 1, 1, 1]);
    } finally {
      await other.close();
    }
  });

  test('a thread that dies fails its own work and is replaced', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'other'), threads: 1 }, lake);
    expect((await other.compile('values 1')).plan).toBeDefined();
    await new Promise((resolve) => {
      setTimeout(resolve, 1100);
    });
    let release = (): void => undefined;
    const never = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* stuck(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{k:1}\n');
      await never;
    }
    const pending = failure(other.load({ pool, body: stuck(), format: 'sup' }));
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    await threadsOf(other)[0]!.worker.terminate();
    const error = await pending;
    release();
    expect([error.code, error.status]).toEqual(['worker-died', 500]);
    expect(other.status()).toMatchObject({ threads: 1, replaced: 1, loadsRunning: 0 });
    expect((await other.compile('values 1')).plan).toBeDefined();
    await other.close();
    expect((await failure(other.compile('values 1'))).code).toBe('workers-closed');
  });
  test('where a thread is ended for one task, the others are told to come again', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'fourth'), threads: 1 }, lake);
    let release = (): void => undefined;
    const never = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* stuck(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{k:1}\n');
      await never;
    }
    const [hung, innocent] = [
      failure(other.load({ pool, body: stuck(), format: 'sup' })),
      failure(other.load({ pool, body: stuck(), format: 'sup' })),
    ];
    await expect.poll(() => threadsOf(other)[0]?.tasks.size).toBe(2);
    const thread = threadsOf(other)[0]! as unknown as {
      readonly tasks: ReadonlyMap<number, unknown>;
      readonly end: (reason: string, forTask: number) => void;
    };
    thread.end('it did not stop when it was told to', [...thread.tasks.keys()][0]!);
    expect([(await hung)?.code, (await innocent)?.code, (await innocent)?.status]).toEqual([
      'worker-died',
      'worker-replaced',
      503,
    ]);
    release();
    await other.close();
  });
  test('no more tasks run at once than the limit says', async () => {
    const other = startWorkerPool({ lakeDirectory: join(directory, 'third'), threads: 1, tasksMax: 1 }, lake);
    const first = other.compile('values 1');
    expect((await failure(other.compile('values 2'))).status).toBe(503);
    await first;
    await other.close();
  });
});
