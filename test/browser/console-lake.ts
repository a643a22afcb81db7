/**
 * A lake as people have it: flights, films and mixed events, with branches, merges and a deletion. For tests and
 * screenshots of the console.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Lake, type Pool } from '../../src/client/client.ts';

/** Path of a file of the package vega-datasets. */
export const dataset = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/vega-datasets/data/${name}`, import.meta.url));
const rowsOf = (name: string): readonly Readonly<Record<string, unknown>>[] =>
  JSON.parse(readFileSync(dataset(name), 'utf8')) as readonly Readonly<Record<string, unknown>>[];
const lines = (rows: readonly unknown[]): string => rows.map((row) => JSON.stringify(row)).join('\n');

/** Events of unlike shapes, the same each time. */
export const mixedEvents = (count: number, from = 0): string => {
  const users = ['ann', 'ben', 'cleo', 'dai', 'eva', 'finn'];
  const paths = ['/', '/login', '/search', '/cart', '/api/items', '/api/orders'];
  const out: string[] = [];
  for (let i = from; i < from + count; i++) {
    // A linear congruential step: what is next to each other looks unlike.
    const random = (i * 2_654_435_761) % 4_294_967_296;
    const ts = new Date(Date.UTC(2026, 10, 1) + i * 7_000 + (random % 5000)).toISOString();
    if (random % 5 < 3)
      out.push(
        `{ts:${ts},kind:"http",status:${[200, 200, 200, 304, 404, 500][random % 6]},method:"${random % 4 === 0 ? 'POST' : 'GET'}",path:"${paths[random % 6]}",bytes:${random % 50_000},client:{ip:10.0.${random % 4}.${random % 251},user:"${users[random % 6]}"}}`,
      );
    else if (random % 5 === 3)
      out.push(
        `{ts:${ts},kind:"dns",query:"host${random % 40}.example.com",answers:[10.1.0.${random % 251},10.2.0.${random % 199}],rtt:${random % 300}ms}`,
      );
    else
      out.push(
        `{ts:${ts},kind:"log",level:"${['info', 'warn', 'error'][random % 3]}",message:"worker ${random % 16} ${random % 7 === 0 ? 'restarted' : 'took a job'}"}`,
      );
  }
  return out.join('\n');
};

/** Makes the pools `flights`, `movies` and `events`. `events`: how many, or the file that has them. */
export const makeLake = async (
  address: string,
  options: { readonly events: number } | { readonly file: string },
): Promise<Lake> => {
  const lake = connect(address);
  await makeFlights(await lake.createPool('flights', { keys: [['date']], order: 'asc' }));
  await makeMovies(await lake.createPool('movies', { keys: [['Title']], order: 'asc' }));
  const pool = await lake.createPool('events', { keys: [['ts']], order: 'desc' });
  if ('file' in options) {
    await pool.branch('main').load(readFileSync(options.file), {
      format: 'json',
      author: 'collector',
      message: `events of ${basename(options.file)}`,
    });
    return lake;
  }
  const { events } = options;
  for (let at = 0; at < events; at += 100_000)
    await pool.branch('main').load(mixedEvents(Math.min(100_000, events - at), at), {
      format: 'sup',
      author: 'collector',
      message: `events from ${at.toLocaleString('en-US')}`,
    });
  return lake;
};

const makeFlights = async (pool: Pool): Promise<void> => {
  const rows = rowsOf('flights-2k.json');
  const main = pool.branch('main');
  const part = (from: number, to: number): string => lines(rows.slice(from, to));
  await main.load(part(0, 800), { format: 'json', author: 'ann', message: 'flights of the first weeks' });
  await main.load(part(800, 1200), { format: 'json', author: 'ann', message: 'more flights' });
  const delays = await pool.createBranch('late-arrivals', await main.tip());
  await delays.load(part(1200, 1400), {
    format: 'json',
    author: 'ben',
    message: 'late arrivals, from the second source',
  });
  await main.load(part(1400, 1700), { format: 'json', author: 'ann', message: 'flights of the third week' });
  const cleaning = await pool.createBranch('cleaning', await main.tip());
  const deletion = await cleaning.deleteWhere('distance < 100', {
    author: 'cleo',
    message: 'no hops of less than 100 miles',
  });
  await delays.load(part(1700, 1800), { format: 'json', author: 'ben', message: 'late arrivals of the weekend' });
  await main.merge('late-arrivals', { author: 'ann' });
  await cleaning.load(part(1800, 1850), { format: 'json', author: 'cleo', message: 'checked by hand' });
  await main.load(part(1850, 2000), { format: 'json', author: 'ann', message: 'flights of the last days' });
  await main.merge('cleaning', { author: 'cleo', message: 'merge the cleaning, reviewed by ann' });
  await main
    .revert(deletion.commit, { author: 'ann', message: 'the short hops were right after all' })
    .catch(() => undefined);
  const trial = await pool.createBranch('trial', await main.tip());
  await trial.load('{date:"2001/04/01 06:30",delay:5,distance:341,origin:"SAN",destination:"SJC"}', {
    format: 'sup',
    author: 'dai',
    message: 'one more, to try it out',
  });
};
const makeMovies = async (pool: Pool): Promise<void> => {
  const rows = rowsOf('movies.json');
  const main = pool.branch('main');
  await main.load(lines(rows.slice(0, 2000)), { format: 'json', author: 'eva', message: 'films A to M' });
  await main.load(lines(rows.slice(2000)), { format: 'json', author: 'eva' });
};
