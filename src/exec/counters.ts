/**
 * What the operators of a query did: how many rows each gave, how long it took, what scans read and skipped, what was
 * spilled. For EXPLAIN ANALYZE alone: a query that is not asked has no counters, and its streams are not wrapped.
 *
 * Time is an operator's own: from being asked until it gives or asks another one, and its waits. One clock serves all
 * operators of a thread, since one of them works at a time.
 */
import type { Plan, PlanOp } from '../query/plan/plan.ts';
import { planLines } from '../query/plan/text.ts';
import { vectorOf } from '../vectors/builder.ts';
import { types } from '../vectors/type.ts';
import { type Value, intValue, integer, recordValue, stringValue } from '../vectors/value.ts';
import type { Vector } from '../vectors/vector.ts';
import { type Item, type Stream, isBatch, pause } from './operator.ts';
import type { OperatorCount, ScanCounts, SpillStore } from './source.ts';

const noCount = (): OperatorCount => ({
  rows: 0,
  ms: 0,
  bytes: 0,
  blocks: 0,
  blocksSkipped: 0,
  spills: 0,
  spillBytes: 0,
});
const add = (to: OperatorCount, more: OperatorCount): void => {
  for (const name of Object.keys(to) as (keyof OperatorCount)[]) to[name] += more[name];
};

/** The counters of the operators that run in one thread. */
export class Counters {
  private readonly counts = new Map<PlanOp, OperatorCount>();
  private current: OperatorCount | undefined;
  /** The operator whose promise is awaited while none works. */
  private awaited: OperatorCount | undefined;
  private since = 0;

  /** Undefined for operators that never ran, such as those that another one does along with its own work. */
  of(op: PlanOp): OperatorCount | undefined {
    return this.counts.get(op);
  }

  /** The stream of an operator, counted. `isWaiting` false: its waits are for work that others count. */
  *counted(op: PlanOp | undefined, stream: Stream, isWaiting = true): Generator<Item> {
    const own = op ? this.begun(op) : noCount();
    const items = this.timed(own, () => stream[Symbol.iterator]());
    let hasEnded = false;
    try {
      for (;;) {
        const next = this.timed(own, () => items.next());
        if (next.done) {
          hasEnded = true;
          return;
        }
        if (next.value instanceof Promise) {
          if (next.value !== pause && isWaiting) this.awaited ??= own;
        } else if (isBatch(next.value)) own.rows += next.value.length;
        yield next.value;
      }
    } finally {
      if (!hasEnded) this.timed(own, () => items.return?.());
    }
  }

  /** What another thread, or this one besides, has counted. */
  add(op: PlanOp, { rows, ...count }: OperatorCount, areRowsGiven: boolean): void {
    add(this.begun(op), { ...count, rows: areRowsGiven ? rows : 0 });
  }

  /** The counts of these operators, which begin at nothing again. */
  take(ops: readonly PlanOp[]): readonly OperatorCount[] {
    const taken = ops.map((op) => this.of(op) ?? noCount());
    this.counts.clear();
    return taken;
  }

  /** What the scan that works at the moment reads. */
  scan(): ScanCounts {
    return scanCounts(this.current ?? noCount());
  }
  scanOf(op: PlanOp): ScanCounts {
    return scanCounts(this.begun(op));
  }

  /** A store that counts for the operator that opens a run. */
  spill(store: SpillStore): SpillStore {
    return {
      open: () => {
        const own = this.current ?? noCount();
        const run = store.open();
        own.spills++;
        return {
          ...run,
          append: async (batch) => {
            const bytes = await run.append(batch);
            own.spillBytes += bytes;
            return bytes;
          },
        };
      },
      bytes: () => {
        const own = this.current ?? noCount();
        const file = store.bytes();
        own.spills++;
        return {
          append: (bytes) => {
            file.append(bytes);
            own.spillBytes += bytes.length;
          },
          read: (at, length) => file.read(at, length),
          close: () => {
            file.close();
          },
        };
      },
    };
  }

  private begun(op: PlanOp): OperatorCount {
    let count = this.counts.get(op);
    if (!count) this.counts.set(op, (count = noCount()));
    return count;
  }
  private timed<T>(own: OperatorCount, work: () => T): T {
    const outer = this.current;
    this.turnTo(own);
    try {
      return work();
    } finally {
      this.turnTo(outer);
    }
  }
  private turnTo(next: OperatorCount | undefined): void {
    const now = performance.now();
    const ended = this.current ?? this.awaited;
    if (ended) ended.ms += now - this.since;
    if (!this.current) this.awaited = undefined;
    this.current = next;
    this.since = now;
  }
}

const scanCounts = (own: OperatorCount): ScanCounts => {
  const seen = new Set<string>();
  const isNew = (name: string): boolean => seen.size < seen.add(name).size;
  return {
    read: (bytes) => {
      own.bytes += bytes;
    },
    skipped: (blocks) => {
      own.blocksSkipped += blocks;
    },
    opened: (object, blocks) => {
      if (isNew(object)) own.blocksSkipped += blocks;
    },
    block: (object, block) => {
      if (!isNew(`${object}:${block}`)) return;
      own.blocks++;
      own.blocksSkipped--;
    },
  };
};

/**
 * The answer of EXPLAIN ANALYZE: a row for the query and one for each line of its plan. `rows` and `ms`: of all of it.
 */
export const analysisOf = (
  plan: Plan,
  counters: Counters,
  { rows, ms }: { readonly rows: number; readonly ms: number },
): Vector => {
  const lines = planLines(plan);
  const all = { ...noCount(), rows, ms };
  for (const op of new Set(lines.map((line) => line.op))) {
    const count = op && counters.of(op);
    if (count) add(all, { ...count, rows: 0, ms: 0 });
  }
  return vectorOf([row('query', all), ...lines.map(({ text, op }) => row(text, (op && counters.of(op)) ?? noCount()))]);
};

const row = (text: string, { rows, ms, bytes, blocks, blocksSkipped, spills, spillBytes }: OperatorCount): Value =>
  recordValue([
    { name: 'plan', value: stringValue(text) },
    { name: 'rows', value: intValue(rows) },
    { name: 'time', value: { type: types.duration, data: integer(Math.round(ms * 1e6)) } },
    { name: 'bytes', value: intValue(bytes) },
    { name: 'blocks', value: intValue(blocks) },
    { name: 'blocks_skipped', value: intValue(blocksSkipped) },
    { name: 'spills', value: intValue(spills) },
    { name: 'spill_bytes', value: intValue(spillBytes) },
  ]);
