/**
 * The pools of a lake as Iceberg tables: their metadata, and the files that these name.
 *
 * Data objects stay the truth. Each is made into one file, which never changes; metadata are told only of commits all of
 * whose objects have theirs. Nothing here holds up a commit.
 *
 * Invariants:
 * - Within an answer all refs are as they were at one moment, or as they were before where files of the newest commits
 *   are still being made.
 * - A file of metadata is durable before anybody hears of it.
 */
import { LakeError } from '../errors.ts';
import { base62, zeroId } from '../lake/ksuid.ts';
import type { Id, Lake, LakeEvent } from '../lake/lake.types.ts';
import type { ObjectStore } from '../lake/objects/objects.ts';
import type {
  IcebergCatalogue,
  IcebergDescription,
  IcebergEntry,
  IcebergFile,
  IcebergMetadata,
  IcebergTable,
} from './catalogue.types.ts';
import { FileChecks, type WrongFile } from './stored/checks.ts';
import { describeColumns } from './describe.ts';
import { fileAt, filesBelow, ManifestCache, type TableFiles } from './files.ts';
import { metadataJson } from './metadata.ts';
import { MetadataFiles } from './stored/metadata-files.ts';
import { type Pin, pinOf } from './pins.ts';
import { branchesOf, hold, type Ref, refsOf } from './refs.ts';
import { metadataRow, namesOf } from './rows.ts';
import {
  type HeldObjects,
  type Snapshot,
  chainOf,
  emptySnapshot,
  objectsOf,
  snapshotsOf,
  tellDistinct,
  Turns,
} from './snapshots.ts';
import { sweepFiles, sweepTable } from './stored/sweep.ts';
import type { Render, Table } from './table.ts';
import { OpenTables, type TablesLake, mappingOf } from './tables.ts';
import { TurnsOfRenders } from './turns.ts';

const sweepsPerGrace = 24;
const sweepMsMax = 3_600_000;
/** Of the time that one waits for the heads of refs: how long one waits for what came before them then. */
const earlierPart = 0.1;
/** The scheme and bucket of all locations. */
const bucket = 's3://lake';
/** Commits come in groups: so long after the first of them files are made for all. */
const eagerMs = 200;

/** What the tables are made from. */
interface CatalogueParts {
  readonly lake: TablesLake & Pick<Lake, 'onEvent'>;
  readonly render: Render;
  /** Opens the store; asked when the first table needs it. */
  readonly files: () => ObjectStore;
  /** Told of faults that no call can tell of. */
  readonly report: (fault: unknown) => void;
  /** Told of files that were not what they should be. */
  readonly wrong?: (file: WrongFile) => void;
  /** How long who asks for a table waits for its files. */
  readonly waitMs: number;
  /** How long files stay that no metadata name any more. */
  readonly graceMs: number;
}
/** Of which refs metadata are made, and where they are kept. */
interface MakeCall {
  readonly pin: Pin;
  readonly refs: readonly Ref[];
  readonly key: string;
  readonly signature: string;
}
interface Answered {
  readonly signature: string;
  readonly generation: number;
  readonly metadata: IcebergMetadata;
}

/** The tables of one lake. */
export class LakeCatalogue implements IcebergCatalogue {
  private readonly parts: CatalogueParts;
  private opened: ObjectStore | undefined;
  private readonly turns: TurnsOfRenders;
  private readonly open: OpenTables;
  private readonly answered = new Map<string, Answered>();
  private readonly manifests = new ManifestCache();
  private readonly checks: FileChecks;
  private readonly metadataFiles = new MetadataFiles(() => this.files);
  private readonly background = new Set<Promise<void>>();
  private readonly waitMs: number;
  private readonly graceMs: number;
  private readonly eager = new Map<Id, EagerRound>();
  private readonly stop = new AbortController();
  private readonly swept: Promise<void>;
  private readonly unlisten: () => void;
  private readonly timer: NodeJS.Timeout;

  constructor(parts: CatalogueParts) {
    this.parts = parts;
    this.waitMs = parts.waitMs;
    this.graceMs = parts.graceMs;
    this.checks = new FileChecks(
      () => this.files,
      (file) => parts.wrong?.(file),
    );
    this.turns = new TurnsOfRenders({ render: parts.render, signal: this.stop.signal });
    this.open = new OpenTables(parts.lake, this.turns);
    // Files in the making are named by nothing: none is made before.
    this.swept = this.open.pools().length === 0 ? Promise.resolve() : this.inBackground(() => this.sweepFiles());
    this.unlisten = parts.lake.onEvent((event) => {
      this.heard(event);
    });
    this.timer = setInterval(
      () => void this.inBackground(() => this.sweep(Date.now())),
      Math.min(this.graceMs / sweepsPerGrace, sweepMsMax),
    ).unref();
    for (const pool of parts.lake.pools()) if (pool.iceberg === 'eager') this.soon(pool.id);
  }

  /** A lake that never had a table has no folder for their files. */
  private get files(): ObjectStore {
    return (this.opened ??= this.parts.files());
  }
  private sweepFiles(): Promise<void> {
    return sweepFiles(this.open.mapped(), this.files);
  }

  /** Ends what goes on in the background. */
  async close(): Promise<void> {
    this.stop.abort(new LakeError('lake-closing'));
    this.unlisten();
    clearInterval(this.timer);
    for (const { timer } of this.eager.values()) clearTimeout(timer);
    await Promise.allSettled(this.background);
    this.opened?.close();
  }

  tables(): readonly IcebergTable[] {
    return this.open
      .pools()
      .map(({ id, name }) => ({ pool: base62(id), name }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  wrongFiles(): number {
    return this.checks.wrong;
  }

  async load(
    pool: string,
    { pin, etag, signal }: { readonly pin?: string; readonly etag?: string; readonly signal?: AbortSignal },
  ): Promise<IcebergMetadata | 'unchanged' | undefined> {
    const table = this.open.find(pool);
    const pinned = table && (pin === undefined ? {} : await pinOf(table.pool, pin));
    if (!table || !pinned) return undefined;
    await this.swept;
    await table.ready();
    const metadata = await this.metadata(table, pinned, signal);
    return metadata.etag === etag ? 'unchanged' : metadata;
  }

  async describe(pool: string): Promise<IcebergDescription> {
    const derived = this.parts.lake.derived(pool);
    const setting = derived.config.iceberg ?? 'off';
    const table = this.open.find(pool);
    return { setting, mapping: mappingOf(derived.config), columns: table ? describeColumns(table.columns) : [] };
  }

  async file(path: string): Promise<IcebergFile | undefined> {
    const [id = '', ...names] = path.split('/');
    if (names.length !== 2) return undefined;
    // Who was given metadata before the mapping was changed reads on.
    for (const table of this.open.each(id)) {
      if (base62(table.pool.config.id) !== id) return undefined;
      await this.swept;
      await table.ready();
      const file = await fileAt(this.filesOf(table), names.join('/'));
      if (file) return file;
    }
    return undefined;
  }
  async list(
    prefix: string,
    { after, max }: { readonly after?: string; readonly max: number },
  ): Promise<readonly IcebergEntry[]> {
    const found: IcebergEntry[] = [];
    const ids = this.open
      .pools()
      .map(({ id }) => base62(id))
      .sort();
    for (const id of ids) {
      const table = this.open.find(id);
      if (!table || found.length >= max) continue;
      const root = `${id}/`;
      if (!(prefix.startsWith(root) || root.startsWith(prefix))) continue;
      await this.swept;
      await table.ready();
      for (const entry of filesBelow(this.filesOf(table), root, { prefix, ...(after !== undefined && { after }) })) {
        found.push(entry);
        if (found.length >= max) break;
      }
    }
    return found;
  }

  /** Removes what its time has come for. `nowMs`: milliseconds since 1970. */
  async sweep(nowMs: number): Promise<void> {
    if (this.open.isEmpty && this.opened === undefined) return;
    for (const { pool, mapping } of this.open.mapped()) {
      const removed = await sweepTable(pool, this.files, { graceMs: this.graceMs, nowMs });
      const table = this.open.opened(pool.config.id, mapping);
      for (const object of removed.objects) table?.forget(object);
      for (const number of removed.merged) table?.merged.forget(number);
    }
  }

  private filesOf(table: Table): TableFiles {
    return {
      table,
      store: this.files,
      checks: this.checks,
      remade: () => {
        this.manifests.forget(table);
      },
      remakeMetadata: (digest) => this.remakeMetadata(table, digest),
      manifests: (commit, generation) => this.manifests.of(table, { commit, generation }, locationOf(table)),
    };
  }

  private async metadata(table: Table, pin: Pin, signal?: AbortSignal): Promise<IcebergMetadata> {
    const key = `${table.pool.config.id} ${table.mapping} ${pin.name ?? ''}`;
    const refs = refsOf(table, pin);
    const signature = JSON.stringify([refs, table.pool.vacuums()]);
    const before = this.answered.get(key);
    if (before?.signature === signature && before.generation === table.merged.generation) return before.metadata;
    const release = await hold(table, refs);
    try {
      return await this.madeNow(table, { pin, refs, key, signature }, signal);
    } finally {
      release();
    }
  }
  private async madeNow(
    table: Table,
    { pin, refs, key, signature }: MakeCall,
    signal: AbortSignal | undefined,
  ): Promise<IcebergMetadata> {
    const isWhole = await this.prepare(table, { refs, isFirst: !this.answered.has(key) }, signal);
    await table.mustHaveColumn();
    const { generation } = table.merged;
    const metadata = await this.make(table, { pin, refs, generation });
    // What is not whole yet is made anew for who asks next.
    if (isWhole && metadata.isWhole) {
      this.answered.delete(key);
      this.answered.set(key, { signature, generation, metadata });
      if (this.answered.size > answeredMax) this.answered.delete(this.answered.keys().next().value ?? '');
    }
    return metadata;
  }

  /** Makes the files that are missing; false if not all could be waited for. */
  private async prepare(
    table: Table,
    { refs, isFirst }: { readonly refs: readonly Ref[]; readonly isFirst: boolean },
    signal?: AbortSignal,
  ): Promise<boolean> {
    const release = this.turns.hurry();
    const { heads, all } = this.render(table, refs);
    try {
      if (!(await this.within(heads, this.waitMs, signal))) return false;
      // What came before the heads is told of later, if it takes long; and so are merged files.
      const isWhole = await this.within(all, this.waitMs * earlierPart, signal);
      const merged = this.merge(table);
      // Who asks first has the most to gain.
      if (isWhole && isFirst) await this.within(merged, this.waitMs * earlierPart, signal);
      return isWhole;
    } finally {
      release();
      signal?.throwIfAborted();
      // It goes on for who asks next, who hears of its faults.
      for (const made of [heads, all]) made.catch(() => undefined);
    }
  }
  /** Merges what is small of the branches, as they are now, in the background. */
  private merge(table: Table): Promise<void> {
    return this.inBackground(async () => {
      try {
        await table.merge(branchesOf(table));
      } catch (fault) {
        // A pool may go meanwhile.
        if (this.open.pools().some(({ id }) => id === table.pool.config.id)) throw fault;
      }
    });
  }
  /** Whether it is done in time. */
  private async within(made: Promise<void>, ms: number, signal?: AbortSignal): Promise<boolean> {
    const ended = new AbortController();
    const late = new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, ms, false);
      for (const end of [ended.signal, ...(signal ? [signal] : [])])
        end.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve(false);
        });
    });
    try {
      return await Promise.race([made.then(() => true), late]);
    } finally {
      ended.abort();
    }
  }
  /** Makes the files of the refs' heads, and of what came before them, for who waits. */
  private render(table: Table, refs: readonly Ref[]): { readonly heads: Promise<void>; readonly all: Promise<void> } {
    const earlier = new Set<Id>();
    const heads = (async () => {
      const release = await hold(table, refs);
      try {
        await eachHeld(table, refs, async (held) => {
          for (const id of held.earlier) earlier.add(id);
          await table.render(held.head, true);
        });
      } finally {
        release();
      }
    })();
    return { heads, all: heads.then(() => table.render(earlier)) };
  }

  private async make(
    table: Table,
    { pin, refs, generation }: { readonly pin: Pin; readonly refs: readonly Ref[]; readonly generation: number },
  ): Promise<IcebergMetadata & { readonly isWhole: boolean }> {
    const snapshots = new Map<number, Snapshot>();
    const told: { readonly name: string; readonly snapshot: number; readonly type: Ref['type'] }[] = [];
    let log: readonly Snapshot[] = [];
    let isWhole = true;
    const turns = new Turns();
    // Many refs may be at one commit.
    const known = new Map<Id, Told>();
    for (const { name, commit, type } of refs) {
      let at = known.get(commit);
      await turns.next(at ? 1 : looksOfCommit);
      if (!at) {
        const { distinct, ...own } = await tell(table, snapshots, { commit, generation });
        if (name === 'main') log = distinct;
        known.set(commit, (at = own));
      }
      if (!at.isWhole) isWhole = false;
      if (!at.head) {
        if (name === 'main') throw notReady(table, commit);
        continue;
      }
      // Another has its id: it is read by its warehouse.
      if (at.isTold) told.push({ name, snapshot: at.head.id, type });
    }
    const { config } = table.pool;
    const json = metadataJson({
      identity: `${config.id} ${pin.name ?? ''}${table.mapping === 'variant' ? ' variant' : ''}`,
      location: locationOf(table),
      mapping: table.mapping,
      columns: table.columns,
      snapshots: [...snapshots.values()].sort((a, b) => a.sequence - b.sequence || a.ms - b.ms),
      log,
      refs: told,
      madeMs: Number(config.tsNs / 1_000_000n),
    });
    return { ...(await this.keep(table, json)), isWhole };
  }

  /** From memory, or made anew: what a start later are no longer the table's newest cannot be. */
  private async remakeMetadata(table: Table, digest: Id): Promise<void> {
    const known = [...this.answered.values()].find(({ metadata }) => metadata.etag === `"${digest}"`);
    await table.pool.write([metadataRow(digest)]);
    if (known) await this.keep(table, known.metadata.json);
    else await this.metadata(table, {});
  }

  private async keep(table: Table, json: string): Promise<IcebergMetadata> {
    const digest = await this.metadataFiles.keep(table.pool, json);
    return {
      etag: `"${digest}"`,
      location: `${base62(table.pool.config.id)}/${namesOf(table.mapping).metadata(digest)}`,
      json,
      config: {},
    };
  }

  private heard({ kind, poolId }: LakeEvent): void {
    if (kind === 'pool-commit') this.turns.committed();
    if (kind === 'pool-delete') this.open.forget(poolId);
    else if (kind === 'pool-commit' || kind === 'pool-update' || kind === 'branch-update') this.soon(poolId);
  }
  /** Makes the files of a pool's newest commits, if they are wanted at once: one round, and then those of what came meanwhile. */
  private soon(poolId: Id): void {
    const round = this.eager.get(poolId);
    if (round) round.isOverdue = true;
    if (round || !this.open.isEager(poolId)) return;
    const timer = setTimeout(() => {
      next.isOverdue = false;
      void this.inBackground(() => this.makeEager(poolId)).then(() => {
        this.eager.delete(poolId);
        if (next.isOverdue && !this.stop.signal.aborted) this.soon(poolId);
      });
    }, eagerMs).unref();
    const next: EagerRound = { timer, isOverdue: false };
    this.eager.set(poolId, next);
  }
  /** Holds nothing: it may take long beside those who commit, and what is vacuumed meanwhile needs no files. */
  private async makeEager(poolId: Id): Promise<void> {
    await this.swept;
    const table = this.open.find(base62(poolId));
    if (!table) return;
    const objects = new Set<Id>();
    await eachHeld(table, refsOf(table, {}), ({ head, earlier }) => {
      for (const id of head) objects.add(id);
      for (const id of earlier) objects.add(id);
    });
    await table.render(objects);
    await this.merge(table);
  }

  private inBackground(task: () => Promise<void>): Promise<void> {
    const running = task()
      .catch((fault: unknown) => {
        if (!this.stop.signal.aborted) this.parts.report(fault);
      })
      .finally(() => this.background.delete(running));
    this.background.add(running);
    return running;
  }
}

/** The files of a pool that are made without being asked for. `isOverdue`: there is more since it began. */
interface EagerRound {
  readonly timer: NodeJS.Timeout;
  isOverdue: boolean;
}

/** What a commit that refs name costs at least, in looks at an object. */
const looksOfCommit = 40;
/** What each commit that refs name holds. */
const eachHeld = async (
  table: Table,
  refs: readonly Ref[],
  take: (held: HeldObjects) => void | Promise<void>,
): Promise<void> => {
  const turns = new Turns();
  for (const commit of new Set(refs.map((ref) => ref.commit))) {
    await turns.next(looksOfCommit);
    await take(await objectsOf(table, chainOf(table, commit)));
  }
};
/** The snapshot that a commit is, whether it is told of, and whether all of it can be. */
interface Told {
  readonly head: Snapshot | undefined;
  readonly isTold: boolean;
  readonly isWhole: boolean;
}
/** Adds the snapshots of a commit and of those before it. `distinct`: those that are told of. */
const tell = async (
  table: Table,
  snapshots: Map<number, Snapshot>,
  { commit, generation }: { readonly commit: Id; readonly generation: number },
): Promise<Told & { readonly distinct: readonly Snapshot[] }> => {
  const isEmpty = commit === zeroId;
  const own = isEmpty ? [emptySnapshot(table)] : await snapshotsOf(table, chainOf(table, commit), generation);
  const distinct = tellDistinct(snapshots, own);
  const head = own.at(-1);
  return {
    head,
    isTold: head !== undefined && distinct.includes(head),
    isWhole: head?.commit?.id === (isEmpty ? undefined : commit),
    distinct,
  };
};

/** Metadata that are kept, of all tables and pins. */
const answeredMax = 64;

const locationOf = (table: Table): string => `${bucket}/${base62(table.pool.config.id)}`;

const notReady = (table: Table, commit: Id): LakeError =>
  new LakeError('iceberg-not-ready', { pool: table.pool.config.name, commit: base62(commit) });
