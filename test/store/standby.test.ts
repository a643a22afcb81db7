/** Standbys and leases: who writes is known, one takes over when the other is gone, never two write. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Lake } from '../../src/lake/lake.types.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { fsck } from '../../src/lake/repair/fsck.ts';
import { openBucket } from '../../src/store/s3.ts';
import { fileObject, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from '../unit/lake/support.ts';
import { addressAt, openReplica, openStored, startStore } from './support.ts';

const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: 60_000, interval: 20 });
const load = (lake: Lake, n: number) => lake.pool('p').load('main', [inlineObject(n)]);
const messageOf = (promise: Promise<unknown>): Promise<string> => promise.then(String, (fault: Error) => fault.message);
const standbyOf = (endpoint: string, address = 'there') => ({
  standby: {
    bucket: openBucket(addressAt(endpoint)),
    ack: 'bucket' as const,
    address,
    graceMs: 3_600_000,
    cache: { bytesMax: 0, lookMs: 3_600_000 },
    closeMsMax: 200,
    leaseMs: 60_000,
    noted: () => undefined,
  },
});
const openStandby = async (endpoint: string, directory?: string, address?: string) =>
  openReplica(directory ?? (await temporaryDirectory()), endpoint, standbyOf(endpoint, address));

describe('a standby', () => {
  test.each(['standby', 'another service'])(
    'what was acknowledged on a disk alone and is lost with it is named: %s',
    async (who) => {
      const { proxy, server } = await startStore();
      const one = await openStored(await temporaryDirectory(), proxy.endpoint, { ack: 'local', leaseMs: 400 });
      await newPool(one.lake);
      await until(() => expect(one.lake.figures().store!.behindRecords).toBe(0));
      proxy.faultOf = (_, path) => (path.includes('/log/') ? '503' : undefined);
      for (const n of [1, 2, 3]) await load(one.lake, n);
      const lease = (): { record?: number } =>
        JSON.parse([...server.objects].find(([key]) => key.includes('/lease/'))![1].bytes.toString()) as object;
      await until(() => expect(lease().record).toBe(4));
      // What it leaves at its end is what a kill would.
      await one.lake.close();
      expect(lease()).toMatchObject({ record: 4 });
      const { lake, noted } =
        who === 'standby'
          ? await openStandby(server.endpoint)
          : await openStored(await temporaryDirectory(), server.endpoint);
      if (who === 'standby') await lake.promote();
      await load(lake, 5);
      expect(await keysAt(lake, 'p', 'main')).toEqual(['5']);
      expect(noted.join('\n')).toMatch(
        /here \(writer \w{16}\) acknowledged commits on its own disk \(-store\.ack local\): s3:\/\/lakes\/a has them up to record 1 \(segment \d(, put at \S+)?\); what came after is lost unless its folder is there: 3 records that it had acknowledged at its last sign of life, and any since/,
      );
      await lake.close();
      const next = await openStored(await temporaryDirectory(), server.endpoint);
      expect(next.noted.join('\n')).not.toMatch(/is lost/);
    },
  );

  test('goes on when the writer ended in order, with all that was there', async () => {
    const { proxy, keys } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { leaseMs: 60_000 });
    await newPool(one.lake);
    await load(one.lake, 1);
    await one.lake.pool('p').load('main', [await fileObject(one.lake, 2)]);
    const { lake, faults } = await openStandby(proxy.endpoint);
    expect(await messageOf(load(lake, 3))).toMatch(/is a replica of .* here is the writer$/);
    expect(await messageOf(lake.pool('p').vacuum('main', { dryRun: false }))).toMatch(/takes no writes/);
    const before = one.lake.eventsSince(0);
    await one.lake.close();
    await until(() => expect(lake.figures().follow).toBeUndefined());
    await load(lake, 3);
    await lake.createPool({ name: 'q' });
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    expect(lake.eventsSince(0)!.slice(0, before!.length)).toEqual(before);
    expect(lake.figures().store).toMatchObject({ behindRecords: 0 });
    await lake.close();
    expect(
      (await fsck({ directory: lake.directory, files: openObjects(lake.directory) })).faults.filter(
        (fault) => !fault.includes('its file is missing'),
      ),
    ).toEqual([]);
    expect(keys().filter((key) => key.startsWith('lease/'))).toHaveLength(1);

    // Its folder is a lake with a log, which goes on; and so does another one, from the bucket.
    const again = await openStored(lake.directory, proxy.endpoint);
    expect(await keysAt(again.lake, 'p', 'main')).toEqual(['1', '2', '3']);
    await load(again.lake, 4);
    await again.lake.close();
    const other = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(await keysAt(other.lake, 'p', 'main')).toEqual(['1', '2', '3', '4']);
    expect(
      other.lake
        .pools()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['p', 'q']);
    expect([...faults, ...again.faults, ...other.faults]).toEqual([]);
  });

  test('takes over when it is told to, and the writer before it cannot write any more', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { leaseMs: 60_000 });
    await newPool(one.lake);
    await load(one.lake, 1);
    const { lake } = await openStandby(proxy.endpoint);
    await load(one.lake, 2);
    await lake.promote();
    await load(lake, 3);
    expect(await messageOf(load(one.lake, 4))).toMatch(
      /^this service is no longer the writer of s3:\/\/lakes\/a: there \(writer \w+\) is, since segment \d+$/,
    );
    expect(await keysAt(lake, 'p', 'main')).toEqual(['1', '2', '3']);
    expect(await messageOf(lake.promote())).toBe(
      'this service is no standby: there is nothing to promote (option -standby)',
    );
  });

  test('takes over from one that shows no sign of life, and only then', async () => {
    const { server, proxy } = await startStore();
    // The writer's requests go by the proxy, those of the standby do not.
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { leaseMs: 5000 });
    await newPool(one.lake);
    const { lake } = await openStandby(server.endpoint);
    for (let n = 1; n <= 4; n++) {
      await load(one.lake, n);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(lake.figures().follow).toBeDefined();
    proxy.faultOf = () => 'reset';
    await until(() => expect(lake.figures().store).toBeDefined());
    await load(lake, 5);
    expect((await keysAt(lake, 'p', 'main')).toSorted()).toEqual(['1', '2', '3', '4', '5']);
  });

  test('of two one takes over, and the other one goes on following', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(one.lake);
    const two = await Promise.all([
      openStandby(proxy.endpoint, undefined, 'a'),
      openStandby(proxy.endpoint, undefined, 'b'),
    ]);
    await one.lake.close();
    await until(() => expect(two.filter(({ lake }) => lake.figures().store).length).toBe(1));
    const writer = two.find(({ lake }) => lake.figures().store)!.lake;
    const other = two.find(({ lake }) => lake !== writer)!.lake;
    for (let n = 1; n <= 5; n++) await load(writer, n);
    await until(() => expect(other.lastEventId()).toBe(writer.lastEventId()));
    expect(other.figures().follow?.writer).toBe(writer === two[0]!.lake ? 'a' : 'b');
    expect(await keysAt(other, 'p', 'main')).toEqual(['1', '2', '3', '4', '5']);
    expect(await messageOf(other.promote())).toBe('undefined');
    await load(other, 6);
    expect(await messageOf(load(writer, 7))).toMatch(/no longer the writer/);
  });

  test('the folder of who was overtaken becomes a standby, and keeps what nobody was told of', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint);
    await newPool(one.lake);
    await load(one.lake, 1);
    const { lake } = await openStandby(proxy.endpoint);
    await lake.promote();
    await load(lake, 2);
    expect(await messageOf(load(one.lake, 3))).toMatch(/no longer the writer/);
    await one.lake.close();
    const { lake: back, noted } = await openStandby(proxy.endpoint, one.lake.directory);
    expect(await keysAt(back, 'p', 'main')).toEqual(['1', '2']);
    expect(noted.join()).toMatch(/^the folder's log ended at record \d+, which the bucket does not have|^$/);
    await lake.close();
    await until(() => expect(back.figures().store).toBeDefined());
    await load(back, 4);
    expect(await keysAt(back, 'p', 'main')).toEqual(['1', '2', '4']);
  });
});

test('one that put its fence and cannot go on says so, and leaves the way to another one', async () => {
  const { proxy } = await startStore();
  const one = await openStored(await temporaryDirectory(), proxy.endpoint);
  await newPool(one.lake);
  await load(one.lake, 1);
  const { lake } = await openStandby(proxy.endpoint);
  writeFileSync(join(lake.directory, 'base'), '');
  expect(await messageOf(lake.promote())).toMatch(
    /^standby of s3:\/\/lakes\/a: it put its fence and could not go on: /,
  );
  expect(lake.figures().follow?.ended).toMatch(/; start it again, or another one$/);
  expect(await keysAt(lake, 'p', 'main')).toEqual(['1']);
  expect(await messageOf(load(lake, 2))).toMatch(/takes no writes/);
  const next = await openStored(await temporaryDirectory(), proxy.endpoint, { takesOver: false });
  await load(next.lake, 2);
  expect(await keysAt(next.lake, 'p', 'main')).toEqual(['1', '2']);
});

describe('a second start', () => {
  test('is refused while the writer lives, by its name; with -store.takeover it is not', async () => {
    const { proxy } = await startStore();
    const one = await openStored(await temporaryDirectory(), proxy.endpoint, { address: 'host1:9867', leaseMs: 5000 });
    await newPool(one.lake);
    const folder = await temporaryDirectory();
    const held = await messageOf(openStored(folder, proxy.endpoint, { takesOver: false }));
    expect(held).toMatch(/^store s3:\/\/lakes\/a: it has an active writer, host1:9867 \(writer \w+\): stop that, /);
    expect(held).toContain(
      ': stop that, start this service as its standby (-standby), or take over at once (-store.takeover)',
    );
    expect(existsSync(join(folder, 'log'))).toBe(false);
    await load(one.lake, 1);
    const two = await openStored(folder, proxy.endpoint);
    expect(await messageOf(load(one.lake, 2))).toMatch(/no longer the writer/);
    expect(await keysAt(two.lake, 'p', 'main')).toEqual(['1']);
  });

  test('in the same folder does not wait, and one after an end in order does not either', async () => {
    const { proxy, server } = await startStore();
    const folder = await temporaryDirectory();
    const one = await openStored(folder, proxy.endpoint, { takesOver: false, leaseMs: 600_000 });
    await newPool(one.lake);
    await one.lake.close();
    const two = await openStored(await temporaryDirectory(), proxy.endpoint, { takesOver: false, leaseMs: 600_000 });
    await load(two.lake, 1);
    const { writer } = JSON.parse(readFileSync(join(two.lake.directory, 'store.json'), 'utf8')) as { writer: string };
    expect([...server.objects.keys()].filter((key) => key.includes('/lease/'))).toEqual([`/lakes/a/lease/${writer}`]);
    await two.lake.close();
    const other = await openTestLake({ directory: await temporaryDirectory() });
    await expect(other.promote()).rejects.toThrow(/no standby/);
    await other.close();
  });
});
