/** Engines read while a crowd changes what they read (crowd.ts); two minutes of 64 clients are `npm run engines:crowd`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startBuiltService } from '../support/service/built.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { crowdEngines, crowdRun } from './crowd.ts';

const python = process.env['ICEBERG_PYTHON'] ?? '';
const needs = ['pyiceberg', 'duckdb_extension_iceberg', 'polars'];
const lacks = process.env['NO_SKIPS'] === undefined && !needs.every((name) => existsSync(join(python, name)));

test.skipIf(lacks).each(['typed', 'variant'] as const)(
  'what engines read meanwhile is what some commit holds: mapping %s',
  { timeout: 240_000 },
  async (mapping) => {
    const seed = seedOf(26);
    const engines = crowdEngines[mapping];
    const service = await startBuiltService({ flags: ['-workers', '1'] });
    try {
      const { wrong, reads, changes } = await crowdRun({
        address: service.address,
        clients: 8,
        seed,
        random: randomOf(seed),
        mapping,
        python,
        isOver: (counts) =>
          Object.values(counts).length === engines.length && Object.values(counts).every((n) => n >= 2),
      });
      expect(wrong, `seed ${seed}`).toEqual([]);
      expect(Object.keys(reads).sort()).toEqual([...engines].sort());
      expect(changes['load']).toBeGreaterThan(0);
    } finally {
      await service.stop();
    }
  },
);
