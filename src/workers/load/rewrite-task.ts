/** Several objects as new ones. The commit is the main thread's work. */
import { LakeError } from '../../errors.ts';
import { type KeptRows, keptRows } from '../../lake/columns/kept.ts';
import { base62 } from '../../lake/ksuid.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { sourceOfStored } from '../../lake/objects/copies.ts';
import { ObjectCutter } from '../../lake/objects/cutter.ts';
import { blockRowsMax } from '../../lake/objects/format.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { type ObjectReader, openObject, projectionOf, sourceOfBytes } from '../../lake/objects/reader.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { OriginTrail } from '../../lake/objects/origins.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { WorkerTools } from '../query/tools.ts';
import type { PoolLayout, RewriteOutcome, TaskRequest } from '../messages.ts';
import type { Task } from '../task.ts';
import { withoutRows } from './without-rows.ts';

type CompactTask = Extract<TaskRequest, { kind: 'compact' }>;

/** The reader of an object, wherever its body is. */
export const opened = async (meta: ObjectMeta, objects: ObjectStore): Promise<ObjectReader> =>
  openObject(meta.inline ? sourceOfBytes(meta.id, meta.inline) : sourceOfStored(objects, meta));

/** Bytes of a row in memory, about: encodings halve them, compression does it once more. */
const inMemory = (meta: ObjectMeta, isCompressed = false): number => (meta.size / meta.count) * (isCompressed ? 4 : 2);

/** What objects are rewritten with. */
interface RewriteTools {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly pool: PoolLayout;
  /** Rows go, and no other comes: how columns are encoded need not be found out again. */
  readonly keepsEncodings?: boolean;
}
/** A block whose rows at these places, which rise, are gone, or are others: all of its rows are `rows` then. */
export type ChangedBlock = { readonly gone: Uint32Array } | { readonly changed: Uint32Array; readonly rows: Vector };
/**
 * The object's rows as they are after `change`, as new objects; undefined if it changes none. It is asked once for each
 * block, and gives what the block is then, or undefined where all stay as they are. Blocks that it does not `read` are
 * read only if they have to be kept.
 */
export const rewritten = async (
  { task, tools, pool, keepsEncodings = false }: RewriteTools,
  meta: ObjectMeta,
  reader: ObjectReader,
  change: (block: number, read: () => Promise<Vector>) => Promise<ChangedBlock | undefined>,
): Promise<readonly ObjectMeta[] | undefined> => {
  const { keys, order } = pool;
  const { count, id } = reader;
  const origins = new OriginTrail({ id, count, origins: await reader.origins() });
  const cutter = new ObjectCutter(
    { keys, order, keepsEncodings, origins, ...(reader.isCompressed && { compressed: true }) },
    tools.objects,
    pool.threshold,
  );
  cutter.expect(meta.count, inMemory(meta, reader.isCompressed));
  const copier = new Copier(reader, cutter, keys[0] ?? []);
  let found = false;
  try {
    for (let block = 0, start = 0; block < reader.blocks.length; start += reader.blocks[block++]!.rows) {
      await task.breathe();
      let rows: Vector | undefined;
      const read = async (): Promise<Vector> => (rows ??= await reader.read(block));
      const after = await change(block, read);
      if (!found && after) {
        found = true;
        // What came before stays: it is read again instead of being kept.
        origins.kept(0, start);
        for (let earlier = 0; earlier < block; earlier++)
          await copier.rest(earlier, noRows, async () => reader.read(earlier));
      }
      if (!found) continue;
      const blockRows = reader.blocks[block]!.rows;
      if (after && 'changed' in after) {
        origins.block(start, blockRows, after.changed, false);
        cutter.add(after.rows);
      } else {
        const gone = after?.gone ?? noRows;
        origins.block(start, blockRows, gone, true);
        await copier.rest(block, gone, read);
      }
    }
    return found ? (await cutter.finish()).objects : undefined;
  } catch (error) {
    await cutter.abort();
    throw error;
  }
};
const noRows = new Uint32Array(0);

/** Rows of a block that stay for each that goes, at least, so that it is copied as it is stored. */
const rowsPerGone = 8;

/** Puts blocks of an object into a new one: copied as they are stored where that can be, else by their rows. */
class Copier {
  private readonly reader: ObjectReader;
  private readonly cutter: ObjectCutter;
  private readonly path: readonly string[];
  constructor(reader: ObjectReader, cutter: ObjectCutter, path: readonly string[]) {
    this.reader = reader;
    this.cutter = cutter;
    this.path = path;
  }
  /** The rows of a block but for those at `gone`, which rise. */
  async rest(block: number, gone: Uint32Array, read: () => Promise<Vector>): Promise<void> {
    const { rows } = this.reader.blocks[block]!;
    if (gone.length === rows) return;
    if (gone.length * rowsPerGone <= rows && (await this.copied(block, keptRows(gone, rows)))) return;
    this.cutter.add(gone.length === 0 ? await read() : withoutRows(await read(), gone));
  }
  private async copied(block: number, kept: KeptRows): Promise<boolean> {
    const { reader, cutter, path } = this;
    if (!cutter.mayKeep(kept.count)) return false;
    const keys = keyColumn(await reader.read(block, projectionOf([path])), path);
    const ends = [valueAt(keys, kept.runs[0]!), valueAt(keys, kept.runs.at(-1)! - 1)] as const;
    return cutter.keep(await reader.stored(block), kept, ends);
  }
}

/**
 * Merges objects into new ones; one alone is written again to be compressed. @throws LakeError compact-alone where it
 * would stay as it is
 */
export const runCompact = async (task: Task, request: CompactTask, tools: WorkerTools): Promise<RewriteOutcome> => {
  const { pool, objects } = request;
  if (objects.length === 1) await refuseCompressed(objects[0], tools);
  const cutter = new ObjectCutter({ ...pool, compressed: tools.compressesCompacted }, tools.objects, pool.threshold);
  cutter.expect(
    objects.reduce((n, o) => n + o.count, 0),
    objects.reduce((most, o) => Math.max(most, inMemory(o)), 0),
  );
  try {
    const source = { ...pool, objects: tools.objects, page: () => ({ objects }) };
    for await (const batch of scanObjects(source, { ordered: true, batchRows: blockRowsMax, signal: task.signal })) {
      cutter.add(batch);
      await task.breathe();
    }
    return { removes: objects.map((o) => o.id), adds: (await cutter.finish()).objects };
  } catch (error) {
    await cutter.abort();
    throw error;
  }
};
const refuseCompressed = async (meta: ObjectMeta, { objects, compressesCompacted }: WorkerTools): Promise<void> => {
  const object = base62(meta.id);
  if (!compressesCompacted)
    throw new LakeError('compact-alone', { object, is: 'is not to be compressed (-compress none)' });
  if ((await opened(meta, objects)).isCompressed)
    throw new LakeError('compact-alone', { object, is: 'is compressed already' });
};
