/** Engines fetch no more of the service's files than of pyarrow's; all of it is `npm run engines:traffic`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measureTraffic } from './traffic.ts';

const python = process.env['ICEBERG_PYTHON'] ?? '';
const needs = ['pyiceberg', 'pyarrow', 'duckdb_extension_iceberg'];
const lacks = process.env['NO_SKIPS'] === undefined && !needs.every((name) => existsSync(join(python, name)));
/** Of what is fetched where pyarrow wrote the files. */
const ratioMax = 1.2;
/** Two groups of rows. */
const rows = 110_000;

test.skipIf(lacks)(
  'a column of 6 % of the key range costs no more than where pyarrow wrote it',
  {
    timeout: 240_000,
  },
  async () => {
    const { fetched } = await measureTraffic({ rows, python, columns: ['uid'], isPartOnly: true });
    expect(fetched.map(({ engine, rows: found }) => [engine, found])).toEqual([
      ['pyiceberg', rows * 0.06],
      ['duckdb', rows * 0.06],
    ]);
    expect(fetched.filter(({ ours, pyarrow }) => !(ours > 0 && ours <= pyarrow * ratioMax))).toEqual([]);
  },
);
