/**
 * Where a scenario of a whole lake plays: the lake and its workers, what they were seen to do, and the names of
 * commits.
 */
import { renameSync, rmSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JobOutcome } from '../../../machines/pool.events.ts';
import { LakeError } from '../../errors.ts';
import { EventFeed, type EventStream } from '../../http/events.ts';
import { createWriter } from '../../formats/formats.ts';
import { parseId, zeroId } from '../../lake/ksuid.ts';
import { openLake } from '../../lake/lake.ts';
import type { Id, Lake, LakeEvent, LakeFact, LakeOptions, Pool, Snapshot } from '../../lake/lake.types.ts';
import { type ObjectStore, openObjects } from '../../lake/objects/objects.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { MessageRecord } from '../../recording/record.ts';
import type { LakeStep } from '../../recording/scenario.ts';
import { MachineWatch } from '../../recording/watch.ts';
import { startWorkerPool } from '../../workers/pool.ts';
import type { WorkerPool } from '../../workers/pool.types.ts';
import type { StepFound } from './lake-scenario-steps.ts';

type Options = Readonly<Record<string, unknown>>;
const points: ReadonlySet<string> = new Set([
  'before commit',
  'after commit',
  'before a file goes',
  'after a file went',
]);

/** One lake, opened and closed as a scenario wants it. */
export class Stage {
  directory = '';
  lake!: Lake;
  private started: WorkerPool | undefined;
  /** Snapshots that stay open. */
  readonly snapshots = new Map<string, Snapshot>();
  /** Objects that each commit added. */
  readonly added = new Map<Id, readonly Id[]>();
  private readonly options: Options;
  private readonly commits = new Map<string, Id>([['none', zeroId]]);
  /** Names of pools that were there once. */
  private readonly pools = new Map<Id, string>();
  private events: LakeEvent[] = [];
  private messages: MessageRecord[] = [];
  private feed: EventFeed | undefined;
  /** Of a subscriber that reads all that comes. */
  private readonly stream = new TextStream();
  private trapped: { readonly point: string; readonly spring: () => void } | undefined;
  private open = false;

  private constructor(options: Options) {
    this.options = options;
  }

  static async open(directory: string, options: Options): Promise<Stage> {
    const stage = new Stage(options);
    await stage.start(directory);
    return stage;
  }

  /** A lake on that directory, as the scenario's options want it. */
  openLake(directory: string, hooks: Partial<LakeOptions> = {}): Promise<Lake> {
    return openLake({ directory, objects: this.watched(openObjects(directory)), ...this.options, ...hooks });
  }

  async start(directory: string): Promise<void> {
    const watch = new MachineWatch();
    watch.listen({
      message: (record) => {
        this.messages.push(record);
      },
    });
    this.directory = directory;
    this.lake = await this.openLake(directory, {
      inspect: watch.inspect,
      drew: (_, fact) => {
        this.drew(fact);
      },
    });
    this.lake.onEvent((event) => {
      this.events.push(event);
      for (const pool of this.lake.pools()) this.pools.set(pool.id, pool.name);
      this.spring('after commit');
    });
    for (const pool of this.lake.pools()) this.pools.set(pool.id, pool.name);
    this.feed = new EventFeed(this.lake, { subscribersMax: 1, waitingMax: 1000, heartbeatMs: 0 });
    this.feed.subscribe({ response: this.stream, headers: {}, format: 'json', names: 'interface' });
    this.open = true;
  }
  async close(): Promise<void> {
    if (!this.open) return;
    this.open = false;
    for (const snapshot of this.snapshots.values()) snapshot.release();
    this.snapshots.clear();
    await this.lake.close();
    this.feed?.close();
  }
  async end(): Promise<void> {
    await this.close();
    await this.started?.close();
  }
  /** A restart; `copy`: the lake is first made what was copied there. The workers stay: they see files alone. */
  async reopen(copy?: string): Promise<void> {
    await this.close();
    if (copy !== undefined) {
      rmSync(this.directory, { recursive: true });
      renameSync(copy, this.directory);
    }
    await this.start(this.directory);
  }
  /** Started when the first step needs them. */
  get workers(): WorkerPool {
    this.started ??= startWorkerPool(
      { lakeDirectory: this.directory, threads: 1 },
      {
        pools: () => this.lake.pools(),
        pool: (reference) => this.lake.pool(reference),
        cut: () => this.lake.cut(),
        openSnapshot: (pool, commitish, cut) => this.lake.openSnapshot(pool, commitish, cut),
        openDiff: (pool, request) => this.lake.openDiff(pool, request),
        metaPage: (source, next) => this.lake.metaPage(source, next),
        views: () => this.lake.views(),
        view: (reference, version) => this.lake.view(reference, version),
        changeView: (change, author) => this.lake.changeView(change, author),
      },
    );
    return this.started;
  }

  beginStep(): void {
    this.events = [];
    this.stream.text = '';
    this.messages = [];
    this.trapped = undefined;
  }
  trap(point: string, spring: () => void): void {
    if (!points.has(point))
      throw new LakeError('scenario-invalid', { file: 'scenario', fault: `there is no crash "${point}"` });
    this.trapped = { point, spring };
  }
  private spring(point: string): void {
    if (this.trapped?.point === point) this.trapped.spring();
  }
  private drew(fact: LakeFact): void {
    if (fact.what === 'commit') this.added.set(fact.commit.id, fact.commit.adds);
    if (fact.what === 'event') this.spring('before commit');
  }
  private watched(objects: ObjectStore): ObjectStore {
    return Object.assign(Object.create(objects) as ObjectStore, {
      delete: async (id: Id) => {
        this.spring('before a file goes');
        await objects.delete(id);
        this.spring('after a file went');
      },
      list: () => objects.list(),
    });
  }

  /** Gives the step's commit the name that the step has for it; the same for the steps inside. */
  name(step: LakeStep, found: StepFound): void {
    if (typeof step['as'] === 'string' && found.commit !== undefined) this.commits.set(step['as'], found.commit);
    const inner = (step['together'] ?? step['close']) as readonly LakeStep[] | undefined;
    inner?.forEach((one, i) => {
      this.name(one, found.inner![i]);
    });
  }
  commit(name: string): Id {
    const id = this.commits.get(name) ?? parseId(name);
    if (id === undefined)
      throw new LakeError('scenario-invalid', { file: 'scenario', fault: `no commit is named "${name}"` });
    return id;
  }
  nameOf(commit: Id): string {
    return [...this.commits].find(([, id]) => id === commit)?.[0] ?? 'a commit without a name';
  }

  /** `p@main` -> the pool and the branch's name. */
  place(text: string): { readonly pool: Pool; readonly branch: string } {
    const [name, branch = 'main'] = text.split('@');
    return { pool: this.lake.pool(name), branch };
  }
  tip(place: string): string {
    try {
      const { pool, branch } = this.place(place);
      return this.nameOf(pool.tip(branch));
    } catch (error) {
      if (error instanceof LakeError) return error.code;
      throw error;
    }
  }
  /** Rows of a branch as SUP, one a line. */
  async rows(place: string): Promise<string> {
    const { pool, branch } = this.place(place);
    const snapshot = await this.lake.openSnapshot(`0x${pool.config.id}`, branch);
    try {
      return await snapshotRows(snapshot, this.directory);
    } finally {
      snapshot.release();
    }
  }
  /** Rows as SUP, one a line. */
  async query(text: string): Promise<string> {
    const { chunks } = await this.workers.query({ id: 'scenario', text, format: 'sup', control: false });
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    return Buffer.concat(parts).toString('utf8').trim();
  }

  eventsOfStep(): readonly string[] {
    return this.events.map((event) => this.described(event));
  }
  private described({ kind, poolId, poolName, branch, tag, commitId }: Omit<LakeEvent, 'id'>): string {
    if (kind.startsWith('view-')) return `${kind} ${poolName}`;
    const name = branch ?? tag;
    return `${kind} ${this.pools.get(poolId) ?? '?'}${name !== undefined ? `@${name}` : ''}${commitId !== undefined ? ` ${this.nameOf(commitId)}` : ''}`;
  }
  settledOfStep(): readonly string[] {
    return this.messages.flatMap(({ machine, actor, emitted = [] }) =>
      emitted
        .flatMap(({ outcomes }) => (outcomes ?? []) as readonly JobOutcome[])
        .flatMap((outcome) => (outcome.status === 'done' ? (outcome.events ?? []) : []))
        .map((event) => {
          const who = machine === 'pool' ? `pool ${this.pools.get(actor.slice('pool/'.length)) ?? '?'}` : actor;
          return `${who}: ${this.described(event)}`;
        }),
    );
  }
  async streamOfStep(): Promise<readonly string[]> {
    // What came in a tick is written at its end.
    await nextTurn();
    return [...this.stream.text.matchAll(/^event: (.*)\ndata: (.*)\nid: \d+\n\n/gm)].map(([, kind, data]) => {
      const fields = JSON.parse(data) as Readonly<Record<string, string>>;
      const { pool_id: pool, commit_id: commit, branch, tag } = fields;
      return this.described({
        kind: kind as LakeEvent['kind'],
        poolId: pool.slice(2),
        ...(commit !== undefined && { commitId: commit.slice(2) }),
        ...(branch !== undefined && { branch }),
        ...(tag !== undefined && { tag }),
      });
    });
  }
  /** All states that an actor went through, the one before the step included. */
  statesOfStep(actor: string): string {
    const id = actor.startsWith('pool ')
      ? `pool/${[...this.pools].find(([, name]) => name === actor.slice('pool '.length))?.[0] ?? ''}`
      : actor;
    const records = this.messages.filter((record) => record.actor === id);
    const states = records.flatMap((record, i) => [
      ...(i === 0 ? [record.from.join(' ')] : []),
      ...(record.outcome === 'stayed' || record.outcome === 'dropped' ? [] : [record.to.join(' ')]),
    ]);
    return states.join(', ');
  }
}

/** Keeps what is written to it. */
class TextStream implements EventStream {
  text = '';
  readonly destroyed = false;
  on(): void {}
  writeHead(): void {}
  flushHeaders(): void {}
  write(bytes: Uint8Array | string): boolean {
    this.text += Buffer.from(bytes as Uint8Array).toString('utf8');
    return true;
  }
  end(): void {}
  destroy(): void {}
}

/** Rows of a snapshot as SUP, one a line. */
export const snapshotRows = async (snapshot: Snapshot, directory: string): Promise<string> => {
  const writer = createWriter('sup');
  const chunks: Uint8Array[] = [];
  const objects = openObjects(directory);
  for await (const batch of scanObjects(
    { ...snapshot.pool.layout, objects, page: (request) => snapshot.page(request) },
    { ordered: true },
  ))
    chunks.push(...writer.write(batch));
  chunks.push(...writer.end());
  objects.close();
  return Buffer.concat(chunks).toString('utf8').trim();
};
