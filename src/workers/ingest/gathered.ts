/**
 * The records of one body as its decoder makes them, gathered into batches by the pools that they are for.
 *
 * Invariant: a pool's records are handed on in the order in which they were made, the last ones at the end of the body.
 */
import { Batches } from '../../formats/batches.ts';
import { readLimits } from '../../formats/format.types.ts';
import type { Builder } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import type { DecodeContext } from './ingest.types.ts';

/** Records of a pool that wait until they are a batch. */
export interface PoolBatches {
  readonly pool: string;
  /** They are operations by this field of the pool's identity. */
  readonly field: string | undefined;
  readonly batches: Batches;
}
type Surroundings = Pick<DecodeContext, 'options' | 'emit'>;

/** The records of all pools of a body. */
export class Gathered {
  private readonly batchRows: number;
  private readonly emit: DecodeContext['emit'];
  private readonly pools = new Map<string, PoolBatches>();
  constructor({ options, emit }: Surroundings) {
    this.batchRows = readLimits(options).batchRows;
    this.emit = emit;
  }

  /** Those of a pool, whose `field` is what it was said first. */
  of(pool: string, field?: string): PoolBatches {
    let found = this.pools.get(pool);
    if (!found) this.pools.set(pool, (found = { pool, field, batches: new Batches(this.batchRows) }));
    return found;
  }
  /** Hands on those of a pool that wait; resolves when more may come. */
  handOn({ pool, field, batches }: PoolBatches): Promise<void> {
    return this.emit(pool, batches.take(), field);
  }
  /** Hands on all that wait. */
  async end(): Promise<void> {
    for (const waiting of this.pools.values()) if (!waiting.batches.isEmpty) await this.handOn(waiting);
  }
}

/**
 * Makes a record of each item, all for one pool; gives their number. `write` appends one to the builder and tells how
 * many bytes of the body it was.
 */
export const gather = async <T>(
  items: Iterable<T>,
  pool: string,
  surroundings: Surroundings,
  write: (item: T, builder: Builder) => number,
): Promise<number> => {
  const gathered = new Gathered(surroundings);
  const records = gathered.of(pool);
  const { batches } = records;
  for (const item of items) {
    checkStopAt(batches.rows);
    batches.end(write(item, batches.begin()));
    if (batches.isFull) await gathered.handOn(records);
  }
  await gathered.end();
  return batches.rows;
};
