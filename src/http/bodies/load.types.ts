/** What loads come to, as their answers tell it. */
import type { Id, PoolConfig } from '../../lake/lake.types.ts';
import type { FaultsTold, LoadOutcome, LoadPreview } from '../../workers/pool.types.ts';

/** Where faulty records do not fail a load: what it took and what not. `rejected`: their own commit. */
export interface LoadFaults extends FaultsTold {
  readonly records: number;
  readonly rejected?: Id;
}
/** A load that waits for a transaction. */
export interface LoadStaged {
  readonly id: string;
  readonly untilMs: number;
  readonly outcome: LoadOutcome;
}
/** What a load would come to. `layout`: of the pool, or one that suits the records. */
export interface PreviewTold extends LoadPreview {
  readonly layout: PoolConfig['layout'];
}
