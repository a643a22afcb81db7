/**
 * A pool as a table: its columns, and the files of its data objects.
 *
 * Invariants:
 * - Columns are durable before a row is written under their ids; they are added one survey after the other.
 * - What is known of a file is durable only after the file is: what a row names is whole.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../errors.ts';
import { killPoint } from '../lake/kill-points.ts';
import { zeroId } from '../lake/ksuid.ts';
import { inlineBytesMax } from '../lake/objects/format.ts';
import type { DerivedPool, Id, ObjectMeta } from '../lake/lake.types.ts';
import { type TableColumn, ColumnSet, restKey } from './columns.ts';
import type { Mapping } from './kinds.ts';
import { MergedFiles, type MergePlan, mergePlans } from './merged.ts';
import type { GivenColumns, RenderedFile, RenderRequest, WantedColumns } from './render.types.ts';
import {
  type Rendition,
  columnsRow,
  isCurrent,
  mappingVersions,
  mergedOf,
  mergedRow,
  readColumns,
  readMerged,
  readRendition,
  renditionRow,
  renditionsOf,
  rowsPerTurn,
} from './rows.ts';

/** Makes files, elsewhere. */
export type Render = (request: RenderRequest) => Promise<RenderedFile>;
/** Has so many files made at once, of all tables. */
export interface RenderTurns {
  readonly render: Render;
  /** Does it when it is its turn; what is urgent comes first. */
  take<T>(work: () => Promise<T>, isUrgent: boolean): Promise<T>;
  /** Makes work urgent that waits for its turn. */
  hasten(work: () => unknown): void;
}
/** Files in the making: what makes them, and when that is done. */
interface Making {
  readonly work: () => Promise<void>;
  readonly made: Promise<void>;
}

/** Small objects that one file has the rows of: a file each would take longer than its rows. */
const packedObjectsMax = 256;
const packedBytesMax = 4 << 20;

/** What is asked of a file often. */
export type KnownRendition = Pick<Rendition, 'bytes' | 'rows' | 'schema'>;

export class Table {
  readonly pool: DerivedPool;
  private readonly turns: RenderTurns;
  private readonly set: ColumnSet;
  readonly merged = new MergedFiles();
  private readonly known = new Map<Id, KnownRendition>();
  private readonly making = new Map<Id, Making>();
  private readonly heads = new Set<Id>();
  private merging: Promise<void> | undefined;
  private registering: Promise<unknown> = Promise.resolve();
  private reading: Promise<void> | undefined;

  readonly mapping: Mapping;

  /** `pool`: with the rows of this mapping (rows.ts). */
  constructor(pool: DerivedPool, mapping: Mapping, turns: RenderTurns) {
    this.pool = pool;
    this.mapping = mapping;
    this.turns = turns;
    this.set = new ColumnSet(readColumns(pool), mapping);
  }

  get columns(): readonly TableColumn[] {
    return this.set.columns();
  }
  /** Of an object, if its file is there. */
  rendition(object: Id): KnownRendition | undefined {
    return this.known.get(object);
  }
  /** All that is known of it. */
  whole(object: Id): Rendition | undefined {
    const rendition = readRendition(this.pool, object);
    return rendition && isCurrent(rendition, this.mapping) ? rendition : undefined;
  }
  /** Resolves when it is known which files there are. */
  ready(): Promise<void> {
    return (this.reading ??= this.read());
  }
  private async read(): Promise<void> {
    let rows = 0;
    for (const { object, rendition } of renditionsOf(this.pool)) {
      if (isCurrent(rendition, this.mapping)) this.note(object, rendition);
      if (++rows % rowsPerTurn === 0) await nextTurn();
    }
    for (const { number, merged } of mergedOf(this.pool)) {
      this.merged.add(number, merged && isCurrent(merged, this.mapping) ? merged.parts : undefined);
      if (++rows % rowsPerTurn === 0) await nextTurn();
    }
  }
  private note(object: Id, { bytes, rows, schema }: Rendition): void {
    this.known.set(object, { bytes, rows, schema });
  }
  /** Its file is to go, or is gone. */
  forget(object: Id): void {
    this.known.delete(object);
  }

  /** Engines take no table without a column. */
  async mustHaveColumn(): Promise<void> {
    if (this.set.length > 0) return;
    await this.register({ known: 0, objects: [[{ ...restKey, id: 1, name: '' }]] });
  }

  /** Makes the files of these objects that have none, the urgent ones before others; those that are vacuumed meanwhile get none. */
  async render(objects: Iterable<Id>, isUrgent = false): Promise<void> {
    await this.ready();
    const waiting: Promise<void>[] = [];
    const hastened = new Set<Making['work']>();
    let pack: ObjectMeta[] = [];
    let packBytes = 0;
    const give = (batch: readonly ObjectMeta[]): void => {
      const work = (): Promise<void> => this.make(batch);
      const made = this.turns.take(work, isUrgent).finally(() => {
        for (const { id } of batch) this.making.delete(id);
      });
      for (const { id } of batch) this.making.set(id, { work, made });
      waiting.push(made);
    };
    for (const id of objects) {
      const making = this.making.get(id);
      if (making) waiting.push(making.made);
      if (making && isUrgent) hastened.add(making.work);
      if (making || this.known.has(id) || this.pool.isVacuumed(id)) continue;
      const meta = this.pool.object(id);
      if (!meta) throw new LakeError('object-not-found', { id });
      if (meta.size >= inlineBytesMax) {
        give([meta]);
        continue;
      }
      pack.push(meta);
      packBytes += meta.size;
      if (pack.length < packedObjectsMax && packBytes < packedBytesMax) continue;
      give(pack);
      pack = [];
      packBytes = 0;
    }
    if (pack.length > 0) give(pack);
    for (const work of hastened) this.turns.hasten(work);
    const ends = await Promise.allSettled(waiting);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Makes the file of an object again, whose bytes are not its own; one that was vacuumed gets none. */
  async remake(object: Id): Promise<void> {
    this.known.delete(object);
    await this.render([object], true);
  }
  /** Makes a merged file again, under its number; one whose objects were vacuumed is not made. */
  async remakeMerged(number: number): Promise<void> {
    const known = readMerged(this.pool, number);
    const objects = await this.inOrder(this.merged.objectsOf(number));
    if (!known || objects.length === 0) return;
    await this.turns.take(() => this.writeMerged(number, { parts: known.parts, objects, schema: known.schema }), true);
  }
  /** These objects in the pool's order, which a branch has that has them all; none if one of them is gone. */
  private async inOrder(ids: readonly Id[]): Promise<readonly ObjectMeta[]> {
    const wanted = new Set(ids);
    if (ids.some((id) => this.pool.isVacuumed(id) || !this.pool.object(id))) return [];
    for (const { commit } of this.pool.branches()) {
      if (commit === zeroId) continue;
      const metas: ObjectMeta[] = [];
      let seen = 0;
      for (const meta of await this.pool.objects(commit)) {
        if (wanted.has(meta.id)) metas.push(meta);
        if (++seen % rowsPerTurn === 0) await nextTurn();
      }
      if (metas.length === wanted.size) return metas;
    }
    return ids.flatMap((id) => this.pool.object(id) ?? []);
  }

  private async make(batch: readonly ObjectMeta[]): Promise<void> {
    const objects = batch.flatMap(({ id }) => {
      const meta = this.known.has(id) || this.pool.isVacuumed(id) ? undefined : this.pool.object(id, true);
      return meta ? [meta] : [];
    });
    if (objects.length === 0) return;
    try {
      const register = (wanted: WantedColumns): Promise<GivenColumns> => this.register(wanted);
      await this.keep(
        await this.turns.render({ objects, isMerged: false, mapping: this.mapping, table: this.columns, register }),
        objects,
      );
    } catch (fault) {
      // A vacuum may have come in between, or one of many be damaged.
      const left = objects.filter(({ id }) => !this.pool.isVacuumed(id));
      if (left.length === objects.length && left.length === 1) throw fault;
      const [first, ...others] = left;
      if (!first) return;
      const faults: unknown[] = [];
      for (const meta of [first, ...others]) await this.make([meta]).catch((own: unknown) => faults.push(own));
      if (faults.length > 0) throw faults[0];
    }
  }
  private async keep({ file, columns, parts }: RenderedFile, objects: readonly ObjectMeta[]): Promise<void> {
    const made = parts.map(({ at, figures }, i) => {
      const object = objects[i]!.id;
      const before = this.whole(object);
      // What is made again as it was is told of as it was.
      const schema = before?.digest === figures.digest ? before.schema : columns;
      const mapping = mappingVersions[this.mapping];
      return { object, rendition: { file, at, schema, mapping, ...figures } satisfies Rendition };
    });
    killPoint('iceberg: file made');
    await this.pool.write(made.map(({ object, rendition }) => renditionRow(object, rendition)));
    killPoint('iceberg: file named');
    for (const { object, rendition } of made) this.note(object, rendition);
  }

  /** Merges the small files of these commits (merged.ts), one after the other, as long as there are any. */
  merge(commits: Iterable<Id>): Promise<void> {
    for (const commit of commits) if (commit !== zeroId) this.heads.add(commit);
    return (this.merging ??= this.mergeHeads().finally(() => (this.merging = undefined)));
  }
  private async mergeHeads(): Promise<void> {
    await this.ready();
    for (const commit of this.heads) {
      this.heads.delete(commit);
      const release = await this.pool.hold(commit);
      try {
        for (let plans = await this.plans(commit); plans.length > 0; plans = await this.plans(commit))
          for (const plan of plans) await this.turns.take(() => this.makeMerged(plan), false);
      } finally {
        release();
      }
    }
  }
  private async plans(commit: Id): Promise<readonly MergePlan[]> {
    const metas = new Map<Id, ObjectMeta>();
    let seen = 0;
    for (const meta of await this.pool.objects(commit)) {
      if (this.known.has(meta.id) && !this.pool.isVacuumed(meta.id)) metas.set(meta.id, meta);
      if (++seen % rowsPerTurn === 0) await nextTurn();
    }
    return mergePlans(this.merged, metas);
  }
  private async makeMerged({ parts, objects }: MergePlan): Promise<void> {
    // The columns are those that the objects' own files have: the table need not have more.
    const schema = objects.reduce((n, { id }) => Math.max(n, this.known.get(id)?.schema ?? 0), 0);
    const number = this.merged.generation + 1;
    await this.writeMerged(number, { parts, objects, schema });
    this.merged.add(number, parts);
  }
  private async writeMerged(
    number: number,
    { parts, objects, schema }: MergePlan & { readonly schema: number },
  ): Promise<void> {
    const register = (wanted: WantedColumns): Promise<GivenColumns> => this.register(wanted);
    const bodies = objects.flatMap(({ id }) => this.pool.object(id, true) ?? []);
    const made = await this.turns.render({
      objects: bodies,
      isMerged: true,
      mapping: this.mapping,
      table: this.columns,
      register,
    });
    const figures = made.parts[0]?.figures;
    if (!figures || bodies.length !== objects.length) throw new Error('a merged file has all of its objects');
    killPoint('iceberg: merged file made');
    await this.pool.write([
      mergedRow(number, { file: made.file, schema, mapping: mappingVersions[this.mapping], parts, ...figures }),
    ]);
    killPoint('iceberg: merged file named');
  }

  /** One after the other: what is added first is durable before others see it. */
  private register(wanted: WantedColumns): Promise<GivenColumns> {
    const registered = this.registering.then(() => this.add(wanted));
    this.registering = registered.catch(() => undefined);
    return registered;
  }
  private async add({ known, objects }: WantedColumns): Promise<GivenColumns> {
    const grown = new ColumnSet(this.columns, this.mapping);
    const ids: (readonly number[])[] = [];
    for (const columns of objects) {
      const own = grown.adopt(columns, known);
      if (!own) return { table: this.columns, objects: undefined };
      ids.push(own);
    }
    const added = grown.columns().slice(this.set.length);
    if (added.length > 0) {
      await this.pool.write([columnsRow(added)]);
      killPoint('iceberg: columns added');
      this.set.append(added);
    }
    return { table: grown.columns(), objects: ids };
  }
}
