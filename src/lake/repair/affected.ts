/**
 * What damage means to those who read: which branches and tags, how many of their data objects and rows, by which commits they
 * came.
 */
import { base62 } from '../ksuid.ts';
import type { Id, PoolConfig } from '../lake.types.ts';
import { objectNames } from '../commits/merge.ts';
import { decodeObject, pairKey, type StoredCommit } from '../tables/rows.ts';
import { ofPool, soundCommit, soundTips, tipObjects } from './sound-rows.ts';
import type { Tables } from '../tables/tables.ts';

/**
 * Of one pool: objects with the number of their rows, if that is known, and commits that are damaged or missing; how
 * many of its branches are damaged.
 */
export interface Damage {
  readonly pool: PoolConfig;
  readonly objects: Map<Id, number | undefined>;
  readonly commits: Set<Id>;
  branches: number;
}

/** What the damages mean, a line for each branch and tag that is hurt and for the commits concerned, pool by pool. */
export const affected = (tables: Tables, damages: readonly Damage[]): readonly string[] =>
  damages.flatMap((damage) => linesOf(tables, damage));

const linesOf = (tables: Tables, { pool, objects, commits, branches }: Damage): readonly string[] => {
  const lines: string[] = [];
  const seen = new Map<Id, StoredCommit | undefined>();
  const read = (id: Id): StoredCommit | undefined => {
    if (!seen.has(id)) seen.set(id, soundCommit(tables, pool.id, id));
    return seen.get(id);
  };
  if (branches > 0)
    lines.push(
      `pool "${pool.name}": not readable, ${branches} of its branches ${branches === 1 ? 'is' : 'are'} damaged`,
    );
  for (const { kind, row } of soundTips(tables, pool.id)) {
    const { name, commit } = row;
    const held = tipObjects(read, commit);
    if (held.broken !== undefined)
      lines.push(
        `pool "${pool.name}", ${kind} "${name}": not readable, its history breaks at commit ${base62(held.broken)}`,
      );
    const hurt = [...objects.keys()].filter((id) => held.objects.has(id));
    if (hurt.length === 0) continue;
    const rows = hurt.reduce<number | undefined>(
      (sum, id) => (sum === undefined || objects.get(id) === undefined ? undefined : sum + objects.get(id)!),
      0,
    );
    lines.push(
      `pool "${pool.name}", ${kind} "${name}": ${hurt.length} of ${held.objects.size} data objects (${objectNames(hurt)}), ${rows ?? 'an unknown number'} of ${rowsOf(tables, pool.id, held.objects) ?? 'an unknown number of'} rows`,
    );
  }
  const adders: Id[] = [];
  for (const { row: commit } of ofPool(tables, 'commits', pool.id)) {
    if (commit.adds.some((id) => objects.has(id))) adders.push(commit.id);
  }
  if (adders.length > 0) lines.push(`pool "${pool.name}": data objects of commits ${objectNames(adders)}`);
  if (commits.size > 0) lines.push(`pool "${pool.name}": commits ${objectNames([...commits])}`);
  return lines;
};

const rowsOf = (tables: Tables, pool: Id, ids: ReadonlySet<Id>): number | undefined => {
  let rows = 0;
  for (const id of ids) {
    try {
      rows += decodeObject(id, tables.get('objects', pairKey(pool, id))!).count;
    } catch {
      return undefined;
    }
  }
  return rows;
};
