/** Replicas of a lake in a bucket: they follow, answer what was committed, and refuse all writes. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Lake, LakeEvent } from '../../src/lake/lake.types.ts';
import { fileObject, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from '../unit/lake/support.ts';
import { keyAfterFence, openReplica, openStored, startStore } from './support.ts';

const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: 60_000, interval: 20 });
const load = (lake: Lake, n: number, pool = 'p') => lake.pool(pool).load('main', [inlineObject(n)]);
/** The replica knows all that the writer does. */
const level = (writer: Lake, replica: Lake) => until(() => expect(replica.lastEventId()).toBe(writer.lastEventId()));
const codeOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((fault: { code?: string }) => fault.code);
/** All that readers see of names and tips. */
const stateOf = (lake: Lake) => ({
  pools: lake
    .pools()
    .map((config) => ({
      config,
      branches: [...lake.pool(config.name).branches()].sort((a, b) => (a.name < b.name ? -1 : 1)),
      tags: [...lake.pool(config.name).tags()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    }))
    .sort((a, b) => (a.config.id < b.config.id ? -1 : 1)),
  views: lake.views(),
  events: lake.eventsSince(0),
});

describe('a replica', () => {
  test('follows pools, branches, tags, views, loads and deletes, and tells of each event', async () => {
    const { proxy, keys } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    await load(writer, 1);
    const { lake, faults, objects } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    const heard: LakeEvent[] = [];
    lake.onEvent((event) => heard.push(event));
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
    const from = lake.lastEventId();
    const put = keys().length;

    const file = await fileObject(writer, 2);
    const { commit } = await writer.pool('p').load('main', [file]);
    await writer.pool('p').createBranch('side', commit);
    await writer.pool('p').createTag('v1', commit);
    await load(writer, 3);
    await writer.createPool({ name: 'q', order: 'asc', keys: [['k']] });
    await load(writer, 4, 'q');
    await writer.renamePool('q', 'r');
    await writer.createPool({ name: 'q', order: 'asc', keys: [['k']] });
    await writer.changeView({ action: 'create', name: 'v', query: 'from p', existing: 'refuse' });
    await writer.changeView({ action: 'create', name: 'w', query: 'from p', existing: 'refuse' });
    await level(writer, lake);
    expect(stateOf(lake)).toEqual(stateOf(writer));
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    expect(await keysAt(lake, 'p', 'v1')).toEqual(['1', '2']);
    expect(await keysAt(lake, 'r', 'main')).toEqual(['4']);
    expect(await objects.readRange(file.id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));

    await writer.pool('p').deleteBranch('side');
    await writer.pool('p').deleteTag('v1');
    await writer.pool('p').deleteObjects('main', [file.id]);
    await writer.changeView({ action: 'drop', name: 'v', ifExists: false });
    await writer.changeView({ action: 'create', name: 'w', query: 'from r', existing: 'replace' });
    await writer.changeView({ action: 'rename', name: 'w', to: 'v', ifExists: false });
    await writer.changeView({ action: 'create', name: 'w', query: 'from q', existing: 'refuse' });
    await writer.deletePool('q');
    await writer.pool('p').reset('main', commit);
    await level(writer, lake);
    expect(stateOf(lake)).toEqual(stateOf(writer));
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2']);
    expect([lake.view('v')?.query, lake.view('w')?.query]).toEqual(['from r', 'from q']);
    expect(heard).toEqual(writer.eventsSince(from));
    expect(faults).toEqual([]);
    expect(keys().length).toBeGreaterThan(put);
  });

  test('shows a transaction whole or not at all to who looks pools up one after another', async () => {
    const { proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    await newPool(writer, 'q');
    const both = (n: number) =>
      writer.transact(
        ['p', 'q'].map((pool) => ({
          pool,
          branch: 'main',
          label: pool,
          note: {},
          what: 'load',
          objects: [inlineObject(n)],
        })),
      );
    await both(1);
    const { lake } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    await level(writer, lake);
    const tip = lake.pool('q').tip('main');
    const cut = lake.cut();
    const p = await lake.openSnapshot('p', 'main', cut);
    await both(2);
    await level(writer, lake);
    const q = await lake.openSnapshot('q', 'main', cut);
    expect(q.commit).toBe(tip);
    cut.close();
    for (const snapshot of [p, q]) snapshot.release();
    expect(await keysAt(lake, 'q', 'main')).toEqual(['1', '2']);
  });

  test('refuses every write by the name of the writer, and puts nothing into the bucket', async () => {
    const { proxy, server } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint, { address: 'here:1' });
    await newPool(writer);
    const { commit } = await load(writer, 1);
    const { lake } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    const before = server.requests.length;
    const message = await load(lake, 2).then(String, (fault: Error) => fault.message);
    expect(message).toBe('this service is a replica of s3://lakes/a and takes no writes: here:1 is the writer');
    const writes = [
      () => lake.createPool({ name: 'q' }),
      () => lake.renamePool('p', 'q'),
      () => lake.deletePool('p'),
      () => lake.pool('p').createBranch('b', commit),
      () => lake.pool('p').createTag('t', commit),
      () => lake.pool('p').reset('main', commit),
      () => lake.pool('p').vacuum('main', { dryRun: false }),
      () => lake.changeView({ action: 'create', name: 'v', query: 'from p', existing: 'refuse' }),
    ];
    for (const write of writes) expect(await codeOf(write())).toBe('replica-write');
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
    expect(server.requests.slice(before).filter((each) => /^(PUT|DELETE|POST) /.test(each))).toEqual([]);
  });

  test('goes on from its own folder, also where it was killed, and begins again from the bucket where it fell behind', async () => {
    const { proxy, server } = await startStore();
    const options = { baseBytesMin: 30_000, graceMs: 0 };
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint, options);
    await newPool(writer);
    await load(writer, 1);
    const folder = await temporaryDirectory();
    const first = await openReplica(folder, proxy.endpoint);
    await level(writer, first.lake);
    await first.lake.close();
    expect(existsSync(join(folder, 'log'))).toBe(false);
    await load(writer, 2);

    let asked = server.requests.length;
    const second = await openReplica(folder, proxy.endpoint);
    // What it may have answered before a kill that its folder does not know of.
    expect(second.lake.lastEventId()).toBe(writer.lastEventId());
    expect(await keysAt(second.lake, 'p', 'main')).toEqual(['1', '2']);
    const listed = (): string[] => server.requests.slice(asked).filter((each) => each.includes('prefix=a%2Fbase'));
    expect(listed()).toEqual([]);
    await second.lake.close();
    rmSync(join(folder, 'tables', 'closed'));
    asked = server.requests.length;
    const killed = await openReplica(folder, proxy.endpoint);
    expect(await keysAt(killed.lake, 'p', 'main')).toEqual(['1', '2']);
    expect(listed()).toEqual([]);
    await killed.lake.close();

    const wanted = ['1', '2'];
    for (let n = 3; n <= 60; n++) {
      await load(writer, n);
      wanted.push(String(n));
    }
    await until(() => expect(server.objects.has(`/lakes/a/${keyAfterFence(2)}`)).toBe(false));
    const third = await openReplica(folder, proxy.endpoint);
    await level(writer, third.lake);
    expect((await keysAt(third.lake, 'p', 'main')).toSorted((a, b) => Number(a) - Number(b))).toEqual(wanted);
    expect(listed().length).toBeGreaterThan(0);
    expect(stateOf(third.lake)).toEqual(stateOf(writer));
  });

  test('reads on what was vacuumed or deleted meanwhile', async () => {
    const { proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    const inline = inlineObject(1);
    const file = await fileObject(writer, 2);
    await writer.pool('p').load('main', [inline, file]);
    const { lake, objects } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    const open = await lake.openSnapshot('p', 'main');
    await writer.pool('p').deleteObjects('main', [inline.id, file.id]);
    await writer.pool('p').vacuum('main', { dryRun: false });
    await level(writer, lake);
    await writer.createPool({ name: 'after' });
    await writer.deletePool('p');
    await level(writer, lake);
    const page = open.page({ limit: 10 });
    expect(page.objects.map(({ id }) => id).sort()).toEqual([inline.id, file.id].sort());
    expect(page.objects.find(({ id }) => id === inline.id)?.inline).toEqual(Buffer.from(inline.inline!));
    expect(await objects.readRange(file.id, 0, 3)).toEqual(Uint8Array.of(1, 2, 3));
    open.release();
    expect(lake.pools().map(({ name }) => name)).toEqual(['after']);
  });

  test('removes from its disk what nobody reads any more', async () => {
    const { proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    const file = await fileObject(writer, 2);
    await writer.pool('p').load('main', [file]);
    const { lake, objects } = await openReplica(await temporaryDirectory(), proxy.endpoint, { graceMs: 100 });
    await objects.readRange(file.id, 0, 3);
    const path = join(lake.directory, 'ranges', file.id.slice(38), file.id, '0-3');
    expect(existsSync(path)).toBe(true);
    await writer.pool('p').deleteObjects('main', [file.id]);
    await writer.pool('p').vacuum('main', { dryRun: false });
    await until(() => expect(existsSync(path)).toBe(false));
    expect(existsSync(join(lake.directory, 'objects'))).toBe(true);
  });

  test('goes over faults of the store, and says how far it is behind', async () => {
    const { proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    const { lake, follower, faults } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    await level(writer, lake);
    const { faultOf } = proxy;
    proxy.faultOf = () => '503';
    await until(() => expect(follower.figures().fault).toMatch(/503/));
    expect(lake.figures().follow!.behindMs).toBeGreaterThan(300);
    proxy.faultOf = faultOf;
    await load(writer, 1);
    await level(writer, lake);
    await until(() => expect(follower.figures().fault).toBeUndefined());
    expect(follower.figures()).toMatchObject({ store: 's3://lakes/a', writer: 'here' });
    expect(faults).toHaveLength(1);
  });

  test('says that it was away for too long, and is begun again then', async () => {
    const { server, proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), server.endpoint, {
      baseBytesMin: 30_000,
      graceMs: 0,
    });
    await newPool(writer);
    await load(writer, 1);
    const folder = await temporaryDirectory();
    const { lake, follower } = await openReplica(folder, proxy.endpoint, { lateLookMs: 100 });
    await level(writer, lake);
    const { faultOf } = proxy;
    proxy.faultOf = () => 'reset';
    for (let n = 2; n <= 60; n++) await load(writer, n);
    await until(() => expect(server.objects.has(`/lakes/a/${keyAfterFence(5)}`)).toBe(false));
    proxy.faultOf = faultOf;
    await until(() =>
      expect(follower.figures().ended).toContain(', and the bucket has no longer the segments after it: restart it'),
    );
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
    await lake.close();
    const again = await openReplica(folder, proxy.endpoint);
    expect(await keysAt(again.lake, 'p', 'main')).toHaveLength(60);
  });

  test.each([1, 2, 5])('%i segments that are lost are named, and taken when they are back', async (lost) => {
    const { server, proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), server.endpoint);
    await newPool(writer);
    const { lake, follower } = await openReplica(await temporaryDirectory(), proxy.endpoint, { lateLookMs: 50 });
    await level(writer, lake);
    const { segment } = follower.figures();
    proxy.faultOf = () => 'reset';
    for (let n = 0; n <= lost; n++) await load(writer, n);
    const key = (n: number): string => `/lakes/a/log/${String(segment + n).padStart(16, '0')}`;
    const gone = Array.from({ length: lost }, (_, i) => [key(i + 1), server.objects.get(key(i + 1))!] as const);
    for (const [name] of gone) server.objects.delete(name);
    proxy.faultOf = () => undefined;
    const said = `log/${String(segment + 1).padStart(16, '0')}: it is missing, and segments up to `;
    await until(() => expect(follower.figures().fault ?? '').toContain(said));
    expect(follower.figures().state).toBe('following');
    for (const [name, stored] of gone) server.objects.set(name, stored);
    await level(writer, lake);
    expect(await keysAt(lake, 'p', 'main')).toHaveLength(lost + 1);
  });

  test('its folder is no lake by itself, and says so', async () => {
    const { proxy } = await startStore();
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    const { lake } = await openReplica(await temporaryDirectory(), proxy.endpoint);
    await lake.close();
    await expect(openTestLake({ directory: lake.directory })).rejects.toThrow(
      `lake ${lake.directory} cannot be opened: it is a replica of a lake in a bucket and has no log: start it with -follow, or with -store`,
    );
    // As a writer it begins a log of its own.
    await writer.close();
    const { lake: next } = await openStored(lake.directory, proxy.endpoint);
    expect(next.pools().map(({ name }) => name)).toEqual(['p']);
  });

  test('a bucket without a lake is refused; a folder that has a lake of its own is not taken', async () => {
    const { proxy } = await startStore();
    expect(await codeOf(openReplica(await temporaryDirectory(), proxy.endpoint))).toBe('store-empty');
    const { lake: writer } = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(writer);
    const own = await temporaryDirectory();
    const other = await openTestLake({ directory: own });
    await newPool(other);
    await other.close();
    expect(await codeOf(openReplica(own, proxy.endpoint))).toBe('store-strange');
    const again = await openTestLake({ directory: own });
    expect(again.pools().map(({ name }) => name)).toEqual(['p']);
    await again.close();

    // Nor one whose commits are all in a bucket of its own.
    const prefix = 'b/';
    const third = await openStored(await temporaryDirectory(), proxy.endpoint, { prefix });
    await newPool(third.lake);
    await third.lake.close();
    const { directory } = third.lake;
    expect(await codeOf(openReplica(directory, proxy.endpoint))).toBe('store-strange');
    const back = await openStored(directory, proxy.endpoint, { prefix });
    expect(back.lake.pools().map(({ name }) => name)).toEqual(['p']);
    await back.lake.close();
  });
});
