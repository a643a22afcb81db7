/**
 * Rows of a pool: loaded in several commits, as objects in the lake's tables and in files, and scanned as the service
 * does it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionHost } from '../../../src/exec/source.ts';
import type { ObjectMeta, SortOrder } from '../../../src/lake/lake.types.ts';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import { ObjectList } from '../../../src/lake/objects/list.ts';
import { openScratch } from '../../../src/lake/objects/objects.ts';
import { overlaps } from '../../../src/lake/scan/range.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanSource } from '../../../src/lake/scan/scan.types.ts';
import type { CompileEnvironment, FoundSource, ResolvedSource } from '../../../src/query/plan/plan.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { fuseRows } from '../../../src/vectors/fuse.ts';
import { type Vector, noRows, slice } from '../../../src/vectors/vector.ts';
import { fileEnvironment } from '../../support/queries/environment.ts';
import type { Random } from '../../support/random.ts';

export interface RandomPool {
  readonly source: ResolvedSource;
  /** All rows as a scan gives them. */
  readonly rows: Vector;
  readonly host: <H extends Partial<ExecutionHost>>(usual: H) => H;
}

/** Tables as pools: what the compiler knows of them, and where their rows come from. */
export interface RandomPools {
  readonly environment: CompileEnvironment;
  readonly host: Partial<ExecutionHost>;
}
export const randomPools = async (tables: Readonly<Record<string, Vector>>, random: Random): Promise<RandomPools> => {
  const sources = new Map<string, FoundSource>();
  let host: Partial<ExecutionHost> = {};
  for (const [name, rows] of Object.entries(tables)) {
    const pool = await randomPool(rows, random, name);
    sources.set(name, pool.source);
    host = pool.host(host);
  }
  return {
    environment: {
      ...fileEnvironment(),
      mode: 'lake',
      resolve: (request) => {
        const found = request.kind === 'name' ? sources.get(request.name) : undefined;
        return found ? Promise.resolve([found]) : Promise.reject(new Error('pool not found'));
      },
      content: ({ handle }) => {
        const rows = tables[handle]!;
        const type = fuseRows(rows);
        return Promise.resolve({ rowCount: rows.length, fields: type?.kind === 'record' ? type.fields : undefined });
      },
    },
    host,
  };
};

/** A pool with these rows. */
export const randomPool = async (all: Vector, random: Random, name = 'input'): Promise<RandomPool> => {
  const key = random.pick([['a'], ['k'], ['b'], ['t'], ['c'], ['d', 'a']]);
  const order: SortOrder = random.pick(['asc', 'desc']);
  const metas: ObjectMeta[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'lake-pool-'));
  const files = new Map<string, Uint8Array>();
  try {
    for (let at = 0; at < all.length; ) {
      const end = Math.min(all.length, at + 1 + random.below(all.length));
      const rows = slice(all, at, end);
      const { objects } = await sortIntoObjects(
        (async function* give() {
          yield rows;
        })(),
        {
          keys: [key],
          order,
          blockRows: random.pick([7, 64, 8192]),
          threshold: random.pick([64, 300, 1 << 20]),
          memoryBytesMax: 1 << 20,
          objects: openScratch(folder),
          spill: () => openScratch(join(folder, 'spill')),
        },
      );
      metas.push(...objects);
      at = end;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  // Small objects have their bodies in the tables; here they are files all the same now and then. Where some are, rows
  // of equal keys have no one order.
  const inFiles = random.below(2) === 0;
  const placed = metas.map((m): ObjectMeta => {
    if (!m.inline || !inFiles) return m;
    files.set(m.id, m.inline);
    const { inline: _, ...meta } = m;
    return meta;
  });
  const entries = ObjectList.of(
    order,
    placed.map((m, i) => ({ ...m, sequence: i, inTable: m.inline !== undefined, vector: false })),
  ).entries();
  const listed = [...entries].map((e) => placed[e.sequence]!);
  const pool: ScanSource = {
    keys: [key],
    order,
    objects: { readRange: (id, offset, length) => Promise.resolve(files.get(id)!.subarray(offset, offset + length)) },
    page: ({ cursor = 0, limit, range }) => {
      const page = listed.slice(cursor, cursor + limit);
      const next = cursor + limit;
      return {
        objects: range ? page.filter(({ min, max }) => overlaps(range, min.sort, max.sort)) : page,
        ...(next < listed.length && { next }),
      };
    },
  };
  const read: Vector[] = [];
  for await (const batch of scanObjects(pool, { ordered: true })) read.push(batch);
  const source: ResolvedSource = { kind: 'pool', name, handle: name, sortKeys: [key], order };
  const isOurs = (s: ResolvedSource): boolean => s.kind === 'pool' && s.handle === name;
  return {
    source,
    rows: read.length > 0 ? concat(read) : noRows,
    host: (usual) => ({
      ...usual,
      filters: (s) => isOurs(s) || (usual.filters?.(s) ?? false),
      scan: (s, request) =>
        isOurs(s) ? scanObjects(pool, { ...request, batchRows: random.pick([1, 3, 4096]) }) : usual.scan!(s, request),
    }),
  };
};
