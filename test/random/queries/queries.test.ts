/** A small run of the random queries; `npm run fuzz:queries` is the large one. */
import { expect, test } from 'vitest';
import { lacksDuckdb } from '../../support/queries/duckdb.ts';
import { seedOf } from '../../support/random.ts';
import { fuzzQueries } from './queries.ts';

const count = Number(process.env['QUERIES_COUNT'] ?? 60);
const sql = Number(process.env['SQL_QUERIES_COUNT'] ?? 80);

test(`${count} random queries end in rows or in an error, the same in every variant, and ${sql} of SQL agree with DuckDB`, {
  timeout: 600_000,
}, async () => {
  const seed = seedOf(Math.floor(Date.now() / 86_400_000));
  console.log(`random queries: seed ${seed}`);
  const { faults, ran, compared } = await fuzzQueries({ count, sql: lacksDuckdb() ? 0 : sql, seed, processes: 1 });
  expect({ seed, faults }).toEqual({ seed, faults: [] });
  expect({ ran: ran > count / 4, compared: compared > sql / 2 || lacksDuckdb() }).toEqual({
    ran: true,
    compared: true,
  });
});
