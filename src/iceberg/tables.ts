/** The tables of a lake's pools, each opened once; a pool whose mapping changes is another table from then on. */
import { LakeError } from '../errors.ts';
import { base62 } from '../lake/ksuid.ts';
import type { Id, Lake, PoolConfig } from '../lake/lake.types.ts';
import { type Mapping, mappings } from './kinds.ts';
import { poolOf } from './rows.ts';
import type { MappedPool } from './stored/sweep.ts';
import { type RenderTurns, Table } from './table.ts';

/** How a pool is mapped, if it is a table. */
export const mappingOf = ({ icebergMapping }: Pick<PoolConfig, 'icebergMapping'>): Mapping => icebergMapping ?? 'typed';

/** What of the lake tables are made of. */
export type TablesLake = Pick<Lake, 'pools' | 'pool' | 'derived'>;

export class OpenTables {
  private readonly lake: TablesLake;
  private readonly turns: RenderTurns;
  private readonly open = new Map<string, Table>();

  constructor(lake: TablesLake, turns: RenderTurns) {
    this.lake = lake;
    this.turns = turns;
  }

  get isEmpty(): boolean {
    return this.open.size === 0;
  }
  /** Those that are tables. */
  pools(): readonly PoolConfig[] {
    return this.lake.pools().filter(({ iceberg }) => iceberg !== undefined);
  }
  /** All pools with what there is of each mapping: what was a table once has files too. */
  mapped(): readonly MappedPool[] {
    return this.lake.pools().flatMap(({ id }) => {
      const pool = this.lake.derived(base62(id));
      return mappings.map((mapping) => ({ pool: poolOf(pool, mapping), mapping }));
    });
  }

  /** Undefined: there is no such pool, or it is no table. */
  find(reference: string): Table | undefined {
    const config = this.config(reference);
    if (!config?.iceberg) return undefined;
    return this.table(config.id, mappingOf(config));
  }
  /** The table of a pool, if it is one, and behind it the one that it is with another mapping. */
  *each(reference: string): Generator<Table> {
    const config = this.config(reference);
    if (!config?.iceberg) return;
    const now = mappingOf(config);
    yield this.table(config.id, now);
    for (const mapping of mappings) if (mapping !== now) yield this.table(config.id, mapping);
  }
  private table(pool: Id, mapping: Mapping): Table {
    const known = this.opened(pool, mapping);
    if (known) return known;
    const table = new Table(poolOf(this.lake.derived(base62(pool)), mapping), mapping, this.turns);
    this.open.set(keyOf(pool, mapping), table);
    return table;
  }
  /** Whether a pool is a table whose files are made at once: asked for each commit, however many pools there are. */
  isEager(pool: Id): boolean {
    return this.config(`0x${pool}`)?.iceberg === 'eager';
  }
  private config(reference: string): PoolConfig | undefined {
    try {
      return this.lake.pool(reference).config;
    } catch (fault) {
      if (fault instanceof LakeError && fault.code === 'pool-not-found') return undefined;
      throw fault;
    }
  }
  opened(pool: Id, mapping: Mapping): Table | undefined {
    return this.open.get(keyOf(pool, mapping));
  }
  forget(pool: Id): void {
    for (const mapping of mappings) this.open.delete(keyOf(pool, mapping));
  }
}
const keyOf = (pool: Id, mapping: Mapping): string => `${pool} ${mapping}`;
