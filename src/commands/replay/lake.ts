/**
 * Replays a recording against the whole service, on a lake that begins empty: its jobs one by one, with the ids and
 * times that were drawn, and compares commits, tips and events. With kept bodies the objects are made from them again
 * and the rows of every tip are compared; without, commits get the objects as they were described and nobody looks into
 * them.
 */
import type { LakeJob } from '../../../machines/lake.events.ts';
import type { PoolJob, PoolTask } from '../../../machines/pool.events.ts';
import type { CsvDialect } from '../../formats/csv/dialect.ts';
import type { FormatName } from '../../formats/formats.ts';
import type { ContentCoding } from '../../formats/codings/encoding.ts';
import type { Payload } from '../../lake/jobs/job.ts';
import { LakeDraws } from '../../lake/draws.ts';
import { openLake } from '../../lake/lake.ts';
import type {
  CommitNote,
  Draws,
  Id,
  Lake,
  LakeEvent,
  LakeFact,
  ObjectMeta,
  ViewDefinition,
  PrepareRewrite,
  ReadyCommit,
} from '../../lake/lake.types.ts';
import { underId } from '../../lake/objects/named.ts';
import { type ObjectStore, openObjects } from '../../lake/objects/objects.ts';
import type { PoolFace } from '../../lake/pool/pool.ts';
import { bodiesFolder, readBody } from '../../recording/bodies.ts';
import { type Findings, FindingList } from '../../recording/differences.ts';
import type { ObjectsRecord, ObjectsSource, RecordedBody, RecordedObject, TipRecord } from '../../recording/record.ts';
import { startWorkerPool } from '../../workers/pool.ts';
import type { WorkerPool } from '../../workers/pool.types.ts';
import { faultOf, rowsOfTip } from '../recorder.ts';
import type { PlannedJob, ReplayPlan } from './plan.ts';

/** What a replay against the whole service went through, and what came out otherwise. */
interface LakeReplayReport extends Findings {
  readonly jobs: number;
  readonly commits: number;
  readonly events: number;
  readonly tips: number;
  /** Tips whose rows were compared, and all their rows. */
  readonly tipsRead: number;
  readonly rows: number;
}
/**
 * `recording`: path of its file. `directory`: of the lake, which must be empty or absent. `memoryBytesMax`: half of it
 * for a query, a quarter for loads. `indexBase`: as in the service that was recorded.
 */
interface LakeReplayOptions {
  readonly recording: string;
  readonly directory: string;
  readonly memoryBytesMax: number;
  readonly indexBase: 0 | 1 | undefined;
  readonly report: (fault: unknown) => void;
}

/** @throws LakeError for a directory that is no empty lake */
export const replayLake = async (plan: ReplayPlan, options: LakeReplayOptions): Promise<LakeReplayReport> => {
  const draws = new GivenDraws();
  const facts: { readonly pool: Id; readonly fact: LakeFact }[] = [];
  const objects = openObjects(options.directory);
  const lake = await openLake({
    directory: options.directory,
    objects,
    draws,
    drew: (pool, fact) => {
      facts.push({ pool, fact });
    },
    report: options.report,
    eventsKeptMax: plan.events.length + 1,
  });
  const workers = startWorkerPool(
    {
      lakeDirectory: options.directory,
      loadMemoryBytesMax: Math.floor(options.memoryBytesMax / 4),
      queryMemoryBytesMax: Math.floor(options.memoryBytesMax / 2),
      ...(options.indexBase !== undefined && { indexBase: options.indexBase }),
    },
    lake,
  );
  const events: LakeEvent[] = [];
  // Recordings do not have the name.
  lake.onEvent(({ poolName: _, ...event }) => {
    events.push(event);
  });
  const replay = new LakeReplay({ plan, options, lake, workers, objects, draws, facts });
  try {
    await replay.run(events);
  } finally {
    await workers.close();
    await lake.close();
  }
  return replay.report();
};

/** Ids, times and numbers that were drawn before; when they run out, new ones. */
class GivenDraws implements Draws {
  private ids: Id[] = [];
  private times: bigint[] = [];
  private event: number | undefined;
  private readonly own = new LakeDraws();
  give({
    ids,
    times,
    event,
  }: {
    readonly ids: readonly Id[];
    readonly times: readonly string[];
    readonly event: number | undefined;
  }): void {
    this.event = event;
    this.ids = [...ids];
    this.times = times.map(BigInt);
  }
  newId(): Id {
    return this.ids.shift() ?? this.own.newId();
  }
  nowNs(): bigint {
    return this.times.shift() ?? this.own.nowNs();
  }
  eventId(last: number): number {
    const { event } = this;
    this.event = undefined;
    return event ?? last + 1;
  }
}

interface LakeReplayTools {
  readonly plan: ReplayPlan;
  readonly options: LakeReplayOptions;
  readonly lake: Lake;
  readonly workers: WorkerPool;
  readonly objects: ObjectStore;
  readonly draws: GivenDraws;
  readonly facts: { readonly pool: Id; readonly fact: LakeFact }[];
}

/** The objects that come with a job. */
const broughtBy = (job: PoolTask): readonly Id[] => {
  switch (job.kind) {
    case 'load':
      return job.objects;
    case 'rewrite':
      return job.adds;
    case 'merge':
    case 'revert':
    case 'pick':
      return job.records?.change?.adds ?? [];
    default:
      return [];
  }
};
const isOf =
  (transaction: number) =>
  ({ job }: PlannedJob): boolean =>
    job.kind === 'transaction' && job.transaction === transaction;
const partsIn = (job: PlannedJob['job']): number => (job.kind === 'transaction' ? job.parts.length : 0);

class LakeReplay {
  private readonly tools: LakeReplayTools;
  private readonly findings = new FindingList();
  private counts = { jobs: 0, commits: 0, events: 0, tips: 0, tipsRead: 0, rows: 0 };
  private readonly withRows: boolean;
  private readonly faces = new Map<Id, PoolFace>();

  constructor(tools: LakeReplayTools) {
    this.tools = tools;
    this.withRows = !tools.plan.bodiesMissing;
    if (!this.withRows)
      this.findings.note(
        'the rows of the tips are not compared: not all bodies were kept (option -record.bodies of lake serve)',
      );
  }

  async run(events: readonly LakeEvent[]): Promise<void> {
    const { plan } = this.tools;
    const done = new Set<PlannedJob>();
    for (const job of plan.jobs)
      if (!done.has(job)) {
        const all = job.job.kind === 'transaction' ? plan.jobs.filter(isOf(job.job.transaction)) : [job];
        for (const one of all) done.add(one);
        await (job.job.kind === 'transaction' ? this.transaction(all) : this.job(job));
      }
    if (this.withRows) for (const failure of plan.failures) await this.failure(failure);
    this.counts.events = events.length;
    plan.events.forEach((expected, i) => {
      this.findings.compare(`event ${i + 1}`, 'event', expected, events[i]);
    });
    if (events.length > plan.events.length)
      this.findings.differ({ step: 'events', what: 'number', expected: plan.events.length, found: events.length });
    for (const tip of plan.tips) await this.tip(tip);
  }
  report(): LakeReplayReport {
    return { ...this.counts, ...this.findings.report() };
  }

  private async job(planned: PlannedJob): Promise<void> {
    const { draws, facts } = this.tools;
    const { job, step, outcome, fact, event } = planned;
    const place = `${step} (${job.kind}, job ${job.id})`;
    this.counts.jobs++;
    draws.give({ ids: fact?.what === 'commit' ? [fact.commit.id] : [], times: timesOf(fact), event });
    facts.length = 0;
    // What listeners heard is compared when all is done.
    const { id: _, ...expected } = outcome.status === 'done' ? { ...outcome, events: undefined } : outcome;
    let found: Readonly<Record<string, unknown>>;
    try {
      found = { status: 'done', ...(await this.doJob(planned, place)) };
    } catch (error) {
      found = { status: 'failed', ...faultOf(error) };
    }
    this.findings.compare(place, 'outcome', expected, found);
    if (!fact || outcome.status !== 'done') return;
    if (fact.what === 'commit') this.counts.commits++;
    this.findings.compare(place, fact.what, fact, facts.find((one) => one.fact.what === fact.what)?.fact);
  }

  /** The jobs of one transaction, done together. */
  private async transaction(planned: readonly PlannedJob[]): Promise<void> {
    const { draws, facts, lake } = this.tools;
    const jobs = [...planned].sort((a, b) => (a.pool < b.pool ? -1 : 1));
    const drawn = jobs.flatMap(({ commits = [] }) => commits);
    draws.give({
      // The first commits of all pools share one.
      ids: [...new Set(drawn.map(({ commit }) => commit.id))],
      times: drawn.map(({ commit }) => commit.dateNs),
      event: jobs[0].event,
    });
    facts.length = 0;
    let made: readonly Id[] | undefined;
    let failed: object | undefined;
    try {
      const parts: ReadyCommit[] = [];
      for (const one of jobs) parts.push(...(await this.partsOf(one)));
      made = (await lake.submitParts(parts)).commits;
    } catch (error) {
      failed = { status: 'failed', ...faultOf(error) };
    }
    let next = 0;
    for (const { pool, job, step, outcome, commits = [] } of jobs) {
      const place = `${step} (${job.kind}, job ${job.id})`;
      this.counts.jobs++;
      const own = made?.slice(next, (next += partsIn(job)));
      const { id: _, ...expected } = outcome.status === 'done' ? { ...outcome, events: undefined } : outcome;
      this.findings.compare(place, 'outcome', expected, failed ?? { status: 'done', commit: own![0], commits: own });
      for (const fact of commits) {
        this.counts.commits++;
        const found = facts.find(
          (one) => one.pool === pool && one.fact.what === 'commit' && one.fact.commit.id === fact.commit.id,
        );
        this.findings.compare(place, 'commit', fact, found?.fact);
      }
    }
  }
  private async partsOf({ pool, job, step, commits = [] }: PlannedJob): Promise<readonly ReadyCommit[]> {
    if (job.kind !== 'transaction') return [];
    const parts: ReadyCommit[] = [];
    for (const [i, task] of job.parts.entries()) {
      const objects = await this.made(this.face(pool), broughtBy(task), `${step}, part ${i + 1}`);
      parts.push({ pool, task, note: noteOf(commits[i]), objects });
    }
    return parts;
  }

  private async doJob({ pool, job, fact, outcome }: PlannedJob, place: string): Promise<object> {
    const { lake } = this.tools;
    if (isOfLake(job)) {
      const { id: _, ...task } = job;
      const request = fact?.what === 'pool' ? fact : { name: '' };
      await lake.submit(task, { request, ...(fact?.what === 'view' && { view: definitionOf(fact) }) });
      return {};
    }
    const face = this.face(pool);
    const { id: _, ...task } = job as PoolJob;
    const objects = await this.made(face, broughtBy(task), place);
    // What the queries of that time kept open is not known: those that were found are looked at again, and no others.
    const candidates =
      job.kind === 'vacuum' && outcome.status === 'done'
        ? (outcome.objects ?? []).map((id) => face.store.entry(id)).filter((entry) => entry !== undefined)
        : [];
    const { commit, objects: told } = await face.submit(task, {
      note: noteOf(fact),
      objects,
      candidates,
    } satisfies Payload);
    return { ...(commit !== undefined && { commit }), ...(told && { objects: told }) };
  }

  /** A pool, also one that was deleted since. */
  private face(pool: Id): PoolFace {
    let face = this.faces.get(pool);
    if (!face) this.faces.set(pool, (face = this.tools.lake.pool(`0x${pool}`) as PoolFace));
    return face;
  }

  /** The objects that a job brings: made again, or as they were described. */
  private async made(face: PoolFace, ids: readonly Id[], place: string): Promise<readonly ObjectMeta[]> {
    const lines = new Set(ids.map((id) => this.tools.plan.objects.get(id)).filter((line) => line !== undefined));
    const made = new Map<Id, ObjectMeta>();
    for (const line of lines)
      for (const object of this.withRows ? await this.makeAgain(face, line, place) : line.objects.map(described))
        made.set(object.id, object);
    return ids.map((id) => {
      const object = made.get(id);
      if (!object) throw new Error(`the recording tells nothing of object ${id}`);
      return object;
    });
  }

  private async makeAgain(face: PoolFace, line: ObjectsRecord, place: string): Promise<readonly ObjectMeta[]> {
    const { lake, workers } = this.tools;
    const { from } = line;
    if (from.what === 'query')
      return Promise.all(
        line.objects.map(async (object, i) =>
          this.placed({ ...described(object), inline: await this.body(from.bodies[i]) }, object),
        ),
      );
    let found: readonly ObjectMeta[];
    if (from.what === 'body') found = (await this.load(face, line)).objects;
    else {
      const prepare = preparedAgain(workers, from);
      const snapshot = await lake.openSnapshot(`0x${line.pool}`, `0x${from.commit}`);
      try {
        const { removes, adds } = await prepare(snapshot);
        this.findings.compare(place, 'objects to be removed', from.removes, removes);
        found = adds;
      } finally {
        snapshot.release();
      }
    }
    this.findings.compare(place, 'objects', line.objects.map(shape), found.map(shape));
    return Promise.all(line.objects.map((object, i) => (found[i] ? this.placed(found[i], object) : described(object))));
  }
  private async load(face: PoolFace, { from }: ObjectsRecord): Promise<{ readonly objects: readonly ObjectMeta[] }> {
    if (from.what !== 'body' || !from.body) throw new Error('the recording tells nothing of the body');
    const bytes = await this.body(from.body);
    return this.tools.workers.load({
      pool: face.config,
      format: from.format as FormatName | 'auto',
      form: {
        ...(from.csvDelimiter !== undefined && { csvDelimiter: from.csvDelimiter }),
        ...(from.csv && { csv: from.csv as CsvDialect }),
        ...(from.unnest && { unnest: true }),
        ...(from.utf8 && { utf8: from.utf8 }),
        ...(from.errors && { errors: from.errors }),
        ...(from.time !== undefined && { time: from.time }),
        ...(from.charset !== undefined && { charset: from.charset }),
        ...(from.upsert && { upsert: from.upsert }),
      },
      ...(from.contentCodings && { contentCodings: from.contentCodings as readonly ContentCoding[] }),
      body: chunked(bytes),
    });
  }
  private body(body: RecordedBody): Promise<Uint8Array> {
    return readBody(bodiesFolder(this.tools.options.recording), body);
  }

  /** The object under the id that it had, in a file if it was in one. */
  private async placed(object: ObjectMeta, { id, inline }: RecordedObject): Promise<ObjectMeta> {
    const { objects } = this.tools;
    const bytes = object.inline ?? (await objects.readRange(object.id, 0, object.size));
    if (!object.inline) await objects.delete(object.id);
    const { inline: _, ...meta } = object;
    if (inline) return { ...meta, id, inline: bytes };
    await objects.put(id, underId(bytes, id));
    return { ...meta, id };
  }

  /**
   * A body that could not be loaded cannot be loaded now, for the same reason; what depends on the client or on the
   * service of that time is left out.
   */
  private async failure(line: ObjectsRecord): Promise<void> {
    const { lake } = this.tools;
    const { from, error } = line;
    const pool = lake.pools().find((p) => p.id === line.pool);
    if (!pool || !error || from.what !== 'body' || !from.body?.kept || outside.has(error.code)) return;
    let found: unknown;
    try {
      await this.load(lake.pool(`0x${pool.id}`) as PoolFace, line);
    } catch (fault) {
      found = faultOf(fault);
    }
    this.findings.compare(`load ${line.seq}`, 'error', error, found);
  }

  private async tip({ pool, branch, commit, rows }: TipRecord): Promise<void> {
    const { lake, workers } = this.tools;
    const step = `tip of ${pool} ${branch}`;
    this.counts.tips++;
    const face = lake.pools().some((p) => p.id === pool) ? lake.pool(`0x${pool}`) : undefined;
    const found = face?.branches().find((b) => b.name === branch)?.commit;
    this.findings.compare(step, 'commit', commit, found);
    if (!this.withRows || found === undefined) return;
    if (!rows) {
      this.findings.note(`the rows of ${step} are not compared: the recording has none of it`);
      return;
    }
    this.counts.tipsRead++;
    this.counts.rows += rows.count;
    this.findings.compare(step, 'rows', rows, await rowsOfTip(workers, pool, branch));
  }
}

const isOfLake = (job: PoolJob | LakeJob): job is LakeJob => / (?:pool|view)$/.test(job.kind);
const definitionOf = ({
  what: _,
  version: _v,
  tsNs: _t,
  ...definition
}: Extract<PlannedJob['fact'], { readonly what: 'view' }>): ViewDefinition => definition;

/** Errors that are not the body's. */
const outside: ReadonlySet<string> = new Set([
  'load-cancelled',
  'worker-died',
  'worker-replaced',
  'worker-tasks-full',
  'query-memory-busy',
  'workers-closed',
  'internal',
]);
const chunkBytes = 256 << 10;

async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    yield bytes.slice(at, at + chunkBytes);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

const timesOf = (fact: PlannedJob['fact']): readonly string[] => {
  if (!fact || fact.what === 'event') return [];
  return [fact.what === 'commit' ? fact.commit.dateNs : fact.tsNs];
};
const noteOf = (fact: PlannedJob['fact']): CommitNote => {
  if (fact?.what !== 'commit') return {};
  const { author, message, meta } = fact.commit;
  return { ...(author && { author }), ...(message && { body: message }), ...(meta !== 'null' && { meta }) };
};

const described = ({ id, count, size, min, max, inline }: RecordedObject): ObjectMeta => ({
  id,
  count,
  size,
  min: { text: min.text, sort: Buffer.from(min.sort, 'base64') },
  max: { text: max.text, sort: Buffer.from(max.sort, 'base64') },
  ...(inline && { inline: new Uint8Array(0) }),
});
/** What of an object depends neither on its id nor on how its bytes are compressed, which Node has a say in. */
const shape = ({ count, min, max }: ObjectMeta | RecordedObject): object => ({
  count,
  min: min.text,
  max: max.text,
});

/** What made the objects of a rewrite, to make them again. */
const preparedAgain = (
  workers: WorkerPool,
  from: Exclude<ObjectsSource, { readonly what: 'body' | 'query' }>,
): PrepareRewrite => {
  switch (from.what) {
    case 'compact':
      return workers.prepareCompact(from.removes);
    case 'update':
      return workers.prepareUpdate({ where: from.where, put: from.put });
    case 'delete where':
      return workers.prepareDelete(from.where);
  }
};
