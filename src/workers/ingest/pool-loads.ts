/**
 * The records of one body on their way into several pools: each pool's are sorted into objects side by side.
 *
 * Invariants:
 * - What fails for a pool, its refusal too, fails for that pool alone, and is told at the end.
 * - When the body fails, no pool's objects are left.
 */
import { LakeError } from '../../errors.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { PoolLayout } from '../messages.ts';
import { operationLayout } from './bulk-rows.ts';

/** What a pool's records became, or why they became nothing. */
export type PoolLoaded = (SortedObjects & { readonly field?: string }) | { readonly error: unknown };

/** What becomes of the records of one body. */
export interface BodyLoads {
  /**
   * Hands records on; resolves when they were taken. Never rejects for what a pool says. `field`: they are operations by
   * that field, of which a pool has only such.
   */
  emit(pool: string, batch: Vector, field?: string): Promise<void>;
  /** All records came. */
  end(): Promise<ReadonlyMap<string, PoolLoaded>>;
  /** The body failed. Never rejects. */
  abort(error: unknown): Promise<void>;
}

/** How records become objects, and of which pools. */
export interface PoolLoadTools {
  /** Finds the pool. @throws why it takes none */
  layoutOf(pool: string): Promise<PoolLayout>;
  sort(batches: AsyncIterable<Vector>, layout: PoolLayout, pools: () => number): Promise<SortedObjects>;
  /** Removes what was written for nothing. */
  remove(objects: readonly ObjectMeta[]): Promise<void>;
}

/** Pools that one body may have records for: each has its rows in memory until they are sorted. */
export const bodyPoolsMax = 100;

/** The pools of one body. */
export class PoolLoads implements BodyLoads {
  private readonly tools: PoolLoadTools;
  private readonly pools = new Map<string, PoolLoad>();
  constructor(tools: PoolLoadTools) {
    this.tools = tools;
  }

  async emit(pool: string, batch: Vector, field?: string): Promise<void> {
    let load = this.pools.get(pool);
    if (!load) this.pools.set(pool, (load = this.begin(pool, field)));
    await load.push(batch);
  }

  async end(): Promise<ReadonlyMap<string, PoolLoaded>> {
    for (const load of this.pools.values()) load.end();
    const loaded = new Map<string, PoolLoaded>();
    for (const [pool, load] of this.pools) loaded.set(pool, await load.outcome);
    return loaded;
  }
  async abort(error: unknown): Promise<void> {
    for (const load of this.pools.values()) load.end(error);
    for (const load of this.pools.values()) {
      const outcome = await load.outcome;
      if ('objects' in outcome) await this.tools.remove(outcome.objects);
    }
  }

  private begin(pool: string, field: string | undefined): PoolLoad {
    const isOver = this.pools.size >= bodyPoolsMax;
    return new PoolLoad(async (batches) => {
      if (isOver) throw tooManyPools(pool);
      const layout = await this.tools.layoutOf(pool);
      const pools = (): number => this.pools.size;
      if (field === undefined) return this.tools.sort(batches, layout, pools);
      return { ...(await this.tools.sort(batches, operationLayout(layout), pools)), field };
    });
  }
}

/** Why a pool's records are not taken when the body has some for so many others. */
export const tooManyPools = (pool: string): LakeError => new LakeError('body-pools', { pool, limit: bodyPoolsMax });

/** Batches of one pool, handed over one by one. */
class PoolLoad {
  readonly outcome: Promise<PoolLoaded>;
  private batch: Vector | undefined;
  private isOver = false;
  private hasFailed = false;
  private failure: { readonly error: unknown } | undefined;
  /** Who waits for the other side. */
  private wake: (() => void) | undefined;

  constructor(sort: (batches: AsyncIterable<Vector>) => Promise<Exclude<PoolLoaded, { readonly error: unknown }>>) {
    this.outcome = sort(this.batches()).catch((error: unknown) => {
      this.hasFailed = true;
      this.signal();
      return { error };
    });
  }

  async push(batch: Vector): Promise<void> {
    if (this.hasFailed) return;
    this.batch = batch;
    this.signal();
    while (this.batch !== undefined && !this.hasFailed) await this.change();
    this.batch = undefined;
  }
  end(error?: unknown): void {
    this.isOver = true;
    if (error !== undefined) this.failure = { error };
    this.signal();
  }

  private async *batches(): AsyncGenerator<Vector> {
    for (;;) {
      if (this.failure) throw this.failure.error;
      const { batch } = this;
      if (batch) {
        this.batch = undefined;
        this.signal();
        yield batch;
      } else if (this.isOver) return;
      else await this.change();
    }
  }
  /** Both sides never wait at once: one has a batch to give, the other wants one. */
  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
  private signal(): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.();
  }
}
