/** What is damaged in a bucket is named as that, and what need not stop a start does not. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { fsckCommand } from '../../src/commands/fsck.ts';
import type { Lake, ObjectMeta } from '../../src/lake/lake.types.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { openBucket } from '../../src/store/s3.ts';
import type { BucketServer } from '../support/store/bucket-server.ts';
import { inlineObject, newPool, temporaryDirectory } from '../unit/lake/support.ts';
import { addressAt, openReplica, openStored, startStore } from './support.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});
const until = (look: () => unknown): Promise<unknown> => vi.waitFor(look, { timeout: 60_000, interval: 20 });
const messageOf = (promise: Promise<unknown>): Promise<string> => promise.then(String, (fault: Error) => fault.message);
const newest = '/lakes/a/base/newest';

/** What `lake fsck -store` prints, and its status. */
const checked = async (endpoint: string): Promise<{ readonly status: number; readonly output: string }> => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  let output = '';
  const status = await fsckCommand(['-store', 's3://lakes/a', '-store.endpoint', endpoint], {
    cwd: '/',
    stdin: (async function* () {})(),
    stdoutIsTerminal: false,
    write: async (chunk) => {
      output += Buffer.from(chunk).toString();
    },
    complain: (text) => {
      output += text;
    },
  });
  return { status, output };
};

/** A lake of 60 pools with two bases, and nobody has it open. */
const storeWithBases = async () => {
  const store = await startStore();
  const directory = await temporaryDirectory();
  const { lake } = await openStored(directory, store.proxy.endpoint, {
    baseBytesMin: 40_000,
    graceMs: 0,
  });
  for (const name of names) await newPool(lake, name);
  const bases = (): string[] => store.keys().filter((key) => /^base\/\d/.test(key));
  await until(() => expect(bases()).toHaveLength(2));
  await lake.close();
  const [before, base] = bases() as [string, string];
  return { ...store, base, before, directory };
};
const names = Array.from({ length: 60 }, (_, i) => `p${i + 10}`);
const namesIn = (lake: Lake): readonly string[] =>
  lake
    .pools()
    .map(({ name }) => name)
    .sort();
const change = ({ objects }: BucketServer, key: string, bytes: Buffer, meta?: Record<string, string>): void => {
  const stored = objects.get(key)!;
  objects.set(key, { ...stored, bytes, ...(meta && { meta }) });
};

describe('base/newest', () => {
  const damages = [
    {
      what: 'has other bytes',
      damage: (server: BucketServer) => change(server, newest, Buffer.from('77')),
      said: 'its bytes have not the checksum they were put with',
      status: 1,
    },
    {
      what: 'is no number',
      damage: (server: BucketServer) => change(server, newest, Buffer.from('-'), {}),
      said: 'it is no number',
      status: 1,
    },
    {
      what: 'is missing',
      damage: (server: BucketServer) => server.objects.delete(newest),
      said: 'it is missing',
      status: 0,
    },
  ];
  test.each(damages)('that $what stops nobody, is named, and is put again', async ({ damage, said, status }) => {
    const { server, proxy, base } = await storeWithBases();
    expect(await checked(proxy.endpoint)).toMatchObject({ status: 0 });
    damage(server);
    const line = `store s3://lakes/a: base/newest: ${said}: the newest base, ${base}, was found by a listing`;

    const report = await checked(proxy.endpoint);
    expect(report).toMatchObject({ status });
    expect(report.output).toContain(`\nbase/newest: ${said}`);
    expect(report.output.endsWith(status === 0 ? '\nsound\n' : '\ndamaged: 1 fault\n')).toBe(true);

    const replica = await openReplica(await temporaryDirectory(), proxy.endpoint);
    expect(namesIn(replica.lake)).toEqual(names);
    expect(replica.noted).toEqual([line]);

    const next = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(namesIn(next.lake)).toEqual(names);
    expect(next.noted).toEqual([line]);
    expect(server.objects.get(newest)!.bytes.toString()).toBe(String(Number(base.slice(-16))));
    await next.lake.close();
    expect(await checked(proxy.endpoint)).toMatchObject({ status: 0 });
  });

  test('that is damaged does not keep a standby from taking over', async () => {
    const { server, proxy } = await storeWithBases();
    const standby = {
      ...{ bucket: openBucket(addressAt(proxy.endpoint)), ack: 'bucket' as const, address: 'there', graceMs: 1e6 },
      ...{ cache: { bytesMax: 0, lookMs: 1e6 }, closeMsMax: 200, leaseMs: 60_000, noted: () => undefined },
    };
    const { lake, noted } = await openReplica(await temporaryDirectory(), proxy.endpoint, { standby });
    change(server, newest, Buffer.from('77'));
    await lake.promote();
    expect(noted.filter((line) => line.includes('base/newest: its bytes'))).toHaveLength(1);
    expect(namesIn(lake)).toEqual(names);
    await newPool(lake, 'p');
    expect(server.objects.get(newest)!.bytes.toString()).not.toBe('77');
  });
});

describe('a damaged newest base', () => {
  const damages = [
    {
      what: 'has other bytes',
      damage: (server: BucketServer, key: string) => change(server, key, Buffer.from('x')),
      said: 'its bytes have not the checksum they were put with',
    },
    {
      what: 'is none',
      damage: (server: BucketServer, key: string) => change(server, key, Buffer.alloc(100), {}),
      said: 'it is no base',
    },
    {
      what: 'ends early',
      damage: (server: BucketServer, key: string) =>
        change(server, key, server.objects.get(key)!.bytes.subarray(0, -40), {}),
      said: 'unexpected end of file',
    },
    {
      // As a put that came late to a bucket that was emptied in the meantime leaves it.
      what: 'is of another lake',
      damage: (server: BucketServer, key: string) => {
        const text = server.objects.get(key)!.bytes.toString('latin1');
        const other = text.replace(/"lake":"[0-9a-f]{2}/, (found) => `"lake":"${found.endsWith('00') ? '11' : '00'}`);
        change(server, key, Buffer.from(other, 'latin1'), {});
      },
      said: 'it is of another log than its segment',
    },
    {
      what: 'is missing, though `base/newest` names it',
      damage: (server: BucketServer, key: string) => server.objects.delete(key),
      said: undefined,
    },
  ];
  test.each(damages)('that $what is passed over for the one before it, and replaced', async ({ damage, said }) => {
    const { server, proxy, keys, base, before } = await storeWithBases();
    damage(server, `/lakes/a/${base}`);
    const lines = said === undefined ? [] : [`store s3://lakes/a: ${base}: ${said}: ${before} was read in its place`];

    const report = await checked(proxy.endpoint);
    expect(report).toMatchObject({ status: said === undefined ? 0 : 1 });
    if (said !== undefined) expect(report.output).toContain(`\n${base}: ${said}`);

    const replica = await openReplica(await temporaryDirectory(), proxy.endpoint);
    expect(namesIn(replica.lake)).toEqual(names);
    expect(replica.noted).toEqual(lines);

    const next = await openStored(await temporaryDirectory(), proxy.endpoint);
    expect(namesIn(next.lake)).toEqual(names);
    expect(next.noted).toEqual(lines);
    if (said !== undefined)
      await until(() =>
        expect(
          keys()
            .filter((key) => /^base\/\d/.test(key))
            .at(-1)! > base,
        ).toBe(true),
      );
    expect(keys()).not.toContain(base);
    await next.lake.close();
    expect(await checked(proxy.endpoint)).toMatchObject({ status: 0 });
  });

  test('stops no folder that has all, which puts another one', async () => {
    const { server, proxy, keys, base, before, directory } = await storeWithBases();
    change(server, `/lakes/a/${base}`, Buffer.from('x'));
    const { lake, noted } = await openStored(directory, proxy.endpoint);
    expect(namesIn(lake)).toEqual(names);
    expect(noted).toEqual([`store s3://lakes/a: ${base}: ${damages[0]!.said}: ${before} was read in its place`]);
    await until(() =>
      expect(
        keys()
          .filter((key) => /^base\/\d/.test(key))
          .at(-1)! > base,
      ).toBe(true),
    );
    await lake.close();
    expect(await checked(proxy.endpoint)).toMatchObject({ status: 0 });
  });

  test.each([
    [
      'the one before it is damaged too',
      ({ server, before }: Stored) => change(server, `/lakes/a/${before}`, Buffer.from('x')),
    ],
    [
      'a segment behind the one before it is lost',
      ({ server, before }: Stored) =>
        server.objects.delete(`/lakes/a/log/${String(Number(before.slice(-16)) + 1).padStart(16, '0')}`),
    ],
  ])('is what is wrong where %s', async (_what, more) => {
    const stored = await storeWithBases();
    change(stored.server, `/lakes/a/${stored.base}`, Buffer.from('x'));
    more(stored);
    const { endpoint } = stored.proxy;
    expect(await messageOf(openStored(await temporaryDirectory(), endpoint))).toBe(
      `store s3://lakes/a: ${stored.base}: ${damages[0]!.said}`,
    );
  });
});
type Stored = Awaited<ReturnType<typeof storeWithBases>>;

test('a store that is away while a bucket is checked is no damage of its objects', async () => {
  const { proxy } = await startStore();
  const { lake } = await openStored(await temporaryDirectory(), proxy.endpoint);
  await newPool(lake);
  const { id, count, min, max } = inlineObject(1);
  const object: ObjectMeta = { id, count, min, max, size: 300 };
  await openObjects(lake.directory).put(object.id, new Uint8Array(300));
  await lake.pool('p').load('main', [object]);
  await lake.close();
  expect((await checked(proxy.endpoint)).output).toContain('the mark at the end is not there');
  proxy.faultOf = (method, path) => (method === 'GET' && path.includes('/objects/') ? '503' : undefined);
  expect(await messageOf(checked(proxy.endpoint))).toMatch(/^store s3:\/\/lakes\/a: getting objects\/.* 503/);
});
