/**
 * aggregate: states for all groups at once, fed a column at a time.
 *
 * When memory runs out, groups that are there go on in memory; rows of new groups are spilled, by a hash of their keys,
 * and aggregated afterwards.
 */
import type { Aggregate, FieldPath, PlanOp } from '../../query/plan/plan.ts';
import { isTurnLong, nextTurn } from '../../vectors/stop.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Vector, flatten, noRows, range, slice, take } from '../../vectors/vector.ts';
import { aggregateNamed, stateFor } from '../aggregates/aggregates.ts';
import type { StateCall } from '../aggregates/row.ts';
import { GroupTable } from '../aggregates/grouping/groups.ts';
import { idsOfOne, pick } from '../aggregates/grouping/parts.ts';
import { type KeyBook, KeyStore, type ShareIds } from '../aggregates/grouping/shared-keys.ts';
import type { AggregateState } from '../aggregates/grouping/state.ts';
import { none } from '../aggregates/grouping/pair-table.ts';
import { needsDriver } from '../expressions/compile.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { FloatRoom, inRoom } from '../expressions/float-room.ts';
import { isTrue } from '../expressions/rows.ts';
import { type Item, type Step, type Stream, batches, isBatch, wait } from '../operator.ts';
import { type Build, fewGivenShare } from './build.ts';
import { plain } from './distinct.ts';
import { isOneGroup, knownAndOthers, longRuns, loudRows } from './rows/grouped-rows.ts';
import { KeyFilter } from './rows/key-filter.ts';
import { mayBeQuiet } from './rows/kinds.ts';
import { Partitions, hashesOf, levelsMax, partitionsOfHashes } from './rows/partitions.ts';
import { recordOfPaths, rowsOf } from './rows/records.ts';
import { type BlockTotals, TotalsOfBlocks } from './block-totals.ts';
import { pulled } from '../pulled.ts';
import type { GroupsOfShare } from '../source.ts';
import type { TotalsSink } from './scan.ts';
import { type KeyBound, type TopOptions, keyBound } from './sort/top.ts';
import { UnseenValues } from './unseen.ts';
import type { ColumnSummary } from '../../vectors/summary.ts';

type AggregateOp = Extract<PlanOp, { kind: 'aggregate' }>;

interface Compiled {
  readonly argument: AsyncEvaluator | undefined;
  readonly where: AsyncEvaluator | undefined;
  readonly make: () => AggregateState;
}
/** `isPassing`: nothing of what the arguments give is kept. */
interface Parts {
  readonly op: AggregateOp;
  /** Tells which groups may be among the best, where these alone are wanted, by the result in a column. */
  readonly bound?: { readonly column: number; readonly keep: KeyBound['keep'] };
  readonly totals?: TotalsSink & BlockTotals;
  readonly isPassing: boolean;
  /** Where arguments are worked out that nothing keeps; absent: each run has its own. */
  readonly room?: FloatRoom | undefined;
  readonly build: Build;
  readonly keys: readonly AsyncEvaluator[];
  readonly aggregates: readonly Compiled[];
  readonly targets: readonly FieldPath[];
}

/**
 * The operator as a step. `totals`: where the scan before it leaves what blocks come to. @throws query-memory when the
 * budget is used up and nothing can be spilled
 */
export const aggregate = (
  op: AggregateOp & { readonly totals?: TotalsSink & BlockTotals; readonly best?: TopOptions },
  build: Build,
): Step => {
  const parts: Parts = { ...partsOf(op, build), ...(op.totals && { totals: op.totals }) };
  const bounded = boundedBy(parts, op.best);
  return (input) => run(input, bounded(), 0);
};

/** The parts of one run, where only the best groups are wanted. */
const boundedBy = (parts: Parts, best: TopOptions | undefined): (() => Parts) => {
  const bound = best && keyBound(best);
  return () => (bound ? { ...parts, ...boundOf(parts, bound()) } : parts);
};

/** The bound by a result: keys are made for the groups that pass it alone. */
const boundOf = ({ op, targets }: Parts, { path, keep }: KeyBound): Pick<Parts, 'bound'> => {
  const column = targets.findIndex((t) => t.length === path.length && t.every((name, k) => name === path[k]));
  return column >= op.keys.length ? { bound: { column, keep } } : {};
};

const partsOf = (op: AggregateOp, build: Build): Parts => ({
  op,
  build,
  isPassing: keepsNothing(op),
  keys: op.keys.map((k) => (op.sql ? plain(build.expression(k.expr)) : build.expression(k.expr))),
  aggregates: op.aggregates.map((a) => compiled(a.aggregate, build)),
  targets: [...op.keys.map((k) => k.target), ...op.aggregates.map((a) => a.target)],
});

/** Whether nothing of what the arguments give is needed once the states have seen it. */
const keepsNothing = ({ aggregates }: AggregateOp): boolean =>
  aggregates.every(
    ({ aggregate: a }) =>
      !a.distinct &&
      !a.order &&
      (!a.argument || !needsDriver(a.argument)) &&
      aggregateNamed(a.name)?.state(callOf(a)).keepsNothing === true,
  );
const roomOf = ({ isPassing }: Parts): FloatRoom | undefined => (isPassing ? new FloatRoom() : undefined);
const callOf = (a: Aggregate): StateCall => ({ ...a, all: !a.argument });
/** Whether no row, and nothing of one, is needed once it has been aggregated. */
export const keepsNoRows = (op: AggregateOp): boolean =>
  op.keys.length === 0 &&
  keepsNothing(op) &&
  op.aggregates.every(({ aggregate: { where } }) => !where || !needsDriver(where));

/**
 * Where groups have few rows each, merging them costs more than a second thread saves. Shares are looked at in order,
 * so this does not depend on who was faster.
 */
const denseMin = 2048;
const denseRows = 32;
const isDense = ({ rows, keys }: GroupsOfShare): boolean =>
  keys.order.length > denseMin && keys.order.length * denseRows > rows;

/** A share is small: nothing of it is spilled. `totals`: as for `aggregate`. */
export const shareGroups = (
  op: AggregateOp & { readonly totals?: TotalsSink & BlockTotals },
  build: Build,
  thread: number,
): ((input: Stream) => Generator<Item, GroupsOfShare>) => {
  const shared = partsOf(op, build);
  const parts: Parts = { ...shared, room: roomOf(shared), ...(op.totals && { totals: op.totals }) };
  const store = new KeyStore(op.keys.length, thread, op.sql === true);
  return function* grouped(input) {
    const groups = new Groups(parts, store);
    if (parts.totals) parts.totals.take = (count, columns) => groups.addTotals(count, columns);
    let rows = 0;
    try {
      for (const item of input) {
        if (isBatch(item)) {
          rows += item.length;
          yield* groups.add(item, levelsMax);
        } else yield item;
      }
      return groups.share(rows, store);
    } finally {
      groups.free();
    }
  };
};

/**
 * The groups of shares, which `next` gives in order, as one; `book` has noted their keys; `rest`: the rows of shares
 * that are not asked for, because their groups would not fit; `best`: what the operator behind keeps.
 */
export function* mergedGroups(
  op: AggregateOp,
  build: Build,
  {
    book,
    next,
    rest,
    best,
  }: {
    readonly book: KeyBook;
    readonly best: TopOptions | undefined;
    readonly next: () => Generator<Item, GroupsOfShare | undefined>;
    readonly rest: () => Stream;
  },
): Generator<Item> {
  const parts = boundedBy(partsOf(op, build), best)();
  const groups = new Groups(parts);
  try {
    for (let share = yield* next(); share; share = yield* next()) {
      yield* groups.merge(share, book);
      if (groups.isFull || isDense(share)) return yield* run(rest(), parts, 0, groups);
    }
    yield* groups.showUnseen();
    yield* batches(groups.best(), build.context.batchRows);
  } finally {
    groups.free();
  }
}

const compiled = (a: Aggregate, build: Build): Compiled => {
  const row = aggregateNamed(a.name);
  if (!row) throw new Error(`no aggregate ${a.name}`);
  return {
    argument: a.argument && build.expression(a.argument),
    where: a.where && build.expression(a.where),
    make: () => stateFor(row, callOf(a)),
  };
};

/** Groups at hand before those that are complete are given, when the input comes in the order of the first key. */
const closedGroupsMin = 4096;

function* run(input: Stream, parts: Parts, level: number, known?: Groups): Generator<Item> {
  let groups = known ?? new Groups(parts);
  let aside: Partitions | undefined;
  if (parts.totals) parts.totals.take = (rows, columns) => groups.addTotals(rows, columns);
  try {
    for (const item of input) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      const rest = yield* groups.add(item, level);
      if (rest) yield* (aside ??= new Partitions(parts.build)).add(rest.rows, partitionsOfHashes(rest.hashes, level));
      else if (parts.op.sortedBy && groups.size >= closedGroupsMin && !groups.hasUnseen) {
        const [closed, open] = groups.split();
        yield* batches(closed, parts.build.context.batchRows);
        groups = open;
      }
      if (isTurnLong()) yield nextTurn();
    }
    yield* groups.showUnseen();
    yield* batches(groups.best(), parts.build.context.batchRows);
    groups.free();
    if (!aside) return;
    // What the groups held goes now, what they learnt of the keys stays.
    groups = groups.another();
    yield* aside.flush();
    for (const p of aside.each()) {
      const spilled = aside.run(p)!;
      yield* run(
        pulled(() => spilled.read(), parts.build.context.signal),
        parts,
        level + 1,
        groups.another(aside.rows[p]),
      );
      void spilled.close();
    }
  } finally {
    groups.free();
    aside?.close();
  }
}

/** Rows of groups that are not there, and the hashes of their keys. */
interface Others {
  readonly rows: Vector;
  readonly hashes: Uint32Array;
}
/** Keys of so many groups are hashed together at least, those of all in no more than so many times. */
const filteredTogether = 1 << 14;
const filteredTimes = 4;

/** The groups in memory. */
class Groups {
  private readonly table: GroupTable;
  private readonly states: readonly AggregateState[];
  private readonly parts: Parts;
  private readonly room: FloatRoom | undefined;
  private lastKey: Vector = noRows;
  private held = 0;
  private full = false;
  /** Of a share: the table is the store's, states have places for the groups of the share alone. */
  private readonly own: ShareIds | undefined;
  private ofBlocks: TotalsOfBlocks | undefined;
  private unseen: UnseenValues | undefined;
  /** Once it is full. */
  private filter: KeyFilter | undefined;
  constructor(parts: Parts, store?: KeyStore, table = new GroupTable(parts.keys.length, parts.op.sql)) {
    this.parts = parts;
    this.room = parts.room ?? roomOf(parts);
    this.own = store?.begin();
    this.table = store?.table ?? table;
    this.states = parts.aggregates.map((a) => a.make());
    // Shares meet about the same groups.
    for (const s of this.states) s.grow(this.table.size);
  }
  /** None, for so many other rows of the same keys. */
  another(rows = 0): Groups {
    return new Groups(this.parts, undefined, this.table.another(rows));
  }
  get size(): number {
    return this.own?.size ?? this.table.size;
  }
  /** No new groups are taken. */
  get isFull(): boolean {
    return this.full;
  }
  /** Values of states were spilled. */
  get hasUnseen(): boolean {
    return this.unseen !== undefined;
  }
  /** Shows the states what was spilled of their values: then there are results. */
  *showUnseen(): Generator<Item, void> {
    const { unseen } = this;
    if (!unseen) return;
    const { memory } = this.parts.build;
    yield* unseen.show((notedBytes) => {
      this.measure();
      return memory.isOverWith(notedBytes);
    });
    this.measure();
  }
  private grow(): void {
    for (const s of this.states) s.grow(this.size);
  }

  /** Adds a batch; gives the rows for which there is no room. */
  *add(batch: Vector, level: number): Generator<Item, Others | undefined> {
    const { keys: keyExprs, build } = this.parts;
    this.ofBlocks?.flush();
    let keys: Vector[] = [];
    for (const k of keyExprs) {
      const key = k(batch);
      keys.push(key instanceof Promise ? yield* wait(key) : key);
    }
    if (keys.some(mayBeQuiet)) {
      const loud = loudRows(keys, batch.length);
      if (loud?.length === 0) return undefined;
      if (loud) [batch, keys] = [take(batch, loud), keys.map((k) => take(k, loud))];
    }
    if (this.parts.op.sortedBy) this.lastKey = take(keys[0], Uint32Array.of(batch.length - 1));
    if (this.full) return yield* this.addKnown(batch, keys);
    const single = this.table.single(keys);
    const ends = single === undefined ? longRuns(keys) : undefined;
    if (single !== undefined) {
      const group = this.own ? this.own.one(single, this.table.size) : single;
      this.grow();
      yield* this.feed(batch, undefined, group);
    } else if (ends) yield* this.addRuns(batch, keys[0], ends);
    else {
      const all = this.table.ids(keys, batch.length, true, false);
      const ids = this.own ? this.own.of(all, this.table.size) : all;
      this.grow();
      yield* this.feedGroups(batch, ids);
    }
    this.account(build, level);
    return undefined;
  }
  /** Adds the rows of groups that there are; gives the others. */
  private *addKnown(batch: Vector, keys: readonly Vector[]): Generator<Item, Others | undefined> {
    const hashes = hashesOf(keys, batch.length, this.parts.op.sql);
    const maybe = (this.filter ??= this.filterOfAll()).rows(hashes);
    const isAll = maybe.length === batch.length;
    const ids = this.table.ids(isAll ? keys : keys.map((k) => take(k, maybe)), maybe.length, false, false);
    const { known, groups, others } = knownAndOthers(ids, maybe, batch.length);
    if (known.length > 0) yield* this.feedGroups(rowsOf(batch, known), groups);
    this.measure();
    return others.length > 0 ? { rows: take(batch, others), hashes: pick(hashes, others) } : undefined;
  }
  /** Tells of most keys that have no group here that it is so. */
  private filterOfAll(): KeyFilter {
    const { table } = this;
    const filter = new KeyFilter(table.size);
    const together = Math.max(filteredTogether, Math.ceil(table.size / filteredTimes));
    for (let start = 0; start < table.size; start += together) {
      const groups = range(start, Math.min(table.size, start + together));
      filter.add(hashesOf(table.keys(groups), groups.length, this.parts.op.sql));
    }
    return filter;
  }
  private feedGroups(batch: Vector, ids: Uint32Array): Generator<Item, void> {
    return isOneGroup(ids) ? this.feed(batch, undefined, ids[0]) : this.feed(batch, ids, 0);
  }
  /** Adds rows whose key is the same up to each of the places in turn. */
  private *addRuns(batch: Vector, key: Vector, ends: Uint32Array): Generator<Item, void> {
    const firsts = ends.map((_, k) => (k === 0 ? 0 : ends[k - 1]));
    const ids = this.table.ids([take(key, firsts)], firsts.length);
    const groups = this.own ? this.own.of(ids, this.table.size).slice() : ids;
    this.grow();
    for (let k = 0; k < ends.length; k++) yield* this.feed(slice(batch, firsts[k], ends[k]), undefined, groups[k]);
  }
  /** Adds rows of the groups `ids`; without these all of them are of the one group. */
  private *feed(batch: Vector, ids: Uint32Array | undefined, group: number): Generator<Item, void> {
    const {
      parts: { aggregates },
      room,
    } = this;
    for (let k = 0; k < aggregates.length; k++) {
      const a = aggregates[k];
      const state = this.states[k];
      let own = ids;
      let rows = batch;
      if (a.where) {
        const truth = a.where(batch);
        const kept = isTrue(truth instanceof Promise ? yield* wait(truth) : truth);
        if (kept.length === 0) continue;
        if (kept.length < batch.length) {
          own = ids && pick(ids, kept);
          rows = take(batch, kept);
        }
      }
      const given = !a.argument ? rows : room ? inRoom(room, a.argument, rows) : a.argument(rows);
      const argument = given instanceof Promise ? yield* wait(given) : given;
      if (own) state.update(own, argument);
      else if (state.updateOne) state.updateOne(group, argument);
      else state.update(idsOfOne(group, rows.length), argument);
    }
    room?.release();
    if (this.unseen) yield* this.unseen.spill(0);
  }
  private account({ memory, context }: Build, level: number): void {
    const bytes = this.measure();
    const { groupsMax } = this.parts.op;
    if (this.full || level >= levelsMax) return;
    const isOver = memory.isOverWith(bytes, this.parts.bound && fewGivenShare);
    if (!isOver && (groupsMax === undefined || this.table.size < groupsMax)) return;
    if (context.host.spill && this.states.some((s) => s.seen))
      this.unseen ??= new UnseenValues(this.parts.build, this.states);
    if (context.host.spill && this.parts.keys.length > 0) this.full = true;
    else if (memory.isFullWith(bytes)) memory.refuse('aggregate');
  }
  /** Charges what is held by now; how much that is. */
  private measure(): number {
    const bytes = this.states.reduce((n, s) => n + s.bytes, this.table.bytes + (this.filter?.bytes ?? 0));
    this.parts.build.memory.add(bytes - this.held);
    return (this.held = bytes);
  }
  /** Takes what rows of the one group come to; false if they are needed themselves. */
  addTotals(rows: number, columns: readonly ColumnSummary[]): boolean {
    // The one group of a share is met with its first rows.
    this.own?.one(0, 1);
    this.grow();
    return (this.ofBlocks ??= new TotalsOfBlocks(this.states, this.parts.totals!)).take(rows, columns);
  }
  share(rows: number, store: KeyStore): GroupsOfShare {
    this.ofBlocks?.flush();
    return { rows, keys: store.tell(this.own!), states: this.states };
  }
  /** Adds the groups of a share, which are not used afterwards. */
  *merge({ keys, states }: GroupsOfShare, book: KeyBook): Generator<Item, void> {
    const size = keys.order.length;
    if (size === 0) return;
    const ids = book.groupsOf(keys, this.table, this.parts.keys.length);
    this.grow();
    this.states.forEach((s, k) => {
      s.merge(states[k], ids, size);
    });
    this.account(this.parts.build, 0);
    if (this.unseen) yield* this.unseen.spill(0);
  }
  free(): void {
    this.unseen?.close();
    this.parts.build.memory.add(-this.held);
    this.held = 0;
  }

  result(): Vector {
    this.ofBlocks?.flush();
    const n = this.table.size;
    if (n === 0) return noRows;
    return recordOfPaths(this.parts.targets, [...this.table.keys(), ...this.states.map((s) => s.result(n))], n);
  }
  /**
   * The results of the groups that may be wanted: all of them, or those that pass the bound. Of 1,000,000 groups by two
   * ids, of which 10 are wanted, 0.9 of the time.
   */
  best(): Vector {
    const { targets, bound, op, build } = this.parts;
    const n = this.table.size;
    const rowsMax = build.context.batchRows;
    if (!bound || n <= rowsMax) return this.result();
    const results = this.states.map((s) => s.result(n));
    const path = targets[bound.column];
    const column = results[bound.column - op.keys.length];
    const wanted = new Uint32List();
    for (let start = 0; start < n; start += rowsMax) {
      const rows = slice(column, start, Math.min(n, start + rowsMax));
      const kept = bound.keep(recordOfPaths([path], [rows], rows.length));
      const count = kept?.length ?? rows.length;
      for (let i = 0; i < count; i++) wanted.push(start + (kept ? kept[i] : i));
    }
    const groups = wanted.done();
    if (groups.length === 0) return noRows;
    return recordOfPaths(
      targets,
      [...this.table.keys(groups), ...results.map((r) => flatten(take(r, groups)))],
      groups.length,
    );
  }
  /** The groups whose first key is not that of the last row, as results, and the others in a table of their own. */
  split(): [Vector, Groups] {
    const keys = this.table.keys();
    const n = this.table.size;
    const probe = new GroupTable(1, this.parts.op.sql);
    probe.ids([this.lastKey], 1);
    const same = probe.ids([keys[0]], n, false);
    const open = Uint32Array.from({ length: n }, (_, g) => g).filter((g) => same[g] !== none);
    const closed = Uint32Array.from({ length: n }, (_, g) => g).filter((g) => same[g] === none);
    const rest = new Groups(this.parts);
    const map = new Uint32Array(n).fill(none);
    const ids = rest.table.ids(
      keys.map((k) => take(k, open)),
      open.length,
    );
    open.forEach((g, i) => {
      map[g] = ids[i];
    });
    rest.grow();
    const results = this.result();
    // States are given up by the merge, so results come first.
    rest.states.forEach((s, k) => s.merge(this.states[k], map, n));
    this.free();
    return [take(results, closed), rest];
  }
}
