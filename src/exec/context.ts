/** What a running query carries along: its host, its limits, what it has learned and counted so far. */
import type { Type } from '../vectors/type.ts';
import type { Vector } from '../vectors/vector.ts';
import type { Counters } from './counters.ts';
import type { ExecutionHost } from './source.ts';

/** How far WITH RECURSIVE may go, if the context says nothing. */
export const recursionMax: { readonly rounds: number; readonly rows: number } = {
  rounds: 1_000_000,
  rows: 100_000_000,
};

/** What a running query carries along. */
export interface ExecutionContext {
  readonly host: ExecutionHost;
  readonly signal: AbortSignal;
  /** Rows of a batch, at most. */
  readonly batchRows: number;
  /**
   * Bytes that the operators may hold together before they spill; one that cannot ends the query with `query-memory`.
   */
  readonly memoryBytesMax: number;
  /** Names bound to types by the values read so far (`typename`). */
  readonly names: Map<string, Type>;
  /** Most rounds of a WITH RECURSIVE, and most rows. */
  readonly recursion?: { readonly rounds: number; readonly rows: number };
  /** Counts what the operators do; absent: nobody asked. */
  readonly counters?: Counters;
  /**
   * Gives what each operator makes in other forms or smaller batches, never with other values or in another order:
   * answers must not depend on either.
   */
  readonly reshape?: (batch: Vector) => Iterable<Vector>;
}

/** The context of a query whose operators are counted. */
export const counting = (context: ExecutionContext, counters: Counters): ExecutionContext => {
  const { spill } = context.host;
  return { ...context, counters, host: spill ? { ...context.host, spill: counters.spill(spill) } : context.host };
};
