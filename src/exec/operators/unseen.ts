/**
 * Values of aggregates that see each value of a group once, count(distinct v), where there is no room to note them all:
 * those that are not known are spilled, by a hash of group and value, and seen afterwards, a partition at a time.
 */
import { type Vector, flatten, numbers } from '../../vectors/vector.ts';
import { types } from '../../vectors/type.ts';
import type { AggregateState, GroupValues } from '../aggregates/grouping/state.ts';
import { fieldOf } from '../expressions/access.ts';
import { type Item, isBatch } from '../operator.ts';
import type { SpillBytes } from '../spill-bytes.ts';
import { isTurnLong, nextTurn } from '../../vectors/stop.ts';
import type { Build } from './build.ts';
import { Partitions, levelsMax, partitionsOf } from './rows/partitions.ts';
import { field, record } from './rows/records.ts';
import { pulled } from '../pulled.ts';

/** The values that states have left, each state's by itself. */
export class UnseenValues {
  private readonly parts: (Partitions | undefined)[] = [];
  private readonly build: Build;
  private readonly states: readonly AggregateState[];
  private readonly open = (): SpillBytes => this.build.context.host.spill!.bytes();
  constructor(build: Build, states: readonly AggregateState[]) {
    this.build = build;
    this.states = states;
    for (const { seen } of states) seen?.close(this.open);
  }

  /** Spills what the states have left since the last time; `all`: nothing of it is left to the next time. */
  *spill(level: number, all = false): Generator<Item, void> {
    for (const [k, { seen }] of this.states.entries()) {
      for (const left of seen?.take(all) ?? []) {
        const rows = rowsOf(left);
        const keys = rows.fields.map((f) => f.values);
        const parts = (this.parts[k] ??= new Partitions(this.build));
        yield* parts.add(rows, partitionsOf(keys, rows.length, level, true));
      }
    }
  }
  /**
   * Shows the states what they left; `account` says whether there is no room for more beside what a state has noted,
   * each time after a batch. (What the groups hold does not count: a state would note a batch of each partition, and
   * leave the rest to smaller and smaller ones.)
   */
  *show(account: (notedBytes: number) => boolean): Generator<Item, void> {
    yield* this.spill(0, true);
    for (const [k, state] of this.states.entries()) yield* this.showOne(k, state, account, 1);
  }
  private *showOne(
    k: number,
    state: AggregateState,
    account: (notedBytes: number) => boolean,
    level: number,
  ): Generator<Item, void> {
    const parts = this.parts[k];
    this.parts[k] = undefined;
    for (const _ of state.seen?.end() ?? []) if (isTurnLong()) yield nextTurn();
    state.seen?.reopen();
    if (!parts) return;
    try {
      yield* parts.flush();
      for (const p of parts.each()) {
        const run = parts.run(p)!;
        for (const item of pulled(() => run.read(), this.build.context.signal)) {
          if (!isBatch(item)) {
            yield item;
            continue;
          }
          state.update(groupsIn(item), fieldOf(item, 'value'));
          if (account(state.seen?.notedBytes ?? 0) && level < levelsMax) state.seen?.close(this.open);
          yield* this.spill(level);
        }
        yield* this.spill(level, true);
        yield* this.showOne(k, state, account, level + 1);
        void run.close();
      }
    } finally {
      parts.close();
    }
  }
  close(): void {
    for (const parts of this.parts) parts?.close();
    for (const { seen } of this.states) seen?.discard();
  }
}

const rowsOf = ({ ids, values }: GroupValues) =>
  record(
    [field('group', numbers(types.float64, Float64Array.from(ids), ids.length)), field('value', values)],
    ids.length,
  );
const groupsIn = (rows: Vector): Uint32Array => {
  const groups = flatten(fieldOf(rows, 'group'));
  if (groups.form !== 'number') throw new Error('groups are numbers');
  return Uint32Array.from(groups.values as Float64Array);
};
