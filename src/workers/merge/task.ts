/**
 * A three-way merge by record, for merges, reverts and picks: what they did otherwise than the base is done to our
 * side, by the rules of rules.ts. The commit is the main thread's work.
 *
 * Both differences to the base are read in the order of the pool's keys (../diff): objects that a side shares with the
 * base are not read, so that it costs what changed. How rows are cut into objects makes no difference.
 */
import type { ObjectMeta } from '../../lake/lake.types.ts';
import { identityOf, splitByIdentity } from './identity.ts';
import { type ApplyTools, memoryOf, takeOut, writeRows } from './apply.ts';
import { leftRows } from '../diff/diff.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { working } from '../../vectors/stop.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { MergeOutcome, TaskRequest } from '../messages.ts';
import { unpackPage } from '../packed-page.ts';
import { type WorkerTools, poolSource } from '../query/tools.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import { Groups, RowList, type RowTools, type Side } from './row-store.ts';
import { type Effect, mergeBag, mergeByIdentity } from './rules.ts';
import { Settler } from './settle.ts';

type MergeTask = Extract<TaskRequest, { kind: 'merge' }>;

/** The differences of the session: ours and theirs to the base. */
const differences = ['ours', 'theirs'] as const;

/** @throws settle-malformed, settle-idle; what scans throw; spill-full, query-memory */
export const runMerge = async (
  task: Task,
  request: MergeTask,
  tools: WorkerTools,
  spill: TaskSpill,
): Promise<MergeOutcome> => {
  const kept: RowTools = { memory: memoryOf(tools), spill, signal: task.signal };
  const removed = new RowList(kept);
  const added = new RowList(kept);
  const settler = new Settler(request.rule, request.identity, request.page);
  try {
    const range = new KeyRange(request.pool.keys[0] ?? []);
    const isShared = await effects(task, request, { tools, spill, kept, settler, range }, async (effect) => {
      await removed.add(effect.removed);
      await added.add(effect.added);
    });
    settler.checkUsed();
    const { conflicts, settled, told } = settler;
    const found = {
      conflicts,
      settled,
      told,
      removed: removed.length,
      added: added.length,
      isApart: !isShared,
      ...range.ends,
    };
    const isDone = conflicts > 0 || request.dryRun || (request.objectsFit && !isShared);
    return {
      ...found,
      ...(isDone ? { removes: [], adds: [] } : await applied(task, request, { removed, added, tools, spill })),
    };
  } finally {
    removed.close();
    added.close();
  }
};

interface Made {
  readonly removed: RowList;
  readonly added: RowList;
  readonly tools: WorkerTools;
  readonly spill: TaskSpill;
}
const applied = async (
  task: Task,
  { pool }: MergeTask,
  { removed, added, tools, spill }: Made,
): Promise<{ readonly removes: readonly string[]; readonly adds: readonly ObjectMeta[] }> => {
  const given: ApplyTools = { task, tools, spill, pool };
  const fresh = await writeRows(added, given);
  try {
    const { removes, adds } = await takeOut(removed, poolSource(task, '0', pool, tools), given);
    return { removes, adds: [...adds, ...fresh] };
  } catch (error) {
    for (const meta of fresh) if (!meta.inline) await tools.objects.delete(meta.id);
    throw error;
  }
};

interface Parts {
  readonly tools: WorkerTools;
  readonly spill: TaskSpill;
  readonly kept: RowTools;
  readonly settler: Settler;
  readonly range: KeyRange;
}
/** First keys of rows that come in the pool's order, batch by batch. */
class KeyRange {
  private readonly path: readonly string[];
  private least: Uint8Array | undefined;
  private greatest: Uint8Array | undefined;
  constructor(path: readonly string[]) {
    this.path = path;
  }
  take(rows: Vector): void {
    const keys = keyColumn(rows, this.path);
    for (const row of [0, rows.length - 1]) {
      const key = sortKeyBytes(valueAt(keys, row));
      if (!this.least || compareBytes(key, this.least) < 0) this.least = key;
      if (!this.greatest || compareBytes(key, this.greatest) > 0) this.greatest = key;
    }
  }
  get ends(): Pick<MergeOutcome, 'keys'> {
    return this.least && this.greatest ? { keys: [this.least, this.greatest] } : {};
  }
}
/** Tells of all effects; whether both sides changed some of the same records. */
const effects = async (
  task: Task,
  request: MergeTask,
  { tools, spill, kept, settler, range }: Parts,
  take: (effect: Effect) => Promise<void>,
): Promise<boolean> => {
  const { identity, pool } = request;
  const keyOf = (rows: Parameters<typeof identityOf>[0]): ReturnType<typeof identityOf> => identityOf(rows, identity);
  const keyed = new Groups(kept, keyOf);
  const bags = new Groups(kept, (rows) => rows);
  let isShared = false;
  try {
    for (const [diff, side] of differences.entries()) {
      const sourceOf = (of: 'base' | 'commit') => ({
        ...poolSource(task, '0', pool, tools),
        page: async (page: Parameters<ReturnType<typeof poolSource>['page']>[0]) =>
          unpackPage(await task.call({ kind: 'diff', diff, side: of, page })),
      });
      const left = leftRows({
        before: sourceOf('base'),
        after: sourceOf('commit'),
        keys: pool.keys,
        order: pool.order,
        spill,
        memoryBytesMax: tools.queryMemoryBytesMax,
        batchRows: tools.batchRows,
        signal: task.signal,
        read: () => undefined,
      });
      for await (const { side: change, rows } of left) {
        if (side === 'theirs') range.take(rows);
        const name: Side = `${side}${change === 'added' ? 'Added' : 'Removed'}`;
        if (identity.length === 0) {
          if (name !== 'oursAdded' || request.isKin) await bags.add(name, rows);
        } else {
          const { own, none } = working(task.signal, () => splitByIdentity(rows, identity));
          await keyed.add(name, own);
          await bags.add(name, none);
        }
        await task.breathe();
      }
    }
    const takeAll = async (groups: Groups, rule: (rows: Parameters<typeof mergeBag>[0]) => Effect): Promise<void> => {
      for await (const rows of groups.read()) {
        const effect = working(task.signal, () => rule(rows));
        isShared ||= effect.isShared;
        await take(effect);
      }
    };
    await takeAll(keyed, (rows) => mergeByIdentity(rows, keyOf, settler));
    await takeAll(bags, (rows) => mergeBag(rows, request.isKin));
    return isShared;
  } finally {
    keyed.close();
    bags.close();
  }
};
