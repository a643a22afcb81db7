/**
 * Rows of a pool: loaded in several commits, as objects in the lake's tables and in files, and scanned as the service
 * does it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionHost } from '../../src/exec/source.ts';
import type { ObjectMeta, SortOrder } from '../../src/lake/lake.types.ts';
import { sortIntoObjects } from '../../src/lake/load/sort.ts';
import { ObjectList } from '../../src/lake/objects/list.ts';
import { openScratch } from '../../src/lake/objects/objects.ts';
import { overlaps } from '../../src/lake/scan/range.ts';
import { scanObjects } from '../../src/lake/scan/scan.ts';
import type { ScanSource } from '../../src/lake/scan/scan.types.ts';
import type { ResolvedSource } from '../../src/query/plan/plan.ts';
import { concat } from '../../src/vectors/concat.ts';
import { type Vector, noRows, slice } from '../../src/vectors/vector.ts';
import type { Random } from '../support/random.ts';

export interface RandomPool {
  readonly source: ResolvedSource;
  /** All rows as a scan gives them. */
  readonly rows: Vector;
  readonly host: (usual: ExecutionHost) => ExecutionHost;
}

/** A pool with these rows. */
export const randomPool = async (all: Vector, random: Random): Promise<RandomPool> => {
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
  const source: ResolvedSource = { kind: 'pool', name: 'input', handle: 'input', sortKeys: [key], order };
  return {
    source,
    rows: read.length > 0 ? concat(read) : noRows,
    host: (usual) => ({
      ...usual,
      filters: (s) => s.kind === 'pool',
      scan: (s, request) =>
        s.kind === 'pool'
          ? scanObjects(pool, { ...request, batchRows: random.pick([1, 3, 4096]) })
          : usual.scan(s, request),
    }),
  };
};
