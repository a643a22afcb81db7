/**
 * Parts `takeovers` and `twins`: services on one bucket under 16 writing clients. A seed of `takeovers` kills the writer
 * and deletes its folder; with an odd seed a standby goes on, else another service begins from the bucket alone, and a
 * replica must end where that one does. A seed of `twins` stops the writer in the middle of its work (SIGSTOP), lets
 * another one take over, and resumes it: it must say on every request that it is not the writer.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { type BucketServer, startBucketServer } from '../../support/bucket-server.ts';
import { type Service, startBuiltService } from '../../support/built-service.ts';
import { randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const clients = 16;
/** What does not come in this time never comes. */
const waitMsMax = 120_000;
const rowsOf = (key: number): number => (key % 10 === 0 ? 1500 : 1);
const long = randomOf(1).hex(300);

/** The services of one seed, and the bucket that they share with those of the others. */
class Stage {
  private readonly folder: string;
  private readonly store: BucketServer;
  private readonly prefix: string;
  private readonly services: Service[] = [];

  constructor(folder: string, store: BucketServer, prefix: string) {
    this.folder = folder;
    this.store = store;
    this.prefix = prefix;
  }
  async start(role: '-store' | '-follow', ...flags: string[]): Promise<Service> {
    const service = await startBuiltService({
      lake: join(this.folder, `${this.prefix}-${this.services.length}`),
      flags: ['-workers', '1', role, `s3://lakes/${this.prefix}`, '-store.endpoint', this.store.endpoint, ...flags],
    });
    this.services.push(service);
    return service;
  }
  async end(): Promise<void> {
    for (const service of this.services) {
      service.process.kill('SIGCONT');
      await service.end('SIGKILL');
      rmSync(service.lake, { recursive: true, force: true });
    }
    for (const key of this.store.objects.keys())
      if (key.startsWith(`/lakes/${this.prefix}/`)) this.store.objects.delete(key);
  }
}

const post = (url: string, body: string, signal?: AbortSignal): Promise<Response> =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' }, ...(signal && { signal }) });
const load = (service: Service, key: number): Promise<Response> =>
  post(`${service.address}/pool/p/branch/main`, `{"k":${key}}`);
const makePool = async ({ address }: Service): Promise<void> => {
  const answer = await fetch(`${address}/pool`, {
    method: 'POST',
    body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}',
    headers: { 'content-type': 'application/json' },
  });
  if (answer.status !== 200) throw new Error(`the pool was not made: ${await answer.text()}`);
};
const tipOf = async ({ address }: Service): Promise<string> =>
  (await fetch(`${address}/pool/p/branch/main`)).headers.get('etag') ?? '';
/** Rows by key. */
const keysOf = async ({ address }: Service, after?: string): Promise<ReadonlyMap<number, number>> => {
  const answer = await fetch(`${address}/query`, {
    method: 'POST',
    body: '{"query":"from p | count() by k | sort k"}',
    headers: {
      accept: 'application/x-ndjson',
      'content-type': 'application/json',
      ...(after !== undefined && { 'lake-after': after }),
    },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`a query: ${text}`);
  const rows = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { readonly k: number; readonly count: number });
  return new Map(rows.map(({ k, count }) => [k, count]));
};

/** Clients that load one key after the other, until they are told to end. */
class Work {
  readonly acknowledged: number[] = [];
  private readonly ending = new AbortController();
  private readonly all: readonly Promise<void>[];
  private next: number;

  constructor(service: Service, first: number) {
    this.next = first;
    this.all = Array.from({ length: clients }, () => this.client(service));
  }
  private async client({ address }: Service): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      const key = this.next++;
      const rows = Array.from({ length: rowsOf(key) }, (_, i) => JSON.stringify({ k: key, i, text: `${i} ${long}` }));
      try {
        const answer = await post(`${address}/pool/p/branch/main`, rows.join('\n'), signal);
        await answer.text();
        if (answer.status === 200) this.acknowledged.push(key);
        else await later(5);
      } catch {
        await later(5);
      }
    }
  }
  some(count: number): Promise<void> {
    return until(`${count} commits`, () => this.acknowledged.length >= count);
  }
  async end(): Promise<void> {
    this.ending.abort();
    await Promise.all(this.all);
  }
}
const until = async (what: string, look: () => boolean | Promise<boolean>): Promise<void> => {
  for (const began = performance.now(); !(await look()); await later(10))
    if (performance.now() - began > waitMsMax) throw new Error(`never: ${what}`);
};
/** Each key is there whole and once, all that were acknowledged are. */
const checkKeys = (found: ReadonlyMap<number, number>, acknowledged: readonly number[]): void => {
  for (const [key, rows] of found)
    if (rows !== rowsOf(key)) throw new Error(`key ${key} has ${rows} rows of ${rowsOf(key)}`);
  const lost = acknowledged.filter((key) => !found.has(key));
  if (lost.length > 0) throw new Error(`acknowledged and lost: ${lost.join(', ')}`);
};

const bucketPart =
  (
    name: string,
    run: (stage: Stage, seed: number, count: (what: string, n?: number) => void) => Promise<void>,
  ): PartRun =>
  async ({ folder, seeds, count, failed }) => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'key';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'secret';
    const store = await startBucketServer();
    for (const seed of seeds) {
      const stage = new Stage(folder, store, `${name}${seed}`);
      try {
        await run(stage, seed, count);
      } catch (fault) {
        failed(seed, fault instanceof Error ? fault.message : String(fault));
      } finally {
        await stage.end();
      }
    }
    await store.close();
  };

export const takeovers = bucketPart('takeovers', async (stage, seed, count) => {
  const random = randomOf(seed + 31);
  const hasStandby = seed % 2 === 1;
  const flags = ['-store.ack', 'bucket', '-store.lease', '1s', '-follow.poll', '20ms'];
  const writer = await stage.start('-store', ...flags);
  await makePool(writer);
  const replica = await stage.start('-follow', '-follow.poll', '20ms', '-after.wait', '60s');
  const standby = hasStandby ? await stage.start('-store', ...flags, '-standby') : undefined;
  const work = new Work(writer, 1);
  await work.some(5 + random.below(100));
  await writer.end('SIGKILL');
  await work.end();
  rmSync(writer.lake, { recursive: true, force: true });
  const next = standby ?? (await stage.start('-store', ...flags, '-store.takeover'));
  let event: string | undefined;
  await until('another writer', async () => {
    const answer = await load(next, 999_999);
    event = answer.headers.get('lake-event') ?? undefined;
    const text = await answer.text();
    if (answer.status !== 200 && answer.status !== 421) throw new Error(`a write: ${answer.status} ${text}`);
    return answer.status === 200;
  });
  const found = await keysOf(next);
  checkKeys(found, [...work.acknowledged, 999_999]);
  const copied = await keysOf(replica, event);
  if (JSON.stringify([...copied]) !== JSON.stringify([...found])) throw new Error('the replica has other rows');
  const [tip, other] = [await tipOf(next), await tipOf(replica)];
  if (tip === '' || tip !== other) throw new Error(`the tip is ${tip}, that of the replica ${other}`);
  count(hasStandby ? 'kills with a standby' : 'kills without one');
  count('acknowledged', work.acknowledged.length);
});

export const twins = bucketPart('twins', async (stage, seed, count) => {
  const random = randomOf(seed + 37);
  const one = await stage.start('-store', '-store.ack', 'bucket', '-store.lease', '500ms');
  await makePool(one);
  const before = new Work(one, 1);
  await before.some(5 + random.below(60));
  one.process.kill('SIGSTOP');
  const two = await stage.start('-store', '-store.ack', 'bucket');
  const after = new Work(two, 1_000_001);
  await after.some(3);
  one.process.kill('SIGCONT');
  await after.some(10);
  await until('the first one says that it is not the writer', async () =>
    (await (await load(one, 2_000_001)).text()).includes('no longer the writer'),
  );
  await before.end();
  for (let n = 0; n < 5; n++) {
    const { status } = await load(one, 2_000_002 + n);
    if (status !== 421) throw new Error(`the one that lost answered ${status} to a write`);
  }
  await after.end();
  const found = await keysOf(two);
  checkKeys(found, [...before.acknowledged, ...after.acknowledged]);
  const late = [...found.keys()].filter((key) => key > 2_000_000);
  if (late.length > 0) throw new Error(`writes of the one that lost are there: ${late.join(', ')}`);
  // From nothing there is one history, too: nothing is there that was not, and nothing is gone.
  await Promise.all([one.end('SIGKILL'), two.end('SIGKILL')]);
  const third = await stage.start('-store', '-store.takeover');
  const all = await keysOf(third);
  checkKeys(all, [...found.keys()]);
  count('stops');
  count('acknowledged', before.acknowledged.length + after.acknowledged.length);
});
