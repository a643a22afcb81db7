/**
 * Parts `takeovers`, `losses` and `twins`: services on one bucket under 16 writing clients. A seed of `takeovers` kills
 * the writer eight times and deletes its folder each time; every other time a standby goes on, else another service
 * begins from the bucket alone, and a replica must end where that one does. `losses` is the same with `-store.ack local`:
 * what is lost is the last that was acknowledged, nothing before it, and whoever goes on says so. A seed of `twins` stops
 * the writer in the middle of its work (SIGSTOP), lets another one take over, and resumes it: it must say on every
 * request that it is not the writer.
 */
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { text as textOfStream } from 'node:stream/consumers';
import { setTimeout as later } from 'node:timers/promises';
import { type BucketServer, startBucketServer } from '../../support/store/bucket-server.ts';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const clients = 16;
/** Of one seed. */
const kills = 8;
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
  private readonly works: Work[] = [];

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
  work(service: Service, first: number): Work {
    const work = new Work(service, first);
    this.works.push(work);
    return work;
  }
  async end(): Promise<void> {
    for (const work of this.works) await work.end();
    for (const service of this.services) {
      service.process.kill('SIGCONT');
      await service.end('SIGKILL');
      rmSync(service.lake, { recursive: true, force: true });
    }
    for (const key of this.store.objects.keys())
      if (key.startsWith(`/lakes/${this.prefix}/`)) this.store.objects.delete(key);
  }
}

/** `header`: empty where there is none. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly header: (name: string) => string;
}
/**
 * Asks on a connection of its own: a service that was stopped closes those that wait for a request when it goes on, and
 * one of them may break with a request that it never saw. So each failure is the service's, and none is tried again.
 */
const asked = (
  { address, lake }: Service,
  path: string,
  { body, headers }: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const failed = (fault: Error): void =>
      reject(new Error(`${method} ${path} to ${basename(lake)}`, { cause: fault }));
    const sent = request(address + path, { method, agent: false, timeout: answerMsMax, ...(headers && { headers }) });
    sent.on('timeout', () => sent.destroy(new Error(`no answer for ${answerMsMax / 1000} s`)));
    sent.on('error', failed);
    sent.on('response', (answer) => {
      const header = (name: string): string => String(answer.headers[name] ?? '');
      textOfStream(answer).then((text) => resolve({ status: answer.statusCode!, text, header }), failed);
    });
    sent.end(body);
  });
const answerMsMax = 300_000;
const load = (service: Service, key: number): Promise<Answer> =>
  asked(service, '/pool/p/branch/main', {
    body: `{"k":${key}}`,
    headers: { 'content-type': 'application/x-ndjson' },
  });
const makePool = async (service: Service): Promise<void> => {
  const { status, text } = await asked(service, '/pool', {
    body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}',
    headers: { 'content-type': 'application/json' },
  });
  if (status !== 200) throw new Error(`the pool was not made: ${text}`);
};
const tipOf = async (service: Service): Promise<string> => (await asked(service, '/pool/p/branch/main')).header('etag');
/** The answer of a query, a row a line. */
const linesOf = async (service: Service, query: string, after?: string): Promise<readonly string[]> => {
  const { status, text } = await asked(service, '/query', {
    body: JSON.stringify({ query }),
    headers: {
      accept: 'application/x-ndjson',
      'content-type': 'application/json',
      ...(after !== undefined && { 'lake-after': after }),
    },
  });
  if (status !== 200) throw new Error(`a query: ${text}`);
  return text.split('\n').filter(Boolean);
};
/** Rows by key. */
const keysOf = async (service: Service, after?: string): Promise<ReadonlyMap<number, number>> => {
  const lines = await linesOf(service, 'from p | count() by k | sort k', after);
  const rows = lines.map((line) => JSON.parse(line) as { readonly k: number; readonly count: number });
  return new Map(rows.map(({ k, count }) => [k, count]));
};
/** Ids of the branch's commits, the newest first, and of its objects. */
const idsOf = async (service: Service): Promise<string> =>
  [
    ...(await linesOf(service, 'from p@main:log | values id')),
    ...(await linesOf(service, 'from p@main:objects | values id | sort this')),
  ].join();

/** `event`: its number in the lake; `at`: when the client heard of it. */
interface Acknowledged {
  readonly key: number;
  readonly event: number;
  readonly at: number;
}
/** Clients that load one key after the other, until they are told to end. */
class Work {
  readonly acknowledged: Acknowledged[] = [];
  private readonly ending = new AbortController();
  private readonly all: readonly Promise<void>[];
  next: number;
  isOvertaken = false;
  private last = 'none';

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
        const answer = await fetch(`${address}/pool/p/branch/main`, {
          method: 'POST',
          body: rows.join('\n'),
          headers: { 'content-type': 'application/x-ndjson' },
          signal,
        });
        this.last = `${answer.status} ${await answer.text()}`;
        const event = Number(answer.headers.get('lake-event'));
        if (answer.status === 200) this.acknowledged.push({ key, event, at: performance.now() });
        if (answer.status === 421) this.isOvertaken = true;
        if (answer.status !== 200) await later(5);
      } catch (fault) {
        this.last = String(fault);
        await later(5);
      }
    }
  }
  /**
   * Resolves when so many are acknowledged, or another one writes: the standby, where the machine is so slow that the
   * lease ends. A slow machine may take its time, as long as one comes after the other. */
  async some(count: number): Promise<void> {
    for (let known = -1; this.acknowledged.length < count && !this.isOvertaken; ) {
      known = this.acknowledged.length;
      await until(
        () => `commit ${known + 1} of ${count} (the last answer: ${this.last})`,
        () => this.acknowledged.length > known || this.isOvertaken,
      );
    }
  }
  async end(): Promise<void> {
    this.ending.abort();
    await Promise.all(this.all);
  }
}
const until = async (what: string | (() => string), look: () => boolean | Promise<boolean>): Promise<void> => {
  for (const began = performance.now(); !(await look()); await later(10))
    if (performance.now() - began > waitMsMax) throw new Error(`never: ${typeof what === 'string' ? what : what()}`);
};
/** Each key is there whole and once, all that were acknowledged are. */
const checkKeys = (found: ReadonlyMap<number, number>, acknowledged: readonly number[]): void => {
  for (const [key, rows] of found)
    if (rows !== rowsOf(key)) throw new Error(`key ${key} has ${rows} rows of ${rowsOf(key)}`);
  const lost = acknowledged.filter((key) => !found.has(key));
  if (lost.length > 0) throw new Error(`acknowledged and lost: ${lost.join(', ')}`);
};

/** With what it came of: of a request that broke the message alone says nothing. */
const textOf = (fault: unknown): string =>
  fault instanceof Error
    ? [fault.message, ...(fault.cause === undefined ? [] : [textOf(fault.cause)])].join(': ')
    : String(fault);

type Count = Parameters<PartRun>[0]['count'];
const bucketPart =
  (name: string, run: (stage: Stage, seed: number, count: Count) => Promise<void>): PartRun =>
  async ({ folder, seeds, count, failed }) => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'key';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'secret';
    const store = await startBucketServer();
    for (const seed of seeds) {
      const stage = new Stage(folder, store, `${name}${seed}`);
      try {
        await run(stage, seed, count);
      } catch (fault) {
        failed(seed, textOf(fault));
      } finally {
        await stage.end();
      }
    }
    await store.close();
  };

const chained =
  (ack: 'bucket' | 'local') =>
  async (stage: Stage, seed: number, count: Count): Promise<void> => {
    const random = randomOf(seed + 31);
    const flags = ['-store.ack', ack, '-store.lease', '4s', '-follow.poll', '20ms', '-log.level', 'warn'];
    let writer = await stage.start('-store', ...flags);
    await makePool(writer);
    const replica = await stage.start('-follow', '-follow.poll', '20ms', '-after.wait', '60s');
    const wanted: number[] = [];
    for (let kill = 0, first = 1; kill < kills; kill++) {
      const hasStandby = (seed + kill) % 2 === 1;
      const standby = hasStandby ? await stage.start('-store', ...flags, '-standby') : undefined;
      const work = stage.work(writer, first);
      await work.some(5 + random.below(100));
      const killedAt = performance.now();
      await writer.end('SIGKILL');
      await work.end();
      first = work.next;
      rmSync(writer.lake, { recursive: true, force: true });
      // At once, or when the lease is over.
      if (standby && random.below(2) === 0) await promoted(standby);
      writer = standby ?? (await stage.start('-store', ...flags, '-store.takeover'));
      const own = 900_001 + 10 * kill;
      const event = await firstWrite(writer, own);
      const found = await keysOf(writer);
      const { acknowledged } = work;
      const lost = acknowledged.filter(({ key }) => !found.has(key));
      if (ack === 'local') {
        checkLost(acknowledged, lost, writer);
        count('acknowledged and lost', lost.length);
        for (const { at } of lost) count('longest before the kill ms', Math.max(0, Math.round(killedAt - at)), 'max');
      }
      const kept = ack === 'local' ? acknowledged.filter(({ key }) => found.has(key)) : acknowledged;
      wanted.push(own, ...kept.map(({ key }) => key));
      checkKeys(found, wanted);
      const copied = await keysOf(replica, event);
      if (JSON.stringify([...copied]) !== JSON.stringify([...found])) throw new Error('the replica has other rows');
      const [tip, other] = [await tipOf(writer), await tipOf(replica)];
      if (tip === '' || tip !== other) throw new Error(`the tip is ${tip}, that of the replica ${other}`);
      if ((await idsOf(writer)) !== (await idsOf(replica))) throw new Error('the replica has other ids');
      if (work.isOvertaken) count('taken over from one that lived');
      else count(hasStandby ? 'kills with a standby' : 'kills without one');
      count('acknowledged', acknowledged.length);
    }
  };
const promoted = async (service: Service): Promise<void> => {
  const { status, text } = await asked(service, '/promote', { body: '' });
  // It may write already.
  if (status >= 300 && !text.includes('standby')) throw new Error(`promote: ${status} ${text}`);
};
/** The first write that the service takes; the number of its event. */
const firstWrite = async (service: Service, key: number): Promise<string> => {
  let event = '';
  await until('another writer', async () => {
    const { status, text, header } = await load(service, key);
    event = header('lake-event');
    if (status !== 200 && status !== 421) throw new Error(`a write: ${status} ${text}`);
    return status === 200;
  });
  return event;
};
/** What is lost is the end of what was acknowledged, and the service that goes on has said so. */
const checkLost = (all: readonly Acknowledged[], lost: readonly Acknowledged[], { printed }: Service): void => {
  const gone = new Set(lost.map(({ key }) => key));
  const lastKept = Math.max(...all.filter(({ key }) => !gone.has(key)).map(({ event }) => event));
  const firstLost = Math.min(...lost.map(({ event }) => event));
  if (firstLost < lastKept) throw new Error(`event ${firstLost} is lost, ${lastKept} is not`);
  if (!printed().includes('is lost unless its folder is there')) throw new Error(`it does not say so: ${printed()}`);
};
export const takeovers = bucketPart('takeovers', chained('bucket'));
export const losses = bucketPart('losses', chained('local'));

export const twins = bucketPart('twins', async (stage, seed, count) => {
  const random = randomOf(seed + 37);
  const one = await stage.start('-store', '-store.ack', 'bucket', '-store.lease', '500ms');
  await makePool(one);
  const before = stage.work(one, 1);
  await before.some(5 + random.below(60));
  one.process.kill('SIGSTOP');
  const two = await stage.start('-store', '-store.ack', 'bucket');
  const after = stage.work(two, 1_000_001);
  await after.some(3);
  one.process.kill('SIGCONT');
  await after.some(10);
  let said = '';
  await until(
    () => `the first one says that it is not the writer (the last answer: ${said})`,
    async () => {
      said = (await load(one, 2_000_001)).text;
      return said.includes('no longer the writer');
    },
  );
  await before.end();
  for (let n = 0; n < 5; n++) {
    const { status } = await load(one, 2_000_002 + n);
    if (status !== 421) throw new Error(`the one that lost answered ${status} to a write`);
  }
  await after.end();
  const found = await keysOf(two);
  checkKeys(
    found,
    [...before.acknowledged, ...after.acknowledged].map(({ key }) => key),
  );
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
