/** What can be seen of services of one bucket from outside, with a chart that is given. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import type { storeMachine } from '../../../machines/store.machine.ts';
import { LakeError } from '../../../src/errors.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake } from '../../../src/lake/lake.types.ts';
import { openLakeObjects } from '../../../src/lake/objects/fetched.ts';
import { openLakeStore, type StoreOptions } from '../../../src/lake/store/copy.ts';
import { openFollower } from '../../../src/lake/store/follow.ts';
import type { FollowFigures, StoreFigures } from '../../../src/lake/store/store.types.ts';
import { openBucket, type S3Options } from '../../../src/store/s3.ts';
import { type BucketServer, startBucketServer } from '../store/bucket-server.ts';
import { type FaultProxy, startFaultProxy } from '../store/fault-proxy.ts';

/** What a mutant leaves undone is never done: so long is waited for it. */
const unansweredMs = 4000;
const lookMs = 10;
class Unanswered extends Error {}

/** One service: its lake, and what it says of its bucket also when it is closed. */
interface Service {
  readonly lake: Lake;
  readonly figures: () => StoreFigures | FollowFigures;
  readonly proxy: FaultProxy;
}

/** Plays everything, each part in a bucket of its own, up to the first thing that is not answered. */
export const seenOfStore = async (chart: typeof storeMachine): Promise<readonly string[]> => {
  const seen: string[] = [];
  for (const [name, part] of Object.entries(parts)) {
    const play = new Play(chart, (text) => seen.push(`${name}: ${text}`));
    try {
      await play.start();
      await part(play);
    } catch (fault) {
      // Without what it asked for the rest makes no sense.
      if (!(fault instanceof Unanswered)) seen.push(`${name}: ends with ${String(fault)}`);
      return seen;
    } finally {
      await play.end();
    }
  }
  return seen;
};
const codeOf = (error: unknown): string => (error instanceof LakeError ? error.code : `broke: ${String(error)}`);
const segmentPath = (segment: number): string => `/lakes/a/log/${String(segment).padStart(16, '0')}`;

class Play {
  server!: BucketServer;
  private readonly chart: typeof storeMachine;
  readonly say: (text: string) => void;
  private readonly ends: (() => Promise<unknown>)[] = [];

  constructor(chart: typeof storeMachine, say: (text: string) => void) {
    this.chart = chart;
    this.say = say;
  }
  async start(): Promise<void> {
    this.server = await startBucketServer();
    this.ends.push(() => this.server.close());
  }
  async end(): Promise<void> {
    for (const end of this.ends.reverse()) await Promise.race([end().catch(() => undefined), later(1000)]);
  }

  private options(bucket: S3Options, address: string): StoreOptions {
    return {
      bucket: openBucket(bucket),
      ack: 'bucket',
      address,
      graceMs: 3_600_000,
      cache: { bytesMax: 0, lookMs: 3_600_000 },
      closeMsMax: 100,
      leaseMs: 6000,
      takesOver: true,
      role: { chart: this.chart },
      noted: () => undefined,
    };
  }
  /** Each with a proxy of its own before the bucket. */
  async open(address: string, as: 'writer' | 'replica' | 'standby'): Promise<Service> {
    const proxy = await startFaultProxy(this.server.endpoint);
    const directory = await mkdtemp(join(tmpdir(), 'lake-live-'));
    const bucket: S3Options = {
      bucket: 'lakes',
      prefix: 'a/',
      endpoint: proxy.endpoint,
      region: 'us-east-1',
      style: 'path',
      environment: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
      retryMsMax: 100,
      idleMsMax: 20_000,
    };
    const objects = openLakeObjects(directory, bucket, 'main');
    const store = as === 'writer' ? openLakeStore(this.options(bucket, address)) : undefined;
    const follow =
      as === 'writer'
        ? undefined
        : openFollower({
            bucket: openBucket(bucket),
            pollMs: 10,
            graceMs: 3_600_000,
            cache: { bytesMax: 0, lookMs: 3_600_000 },
            lateLookMs: 50,
            ...(as === 'standby' && { standby: this.options(bucket, address) }),
            role: { chart: this.chart },
            noted: () => undefined,
          });
    const lake = await this.answered(
      `${address} opens`,
      openLake({ directory, objects, ...(store && { store }), ...(follow && { follow }), report: () => undefined }),
    );
    this.ends.push(async () => {
      proxy.faultOf = () => undefined;
      proxy.release();
      await Promise.race([lake.close(), later(1000)]);
      objects.close();
      await proxy.close();
      await rm(directory, { recursive: true, force: true });
    });
    const own = (): StoreFigures | FollowFigures => (store ?? follow!).figures();
    // What is closed has no tables to count in.
    const figures = (): StoreFigures | FollowFigures =>
      lake.status().state === 'closed' ? own() : (lake.figures().store ?? own());
    return { lake, figures, proxy };
  }
  private async answered<T>(what: string, asked: Promise<T>): Promise<T> {
    const timer = new AbortController();
    const late = later(unansweredMs, undefined, { signal: timer.signal }).then(() => {
      throw new Unanswered();
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([asked, late]);
    } catch (fault) {
      if (fault instanceof Unanswered) this.say(`${what} is not answered`);
      throw fault;
    } finally {
      timer.abort();
    }
  }
  async see(what: string, asked: Promise<unknown>): Promise<void> {
    this.say(
      `${what} ${await this.answered(
        what,
        asked.then(() => 'done', codeOf),
      )}`,
    );
  }
  async until(what: string, look: () => boolean): Promise<void> {
    for (const began = performance.now(); !look(); await later(lookMs))
      if (performance.now() - began > unansweredMs) {
        this.say(`never: ${what}`);
        throw new Unanswered();
      }
    this.say(what);
  }
  load({ lake }: Service): Promise<unknown> {
    return lake.createPool({ name: `pool ${++this.pools}` });
  }
  private pools = 0;
  state(who: string, service: Service): void {
    const { state, fault } = service.figures();
    this.say(`${who} is ${state}${fault === undefined ? '' : ', with a fault'}`);
  }
  /** It has looked at the bucket so often since. */
  async looks(service: Service): Promise<void> {
    const { requests } = service.figures();
    await this.until('it has looked', () => service.figures().requests >= requests + 10);
  }
  level(one: Service, other: Service): Promise<void> {
    return this.until('it knows all', () => one.lake.lastEventId() === other.lake.lastEventId());
  }
}

const parts: Readonly<Record<string, (play: Play) => Promise<void>>> = {
  'a writer': async (play) => {
    const one = await play.open('one', 'writer');
    play.state('one', one);
    await play.see('write', play.load(one));
    one.proxy.faultOf = () => '503';
    const late = play.load(one);
    await play.until('the bucket is away', () => one.figures().fault !== undefined);
    await play.see('write', play.load(one));
    one.proxy.faultOf = () => undefined;
    await play.see('write that waited', late);
    await play.until('the bucket is back', () => one.figures().fault === undefined);
    await play.see('write', play.load(one));
    const two = await play.open('two', 'writer');
    await play.see('write', play.load(one));
    play.state('one', one);
    await play.see('write', play.load(two));
    await play.see('close', two.lake.close());
    play.state('two', two);
  },
  'a replica': async (play) => {
    const writer = await play.open('writer', 'writer');
    await play.see('write', play.load(writer));
    const one = await play.open('one', 'replica');
    play.state('one', one);
    await play.see('write', play.load(writer));
    await play.level(one, writer);
    await play.see('promote', one.lake.promote());
    await play.see('close', writer.lake.close());
    await play.looks(one);
    play.state('one', one);
    // What it has is behind all that the bucket begins with.
    const { segment } = one.figures();
    const stored = play.server.objects.get(segmentPath(segment))!;
    play.server.objects.delete(segmentPath(segment));
    play.server.objects.set(segmentPath(segment + 9).replace('/log/', '/base/'), stored);
    await play.until('it ends', () => one.figures().state === 'ended');
    await play.see('close', one.lake.close());
    play.state('one', one);
  },
  'a standby whose writer ends': async (play) => {
    const writer = await play.open('writer', 'writer');
    const one = await play.open('one', 'standby');
    await play.see('close', writer.lake.close());
    await play.until('it writes', () => one.lake.figures().store !== undefined);
    await play.see('write', play.load(one));
    play.state('one', one);
  },
  'a standby that is told to': async (play) => {
    const writer = await play.open('writer', 'writer');
    const one = await play.open('one', 'standby');
    await play.see('promote', one.lake.promote());
    await play.see('write', play.load(one));
    await play.see('write', play.load(writer));
    play.state('one', one);
  },
  'one that another overtakes': (play) => overtaken(play, { isAsked: false }),
  'one that another overtakes, and that was asked': (play) => overtaken(play, { isAsked: true }),
  'a log that lost a segment': async (play) => {
    const writer = await play.open('writer', 'writer');
    const one = await play.open('one', 'standby');
    await play.level(one, writer);
    const lost = segmentPath(one.figures().segment + 1);
    one.proxy.faultOf = () => '503';
    for (let n = 0; n < 3; n++) await play.see('write', play.load(writer));
    const stored = play.server.objects.get(lost)!;
    play.server.objects.delete(lost);
    one.proxy.faultOf = () => undefined;
    await play.see('promote', one.lake.promote());
    play.state('one', one);
    play.server.objects.set(lost, stored);
    await play.level(one, writer);
    await play.looks(one);
    play.state('one', one);
  },
  'one that cannot lead': async (play) => {
    await play.open('writer', 'writer');
    const one = await play.open('one', 'standby');
    await writeFile(join(one.lake.directory, 'base'), '');
    await play.see('promote', one.lake.promote());
    play.state('one', one);
  },
};
/** One's fence is on its way while another one puts its own. */
const overtaken = async (play: Play, { isAsked }: { readonly isAsked: boolean }): Promise<void> => {
  const writer = await play.open('writer', 'writer');
  const [one, two] = [await play.open('one', 'standby'), await play.open('two', 'standby')];
  await play.level(one, writer);
  let isHeld = false;
  one.proxy.faultOf = (method, path) => {
    if (isHeld || method !== 'PUT' || !path.includes('/log/')) return undefined;
    isHeld = true;
    return 'late';
  };
  two.proxy.faultOf = (_, path) => (path.includes('/lease/') ? '503' : undefined);
  await play.see('close', writer.lake.close());
  await play.until('its fence is on its way', () => isHeld);
  play.state('one', one);
  const promoted = isAsked ? one.lake.promote() : undefined;
  two.proxy.faultOf = () => undefined;
  await play.until('two writes', () => two.lake.figures().store !== undefined);
  one.proxy.release();
  if (promoted) {
    await play.see('promote', promoted);
    await play.see('write', play.load(one));
    await play.see('write', play.load(two));
  } else {
    await play.see('write', play.load(two));
    await play.until('it follows', () => one.figures().state === 'following');
    await play.level(one, two);
  }
  play.state('one', one);
  play.state('two', two);
};
