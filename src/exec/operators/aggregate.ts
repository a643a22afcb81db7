/**
 * aggregate: states for all groups at once, fed a column at a time.
 *
 * When memory runs out, groups that are there go on in memory; rows of new groups are spilled, by a hash of their keys,
 * and aggregated afterwards.
 */
import { isTurnLong, nextTurn } from '../../vectors/stop.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Vector, flatten, noRows, range, slice, take } from '../../vectors/vector.ts';
import { GroupTable } from '../aggregates/grouping/groups.ts';
import { idsOfOne, pick } from '../aggregates/grouping/parts.ts';
import { type KeyBook, KeyStore, type ShareIds } from '../aggregates/grouping/shared-keys.ts';
import type { AggregateState } from '../aggregates/grouping/state.ts';
import { none } from '../aggregates/grouping/pair-table.ts';
import { FloatRoom, inRoom } from '../expressions/float-room.ts';
import { isTrue } from '../expressions/rows.ts';
import { type Item, type Step, type Stream, batches, isBatch, wait } from '../operator.ts';
import { type Build, fewGivenShare } from './build.ts';
import { type AggregateOp, type Parts, boundedBy, partsOf } from './rows/aggregate-parts.ts';
import { isOneGroup, knownAndOthers, longRuns, loudRows } from './rows/grouped-rows.ts';
import { mayBeQuiet } from './rows/kinds.ts';
import { areAlike, joinedHalves, noteFirsts, rowsOfHalf } from './rows/halves.ts';
import { Partitions, levelsMax, partitionsOf } from './rows/partitions.ts';
import { recordOfPaths, rowsOf } from './rows/records.ts';
import { type BlockTotals, TotalsOfBlocks } from './block-totals.ts';
import { pulled } from '../pulled.ts';
import type { GroupHelper, GroupsOfShare, HalfAnswer, HalfPlan, KeyHalf } from '../source.ts';
import type { TotalsSink } from './scan.ts';
import type { TopOptions } from './sort/top-options.ts';
import { UnseenValues } from './unseen.ts';
import type { ColumnSummary } from '../../vectors/summary.ts';

/**
 * Another thread that may make half of the groups. `again`: all rows once more, should that fail; `head`: so many
 * groups are wanted; `isAlways`: however few groups there are (else that is better done in shares).
 */
export interface Help {
  readonly helper: () => GroupHelper | undefined;
  readonly again: () => Stream;
  readonly head: number | undefined;
  readonly isAlways: boolean;
}

/**
 * The operator as a step. `totals`: where the scan before it leaves what blocks come to. @throws query-memory when the
 * budget is used up and nothing can be spilled
 */
export const aggregate = (
  op: AggregateOp & { readonly totals?: TotalsSink & BlockTotals; readonly best?: TopOptions; readonly help?: Help },
  build: Build,
): Step => {
  const { help, totals } = op;
  const parts: Parts = { ...partsOf(op, build), ...(totals && { totals }), ...(help && { head: help.head }) };
  const bounded = boundedBy(parts, op.best);
  const helper = help && help.helper();
  return (input) => (helper ? helped(input, bounded(), help, helper) : run(input, bounded(), 0));
};

/** A run that another thread may make the groups of the second half for. */
function* helped(input: Stream, parts: Parts, { again, isAlways }: Help, helper: GroupHelper): Generator<Item> {
  const groups = new Groups(parts);
  groups.keepFirsts(helper);
  const looked = function* looked(): Stream {
    for (const item of input) {
      yield item;
      if (!isBatch(item)) continue;
      if (helper.helpsBy !== undefined) groups.takeFirstHalf(helper.helpsBy);
      else if (!helper.isRefused) helper.consider(groups.widestKey, isAlways || groups.isDense);
      if (helper.isAsking) yield nextTurn();
    }
  };
  try {
    yield* run(looked(), parts, 0, groups, helper);
    // What the other thread could not make is made here, where it can be spilled.
    const left = groups.unanswered;
    if (left) yield* run(again(), { ...parts, ...(left !== 'all' && { half: left }) }, 0);
  } finally {
    helper.leave();
  }
}

/** The groups of the second half, made of all rows of `input`. @throws query-memory when they do not fit */
export function* secondHalf(
  { aggregate: op, best, head, key }: HalfPlan,
  input: Stream,
  build: Build,
): Generator<Item, HalfAnswer> {
  const parts: Parts = { ...boundedBy(partsOf(op, build), best)(), half: { key, index: 1 }, head };
  const groups = new Groups(parts);
  groups.keepFirsts();
  try {
    for (const item of input) {
      if (isBatch(item)) yield* groups.add(item, 0);
      else yield item;
      if (isTurnLong()) yield nextTurn();
    }
    return groups.answer();
  } finally {
    groups.free();
  }
}

/**
 * Where groups have few rows each, merging them costs more than a second thread saves. Shares are looked at in order,
 * so this does not depend on who was faster.
 */
const denseMin = 2048;
const denseRows = 32;
const isDenseOf = (groups: number, rows: number): boolean => groups > denseMin && groups * denseRows > rows;
const isDense = ({ rows, keys }: GroupsOfShare): boolean => isDenseOf(keys.order.length, rows);

/** A share is small: nothing of it is spilled. `totals`: as for `aggregate`. */
export const shareGroups = (
  op: AggregateOp & { readonly totals?: TotalsSink & BlockTotals },
  build: Build,
  thread: number,
): ((input: Stream) => Generator<Item, GroupsOfShare>) => {
  const parts: Parts = { ...partsOf(op, build), ...(op.totals && { totals: op.totals }) };
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

/** Groups at hand before those that are complete are given, when the input comes in the order of the first key. */
const closedGroupsMin = 4096;

function* run(input: Stream, parts: Parts, level: number, known?: Groups, helper?: GroupHelper): Generator<Item> {
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
      if (rest)
        yield* (aside ??= new Partitions(parts.build)).add(
          rest.rows,
          partitionsOf(rest.keys, rest.rows.length, level, parts.op.sql),
        );
      else if (parts.op.sortedBy && groups.size >= closedGroupsMin && !groups.hasUnseen) {
        const [closed, open] = groups.split();
        yield* batches(closed, parts.build.context.batchRows);
        groups = open;
      }
      if (isTurnLong()) yield nextTurn();
    }
    yield* groups.showUnseen();
    const rows = helper ? yield* groups.joined(helper) : groups.best();
    yield* batches(rows, parts.build.context.batchRows);
    groups.free();
    if (!aside) return;
    groups = new Groups(parts);
    yield* aside.flush();
    for (const p of aside.each()) {
      const spilled = aside.run(p)!;
      yield* run(
        pulled(() => spilled.read(), parts.build.context.signal),
        parts,
        level + 1,
      );
      void spilled.close();
    }
  } finally {
    groups.free();
    aside?.close();
  }
}

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
  private half: KeyHalf | undefined;
  /** Of groups that were made before only a half was: 1 for those of the other half, which lack rows. */
  private foreign: Uint32Array | undefined;
  /** The row in which each group was met first, and the rows so far. */
  private firsts: Uint32List | undefined;
  private rowsMet = 0;
  private helper: GroupHelper | undefined;
  private left: KeyHalf | 'all' | undefined;
  constructor(parts: Parts, store?: KeyStore) {
    this.parts = parts;
    this.half = parts.half;
    this.room = parts.isPassing ? new FloatRoom() : undefined;
    this.own = store?.begin();
    this.table = store?.table ?? new GroupTable(parts.keys.length, parts.op.sql);
    this.states = parts.aggregates.map((a) => a.make());
    // Shares meet about the same groups.
    for (const s of this.states) s.grow(this.table.size);
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
  get widestKey(): number {
    return this.table.widestKey;
  }
  /** There are so many groups that merging those of shares would not pay. */
  get isDense(): boolean {
    return isDenseOf(this.table.size, this.rowsMet);
  }
  /** From the start on. `helper`: whose memory counts too. */
  keepFirsts(helper?: GroupHelper): void {
    this.firsts = new Uint32List();
    this.helper = helper;
  }
  /** From here on groups of the first half alone are made, unless rows of the other half were spilled already. */
  takeFirstHalf(key: number): void {
    if (this.half || this.full) return;
    this.half = { key, index: 0 };
    if (this.table.size === 0) return;
    const known = this.table.keys(range(0, this.table.size))[key];
    this.foreign = new Uint32Array(this.table.size).fill(1);
    for (const group of rowsOfHalf(known, 0, this.parts.op.sql === true)) this.foreign[group] = 0;
  }
  /** What no thread has made. */
  get unanswered(): KeyHalf | 'all' | undefined {
    return this.left;
  }
  /** The rows of the half, with what they belong to. */
  private ofHalf(
    batch: Vector,
    keys: Vector[],
  ): { readonly batch: Vector; readonly keys: Vector[]; readonly places?: Uint32Array } {
    if (!this.half) return { batch, keys };
    const places = rowsOfHalf(keys[this.half.key], this.half.index, this.parts.op.sql === true);
    if (places.length === batch.length) return { batch, keys };
    return { batch: take(batch, places), keys: keys.map((k) => take(k, places)), places };
  }
  private noteFirsts(ids: Uint32Array, base: number, places: Uint32Array | undefined): void {
    if (!this.firsts || this.firsts.length === this.table.size) return;
    if (this.helper?.isRefused) this.firsts = undefined;
    else noteFirsts(this.firsts, ids, this.table.size, base, places);
  }

  /** Shows the states what was spilled of their values: then there are results. */
  *showUnseen(): Generator<Item, void> {
    const { unseen } = this;
    if (!unseen) return;
    const { memory } = this.parts.build;
    yield* unseen.show(() => memory.isOverWith(this.measure()));
    this.measure();
  }
  private grow(): void {
    for (const s of this.states) s.grow(this.size);
  }

  /** Adds a batch; gives the rows for which there is no room. */
  *add(
    batch: Vector,
    level: number,
  ): Generator<Item, { readonly rows: Vector; readonly keys: readonly Vector[] } | undefined> {
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
    const base = this.rowsMet;
    this.rowsMet += batch.length;
    let places: Uint32Array | undefined;
    ({ batch, keys, places } = this.ofHalf(batch, keys));
    if (batch.length === 0) return undefined;
    if (this.parts.op.sortedBy) this.lastKey = take(keys[0], Uint32Array.of(batch.length - 1));
    let single = this.full ? undefined : this.table.single(keys);
    if (single !== undefined) {
      if (this.own) single = this.own.one(single, this.table.size);
      this.noteFirsts(Uint32Array.of(single), base, places);
      this.grow();
      yield* this.feed(batch, undefined, single);
      this.account(build, level);
      return undefined;
    }
    const ends = this.full ? undefined : longRuns(keys);
    if (ends) {
      yield* this.addRuns(batch, keys[0], ends, base);
      this.account(build, level);
      return undefined;
    }
    let ids = this.table.ids(keys, batch.length, !this.full, false);
    let rows: Uint32Array | undefined;
    let rest: Uint32Array | undefined;
    this.noteFirsts(ids, base, places);
    if (this.full) {
      [rows, rest] = knownAndOthers(ids);
      ids = pick(ids, rows);
    } else if (this.own) ids = this.own.of(ids, this.table.size);
    this.grow();
    const own = rowsOf(batch, rows);
    if (own.length > 0) yield* isOneGroup(ids) ? this.feed(own, undefined, ids[0]) : this.feed(own, ids, 0);
    this.account(build, level);
    return rest && rest.length > 0 ? { rows: take(batch, rest), keys: keys.map((k) => take(k, rest)) } : undefined;
  }
  /** Adds rows whose key is the same up to each of the places in turn. */
  private *addRuns(batch: Vector, key: Vector, ends: Uint32Array, base: number): Generator<Item, void> {
    const firsts = ends.map((_, k) => (k === 0 ? 0 : ends[k - 1]));
    const ids = this.table.ids([take(key, firsts)], firsts.length);
    this.noteFirsts(ids, base, firsts);
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
    const others = (this.helper?.heldBytes ?? 0) + 4 * (this.firsts?.array.length ?? 0);
    const bytes = this.table.bytes + this.states.reduce((n, s) => n + s.bytes, 0) + others;
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

  result(groups?: Uint32Array, known?: readonly Vector[]): Vector {
    this.ofBlocks?.flush();
    const n = this.table.size;
    if (n === 0 || groups?.length === 0) return noRows;
    const results = known ?? this.states.map((s) => s.result(n));
    const values = groups ? results.map((r) => flatten(take(r, groups))) : results;
    return recordOfPaths(this.parts.targets, [...this.table.keys(groups), ...values], groups?.length ?? n);
  }
  /** The groups of the half that may be wanted, with the rows that met them first. */
  answer(): HalfAnswer {
    const { groups = range(0, this.table.size), results } = this.wanted();
    const firsts = this.firsts!.done();
    return { rows: this.result(groups, results), firsts: groups.map((g) => firsts[g]) };
  }
  /** The groups that may be wanted, of both halves if another thread helped. */
  *joined(helper: GroupHelper): Generator<Item, Vector> {
    if (!this.half) {
      helper.leave();
      return this.best();
    }
    const other = yield* wait(helper.answer());
    if (!other) {
      this.left = { key: this.half.key, index: 1 };
      return this.best();
    }
    const own = this.answer();
    // What was spilled is of the types that each partition has.
    if (!this.parts.op.sql || this.full || areAlike(own, other)) return joinedHalves(own, other);
    this.left = 'all';
    return noRows;
  }
  /**
   * The results of the groups that may be wanted: all of them, or those that pass the bound. Of 1,000,000 groups by two
   * ids, of which 10 are wanted, 0.9 of the time.
   */
  best(): Vector {
    const { groups, results } = this.wanted();
    return this.result(groups, results);
  }
  /** The groups that may be wanted (undefined: all), and what the states gave if they were asked. */
  private wanted(): { readonly groups?: Uint32Array | undefined; readonly results?: readonly Vector[] } {
    const { targets, bound, op, build, head } = this.parts;
    const { foreign } = this;
    const n = this.table.size;
    const rowsMax = build.context.batchRows;
    let own: Uint32Array | undefined = foreign && range(0, n).filter((g) => foreign[g] !== 1);
    if (head !== undefined && !bound && n > head) own = (own ?? range(0, n)).subarray(0, head);
    if (!bound || n <= rowsMax) return { groups: own };
    const path = targets[bound.column];
    const results = this.states.map((s) => s.result(n));
    const whole = results[bound.column - op.keys.length];
    const column = own ? take(whole, own) : whole;
    const wanted = new Uint32List();
    for (let start = 0; start < column.length; start += rowsMax) {
      const rows = slice(column, start, Math.min(column.length, start + rowsMax));
      const kept = bound.keep(recordOfPaths([path], [rows], rows.length));
      const count = kept?.length ?? rows.length;
      for (let i = 0; i < count; i++) {
        const at = start + (kept ? kept[i] : i);
        wanted.push(own ? own[at] : at);
      }
    }
    return { groups: wanted.done(), results };
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
