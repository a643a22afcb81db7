/** What can be seen of a lake and its pools from outside, with charts that are given. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { LakeError } from '../../../src/errors.ts';
import { LakeDraws } from '../../../src/lake/draws.ts';
import { newId } from '../../../src/lake/ksuid.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type {
  CommitTerms,
  KeyBound,
  Lake,
  LakeCharts,
  LakeOptions,
  ObjectMeta,
  TransactionChange,
} from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import type { LakeStore } from '../../../src/lake/store/store.types.ts';
import { StoreFailure } from '../../../src/lake/tables/tables.ts';
import { sortKeyBytes } from '../../../src/vectors/sort-key.ts';
import { intValue } from '../../../src/vectors/value.ts';

/** What a mutant leaves undone is never done: so long is waited for it. */
const unansweredMs = 6000;
const stepsMax = 20_000;
const unanswered = 'is not answered';

/** Plays everything, each part on a lake of its own, up to the first thing that is not answered. */
export const seenOfLake = async (charts: LakeCharts, played: PlayParts = parts): Promise<readonly string[]> => {
  const seen: string[] = [];
  for (const [name, part] of Object.entries(played)) {
    const directory = await mkdtemp(join(tmpdir(), 'lake-live-'));
    const play = new Play(directory, charts, (text) => seen.push(`${name}: ${text}`));
    try {
      await part(play);
    } catch (fault) {
      // Without what it asked for the rest makes no sense.
      if (!(fault instanceof Unanswered)) seen.push(`${name}: ends with ${String(fault)}`);
      return seen;
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  return seen;
};

class Unanswered extends Error {}
const codeOf = (error: unknown): string => (error instanceof LakeError ? error.code : `broke: ${String(error)}`);

class Play {
  readonly directory: string;
  private readonly charts: LakeCharts;
  readonly say: (text: string) => void;
  private steps = 0;
  private readonly events: string[] = [];
  /** What the next draws throw. */
  faults: (Error | undefined)[] = [];
  lake!: Lake;

  constructor(directory: string, charts: LakeCharts, say: (text: string) => void) {
    this.directory = directory;
    this.charts = charts;
    this.say = say;
  }

  async open(options: Partial<LakeOptions> = {}): Promise<void> {
    const own = new LakeDraws();
    const draw = <T>(drawn: T): T => {
      const fault = this.faults.shift();
      if (fault) throw fault;
      return drawn;
    };
    await this.see('open', async () => {
      this.lake = await openLake({
        directory: this.directory,
        objects: openObjects(this.directory),
        charts: this.charts,
        // A chart that goes round without end would let nothing else happen.
        inspect: () => {
          if (++this.steps > stepsMax) throw new Error('it goes round without end');
        },
        draws: { newId: () => own.newId(), nowNs: () => draw(own.nowNs()) },
        ...options,
      });
      this.lake.onEvent(({ kind, branch = '' }) => {
        this.events.push(`event ${kind} ${branch}`);
      });
    });
  }
  see(what: string, act: () => Promise<unknown>): Promise<void> {
    return this.seeAll(what, [Promise.resolve().then(act)]);
  }
  /**
   * Tells how each of what was begun together ended, and which events came meanwhile: in no order, since pools and the
   * lake go on side by side. What has no answer ends the part.
   */
  async seeAll(what: string, begun: readonly Promise<unknown>[]): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, unansweredMs, unanswered);
    });
    const ends = await Promise.all(begun.map((one) => Promise.race([one.then(() => 'done', codeOf), late])));
    clearTimeout(timer);
    for (const event of this.events.splice(0).sort()) this.say(event);
    for (const end of ends) this.say(`${what} ${end}`);
    if (ends.includes(unanswered)) throw new Unanswered();
  }
  load(branch = 'main'): Promise<unknown> {
    return this.lake.pool('p').load(branch, [object()]);
  }
  /** A transaction over both pools, and how many events came before its answer. */
  async both(terms: CommitTerms = {}): Promise<unknown> {
    const made = await this.lake.transact(['p', 'q'].map((pool) => ({ ...loadOf(pool), note: { terms } })));
    this.say(`events before it was answered ${this.events.length}`);
    return made;
  }
  create(name: string): Promise<unknown> {
    return this.lake.createPool({ name });
  }
  status(): void {
    this.say(`status ${this.lake.status().state}`);
  }
  queues(): void {
    for (const { pool, waiting, running } of this.lake.queues()) this.say(`queue of ${pool} ${waiting} ${running}`);
  }
}

const loadOf = (pool: string): TransactionChange => ({
  pool,
  branch: 'main',
  note: {},
  what: 'load',
  objects: [object()],
});

type PlayParts = Readonly<Record<string, (play: Play) => Promise<void>>>;
/** Transactions over two pools: one that is made, one that is not, and ones that a pool refuses. */
export const transactionParts: PlayParts = {
  transactions: async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    await play.see('create', () => play.create('q'));
    await play.see('both', () => play.both());
    await play.see('load', () => play.load());
    await play.see('on an old tip', () => play.both({ ifTip: ['1'.repeat(40)] }));
    const { commit } = play.lake.pool('p').branch('main');
    await play.seeAll('after a load', [
      play.load(),
      play.lake.transact([{ ...loadOf('p'), note: { terms: { ifTip: [commit] } } }, loadOf('q')]),
    ]);
    await play.see('both', () => play.both());
    await play.see('load', () => play.load());
    play.queues();
    const late = play.both();
    const closed = play.lake.close();
    await play.seeAll('late', [late.catch(() => undefined)]);
    await play.see('close', () => closed);
  },
  'a pool whose queue is full': async (play) => {
    await play.open({ queueJobsMax: 1 });
    await play.see('create', () => play.create('p'));
    await play.see('create', () => play.create('q'));
    const second = [...play.lake.pools()].sort((a, b) => (a.id < b.id ? -1 : 1))[1]!;
    const pool = play.lake.pool(`0x${second.id}`);
    const jobs = [1, 2, 3].map(() => pool.load('main', [object()]).catch(() => undefined));
    await play.see('both', () => play.both());
    await play.seeAll('load', jobs);
    await play.see('load', () => play.load());
    await play.see('close', () => play.lake.close());
  },
  'only one pool, which refuses': async (play) => {
    await play.open({ queueJobsMax: 1 });
    await play.see('create', () => play.create('p'));
    const jobs = [1, 2, 3].map(() => play.load().catch(() => undefined));
    await play.see('one', () =>
      play.lake.transact([{ pool: 'p', branch: 'main', note: {}, what: 'load', objects: [object()] }]),
    );
    await play.seeAll('load', jobs);
    await play.see('close', () => play.lake.close());
  },
};

const parts: PlayParts = {
  /** Changes of every kind, one after the other and many at once, and what is there after a restart. */
  changes: async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    await play.see('create again', () => play.create('p'));
    await play.see('load', () => play.load());
    await play.see('load into no branch', () => play.load('gone'));
    await play.see('many', () =>
      Promise.all([play.load(), play.load(), play.lake.pool('p').createBranch('kid', '0'.repeat(40)), play.load()]),
    );
    play.queues();
    await play.see('two pools', () => Promise.all([play.create('q'), play.create('r')]));
    await play.see('rename', () => play.lake.renamePool('q', 's'));
    const pool = play.lake.pool('p');
    await play.see('delete the pool', () => play.lake.deletePool('p'));
    await play.see('load into it', () => pool.load('main', [object()]));
    await play.see('many of all', async () => {
      await play.create('p');
      await Promise.all([play.load(), play.load()]);
    });
    play.queues();
    await play.see('close', () => play.lake.close());
    play.status();
    await play.open();
    await play.see('load', () => play.load());
    await play.see('close', () => play.lake.close());
  },
  /** What waits when the lake is closed is done, what comes then is refused. */
  closing: async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    const begun = [play.load(), play.lake.pool('p').createBranch('a', '0'.repeat(40)), play.load(), play.create('q')];
    for (const one of begun) one.catch(() => undefined);
    const closed = play.lake.close();
    play.status();
    await play.seeAll('begun', begun);
    await play.see('load', () => play.load());
    await play.see('create', () => play.create('r'));
    await play.see('close', () => closed);
    play.status();
  },
  'closing idle pools': async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    await play.see('load', () => play.load());
    await play.see('close', () => play.lake.close());
  },
  'full queue': async (play) => {
    await play.open({ queueJobsMax: 1 });
    const jobs = ['a', 'b', 'c'].map((name) => play.create(name));
    await play.seeAll('create', jobs);
    await play.see('close', () => play.lake.close());
  },
  'loads behind loads': async (play) => {
    const bucket = new SlowBucket();
    await play.open({ store: bucket });
    await play.see('create', () => play.create('p'));
    const begun: Promise<unknown>[] = [];
    const behind = async (what: string, work: Promise<unknown>): Promise<void> => {
      begun.push(work.then(() => play.say(what), codeOf));
      await later(turnMs);
    };
    bucket.isAway = true;
    for (const what of ['first', 'second', 'third']) await behind(what, play.load());
    await behind('branch', play.lake.pool('p').createBranch('kid', '0'.repeat(40)));
    await behind('fourth', play.load());
    play.queues();
    for (let record = 1; record <= 5; record++) {
      bucket.come(1);
      await later(turnMs);
      play.queues();
    }
    await play.seeAll('all', begun.splice(0));
    for (const what of ['fifth', 'sixth', 'seventh']) await behind(what, play.load());
    const closed = play.lake.close();
    await behind('late', play.load());
    for (let record = 1; record <= 3; record++) {
      bucket.come(1);
      await later(turnMs);
    }
    await play.seeAll('begun', begun);
    await play.see('close', () => closed);
  },
  'a job that breaks': async (play) => {
    await play.open({
      report: () => {
        throw new Error('nobody listens');
      },
    });
    await play.see('create', () => play.create('p'));
    play.faults = [new Error('our mistake')];
    await play.see('load', () => play.load());
    await play.see('load again', () => play.load());
    play.faults = [new Error('our mistake')];
    const jobs = [play.create('q'), play.create('r')];
    await play.seeAll('create', jobs);
    play.faults = [undefined, new Error('our mistake')];
    const last = [play.load(), play.lake.pool('p').createBranch('kid', '0'.repeat(40)), play.load()];
    for (const one of last) one.catch(() => undefined);
    const closed = play.lake.close();
    await play.seeAll('job', last);
    await play.see('close', () => closed);
  },
  'a store that fails': async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    await play.see('load', () => play.load());
    play.faults = [new StoreFailure('I/O error')];
    const jobs = [play.load(), play.lake.pool('p').createBranch('kid', '0'.repeat(40)), play.load()];
    await play.seeAll('job', jobs);
    play.status();
    await play.see('load', () => play.load());
    await play.see('create', () => play.create('q'));
    await play.see('close', () => play.lake.close());
    play.status();
  },
  "a store that fails under the lake's own job": async (play) => {
    await play.open();
    play.faults = [new StoreFailure('I/O error')];
    const jobs = [play.create('p'), play.create('q')];
    await play.seeAll('create', jobs);
    play.status();
    await play.see('close', () => play.lake.close());
  },
  'a store that fails while the lake closes': async (play) => {
    await play.open();
    await play.see('create', () => play.create('p'));
    await play.see('load', () => play.load());
    play.faults = [undefined, new StoreFailure('I/O error')];
    const jobs = [play.load(), play.lake.pool('p').createBranch('kid', '0'.repeat(40)), play.load()];
    for (const one of jobs) one.catch(() => undefined);
    const closed = play.lake.close();
    await play.seeAll('job', jobs);
    await play.see('close', () => closed);
  },
  'a lake that cannot start': async (play) => {
    await play.open();
    const first = play.lake;
    await play.open();
    await play.see('close', () => first.close());
    const objects = openObjects(play.directory);
    await play.open({
      objects: Object.assign(Object.create(objects) as typeof objects, {
        list: () => {
          throw new Error('no folder');
        },
      }),
    });
    await play.open();
    await play.see('close', () => play.lake.close());
  },
};

/** What goes on in one process has gone as far as it goes after this time. */
const turnMs = 50;
/** A store whose bucket has records when it is told to, while it is away. */
class SlowBucket implements LakeStore {
  readonly waits = true;
  isAway = false;
  private waiting: (() => void)[] = [];
  /** So many more of the records that wait are there. */
  come(records: number): void {
    for (const resolve of this.waiting.splice(0, records)) resolve();
  }
  settled(): Promise<void> {
    if (!this.isAway) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }
  check(): void {}
  add(): void {}
  stop(): void {}
  neededFrom(segment: number): number {
    return segment;
  }
  objectGone(): boolean {
    return false;
  }
  async prepare(): Promise<void> {}
  async attach(): Promise<void> {}
  async putObjects(): Promise<void> {}
  async close(): Promise<void> {}
  figures(): never {
    throw new Error('nobody asks');
  }
}

let keys = 0;
const object = (): ObjectMeta => {
  const key = keys++;
  const bound: KeyBound = { text: String(key), sort: sortKeyBytes(intValue(key)) };
  return { id: newId(), count: 1, size: 9, min: bound, max: bound, inline: new TextEncoder().encode('row') };
};
