/**
 * The pools of a small body: records are held until all of it was read, and become objects then, each pool's in one go.
 * Nothing is written before that, so that a body which fails leaves nothing to remove.
 */
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { PoolLayout } from '../messages.ts';
import { operationLayout } from './bulk-rows.ts';
import { type BodyLoads, bodyPoolsMax, type PoolLoaded, tooManyPools } from './pool-loads.ts';

/** How records become objects, and of which pools. */
export interface HeldLoadTools {
  /** Finds the pool. @throws why it takes none */
  layoutOf(pool: string): Promise<PoolLayout>;
  /** When it fails, no file is left. */
  sort(batches: readonly Vector[], layout: PoolLayout): SortedObjects | Promise<SortedObjects>;
}
/** What is held of a pool's records, and how it has them, or why it takes none. */
interface Held {
  readonly field: string | undefined;
  readonly batches: Vector[];
  readonly layout: Promise<PoolLayout | { readonly error: unknown }>;
}

/** What fails for a pool, its refusal too, fails for that pool alone, and is told at the end. */
export class HeldLoads implements BodyLoads {
  private readonly tools: HeldLoadTools;
  private readonly pools = new Map<string, Held>();
  constructor(tools: HeldLoadTools) {
    this.tools = tools;
  }

  emit(pool: string, batch: Vector, field?: string): Promise<void> {
    let held = this.pools.get(pool);
    if (!held) this.pools.set(pool, (held = { field, batches: [], layout: this.find(pool) }));
    held.batches.push(batch);
    return taken;
  }
  private async find(pool: string): Promise<PoolLayout | { readonly error: unknown }> {
    try {
      if (this.pools.size >= bodyPoolsMax) throw tooManyPools(pool);
      return await this.tools.layoutOf(pool);
    } catch (error) {
      return { error };
    }
  }

  async end(): Promise<ReadonlyMap<string, PoolLoaded>> {
    const loaded = new Map<string, PoolLoaded>();
    for (const [pool, { field, batches, layout }] of this.pools) {
      const found = await layout;
      loaded.set(pool, 'error' in found ? found : await this.sorted(batches, found, field));
    }
    return loaded;
  }
  private async sorted(batches: readonly Vector[], layout: PoolLayout, field: string | undefined): Promise<PoolLoaded> {
    try {
      if (field === undefined) return await this.tools.sort(batches, layout);
      return { ...(await this.tools.sort(batches, operationLayout(layout))), field };
    } catch (error) {
      return { error };
    }
  }
  async abort(): Promise<void> {
    for (const { layout } of this.pools.values()) await layout;
    this.pools.clear();
  }
}
const taken = Promise.resolve();
