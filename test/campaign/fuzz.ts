/**
 * Part `fuzz`: hostile inputs for every reader, every coding and the compiler of queries, and random queries with their
 * oracles; a seed is so many of each.
 */
import { fuzz, fuzzTargets } from '../random/fuzz.ts';
import { fuzzQueries } from '../random/queries/queries.ts';
import type { PartRun } from './part.ts';

const inputs = 2000;
const queries = 50;
const sqlQueries = 10;
const processes = 2;

export const fuzzPart: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    for (const { target, index, text } of await fuzz({ targets: fuzzTargets, count: inputs, seed, processes }))
      failed(seed, `npm run fuzz -- -targets ${target} -seed ${seed} -index ${index} > input   # ${text}`);
    count('inputs', fuzzTargets.length * inputs);
    const { faults, compared } = await fuzzQueries({ count: queries, sql: sqlQueries, seed, processes });
    for (const { kind, index, text } of faults) failed(seed, `${kind} ${index}: ${text}`);
    count('queries', queries);
    count('SQL queries compared with DuckDB', compared);
  }
};
