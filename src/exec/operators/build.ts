/** What operators are made with. */
import type { Correlated, Pipeline, PlanExpr } from '../../query/plan/plan.ts';
import { chargeHeld, isMemoryShared, isMemoryShort } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import type { ExecutionContext } from '../context.ts';
import type { Item, Step, Stream } from '../operator.ts';
import { refusalOf } from './named.ts';

/** A pipeline made ready: run it as often as needed, each time on streams of its own. */
export type PipelineRun = (inputs: readonly Stream[]) => readonly Stream[];

/**
 * What an operator of one query is made with: the query's surroundings, its memory, and how the expressions and
 * pipelines inside of the operator are made ready.
 */
export interface Build {
  readonly context: ExecutionContext;
  readonly memory: Memory;
  readonly expression: (expr: PlanExpr) => AsyncEvaluator;
  /** The same where only the rows that are true count. */
  readonly condition: (expr: PlanExpr) => AsyncEvaluator;
  /** A pipeline as one step; several results are given as one stream. */
  readonly step: (p: Pipeline) => Step;
  /** The same for a pipeline that depends on outer values: `set` tells what they are, one row each. */
  readonly dependent: (
    body: Correlated,
    callDepth: number,
  ) => { readonly step: Step; readonly set: (values: readonly Vector[]) => void };
  /** The rows that came last, of the recursions around. */
  readonly working: Map<number, Working>;
  /** The rows of tables of WITH that are read several times, once somebody reads them. */
  readonly shared: Map<number, SharedTable>;
}

/** The rows of a table of WITH, pulled by whoever reads them first (nested/shared.ts). */
export interface SharedTable {
  read(): Generator<Item>;
  close(): void;
}

/** Rows of one round of a recursion. */
export interface Working {
  rows: readonly Vector[];
}

/**
 * Operators that can spill do so from this share of the budget on: there is room left for those that cannot, and for
 * the results, which are copies.
 */
const spillShare = 0.4;
/**
 * The same for those that give few of the rows that they hold. Of 1,000,000 groups by two ids, of which 10 are wanted,
 * nothing is spilled that way, nor of 850,000 addresses: both take 0.45 of the processor time.
 */
export const fewGivenShare = 0.55;
/**
 * Where the thread has other tasks too, or the process little left, it is this part of that: what puts rows aside makes
 * copies of them first.
 */
const sharedPart = 0.5;
/** So much an operator may hold even if others take nearly all: spilling less at a time costs more than it frees. */
const ownShare = 0.1;

/** Bytes that the operators of one query hold. */
export class Memory {
  private held = 0;
  readonly max: number;
  constructor(max: number) {
    this.max = max;
  }
  /** Little is left. */
  get isOver(): boolean {
    return this.isBeyond(this.held, spillShare);
  }
  private isBeyond(bytes: number, share: number): boolean {
    const spillAt = this.max * share;
    return bytes > spillAt || (bytes > spillAt * sharedPart && isMemoryShared());
  }
  /**
   * Whether an operator that holds so much should spill: for what the query holds, or for what its thread does with all
   * that copies and others take.
   */
  isOverWith(own: number, share = spillShare): boolean {
    return own > this.max * ownShare && (this.isBeyond(this.held, share) || isMemoryShort());
  }
  /** The thread has other tasks too, or little memory left. */
  get isTight(): boolean {
    return isMemoryShared() || isMemoryShort();
  }
  /** The budget is used up. */
  get isFull(): boolean {
    return this.held > this.max;
  }
  /** The same for an operator that holds so much: one that holds next to nothing goes on. */
  isFullWith(own: number): boolean {
    return this.isFull && own > this.max * ownShare;
  }
  /**
   * Counts bytes (negative: freed): those of rows that were read are charged here, for columns that the cache keeps
   * were nobody's before.
   */
  add(bytes: number): void {
    this.held += bytes;
    if (bytes > 0) chargeHeld(bytes);
  }
  /** For operators that cannot spill. @throws LakeError query-memory */
  hold(bytes: number, operator: string): void {
    this.held += bytes;
    if (this.isFull) this.refuse(operator);
  }
  refuse(operator: string): never {
    throw refusalOf(operator, this.max);
  }
}
