/**
 * `lake serve -record`: writes down what enters the machines, what the lake draws and tells, and which bodies came
 * (src/recording has the form of it).
 *
 * - Nothing that is written is waited for by a request; only closing waits.
 * - It sees bodies and objects by standing between the routes and the workers, and between the workers and the lake.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { LakeError, messageOf } from '../errors.ts';
import type {
  Id,
  Lake,
  LakeFact,
  LakeOptions,
  ObjectMeta,
  PrepareRewrite,
  Rewrite,
  Snapshot,
} from '../lake/lake.types.ts';
import type { ObjectStore } from '../lake/objects/objects.ts';
import { BodyKeeper, bodiesFolder } from '../recording/bodies.ts';
import { partsOf } from '../recording/reader.ts';
import {
  type ObjectsSource,
  type RecordedBody,
  type RecordedObject,
  type RecordLine,
  recordFormat,
} from '../recording/record.ts';
import { digestRows, type TipRows } from '../recording/tip-rows.ts';
import type { MachineWatch } from '../recording/watch.ts';
import { RecordingWriter } from '../recording/writer.ts';
import type { LakeServices, LoadReply, LoadRequest, WorkerPool } from '../workers/pool.types.ts';

/** What is recorded, and where. */
interface RecorderOptions {
  readonly path: string;
  /** Bytes of a file before the next one begins, about. */
  readonly fileBytesMax: number;
  /** Files that are kept, the one that is written included. */
  readonly filesMax: number;
  readonly keepBodies: boolean;
  /** Bytes of all kept bodies together. */
  readonly bodyBytesMax: number;
  readonly watch: MachineWatch;
  /** Of the service. */
  readonly version: string;
  /** What the service runs with, for the header. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly report: (fault: unknown) => void;
  /** Lines that may wait for the disk; default: the writer's. */
  readonly queueLinesMax?: number;
}

/** How long the rows of tips are read at the end; tips that are left then are told without rows. */
const tipsMsMax = 30_000;

/** The recording of a service that runs. */
export class Recorder {
  private readonly options: RecorderOptions;
  private readonly writer: RecordingWriter;
  private readonly bodies: BodyKeeper;
  private readonly unlisten: () => void;
  private lake: Lake | undefined;
  private unlistenLake: () => void = () => undefined;
  private readonly pending = new Set<Promise<void>>();

  private constructor(
    options: RecorderOptions,
    writer: RecordingWriter,
    bodies: BodyKeeper,
    standing: { now: () => readonly RecordLine[] },
  ) {
    this.options = options;
    this.writer = writer;
    this.bodies = bodies;
    standing.now = () => [...options.watch.actors({ snapshots: true }), ...this.given()];
    this.unlisten = options.watch.listen({
      actor: (record) => {
        writer.write(record);
      },
      message: (record) => {
        writer.write(record);
      },
    });
  }

  /**
   * Begins a recording before anything else has begun. One of that name is kept as `FILE.before`, in place of the one
   * before it.
   */
  static async open(options: RecorderOptions): Promise<Recorder> {
    const { path, report, watch } = options;
    const folder = bodiesFolder(path);
    setAside(path);
    const standing: { now: () => readonly RecordLine[] } = { now: () => [] };
    const writer = await RecordingWriter.open({
      path,
      fileBytesMax: options.fileBytesMax,
      filesMax: options.filesMax,
      report,
      nextSeq: () => watch.nextSeq(),
      standing: () => standing.now(),
      ...(options.queueLinesMax !== undefined && { queueLinesMax: options.queueLinesMax }),
      header: {
        format: recordFormat,
        service: options.version,
        recording: randomUUID(),
        ms: Date.now(),
        bodies: options.keepBodies ? 'kept' : 'digest',
        options: options.options,
      },
    });
    return new Recorder(
      options,
      writer,
      new BodyKeeper({ folder, keep: options.keepBodies, bytesMax: options.bodyBytesMax, report }),
      standing,
    );
  }

  /** For `openLake`. */
  readonly lakeHooks: Pick<LakeOptions, 'drew'> = {
    drew: (pool: Id, fact: LakeFact) => {
      this.tell((at) => ({ kind: 'drawn', ...at, pool, fact }));
    },
  };

  /** The lake has opened: what it holds, and its events from now on. */
  begin(lake: Lake): void {
    this.lake = lake;
    for (const line of this.given()) this.writer.write(line);
    this.unlistenLake = lake.onEvent(({ poolName: _, ...event }) => {
      this.tell((at) => ({ kind: 'event', ...at, event }));
    });
  }

  /** The lake as the workers see it: objects that a query's own operator makes are kept. */
  lakeFor(lake: Lake, objects: ObjectStore): LakeServices {
    return overlaid<LakeServices>(lake, {
      pool: (reference) => {
        const pool = lake.pool(reference);
        return overlaid(pool, {
          load: (branch, made, note) => {
            this.keepObjects(pool.config.id, made, objects);
            return pool.load(branch, made, note);
          },
          deleteWhere: (branch, prepare, note) =>
            pool.deleteWhere(branch, this.keeping(pool.config.id, prepare, objects), note),
          update: (branch, prepare, note) => pool.update(branch, this.keeping(pool.config.id, prepare, objects), note),
          upsert: (branch, made, prepare, note) =>
            pool.upsert(branch, made, this.keeping(pool.config.id, prepare, objects), note),
        });
      },
    });
  }

  /** The workers as the routes see them. */
  workersFor(workers: WorkerPool, objects: ObjectStore): WorkerPool {
    return overlaid<WorkerPool>(workers, {
      load: async (request) => {
        const reply = await this.load(workers, request);
        // What the body was is told there: these rows are as they are.
        if (request.rejects && reply.rejected?.length)
          this.keepObjects(request.rejects.pool.id, reply.rejected, objects);
        return reply;
      },
      ingest: async (request) => {
        const found = new Map<string, Id>();
        const target: typeof request.target = async (name) => {
          const made = await request.target(name);
          found.set(name, made.pool.id);
          return made;
        };
        const reply = await workers.ingest({ ...request, target });
        for (const [name, outcome] of reply.pools)
          if (!('error' in outcome) && outcome.field === undefined)
            this.keepObjects(found.get(name)!, outcome.objects, objects);
        return reply;
      },
      prepareDelete: (where, lake, warn) =>
        this.preparing(workers.prepareDelete(where, lake, warn), objects, (snapshot, removes) => ({
          what: 'delete where',
          where,
          commit: snapshot.commit,
          removes,
        })),
      prepareUpdate: (update, lake, warn) =>
        this.preparing(workers.prepareUpdate(update, lake, warn), objects, (snapshot, removes) => ({
          what: 'update',
          ...update,
          commit: snapshot.commit,
          removes,
        })),
      // What it is made of is on three sides: the objects themselves are kept.
      prepareRecords: (rule) => {
        const prepare = workers.prepareRecords(rule);
        return async (sides, asked) => {
          const prepared = await prepare(sides, asked);
          if (prepared.adds.length > 0) this.keepObjects(sides.pool.id, prepared.adds, objects);
          return prepared;
        };
      },
      // The rows that stay are kept as they are: what replaces them is made of the body.
      prepareUpsert: (keys, identity) => async (snapshot) =>
        this.keeping(snapshot.pool.id, workers.prepareUpsert(keys, identity), objects)(snapshot),
      prepareBulk: (operations, tell) => async (snapshot) =>
        this.keeping(snapshot.pool.id, workers.prepareBulk(operations, tell), objects)(snapshot),
      prepareCompact: (ids) =>
        this.preparing(workers.prepareCompact(ids), objects, (snapshot, removes) => ({
          what: 'compact',
          commit: snapshot.commit,
          removes: removes.length > 0 ? removes : ids,
        })),
    });
  }

  /** Requests have ended: the tips as they are now; with bodies, their rows too. */
  async tips(workers: WorkerPool): Promise<void> {
    const end = performance.now() + tipsMsMax;
    for (const config of this.lake?.pools() ?? []) {
      for (const { name: branch, commit } of this.lake!.pool(`0x${config.id}`).branches()) {
        const rows =
          this.bodies.keeps && performance.now() < end ? await this.rowsOf(workers, config.id, branch) : undefined;
        this.tell((at) => ({ kind: 'tip', ...at, pool: config.id, branch, commit, ...(rows && { rows }) }));
      }
    }
  }

  /** The lake has closed: writes what waits. */
  async close(): Promise<void> {
    this.unlistenLake();
    this.unlisten();
    while (this.pending.size > 0) await Promise.allSettled(this.pending);
    await this.bodies.close();
    this.tell((at) => ({ kind: 'end', ...at }));
    await this.writer.close();
  }

  private tell(line: (at: { readonly seq: number; readonly ms: number }) => RecordLine): void {
    this.writer.write(line({ seq: this.options.watch.nextSeq(), ms: Date.now() }));
  }

  private given(): readonly RecordLine[] {
    const { lake } = this;
    if (!lake || lake.status().state === 'closed') return [];
    return lake.pools().map((config) => ({
      kind: 'given',
      seq: this.options.watch.nextSeq(),
      ms: Date.now(),
      pool: config.id,
      name: config.name,
      branches: lake
        .pool(`0x${config.id}`)
        .branches()
        .map((b) => [b.name, b.commit] as const),
    }));
  }

  private async load(workers: WorkerPool, request: LoadRequest): Promise<LoadReply> {
    const { pool, format, form, contentCodings } = request;
    let body: Promise<RecordedBody> | undefined;
    const tell = (objects: readonly ObjectMeta[], error?: unknown): void => {
      const at = { seq: this.options.watch.nextSeq(), ms: Date.now() };
      this.later(async () => {
        const from: ObjectsSource = {
          what: 'body',
          format: format ?? 'auto',
          ...form,
          ...(contentCodings?.length && { contentCodings }),
          ...(body && { body: await body }),
        };
        this.writer.write({
          kind: 'objects',
          ...at,
          pool: pool.id,
          from,
          objects: objects.map(recorded),
          ...(error !== undefined && { error: faultOf(error) }),
        });
      });
    };
    try {
      const { whole, begun, rejects, client, watch } = request;
      const reply = await workers.load({
        pool,
        format,
        form,
        contentCodings,
        rejects,
        begun,
        client,
        watch,
        get signal() {
          return request.signal;
        },
        body: this.bodies.tee(request.body, (one) => {
          body = one;
        }),
        ...(whole && {
          whole: async () => {
            const bytes = await whole();
            body = this.bodies.keep(bytes);
            return bytes;
          },
        }),
      });
      tell(reply.objects);
      return reply;
    } catch (error) {
      tell([], error);
      throw error;
    }
  }

  /** What a query's own statement makes is kept as it is. */
  private keeping(pool: Id, prepare: PrepareRewrite, objects: ObjectStore): PrepareRewrite {
    return async (snapshot) => {
      const rewrite = await prepare(snapshot);
      this.keepObjects(pool, rewrite.adds, objects);
      return rewrite;
    };
  }

  private preparing(
    prepare: PrepareRewrite,
    files: ObjectStore,
    source: (snapshot: Snapshot, removes: readonly Id[]) => ObjectsSource,
  ): PrepareRewrite {
    return async (snapshot): Promise<Rewrite> => {
      const tell = ({ removes, adds }: Rewrite, error?: unknown): void => {
        this.tell((at) => ({
          kind: 'objects',
          ...at,
          pool: snapshot.pool.id,
          from: source(snapshot, removes),
          objects: adds.map(recorded),
          ...(error !== undefined && { error: faultOf(error) }),
        }));
      };
      try {
        const rewrite = await prepare(snapshot);
        // What is made again may be other rows then.
        if (rewrite.varies) this.keepObjects(snapshot.pool.id, rewrite.adds, files);
        else tell(rewrite);
        return rewrite;
      } catch (error) {
        tell({ removes: [], adds: [] }, error);
        throw error;
      }
    };
  }

  private keepObjects(pool: Id, made: readonly ObjectMeta[], files: ObjectStore): void {
    const at = { seq: this.options.watch.nextSeq(), ms: Date.now() };
    this.later(async () => {
      const bodies: RecordedBody[] = [];
      for (const object of this.bodies.keeps ? made : [])
        bodies.push(await this.bodies.keep(object.inline ?? (await files.readRange(object.id, 0, object.size))));
      this.writer.write({ kind: 'objects', ...at, pool, from: { what: 'query', bodies }, objects: made.map(recorded) });
    });
  }
  private later(work: () => Promise<void>): void {
    const running = work()
      .catch(this.options.report)
      .finally(() => {
        this.pending.delete(running);
      });
    this.pending.add(running);
  }

  private async rowsOf(workers: WorkerPool, pool: Id, branch: string): Promise<TipRows | undefined> {
    try {
      return await rowsOfTip(workers, pool, branch);
    } catch (fault) {
      this.options.report(fault);
      return undefined;
    }
  }
}

/** The rows of a branch as they are now. */
export const rowsOfTip = async (workers: WorkerPool, pool: Id, branch: string): Promise<TipRows> => {
  const { chunks } = await workers.query({
    id: `rows of ${pool} ${branch}`,
    text: '',
    format: 'sup',
    control: false,
    head: { pool: `0x${pool}`, branch },
  });
  return digestRows(chunks);
};

const recorded = ({ id, count, size, min, max, inline }: ObjectMeta): RecordedObject => ({
  id,
  count,
  size,
  inline: inline !== undefined,
  min: { text: min.text, sort: Buffer.from(min.sort).toString('base64') },
  max: { text: max.text, sort: Buffer.from(max.sort).toString('base64') },
});

/** What a recording says of an error: the code of a LakeError, `internal` for any other. */
export const faultOf = (error: unknown): { readonly code: string; readonly text: string } => ({
  code: error instanceof LakeError ? error.code : 'internal',
  text: messageOf(error),
});

/** The same object with some of its members replaced. */
const overlaid = <T extends object>(target: T, members: Partial<T>): T =>
  new Proxy(target, {
    get: (_, name) => {
      if (name in members) return members[name as keyof T];
      const value: unknown = target[name as keyof T];
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });

const setAside = (path: string): void => {
  if (!existsSync(path)) return;
  const before = `${path}.before`;
  if (existsSync(before)) for (const part of partsOf(before)) rmSync(part, { force: true });
  rmSync(bodiesFolder(before), { recursive: true, force: true });
  for (const part of partsOf(path)) renameSync(part, before + part.slice(path.length));
  if (existsSync(bodiesFolder(path))) renameSync(bodiesFolder(path), bodiesFolder(before));
};
