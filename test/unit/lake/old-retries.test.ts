/** Keys of requests are known for their time, and their rows go with the commits of others when it is over. */
import { expect, test } from 'vitest';
import { Retries } from '../../../src/lake/commits/retries.ts';
import type { Tables } from '../../../src/lake/tables/tables.ts';
import { tablesOf, temporaryDirectory } from './support.ts';

const branch = { key: Buffer.alloc(20, 1), branch: { tsNs: 5n } };
const idOf = (n: number, bytes: number): string => n.toString(16).padStart(bytes * 2, '0');
const commit = (tables: Tables, retries: Retries, n: number): Promise<void> =>
  tables.write(retries.changes({ key: idOf(n, 32), request: idOf(n, 32), body: idOf(n, 32) }, idOf(n, 20), branch));
const rowsOf = (tables: Tables): number => tables.keys('retries', { prefix: Buffer.from('t') }).length;

test('those whose time is not over stay, however many come', async () => {
  const tables = await tablesOf(await temporaryDirectory());
  const retries = new Retries(tables, 3_600_000);
  for (let n = 0; n < 300; n++) await commit(tables, retries, n);
  expect([rowsOf(tables), tables.keys('retries').length]).toEqual([300, 600]);
});

test('those whose time is over go, a few with each commit, also after a start', async () => {
  const tables = await tablesOf(await temporaryDirectory());
  const keptLong = new Retries(tables, 3_600_000);
  for (let n = 0; n < 50; n++) await commit(tables, keptLong, n);
  const retries = new Retries(tables, 2);
  let n = 50;
  // Those of the last two milliseconds alone are left.
  for (; rowsOf(tables) >= 50; n++) await commit(tables, retries, n);
  expect(tables.keys('retries').length).toBe(2 * rowsOf(tables));
  expect(tables.keys('retries', { prefix: Buffer.from(`k${'\0'.repeat(31)}`), limit: 1 })[0]?.at(-1)).toBeGreaterThan(
    0,
  );
  // What had its look a moment ago looks again when the first of them is too old.
  const most = rowsOf(tables);
  for (let more = 0; more < 50 || rowsOf(tables) > most; more++) await commit(tables, retries, n++);
});
