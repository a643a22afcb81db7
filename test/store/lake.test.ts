/** A lake in a bucket: begun again from nothing, one writer at a time, nothing named that is not there. */
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Lake } from '../../src/lake/lake.types.ts';
import { openLakeObjects } from '../../src/lake/objects/fetched.ts';
import { fsck } from '../../src/lake/repair/fsck.ts';
import { fileObject, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from '../unit/lake/support.ts';
import { copyFromBucket } from '../../src/lake/store/open-bucket.ts';
import { openBucket } from '../../src/store/s3.ts';
import { baseKey, segmentKey } from '../../src/lake/store/segments.ts';
import { addressAt, keyAfterFence, numberAfterFence, openReplica, openStored, startStore } from './support.ts';

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (fault: Error) => fault.message,
  );
const codeOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((fault: { code?: string }) => fault.code);
const load = (lake: Lake, n: number) => lake.pool('p').load('main', [inlineObject(n)]);
const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: 60_000, interval: 20 });
const keysOf = (lake: Lake): Promise<readonly string[]> => keysAt(lake, 'p', 'main');

describe('beginning from nothing', () => {
  test('what was committed is there, objects come when they are asked for', async () => {
    const { proxy, keys } = await startStore();
    const one = await temporaryDirectory();
    const first = await openStored(one, proxy.endpoint);
    await newPool(first.lake);
    await load(first.lake, 1);
    const file = await fileObject(first.lake, 2);
    const { commit } = await first.lake.pool('p').load('main', [file]);
    const events = first.lake.eventsSince(0);
    await first.lake.close();
    expect(keys().filter((key) => key.startsWith('objects/'))).toEqual([`objects/${file.id.slice(38)}/${file.id}`]);
    rmSync(one, { recursive: true });

    const two = await temporaryDirectory();
    const second = await openStored(two, proxy.endpoint);
    expect(await keysOf(second.lake)).toEqual(['1', '2']);
    expect(second.lake.pool('p').tip('main')).toBe(commit);
    expect(second.lake.eventsSince(0)).toEqual(events);
    expect(existsSync(join(two, 'objects', file.id.slice(38), file.id))).toBe(false);
    expect(await second.objects.readRange(file.id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));
    await load(second.lake, 3);
    await second.lake.close();
    const whole = openLakeObjects(two, addressAt(proxy.endpoint), 'fsck');
    const { faults } = await fsck({ directory: two, files: whole });
    whole.close();
    expect(faults.filter((fault) => !fault.includes('its file is missing'))).toEqual([]);

    // The folder goes on, with what the bucket has.
    const again = await openStored(two, proxy.endpoint);
    expect(await keysOf(again.lake)).toEqual(['1', '2', '3']);
    expect(again.faults).toEqual([]);
  });

  test('a lake that was a folder is copied whole, and goes on from its base', async () => {
    const { proxy, keys } = await startStore();
    const one = await temporaryDirectory();
    const before = await openTestLake({ directory: one });
    await newPool(before);
    await load(before, 1);
    const file = await fileObject(before, 2);
    await before.pool('p').load('main', [file]);
    await before.close();
    const first = await openStored(one, proxy.endpoint, { ack: 'local' });
    await load(first.lake, 3);
    await first.lake.close();
    expect(keys().filter((key) => !key.startsWith('lease/'))).toEqual([
      baseKey(numberAfterFence(0)),
      'base/newest',
      'log/0000000000000001',
      keyAfterFence(1),
      `objects/${file.id.slice(38)}/${file.id}`,
    ]);
    const second = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(await keysOf(second.lake)).toEqual(['1', '2', '3']);
    expect(await second.objects.readRange(file.id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));
  });

  test('bases are made while commits go on, and old segments go', async () => {
    const { proxy, keys } = await startStore();
    const first = await openStored(await temporaryDirectory(), proxy.endpoint, { baseBytesMin: 40_000, graceMs: 0 });
    const { lists } = first.bucket.counts;
    await newPool(first.lake);
    const wanted: string[] = [];
    for (let n = 1; n <= 60; n++) {
      await load(first.lake, n);
      wanted.push(String(n));
    }
    await until(() => expect(keys().filter((key) => /^base\/\d/.test(key))).toHaveLength(2));
    await first.lake.close();
    expect(first.bucket.counts.lists).toBe(lists);
    expect(keys()).not.toContain('log/0000000000000001');
    // Each of an opening's listings, or all of them, are from the time before there was any base.
    for (let old = 0; old <= 3; old++) {
      let listing = 0;
      proxy.faultOf = (_, path) =>
        path.includes('list-type=') && (++listing === old || old === 0) ? 'old' : undefined;
      const { lake, faults } = await openStored(await temporaryDirectory(), proxy.endpoint, {});
      expect(await keysOf(lake)).toEqual(wanted);
      expect(faults).toEqual([]);
      await lake.close();
    }
    expect(first.faults).toEqual([]);
  });

  test('a folder that was made from the bucket and has no base yet is made again when its tables are damaged', async () => {
    const { proxy } = await startStore();
    const first = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(first.lake);
    await load(first.lake, 1);
    await first.lake.close();
    const directory = await temporaryDirectory();
    const second = await openStored(directory, proxy.endpoint);
    await load(second.lake, 2);
    await second.lake.close();
    // As a kill leaves it before the base is there, and the disk after that.
    rmSync(join(directory, 'base'), { recursive: true, force: true });
    rmSync(join(directory, 'tables', 'closed'), { force: true });
    const again = await openStored(directory, proxy.endpoint);
    await load(again.lake, 3);
    await again.lake.close();
    rmSync(join(directory, 'base'), { recursive: true, force: true });
    writeFileSync(join(directory, 'tables', 'data.mdb'), randomBytes(65_536));
    const third = await openStored(directory, proxy.endpoint);
    expect(await keysOf(third.lake)).toEqual(['1', '2', '3']);
    await load(third.lake, 4);
    expect(await keysOf(third.lake)).toEqual(['1', '2', '3', '4']);
    expect(third.faults).toEqual([]);
  });

  test('no request lists the bucket', async () => {
    const { proxy, server } = await startStore();
    const { lake, bucket, objects } = await openStored(await temporaryDirectory(), proxy.endpoint);
    const { lists } = bucket.counts;
    await newPool(lake);
    const file = await fileObject(lake, 2);
    await lake.pool('p').load('main', [file]);
    rmSync(join(lake.directory, 'objects', file.id.slice(38), file.id));
    objects.forget(file.id);
    await objects.readRange(file.id, 0, 3);
    expect(bucket.counts.lists).toBe(lists);
    expect(server.requests.filter((each) => /list-type=2&prefix=a%2F(objects|)(&|$)/.test(each))).toEqual([]);
  });
});

describe('one writer at a time', () => {
  test('who was overtaken stops taking writes, and says who writes', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { address: 'machine one' });
    await newPool(one.lake);
    await load(one.lake, 1);
    const two = await openStored(await temporaryDirectory(), proxy.endpoint, { address: 'machine two' });
    const refused = new RegExp(
      `^this service is no longer the writer of s3://lakes/a: machine two \\(writer [0-9a-f]{16}\\) is, since segment ${numberAfterFence(3)}$`,
    );
    expect(await messageOf(load(one.lake, 2))).toMatch(refused);
    expect(await messageOf(load(one.lake, 3))).toMatch(refused);
    expect(await messageOf(one.lake.createPool({ name: 'q' }))).toMatch(refused);
    expect(one.lake.figures().store!.fenced).toMatch(refused);
    // Reads go on; what was refused is not seen.
    expect(await keysOf(one.lake)).toEqual(['1']);
    await load(two.lake, 4);
    expect(await keysOf(two.lake)).toEqual(['1', '4']);
    await one.lake.close();
    await two.lake.close();

    // Its folder has a record that nobody was told of: it is kept aside.
    const again = await openStored(one.lake.directory, proxy.endpoint);
    expect(await keysOf(again.lake)).toEqual(['1', '4']);
    expect(again.noted.join()).toMatch(/which the bucket does not have: it was never acknowledged; it is kept in/);
    expect(readdirSync(join(one.lake.directory, 'diverged'))).toEqual(['log']);
    await load(again.lake, 5);
    expect(await keysOf(again.lake)).toEqual(['1', '4', '5']);
  });

  test('a put that was asleep while another took over is refused', async () => {
    const { proxy, server } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(one.lake);
    proxy.faultOf = (method, path) => (method === 'PUT' && path.includes('/log/') ? 'late' : undefined);
    const asleep = messageOf(load(one.lake, 1));
    await until(() => expect(proxy.done.some((each) => each.startsWith('late'))).toBe(true));
    const two = await openStored(await temporaryDirectory(), server.endpoint, { address: 'two' });
    await load(two.lake, 2);
    proxy.release();
    expect(await asleep).toMatch(/two \(writer/);
    expect(await keysOf(two.lake)).toEqual(['2']);
    const third = await openStored(await temporaryDirectory(), server.endpoint);
    expect(await keysOf(third.lake)).toEqual(['2']);
  });

  test.each([
    ['segments', {}],
    ['a base', { baseBytesMin: 1 }],
  ])('what was acknowledged and is not in the bucket is not dropped without a word: %s', async (_, options) => {
    const { proxy, server, keys } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { ack: 'local' });
    await newPool(one.lake);
    await until(() => expect(one.lake.figures().store!.behindRecords).toBe(0));
    proxy.faultOf = (method) => (method === 'PUT' ? '503' : undefined);
    await load(one.lake, 1);
    expect(one.lake.figures().store!.behindRecords).toBe(1);
    await until(() => expect(one.lake.figures().store!.fault).toContain(`putting ${keyAfterFence(2)} failed`));
    const two = await openStored(await temporaryDirectory(), server.endpoint, { address: 'two', ...options });
    await load(two.lake, 2);
    const newest = () => Math.max(...keys().map((key) => Number(/^log\/(\d+)$/.exec(key)?.[1] ?? 0)));
    if ('baseBytesMin' in options) await until(() => expect(keys()).toContain(baseKey(newest())));
    await one.lake.close();
    proxy.faultOf = () => undefined;
    const again = () => openStored(one.lake.directory, proxy.endpoint, { ack: 'local' });
    expect(await codeOf(again())).toBe('store-diverged');
    expect(await messageOf(again())).toMatch(
      /^folder [^\n]+ has records up to 2 that store s3:\/\/lakes\/a does not have: two \(writer \w+\) has written there since, up to record 2; move the folder away/,
    );
    // Its folder is a lake of its own; the writer goes on.
    const alone = await openTestLake({ directory: one.lake.directory });
    expect(await keysOf(alone)).toEqual(['1']);
    await load(two.lake, 3);
    expect(await keysOf(two.lake)).toEqual(['2', '3']);
  });

  test('what was acknowledged without the bucket is not dropped, though before and after commits wait for it', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(one.lake);
    await one.lake.close();
    const { directory } = one.lake;
    const alone = await openTestLake({ directory });
    await load(alone, 1);
    await alone.close();
    // One that is to put it has its fence there, and ends before it could.
    let puts = 0;
    proxy.faultOf = (method, path) => (method === 'PUT' && path.includes('/log/') && ++puts > 1 ? '503' : undefined);
    const between = openStored(directory, proxy.endpoint).catch(() => undefined);
    await until(() => expect(puts).toBeGreaterThan(1));
    cpSync(directory, `${directory}-then`, { recursive: true });
    onTestFinished(() => {
      rmSync(`${directory}-then`, { recursive: true });
    });
    proxy.faultOf = () => undefined;
    await (await between)?.lake.close();

    expect(JSON.parse(readFileSync(join(`${directory}-then`, 'store.json'), 'utf8'))).toMatchObject({ ack: 'local' });
    expect(JSON.parse(readFileSync(join(directory, 'store.json'), 'utf8'))).toMatchObject({ ack: 'bucket' });

    // Another service writes while the folder is served alone.
    const two = await openStored(await temporaryDirectory(), proxy.endpoint, { address: 'two' });
    await load(two.lake, 2);
    const again = await openTestLake({ directory });
    await load(again, 3);
    await again.close();
    expect(await codeOf(openStored(directory, proxy.endpoint))).toBe('store-diverged');
    const kept = await openTestLake({ directory });
    expect(await keysOf(kept)).toEqual(['1', '3']);
  });

  test('another lake is refused', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await one.lake.close();
    const other = await openTestLake();
    await other.close();
    expect(await codeOf(openStored(other.directory, proxy.endpoint))).toBe('store-strange');
    expect(await messageOf(openStored(other.directory, proxy.endpoint))).toMatch(
      /^store s3:\/\/lakes\/a has lake [0-9a-f]{32}, folder [^\n]+ has lake [0-9a-f]{32}: each lake needs a bucket/,
    );
  });

  test.each(['lease', 'log', 'base', 'objects'])('one below %s/ of another one keeps all it has', async (part) => {
    const { proxy, keys } = await startStore();
    const make = async (prefix: string, count: number) => {
      const options = { prefix, ...(prefix !== 'a/' && { baseBytesMin: 1, graceMs: 0 }) };
      const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint, options);
      await newPool(lake);
      for (let k = 0; k < count; k++) await load(lake, k);
      await lake.pool('p').load('main', [await fileObject(lake, count)]);
      await lake.close();
    };
    await make('a/', 3);
    await make(`a/${part}/`, 9);
    const below = () => keys().filter((key) => /^\w+\/(lease|log|base|objects)\//.test(key));
    const before = below();
    expect(before.length).toBeGreaterThan(4);

    const outer = await openStored(await temporaryDirectory(), proxy.endpoint, { baseBytesMin: 1, graceMs: 0 });
    expect(await keysOf(outer.lake)).toEqual(['0', '1', '2', '3']);
    for (let k = 4; k < 9; k++) await load(outer.lake, k);
    await outer.lake.close();
    expect(below()).toEqual(before);
    const inner = await openStored(await temporaryDirectory(), proxy.endpoint, { prefix: `a/${part}/` });
    expect(await keysOf(inner.lake)).toEqual(Array.from({ length: 10 }, (_, k) => String(k)));
    await inner.lake.close();
  });
});

describe('faults', () => {
  test('each put of the log loses its answer: all is there once', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { retryMsMax: 30_000 });
    const seen = new Set<string>();
    proxy.faultOf = (method, path) => {
      if (method !== 'PUT' || !path.includes('/log/') || seen.has(path)) return undefined;
      seen.add(path);
      return 'lost';
    };
    await newPool(one.lake);
    for (let n = 1; n <= 5; n++) await load(one.lake, n);
    await one.lake.close();
    const two = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(await keysOf(two.lake)).toEqual(['1', '2', '3', '4', '5']);
    expect(one.faults).toEqual([]);
  });

  test('with the store away writes that came before wait, new ones are refused, and all goes on after', async () => {
    const { proxy } = await startStore();
    const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(lake);
    proxy.faultOf = () => '503';
    const waiting = load(lake, 1);
    await until(() => expect(lake.figures().store!.fault).toBeDefined());
    expect(await messageOf(load(lake, 2))).toMatch(
      /^store s3:\/\/lakes\/a: putting (log\/\d+|lease\/\w+) failed \(\d+ tries\): 503/,
    );
    expect(await keysOf(lake)).toEqual([]);
    proxy.faultOf = () => undefined;
    await waiting;
    await load(lake, 3);
    expect(await keysOf(lake)).toEqual(['1', '3']);
  });

  test.each(['bucket', 'local'] as const)(
    'ack %s: that the store is away is known before anybody writes',
    async (ack) => {
      const { proxy } = await startStore();
      const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint, { ack, leaseMs: 200 });
      await newPool(lake);
      await until(() => expect(lake.figures().store!.behindRecords).toBe(0));
      proxy.faultOf = () => '503';
      const said = /^store s3:\/\/lakes\/a: putting lease\/\w{16} failed \(\d+ tries\): 503/;
      await until(() => expect(lake.figures().store!.fault).toMatch(said));
      if (ack === 'local') expect(lake.figures().store!.refusing).toBeUndefined();
      else {
        expect(lake.figures().store!.refusing).toMatch(said);
        expect(await messageOf(load(lake, 1))).toMatch(said);
      }
      proxy.faultOf = () => undefined;
      await until(() => expect(lake.figures().store!.fault).toBeUndefined());
      expect(lake.figures().store!.refusing).toBeUndefined();
      await load(lake, 2);
      expect(await keysOf(lake)).toEqual(['2']);
    },
  );

  test('a close ends although a base waits for what the bucket does not take any more', async () => {
    for (let n = 0; n < 8; n++) {
      const { proxy } = await startStore();
      const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint, { baseBytesMin: 1, closeMsMax: 1 });
      await newPool(lake);
      for (let k = 0; k < 1 + n; k++) await load(lake, k);
      proxy.faultOf = (method, path) => (method === 'PUT' && path.includes('/log/') ? '503' : undefined);
      const waiting = load(lake, 100).catch(() => undefined);
      await lake.close();
      await waiting;
      proxy.faultOf = () => undefined;
    }
  });

  test('no segment names an object that is not there', async () => {
    const { proxy, keys } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { ack: 'local' });
    await newPool(one.lake);
    await until(() => expect(one.lake.figures().store!.behindRecords).toBe(0));
    const segments = keys().filter((key) => key.startsWith('log/')).length;
    proxy.faultOf = (method, path) => (method === 'PUT' && path.includes('/objects/') ? '500' : undefined);
    const file = await fileObject(one.lake, 1);
    await one.lake.pool('p').load('main', [file]);
    await load(one.lake, 2);
    await until(() => expect(one.lake.figures().store!.fault).toMatch(/putting objects/));
    expect(keys().filter((key) => key.startsWith('log/'))).toHaveLength(segments);
    proxy.faultOf = () => undefined;
    await until(() => expect(one.lake.figures().store!.behindRecords).toBe(0));
    expect(keys()).toContain(`objects/${file.id.slice(38)}/${file.id}`);
    await one.lake.close();
  });

  test('what a service could not put it puts after the next start', async () => {
    const { proxy } = await startStore();
    const directory = await temporaryDirectory();
    const one = await openStored(directory, proxy.endpoint, { ack: 'local' });
    await newPool(one.lake);
    proxy.faultOf = (method) => (method === 'PUT' ? 'reset' : undefined);
    const file = await fileObject(one.lake, 1);
    await one.lake.pool('p').load('main', [file]);
    await load(one.lake, 2);
    await one.lake.close();
    proxy.faultOf = () => undefined;
    const again = await openStored(directory, proxy.endpoint, { ack: 'local' });
    expect(again.lake.figures().store!.behindRecords).toBe(0);
    await again.lake.close();
    const two = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(await keysOf(two.lake)).toEqual(['1', '2']);
    expect(await two.objects.readRange(file.id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));
  });

  test('an object whose bytes are not those that were put is not read', async () => {
    const { proxy, server } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(one.lake);
    const file = await fileObject(one.lake, 1);
    await one.lake.pool('p').load('main', [file]);
    await one.lake.close();
    const key = `/lakes/a/objects/${file.id.slice(38)}/${file.id}`;
    server.objects.set(key, { ...server.objects.get(key)!, bytes: Buffer.from([9, 9, 9]) });
    const two = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(await messageOf(Promise.resolve(two.objects.readRange(file.id, 0, 3)))).toMatch(/not the checksum/);
    const other = await fileObject(two.lake, 2);
    await two.lake.pool('p').load('main', [other]);
    // Sound bytes with all that is beside them, in the place of others.
    server.objects.set(key, server.objects.get(`/lakes/a/objects/${other.id.slice(38)}/${other.id}`)!);
    expect(await messageOf(Promise.resolve(two.objects.readRange(file.id, 0, 3)))).toContain(
      `it was put as objects/${other.id.slice(38)}/${other.id}`,
    );
    server.objects.delete(key);
    expect(await messageOf(Promise.resolve(two.objects.readRange(file.id, 0, 3)))).toBe(
      `object ${file.id}: file does not exist`,
    );
    const segment = `/lakes/a/${keyAfterFence(1)}`;
    const stored = server.objects.get(segment)!;
    const bytes = Buffer.from(stored.bytes);
    bytes[bytes.length - 40]! ^= 1;
    server.objects.set(segment, { ...stored, bytes, meta: {} });
    expect(await messageOf(openStored(await temporaryDirectory(), proxy.endpoint))).toBe(
      `store s3://lakes/a: ${keyAfterFence(1)}: its checksum does not hold`,
    );
  });
});

describe('a segment is lost', () => {
  /** A lake of a pool and 12 commits without one of its segments, and the folder that has all. */
  const lose = async (n: number) => {
    const store = await startStore();
    const directory = await temporaryDirectory();
    const { lake, bucket } = await openStored(directory, store.proxy.endpoint);
    await newPool(lake);
    for (let k = 1; k <= 12; k++) await load(lake, k);
    await lake.close();
    bucket.close();
    store.server.objects.delete(`/lakes/a/${keyAfterFence(n)}`);
    return { ...store, directory };
  };

  // The end is looked for by halves, so that it depends on the number what the search meets.
  test.each([1, 3, 4, 5, 8, 12])('number %i: nothing is begun that lacks what was acknowledged', async (n) => {
    const { proxy, server } = await lose(n);
    const before = [...server.objects.keys()];
    const said = `store s3://lakes/a: ${keyAfterFence(n)}: it is missing, and segments up to ${numberAfterFence(13)} are there`;
    expect(await messageOf(openStored(await temporaryDirectory(), proxy.endpoint))).toContain(said);
    expect(
      await messageOf(copyFromBucket(openBucket(addressAt(proxy.endpoint)), await temporaryDirectory())),
    ).toContain(said);
    expect(await messageOf(openReplica(await temporaryDirectory(), proxy.endpoint))).toContain(said);
    expect([...server.objects.keys()]).toEqual(before);
  });
  test('a replica that is there says so, and a standby does not put its fence into the gap', async () => {
    const { proxy, server } = await startStore();
    const { lake } = await openStored(await temporaryDirectory(), server.endpoint);
    await newPool(lake);
    const { faultOf } = proxy;
    const standby = {
      ...{ bucket: openBucket(addressAt(server.endpoint)), ack: 'bucket' as const, address: 'there', graceMs: 1e6 },
      ...{ cache: { bytesMax: 0, lookMs: 1e6 }, closeMsMax: 200, leaseMs: 60_000, noted: () => undefined },
    };
    const replica = await openReplica(await temporaryDirectory(), proxy.endpoint, { standby, lateLookMs: 50 });
    await until(() => expect(replica.lake.pools()).toHaveLength(1));
    const { segment: at } = replica.follower.figures();
    proxy.faultOf = () => 'reset';
    for (let k = 1; k <= 3; k++) await load(lake, k);
    server.objects.delete(`/lakes/a/${segmentKey(at + 1)}`);
    proxy.faultOf = faultOf;
    const said = `${segmentKey(at + 1)}: it is missing, and segments up to`;
    await until(() => expect(replica.follower.figures().fault).toContain(said));
    expect(await messageOf(replica.lake.promote())).toContain(said);
    expect(server.objects.has(`/lakes/a/${segmentKey(at + 1)}`)).toBe(false);
  });
  test('a service on the folder that has all makes it good', async () => {
    const { proxy, directory } = await lose(2);
    const again = await openStored(directory, proxy.endpoint);
    expect(again.noted[0]).toContain(`has lost ${keyAfterFence(2)}`);
    await load(again.lake, 13);
    await again.lake.close();
    const fresh = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect((await keysOf(fresh.lake)).length).toBe(13);
  });
});

describe('what goes', () => {
  test('objects that were vacuumed leave the bucket after the grace', async () => {
    const { proxy, keys } = await startStore();
    const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint, { graceMs: 300 });
    await newPool(lake);
    const file = await fileObject(lake, 1);
    await lake.pool('p').load('main', [file]);
    await load(lake, 2);
    await lake.pool('p').deleteObjects('main', [file.id]);
    expect(await lake.pool('p').vacuum('main', { dryRun: false })).toEqual([file.id]);
    await until(() => expect(keys().filter((key) => key.startsWith('objects/'))).toEqual([]));
  });

  test('objects that no commit came to name go after the next start, those of commits and newer ones stay', async () => {
    const { proxy, server, keys } = await startStore();
    const first = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(first.lake);
    const keyOf = (id: string): string => `objects/${id.slice(38)}/${id}`;
    const [named, removed, orphan] = [
      await fileObject(first.lake, 1),
      await fileObject(first.lake, 2),
      await fileObject(first.lake, 3),
    ];
    await first.lake.pool('p').load('main', [named, removed]);
    await first.bucket.putFile(keyOf(orphan.id), join(first.lake.directory, keyOf(orphan.id)));
    await first.lake.close();
    // All that was put is older than what is kept in any case.
    const graceMs = 60_000;
    for (const [key, stored] of server.objects)
      server.objects.set(key, { ...stored, modifiedMs: stored.modifiedMs - 2 * graceMs });
    const { lake, bucket, noted } = await openStored(await temporaryDirectory(), proxy.endpoint, {
      graceMs,
      sweepDelayMs: 1,
    });
    await until(() => expect(noted).toEqual(['s3://lakes/a: removed 1 data object of loads without a commit']));
    const stay = [named, removed].map(({ id }) => keyOf(id)).sort();
    expect(keys().filter((key) => key.startsWith('objects/'))).toEqual(stay);
    // What is removed from the lake stays for its time, and so does what was put lately.
    await lake.pool('p').deleteObjects('main', [removed.id]);
    expect(await lake.pool('p').vacuum('main', { dryRun: false })).toEqual([removed.id]);
    const late = `objects/00/${'0'.repeat(40)}`;
    await bucket.put(late, Buffer.from('x'));
    await lake.close();
    // The last of the listing: when it went, the others were looked at.
    const last = `objects/ff/${'f'.repeat(40)}`;
    server.objects.set(`/lakes/a/${last}`, { bytes: Buffer.from('x'), meta: {}, etag: '"x"', modifiedMs: 1 });
    const again = await openStored(await temporaryDirectory(), proxy.endpoint, { graceMs, sweepDelayMs: 1 });
    await until(() => expect(again.noted).toEqual(noted));
    await load(again.lake, 4);
    expect(keys().filter((key) => key.startsWith('objects/'))).toEqual([...stay, late].sort());
    expect([...first.faults, ...again.faults]).toEqual([]);
  });

  test('the longest unused objects leave the disk, and come back', async () => {
    const { proxy } = await startStore();
    const { lake, objects } = await openStored(await temporaryDirectory(), proxy.endpoint, {
      cache: { bytesMax: 6, lookMs: 30 },
    });
    await newPool(lake);
    const files = [];
    for (let n = 0; n < 5; n++) files.push(await fileObject(lake, n));
    await lake.pool('p').load('main', files);
    const there = (): string[] => {
      const names = readdirSync(lake.directory, { recursive: true }).map(String);
      return names.filter((name) => /^(objects|ranges)\/.*(\w{40}|\/\d+-\d+)$/.test(name) && isFile(name));
    };
    const isFile = (name: string): boolean => statSync(join(lake.directory, name)).isFile();
    await until(() => expect(there().length).toBeLessThan(3));
    for (const { id } of files) expect(await objects.readRange(id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));
    await until(() => expect(there().length).toBeLessThan(3));
  });
});
