/** What a top is to keep; in a file of its own, since parts of plans that travel say it too. */
import type { SortKey } from '../../../query/plan/plan.ts';

/** The end of the sort order that is kept. */
type End = 'first' | 'last';
/** `count` rows at most. Without keys one is guessed from the first value; `reverse` counts for a guessed key alone. */
export interface TopOptions {
  readonly count: number;
  readonly keys: readonly SortKey[];
  readonly reverse: boolean;
  readonly end: End;
}
