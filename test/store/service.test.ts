/**
 * Services on a bucket, as users start them: the writer is killed and its folder deleted, or stopped and resumed, while
 * clients write. `STORE_RUNS=100 npx vitest run test/store/service.test.ts` does more of it; the seed is printed.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BucketServer, startBucketServer } from '../support/store/bucket-server.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { startFaultProxy } from '../support/store/fault-proxy.ts';
import { runProgram } from '../support/service/lake-command.ts';
import { randomOf, seedOf } from '../support/random.ts';

const runs = Number(process.env['STORE_RUNS'] ?? 1);
const seed = seedOf(Date.now() % 1_000_000);
const clients = 8;

let store: BucketServer;
const folders: string[] = [];
const services: Service[] = [];
beforeAll(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = 'key';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'secret';
  store = await startBucketServer();
});
afterAll(async () => {
  for (const service of services) await service.end('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await store.close();
});

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-stored-'));
  folders.push(folder);
  return folder;
};
const start = async (prefix: string, flags: readonly string[] = [], endpoint = store.endpoint): Promise<Service> => {
  const service = await startBuiltService({
    lake: newFolder(),
    flags: ['-workers', '1', '-store', `s3://lakes/${prefix}`, '-store.endpoint', endpoint, ...flags],
  });
  services.push(service);
  return service;
};
const post = (url: string, body: string, signal?: AbortSignal): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    body,
    headers: { accept: 'application/json', 'content-type': 'application/x-ndjson' },
    ...(signal && { signal }),
  });
const makePool = async ({ address }: Service): Promise<void> => {
  const answer = await fetch(`${address}/pool`, {
    method: 'POST',
    body: JSON.stringify({ name: 'p', layout: { order: 'asc', keys: [['k']] } }),
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, await answer.text()).toBe(200);
};
const tipOf = async ({ address }: Service): Promise<string> =>
  (await fetch(`${address}/pool/p/branch/main`)).headers.get('etag')!;
const keysOf = async ({ address }: Service, headers: Readonly<Record<string, string>> = {}): Promise<number[]> => {
  const answer = await fetch(`${address}/query`, {
    method: 'POST',
    body: JSON.stringify({ query: 'from p | values k' }),
    headers: { accept: 'application/x-ndjson', 'content-type': 'application/json', ...headers },
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return text.split('\n').filter(Boolean).map(Number);
};

/** Clients that load one key after the other, until they are told to end; some loads have a file of their own. */
const writing = (
  service: Service,
  first: number,
): { readonly acknowledged: number[]; readonly events: number[]; readonly end: () => Promise<void> } => {
  const acknowledged: number[] = [];
  const events: number[] = [];
  const ending = new AbortController();
  let next = first;
  const long = randomOf(1).hex(300);
  const client = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const key = next++;
      const rows = key % 10 === 0 ? 1500 : 1;
      const body = Array.from({ length: rows }, (_, i) => JSON.stringify({ k: key, i, text: `${i} ${long}` })).join(
        '\n',
      );
      try {
        const answer = await post(`${service.address}/pool/p/branch/main`, body, ending.signal);
        await answer.text();
        if (answer.status === 200) {
          acknowledged.push(key);
          events.push(Number(answer.headers.get('lake-event')));
        } else await later(5);
      } catch {
        await later(5);
      }
    }
  };
  const all = Array.from({ length: clients }, client);
  return {
    acknowledged,
    events,
    end: async () => {
      ending.abort();
      await Promise.all(all);
    },
  };
};
const rowsOf = (key: number): number => (key % 10 === 0 ? 1500 : 1);
/** Each key is there whole or not at all, all that were acknowledged are. */
const checkKeys = (keys: readonly number[], acknowledged: readonly number[]): void => {
  const counts = new Map<number, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const [key, count] of counts) expect(count, `rows of ${key}`).toBe(rowsOf(key));
  expect(acknowledged.filter((key) => !counts.has(key))).toEqual([]);
};
const untilSome = async (acknowledged: readonly number[], count: number): Promise<void> => {
  while (acknowledged.length < count) await later(5);
};

describe(`services on a bucket (SEED=${seed})`, () => {
  const random = randomOf(seed);
  const below = (n: number): number => random.below(n);

  test('the writer is killed and its folder deleted: nothing acknowledged is lost, nothing is there twice', async () => {
    let service = await start('kills', ['-store.ack', 'bucket']);
    await makePool(service);
    const acknowledged: number[] = [];
    for (let run = 0; run < runs; run++) {
      const work = writing(service, run * 1_000_000);
      await untilSome(work.acknowledged, 5 + below(60));
      await service.end('SIGKILL');
      await work.end();
      rmSync(service.lake, { recursive: true, force: true });
      acknowledged.push(...work.acknowledged);
      service = await start('kills', ['-store.ack', 'bucket', '-store.takeover']);
      checkKeys(await keysOf(service), acknowledged);
      // What clients wait for at replicas is there: no number was told whose change the kill took back.
      const { headers } = await fetch(`${service.address}/pool/p/branch/main`);
      expect(Number(headers.get('lake-event'))).toBeGreaterThanOrEqual(Math.max(...work.events));
    }
    expect(await service.end()).toBe(0);
  }, 600_000);

  test('the writer is killed under its clients, a standby goes on, a replica ends where it does', async () => {
    const flags = ['-store.ack', 'bucket', '-store.lease', '1s', '-follow.poll', '20ms'];
    const follow = ['-follow', `s3://lakes/standby`, '-follow.poll', '20ms', '-after.wait', '60s'];
    let service = await start('standby', flags);
    await makePool(service);
    const replica = await startBuiltService({
      lake: newFolder(),
      flags: ['-workers', '1', '-store.endpoint', store.endpoint, ...follow],
    });
    services.push(replica);
    const acknowledged: number[] = [];
    for (let run = 0; run < runs; run++) {
      const standby = await start('standby', [...flags, '-standby']);
      const work = writing(service, run * 1_000_000);
      await untilSome(work.acknowledged, 5 + below(60));
      await service.end('SIGKILL');
      await work.end();
      rmSync(service.lake, { recursive: true, force: true });
      acknowledged.push(...work.acknowledged);
      const key = run * 1_000_000 + 999_999;
      let answer = await post(`${standby.address}/pool/p/branch/main`, `{"k":${key}}`);
      for (; answer.status === 421; answer = await post(`${standby.address}/pool/p/branch/main`, `{"k":${key}}`))
        await later(20);
      expect(answer.status, await answer.text()).toBe(200);
      const keys = await keysOf(standby);
      checkKeys(keys, acknowledged);
      const event = answer.headers.get('lake-event')!;
      const copied = await keysOf(replica, { 'lake-after': event });
      expect(copied.toSorted((a, b) => a - b)).toEqual(keys.toSorted((a, b) => a - b));
      const tips = await Promise.all([tipOf(standby), tipOf(replica)]);
      expect(tips[1]).toBe(tips[0]);
      service = standby;
    }
    expect(await service.end()).toBe(0);
    expect(await replica.end()).toBe(0);
  }, 600_000);

  test('one of two writers is stopped while it puts, and resumed: it is no longer the writer, and says so', async () => {
    for (let run = 0; run < runs; run++) {
      const one = await start(`stops-${run}`, ['-store.ack', 'bucket', '-store.lease', '500ms']);
      await makePool(one);
      const before = writing(one, 0);
      await untilSome(before.acknowledged, 5 + below(30));
      one.process.kill('SIGSTOP');
      const two = await start(`stops-${run}`, ['-store.ack', 'bucket']);
      const after = writing(two, 1_000_000);
      await untilSome(after.acknowledged, 3);
      one.process.kill('SIGCONT');
      await untilSome(after.acknowledged, 10);
      const refusal = async (): Promise<string> => (await post(`${one.address}/pool/p/branch/main`, '{"k":-1}')).text();
      let said = await refusal();
      for (; !said.includes('no longer the writer'); said = await refusal()) await later(20);
      const answer = await post(`${one.address}/pool/p/branch/main`, '{"k":-1}');
      expect(answer.status).toBe(421);
      expect(await (await fetch(`${one.address}/ready`)).text()).toMatch(/no longer the writer .* since segment \d+$/);
      await before.end();
      await after.end();
      const keys = await keysOf(two);
      checkKeys(
        keys.filter((key) => key !== -1),
        [...before.acknowledged, ...after.acknowledged],
      );
      // Before the other one was there, a write of this test may have been done.
      expect(keys.filter((key) => key === -1).length).toBeLessThan(1);
      await one.end('SIGKILL');
      await two.end('SIGKILL');
      const third = await start(`stops-${run}`, ['-store.takeover']);
      // A write that was under way when its client ended may have come after the question.
      expect(await keysOf(third)).toEqual(expect.arrayContaining([...keys]));
      await third.end('SIGKILL');
    }
  }, 600_000);

  test('with ack local the bucket is soon where the folder is, and the service says how far', async () => {
    const service = await start('local');
    await makePool(service);
    for (let key = 1; key < 20; key++)
      expect((await post(`${service.address}/pool/p/branch/main`, `{"k":${key}}`)).status).toBe(200);
    let ready = '';
    for (; !ready.startsWith('ready; the bucket is 0 records and 0.0 s behind'); await later(50))
      ready = await (await fetch(`${service.address}/ready`)).text();
    const metrics = await (await fetch(`${service.address}/metrics`)).text();
    expect(metrics).toMatch(/^lake_store_behind_records 0$/m);
    expect(metrics).toMatch(/^lake_store_fenced 0$/m);
    expect(metrics).toMatch(/^lake_store_state\{state="writing"\} 1$/m);
    await service.end('SIGKILL');
    rmSync(service.lake, { recursive: true, force: true });
    const again = await start('local', ['-store.takeover']);
    expect(await keysOf(again)).toHaveLength(19);
    expect(await again.end()).toBe(0);
  }, 120_000);

  test('with ack local a writer that was killed while the store was away starts again, and puts what it lacks', async () => {
    const proxy = await startFaultProxy(store.endpoint);
    const flags = ['-workers', '1', '-store', 's3://lakes/behind', '-store.endpoint', proxy.endpoint];
    const service = await start('behind', [], proxy.endpoint);
    await makePool(service);
    proxy.faultOf = (method) => (method === 'PUT' ? '503' : undefined);
    for (let key = 1; key < 5; key++)
      expect((await post(`${service.address}/pool/p/branch/main`, `{"k":${key}}`)).status).toBe(200);
    await service.end('SIGKILL');
    // The first put of what it lacks fails, too: the one behind the fence.
    let puts = 0;
    proxy.faultOf = (method, path) => (method === 'PUT' && path.includes('/log/') && ++puts === 2 ? '503' : undefined);
    const again = await startBuiltService({ lake: service.lake, flags });
    services.push(again);
    expect(await keysOf(again)).toEqual([1, 2, 3, 4]);
    expect(await again.end()).toBe(0);
    const other = await start('behind', ['-store.takeover']);
    expect(await keysOf(other)).toEqual([1, 2, 3, 4]);
    expect(await other.end()).toBe(0);
    await proxy.close();
  }, 120_000);

  test('with the store away a writer with ack bucket is not ready and says why, until the store is back', async () => {
    const proxy = await startFaultProxy(store.endpoint);
    const flags = ['-store.ack', 'bucket', '-store.lease', '1s'];
    const service = await start('away', flags, proxy.endpoint);
    const get = async (path: string): Promise<string> => {
      const answer = await fetch(`${service.address}${path}`);
      return `${answer.status} ${await answer.text()}`;
    };
    const figures = async (): Promise<readonly string[]> =>
      (await get('/metrics')).match(/^lake_(ready|store_failing) \d$/gm)!;
    await makePool(service);
    expect((await post(`${service.address}/pool/p/branch/main`, '{"k":1}')).status).toBe(200);
    expect(await figures()).toEqual(['lake_ready 1', 'lake_store_failing 0']);
    proxy.faultOf = () => '503';
    // Nobody writes: what tells is that it cannot give its sign of life.
    while ((await get('/ready')).startsWith('200')) await later(50);
    const why =
      /^503 no writes until the bucket is back \(-store.ack bucket\), queries are answered: store s3:\/\/lakes\/away: putting lease\/\w+ failed/;
    expect(await get('/ready')).toMatch(why);
    expect(await get('/status')).toMatch(why);
    expect(await figures()).toEqual(['lake_ready 0', 'lake_store_failing 1']);
    expect((await post(`${service.address}/pool/p/branch/main`, '{"k":2}')).status).toBe(503);
    expect(await keysOf(service)).toEqual([1]);
    proxy.faultOf = () => undefined;
    while (!(await get('/ready')).startsWith('200 ready')) await later(50);
    expect(await get('/status')).toBe('200 ok');
    expect((await post(`${service.address}/pool/p/branch/main`, '{"k":3}')).status).toBe(200);
    expect(await keysOf(service)).toEqual([1, 3]);
    expect(await service.end()).toBe(0);
    await proxy.close();
  }, 120_000);

  test('a lake is cloned between folders and buckets while it is in use, and a bucket is checked', async () => {
    const service = await start('clones', ['-store.ack', 'bucket']);
    await makePool(service);
    const work = writing(service, 0);
    await untilSome(work.acknowledged, 25);
    const command = (...args: string[]) => runProgram([...args, '-store.endpoint', store.endpoint]);
    const before = [...work.acknowledged];
    const folder = join(newFolder(), 'a');
    const cloned = await command('clone', 's3://lakes/clones', folder);
    expect(cloned.output, cloned.complaint).toMatch(/^[^\n]+: the lake up to record \d+, with \d+ data objects?\n$/);
    const second = await command('clone', service.lake, 's3://lakes/second');
    expect(second.output, second.complaint).toMatch(/^s3:\/\/lakes\/second: the lake up to record/);
    await work.end();
    expect((await command('clone', 's3://lakes/second', 's3://lakes/clones')).complaint).toBe(
      's3://lakes/clones is not empty: a lake is cloned into a folder or prefix of its own\n',
    );
    const copies = [await startBuiltService({ lake: folder, flags: ['-workers', '1'] }), await start('second')];
    services.push(...copies);
    for (const copy of copies) {
      checkKeys(await keysOf(copy), before);
      await copy.end();
    }
    await service.end();
    const none = join(folder, '..', 'of', 'nothing');
    expect((await command('clone', 's3://lakes/nothing', none)).complaint).toContain('s3://lakes/nothing');
    expect(existsSync(dirname(none))).toBe(false);
    const sound = await command('fsck', '-store', 's3://lakes/clones');
    expect(sound.output, sound.complaint).toMatch(/^s3:\/\/lakes\/clones: 1 pool, [\s\S]*\nsound\n$/);
    const [object] = [...store.objects.keys()].filter((key) => key.startsWith('/lakes/clones/objects/'));
    store.objects.delete(object!);
    const damaged = await command('fsck', '-store', 's3://lakes/clones');
    expect(damaged.status).toBe(1);
    expect(damaged.output).toMatch(/pool "p", object \w+: .*missing[\s\S]*damaged: 1 fault\n$/);
    expect((await command('fsck', '-store', 's3://lakes/nothing')).complaint).toBe(
      'store s3://lakes/nothing: there is no lake\n',
    );
  }, 300_000);

  test('a store that ignores conditions is refused at the start', async () => {
    store.conditional = false;
    const refused = await start('none').catch((fault: Error) => fault.message);
    store.conditional = true;
    expect(refused).toMatch(/does not honor If-None-Match on puts, so two writers could both write/);
  }, 60_000);
});
