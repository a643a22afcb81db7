/**
 * WITH RECURSIVE: the first rows, then what `next` makes of the rows that came last, until it makes none. Rows go on as
 * they come, so that a LIMIT ends the rounds.
 *
 * Rounds and rows are limited (`ExecutionContext.recursion`): a recursion without an end is an error, not a full
 * memory.
 */
import { LakeError } from '../../../errors.ts';
import { exprsOf, pipelinesOf } from '../../../query/plan/walk.ts';
import { readsWorking, subqueryReadsWorking } from '../../../query/analyze/correlated.ts';
import type { PlanOp } from '../../../query/plan/plan.ts';
import { sizeOf } from '../../../vectors/sizes.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { type Item, type Step, type Stream, isBatch } from '../../operator.ts';
import { recursionMax } from '../../context.ts';
import { Breath } from '../rows/breath.ts';
import type { Build, Working } from '../build.ts';
import { compact } from '../compact.ts';
import { Seen, newRows } from '../distinct.ts';
import { runKeyed } from './recursive-keyed.ts';
import { nothing } from '../scan.ts';

type RecursiveOp = Extract<PlanOp, { kind: 'recursive' }>;

/**
 * The recursion as a source: each call is a run of its own. @throws recursion-rounds, recursion-rows beyond the limits,
 * query-memory when its rows do not fit the budget
 */
export const recursive = (op: RecursiveOp, build: Build): (() => Stream) => {
  const first = build.step(op.first);
  const working: Working = { rows: [] };
  const all: Working = { rows: [] };
  const log: Working = { rows: [] };
  const bind = (): void => {
    build.working.set(op.id, working);
    if (op.all !== undefined) build.working.set(op.all, all);
    if (op.keyed) build.working.set(op.keyed.log, log);
  };
  bind();
  const next = build.step(op.next);
  const anew = keepsResults(op);
  const parts = { op, build, first, working, all, log };
  const nextOf = (): Step => {
    if (!anew) return next;
    bind();
    return build.step(op.next);
  };
  if (!op.keyed) return () => run({ ...parts, nextOf });
  const keyed = build.step(op.keyed.pipeline);
  return () => runKeyed({ ...parts, nextOf, keyed, folds: op.keyed!.folds });
};

/** The rows that came last, in `next`. */
export const workingRows = (id: number, build: Build): (() => Stream) => {
  const { working } = build;
  const own = working.get(id);
  return () => (own ?? working.get(id))?.rows ?? [];
};

/**
 * Subqueries that look at the rows of the recursion answer again in each round, so that nothing that they keep may
 * stay.
 */
const keepsResults = ({ next }: RecursiveOp): boolean => {
  const none: ReadonlySet<number> = new Set();
  const inside = (ops: readonly PlanOp[]): boolean =>
    ops.some(
      (op) =>
        exprsOf(op).some((e) => subqueryReadsWorking(e, none)) ||
        pipelinesOf(op).some((p) => (op.kind === 'lateral' ? readsWorking(p.ops, none) : inside(p.ops))),
    );
  return inside(next.ops);
};

/** What a recursion is run with; `all` and `log` hold all rows so far, where somebody asks for them. */
export interface RecursionParts {
  readonly op: RecursiveOp;
  readonly build: Build;
  readonly first: Step;
  readonly nextOf: () => Step;
  readonly working: Working;
  readonly all: Working;
  readonly log: Working;
}

function* run({ op, build, first, nextOf, working, all }: RecursionParts): Generator<Item> {
  const { memory } = build;
  const seen = op.distinct ? new Seen(true) : undefined;
  const limits = build.context.recursion ?? recursionMax;
  const breath = new Breath(build.context.signal);
  const keepsAll = op.all !== undefined;
  let held = 0;
  let rounds = 0;
  let count = 0;
  const hold = (bytes: number): void => {
    held += bytes;
    memory.hold(bytes, 'with recursive');
  };
  /** Gives the new rows of a stream and returns them. */
  function* pass(stream: Stream): Generator<Item, Vector[]> {
    const rows: Vector[] = [];
    for (const item of stream) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      const before = seen?.bytes ?? 0;
      const fresh = seen ? newRows(seen, item) : item;
      hold((seen?.bytes ?? 0) - before);
      if (fresh.length === 0) continue;
      count += fresh.length;
      if (count > limits.rows) throw new LakeError('recursion-rows', { name: op.name, limit: limits.rows });
      const own = compact(fresh);
      rows.push(own);
      hold(sizeOf(own));
      yield own;
    }
    return rows;
  }
  try {
    working.rows = yield* pass(first(nothing()));
    if (keepsAll) all.rows = working.rows;
    while (working.rows.length > 0) {
      yield* breath.take();
      if (++rounds > limits.rounds) throw new LakeError('recursion-rounds', { name: op.name, limit: limits.rounds });
      const last = working.rows;
      const rows: Vector[] = yield* pass(nextOf()(nothing()));
      if (keepsAll) all.rows = [...all.rows, ...rows];
      else hold(-last.reduce((n, v) => n + sizeOf(v), 0));
      working.rows = rows;
    }
  } finally {
    working.rows = [];
    all.rows = [];
    memory.add(-held);
  }
}
