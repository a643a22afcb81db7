/**
 * Plans split over shares of a scan: what a thread does with one share, and what becomes of the answers in the thread
 * of the query.
 */
import { strict as assert } from 'node:assert';
import type { Vector } from '../vectors/vector.ts';
import { Emission, type Item, type Stream, drive, wait } from './operator.ts';
import { mergedGroups, shareGroups } from './operators/aggregate.ts';
import type { BlockTotals } from './operators/block-totals.ts';
import { KeyBook } from './aggregates/grouping/shared-keys.ts';
import type { Build } from './operators/build.ts';
import type { TotalsSink } from './operators/scan.ts';
import type { TopOptions } from './operators/sort/top.ts';
import type { Division, GroupsOfShare, OperatorCount, PartAnswer, PartPlan, PartWorker } from './source.ts';

/**
 * Makes the answers of shares; its input is their rows, worked on by the part's operators. `totals`: where the scan
 * leaves what blocks come to.
 */
export const answering = (
  { aggregate }: PartPlan,
  build: Build,
  { thread, totals }: { readonly thread: number; readonly totals?: (TotalsSink & BlockTotals) | undefined },
): ((input: Stream) => Promise<PartAnswer>) => {
  const { signal, counters } = build.context;
  const grouped = aggregate && shareGroups({ ...aggregate, ...(totals && { totals }) }, build, thread);
  if (!grouped) {
    return async (input) => {
      const rows: Vector[] = [];
      for await (const item of drive(input, signal)) if (!(item instanceof Emission)) rows.push(item);
      return { rows };
    };
  }
  return async (input) => {
    let groups: GroupsOfShare | undefined;
    const run = function* run(): Generator<Item> {
      groups = yield* grouped(input);
    };
    for await (const item of drive(counters ? counters.counted(aggregate!, run()) : run(), signal))
      assert(item, 'groups come at the end');
    return { groups: groups! };
  };
};

/**
 * How a division is worked on. `rest` gives the rows that no answer stands for when groups do not fit any more; `heard`
 * is told of the counts of each answer; `best`: what the operator behind keeps of the groups.
 */
interface MergedOptions {
  readonly own: PartWorker;
  readonly rest: () => Stream;
  readonly heard: ((counts: readonly OperatorCount[]) => void) | undefined;
  readonly best: TopOptions | undefined;
}

/** The merged answers of a division, as a stream. */
export function* merged(
  division: Division,
  { own, rest, heard, best }: MergedOptions,
  { aggregate }: PartPlan,
  build: Build,
): Generator<Item> {
  const book = new KeyBook();
  const iterator = division
    .answers(own, (answer) => {
      if ('groups' in answer) book.note(answer.groups.keys);
    })
    [Symbol.asyncIterator]();
  const next = function* next(): Generator<Item, PartAnswer | undefined> {
    const answer = yield* wait(iterator.next());
    build.context.signal.throwIfAborted();
    if (answer.done) return undefined;
    if (answer.value.counts) heard?.(answer.value.counts);
    return answer.value;
  };
  const leave = (): Promise<unknown> => iterator.return?.() ?? Promise.resolve();
  try {
    if (aggregate) {
      yield* mergedGroups(aggregate, build, {
        book,
        best,
        next: function* groups() {
          const answer = yield* next();
          return answer && 'groups' in answer ? answer.groups : undefined;
        },
        rest: function* others() {
          yield* wait(leave());
          yield* rest();
        },
      });
      return;
    }
    for (let answer = yield* next(); answer; answer = yield* next()) if ('rows' in answer) yield* answer.rows;
  } finally {
    leave().catch(() => undefined);
  }
}
