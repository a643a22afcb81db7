/** The client of a bucket: what it puts, gets and lists, against moto and a store of our own, with faults between. */
import { createHash, randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CredentialChain, profilesOf, regionOf } from '../../src/store/credentials.ts';
import { Agents } from '../../src/store/http-exchange.ts';
import { checkConditional, openBucket, type S3Options } from '../../src/store/s3.ts';
import { elementOf } from '../../src/store/xml.ts';
import { type BucketServer, startBucketServer } from '../support/store/bucket-server.ts';
import { type Fault, type FaultProxy, startFaultProxy } from '../support/store/fault-proxy.ts';
import { lacksMoto, startMoto } from '../support/store/moto.ts';
import { lacksVersity, startVersity } from '../support/store/versitygw.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-bucket-'));
afterAll(() => rmSync(folder, { recursive: true }));
const environment = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
const optionsFor = (endpoint: string, more: Partial<S3Options> = {}): S3Options => ({
  bucket: 'lakes',
  prefix: 'one lake/',
  endpoint,
  region: 'eu-central-1',
  style: 'path',
  environment,
  partBytes: 5 << 20,
  idleMsMax: 20_000,
  ...more,
});
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (fault: { code?: string; message: string }) => fault.code ?? fault.message,
  );

const kinds = [
  { kind: 'a store of our own', start: () => startBucketServer({ pageKeys: 3 }), lacks: () => false },
  { kind: 'moto', start: () => startMoto('lakes'), lacks: lacksMoto },
  { kind: 'versitygw', start: () => startVersity('lakes'), lacks: lacksVersity },
];
describe.each(kinds)('$kind', ({ kind, start, lacks }) => {
  describe.skipIf(lacks())('is there', () => {
    let store: { readonly endpoint: string; close(): Promise<void> };
    let proxy: FaultProxy;
    beforeAll(async () => {
      store = await start();
      proxy = await startFaultProxy(store.endpoint);
    }, 120_000);
    afterAll(async () => {
      await proxy.close();
      await store.close();
    });

    test('what is put is got, listed and removed', async () => {
      const bucket = openBucket(optionsFor(store.endpoint));
      const bytes = randomBytes(100_000);
      await bucket.put('objects/a b+ü', bytes);
      expect(await bucket.get('objects/a b+ü')).toEqual(bytes);
      expect(await bucket.head('objects/a b+ü')).toEqual({
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
      for (let i = 0; i < 7; i++) await bucket.put(`log/${i}`, Buffer.from(String(i)));
      const listed = async (prefix: string, from?: { readonly after: string }): Promise<string[]> => {
        const keys: string[] = [];
        for await (const { key } of bucket.list(prefix, from)) keys.push(key);
        return keys;
      };
      expect(await bucket.getRange('objects/a b+ü', 1000, 70)).toEqual(bytes.subarray(1000, 1070));
      expect(await bucket.getRange('objects/a b+ü', 0, bytes.length)).toEqual(bytes);
      expect(await codeOf(bucket.getRange('objects/a b+ü', bytes.length, 5))).toBe('store-corrupt');
      expect(await bucket.getRange('objects/none', 0, 5)).toBeUndefined();
      expect(await listed('log/')).toEqual(Array.from({ length: 7 }, (_, i) => `log/${i}`));
      expect(await listed('log/', { after: 'log/2' })).toEqual(['log/3', 'log/4', 'log/5', 'log/6']);
      expect(await listed('objects/')).toEqual(['objects/a b+ü']);
      await bucket.delete('objects/a b+ü');
      await bucket.delete('objects/a b+ü');
      expect(await bucket.get('objects/a b+ü')).toBeUndefined();
      expect(await bucket.head('objects/a b+ü')).toBeUndefined();
      expect(await bucket.getFile('objects/a b+ü', join(folder, 'none'))).toBe(false);
      expect(existsSync(join(folder, 'none'))).toBe(false);
      bucket.close();
    });

    test('a long file goes in parts, and comes back whole', async () => {
      const bucket = openBucket(optionsFor(store.endpoint));
      const bytes = randomBytes(5_500_000);
      writeFileSync(join(folder, 'long'), bytes);
      await bucket.putFile('objects/long', join(folder, 'long'));
      expect(await bucket.getFile('objects/long', join(folder, 'back'))).toBe(true);
      expect(readFileSync(join(folder, 'back')).equals(bytes)).toBe(true);
      writeFileSync(join(folder, 'empty'), '');
      await bucket.putFile('objects/empty', join(folder, 'empty'));
      expect(await bucket.get('objects/empty')).toEqual(Buffer.alloc(0));
      bucket.close();
    });

    test('one put of several wins, and the store is seen to heed that', async () => {
      const bucket = openBucket(optionsFor(store.endpoint));
      await checkConditional(bucket);
      const puts = Array.from({ length: 8 }, (_, i) => () => bucket.putNew('log/n', Buffer.from(`w${i}`)));
      const won: boolean[] = [];
      // moto looks and puts in threads without a lock: side by side two of its puts may win.
      if (kind === 'moto') for (const put of puts) won.push(await put());
      else won.push(...(await Promise.all(puts.map((put) => put()))));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await bucket.get('log/n'))!.toString()).toBe(`w${won.indexOf(true)}`);
      bucket.close();
    });

    const faults: readonly Fault[] = ['500', '503', 'reset', 'stall', 'cut', 'lost'];
    // All at once: they wait for most of their time.
    test.concurrent.each(faults)('every other request ends in %s: all is as if it had not', async (fault) => {
      let asked = 0;
      const faulty = await startFaultProxy(store.endpoint);
      faulty.faultOf = () => (asked++ % 2 === 0 ? fault : undefined);
      const bucket = openBucket(optionsFor(faulty.endpoint, { idleMsMax: fault === 'stall' ? 700 : 20_000 }));
      const bytes = randomBytes(5_400_000);
      const file = join(folder, `faulty-${fault}`);
      writeFileSync(file, bytes);
      await bucket.putFile(`faulty/${fault}`, file);
      expect((await bucket.get(`faulty/${fault}`))!.equals(bytes)).toBe(true);
      expect(await bucket.putNew(`faulty/new-${fault}`, Buffer.from('mine'))).toBe(true);
      expect(await bucket.putNew(`faulty/new-${fault}`, Buffer.from('another'))).toBe(false);
      expect((await bucket.get(`faulty/new-${fault}`))!.toString()).toBe('mine');
      await bucket.delete(`faulty/${fault}`);
      expect(await bucket.head(`faulty/${fault}`)).toBeUndefined();
      expect(bucket.counts.retries).toBeGreaterThan(3);
      bucket.close();
      await faulty.close();
    });

    test('what does not pass is an error within bounds', async () => {
      proxy.faultOf = () => '503';
      const bucket = openBucket(optionsFor(proxy.endpoint, { retryMsMax: 300 }));
      expect(await codeOf(bucket.put('x', Buffer.from('x')))).toBe('store-unreachable');
      proxy.faultOf = () => undefined;
      bucket.close();
      const absent = openBucket(optionsFor(store.endpoint, { bucket: 'none-of-this-name' }));
      if (store.endpoint !== proxy.endpoint && !('objects' in store))
        for (const ask of [() => absent.get('x'), () => absent.put('x', Buffer.from('x'))])
          expect(await codeOf(ask())).toBe('store-refused');
      absent.close();
    });
  });
});

test('a store that ignores the condition is refused by name', async () => {
  const server: BucketServer = await startBucketServer();
  server.conditional = false;
  const bucket = openBucket(optionsFor(server.endpoint));
  const fault = await checkConditional(bucket).catch((error: Error) => error.message);
  expect(fault).toBe(
    'store s3://lakes/one lake does not honor If-None-Match on puts, so two writers could both write: it put over what was there',
  );
  expect(server.objects.size).toBe(0);
  bucket.close();
  await server.close();
});

describe('an object that is damaged in the store', () => {
  const bytes = randomBytes(300);
  const key = '/lakes/one lake/x';
  const damages = [
    {
      what: 'has other bytes',
      damage: (stored: Buffer) => Buffer.concat([Buffer.from([stored[0]! ^ 1]), stored.subarray(1)]),
      said: 'its bytes have not the checksum they were put with',
      range: undefined,
    },
    {
      what: 'is shorter',
      damage: (stored: Buffer) => stored.subarray(0, 250),
      said: 'its bytes have not the checksum they were put with',
      range: 'it ends before byte 280',
    },
  ];
  test.each(damages)('and $what is named at once, however it is got', async ({ damage, said, range }) => {
    const server = await startBucketServer();
    const proxy = await startFaultProxy(server.endpoint);
    const bucket = openBucket(optionsFor(proxy.endpoint));
    await bucket.put('x', bytes);
    const sound = server.objects.get(key)!;
    server.objects.set(key, { ...sound, bytes: damage(bytes) });
    const textOf = (promise: Promise<unknown>): Promise<string> =>
      promise.then(
        () => 'no error',
        ({ code, message }: { code: string; message: string }) => `${code} ${message}`,
      );
    const named = (fault: string): string => `store-corrupt store s3://lakes/one lake: x: ${fault}`;
    expect(await textOf(bucket.get('x'))).toBe(named(said));
    expect(await textOf(bucket.getFile('x', join(folder, 'damaged')))).toBe(named(said));
    expect(existsSync(join(folder, 'damaged'))).toBe(false);
    expect(await textOf(bucket.getRange('x', 0, server.objects.get(key)!.bytes.length))).toBe(named(said));
    if (range !== undefined) expect(await textOf(bucket.getRange('x', 200, 80))).toBe(named(range));
    // One that the way changed comes right the next time.
    let asked = 0;
    proxy.faultOf = () => {
      if (++asked === 3) server.objects.set(key, sound);
      return undefined;
    };
    expect((await bucket.get('x'))!.equals(bytes)).toBe(true);
    expect(asked).toBe(3);
    bucket.close();
    await proxy.close();
    await server.close();
  });
});

test('a store that takes no connection is away as soon as one that does not answer', async () => {
  // The kernel lets few in whom a stopped process does not fetch; others wait as for a machine that is off.
  const code =
    'const s = require("node:net").createServer().listen(0, "127.0.0.1", 1, () => console.log(s.address().port))';
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve) => child.stdout.once('data', (line) => resolve(Number(line))));
  child.kill('SIGSTOP');
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  const bucket = openBucket(optionsFor(`http://127.0.0.1:${port}`, { idleMsMax: 300, retryMsMax: 100 }));
  try {
    await vi.waitFor(() => expect(sockets.some(({ connecting }) => !connecting)).toBe(true));
    const began = performance.now();
    expect(await codeOf(bucket.get('x'))).toBe('store-unreachable');
    expect(sockets.some(({ connecting }) => connecting)).toBe(true);
    expect(performance.now() - began).toBeLessThan(60_000);
  } finally {
    bucket.close();
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
  }
}, 120_000);

describe('credentials', () => {
  const agents = new Agents();
  afterAll(() => agents.close());
  const get = (of: Record<string, string>) => new CredentialChain({ HOME: folder, ...of }, agents).get();

  test('come from the environment, then from the files of a profile', async () => {
    expect(await get({ ...environment, AWS_SESSION_TOKEN: 't' })).toMatchObject({
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      sessionToken: 't',
    });
    const file = join(folder, 'credentials');
    writeFileSync(
      file,
      '[default]\naws_access_key_id = a\naws_secret_access_key=b\n\n[other]\naws_access_key_id=c\naws_secret_access_key= d=e \n',
    );
    expect(await get({ AWS_SHARED_CREDENTIALS_FILE: file })).toMatchObject({ accessKeyId: 'a', secretAccessKey: 'b' });
    expect(await get({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'other' })).toMatchObject({
      accessKeyId: 'c',
      secretAccessKey: 'd=e',
    });
    expect(profilesOf('# x\n[profile p]\nregion = eu-west-1\n').get('p')!.get('region')).toBe('eu-west-1');
    writeFileSync(join(folder, 'config'), '[profile p]\nregion = eu-west-1\n');
    expect(regionOf({ AWS_CONFIG_FILE: join(folder, 'config'), AWS_PROFILE: 'p' })).toBe('eu-west-1');
  });

  test('come from roles: web identity, container, machine', async () => {
    const expires = '2099-01-01T00:00:00Z';
    const said = { AccessKeyId: 'k', SecretAccessKey: 's', Token: 't', Expiration: expires };
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url!.split('?')[0]}`);
      if (request.url!.startsWith('/?'))
        response.end(
          `<Credentials><AccessKeyId>w</AccessKeyId><SecretAccessKey>s&amp;</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${expires}</Expiration></Credentials>`,
        );
      else if (request.url === '/latest/api/token') response.end('token');
      else if (request.url!.endsWith('/security-credentials/')) response.end('role');
      else response.end(JSON.stringify(said));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    writeFileSync(join(folder, 'identity'), 'jwt\n');
    expect(
      await get({
        AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'identity'),
        AWS_ROLE_ARN: 'arn:role',
        AWS_ENDPOINT_URL_STS: `${url}/`,
      }),
    ).toEqual({ accessKeyId: 'w', secretAccessKey: 's&', sessionToken: 't', expiresMs: Date.parse(expires) });
    const own = { accessKeyId: 'k', secretAccessKey: 's', sessionToken: 't', expiresMs: Date.parse(expires) };
    expect(await get({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/container` })).toEqual(own);
    expect(await get({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url })).toEqual(own);
    expect(asked.at(-1)).toBe('GET /latest/meta-data/iam/security-credentials/role');
    expect(await codeOf(get({ AWS_EC2_METADATA_DISABLED: 'true' }))).toMatch('there are no credentials');
    await new Promise((resolve) => server.close(resolve));
  });
});

test('texts of answers are read as XML has them', () => {
  expect(elementOf('<a><Key>x&amp;y&#33;&#x21;&nbsp;</Key></a>', 'Key')).toBe('x&y!!&nbsp;');
  expect(elementOf('<a></a>', 'Key')).toBeUndefined();
});
