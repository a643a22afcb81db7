/**
 * A lake for the API tester: pools with branches, commits and data objects, and what there is to know of it: names,
 * ids, texts of queries, data in every format.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../../src/formats/formats.ts';
import { clientOf } from '../support/service/client.ts';

interface LakeFacts {
  readonly pools: readonly string[];
  /** Their names and ids: these stay. */
  readonly kept: readonly string[];
  /** Pools that may go. */
  readonly spare: readonly string[];
  readonly branches: readonly string[];
  readonly tags: readonly string[];
  readonly commits: readonly string[];
  readonly objects: readonly string[];
  /** Those of one branch. */
  readonly compactable: readonly string[];
  readonly sources: readonly string[];
  /** Sources of rows of any shape. */
  readonly tables: readonly string[];
  readonly queries: readonly string[];
  readonly filters: readonly string[];
  /** Base64 by media type. */
  readonly samples: Readonly<Record<string, readonly string[]>>;
}

const movies = fileURLToPath(new URL('../../node_modules/vega-datasets/data/movies.json', import.meta.url));
const logs = [
  { ts: '2026-11-21T12:00:00Z', level: 'info', k: 1 },
  { ts: '2026-11-21T12:00:01Z', level: 'warn', k: 2, peer: { host: 'a', port: 1 } },
  { ts: '2026-11-21T12:00:02Z', level: 'debug', k: 'three' },
];
/** Media types of all that is written and read by its own name. */
const mediaTypes = Object.values(formatTable).flatMap(({ readAs, mediaTypes: types }) => (readAs ? [] : types));

/** Makes what is not there. `round` names what may go. */
export const fillLake = async (
  address: string,
  { round, key }: { readonly round: number; readonly key?: string | undefined },
): Promise<LakeFacts> => {
  const client = clientOf(address, 8);
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const ask = async (method: string, path: string, body: unknown, more: Readonly<Record<string, string>> = {}) =>
    client.ask(method, path, {
      headers: { ...headers, ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const made = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await ask('POST', path, body);
    if (answer.status !== 200 && answer.status !== 409) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  };
  const rows = async (query: string): Promise<readonly { readonly id: string }[]> =>
    JSON.parse((await ask('POST', '/query', { query })).body) as { readonly id: string }[];
  const spare = [`spare-${round}`, `trash-${round}`];
  await made('/pool', { name: 'movies', layout: { order: 'asc', keys: [['Title']] } });
  await made('/pool', { name: 'logs', layout: { order: 'desc', keys: [['ts']] } });
  for (const name of spare) await made('/pool', { name, layout: { keys: [['k']] } });
  await made(
    '/pool/movies/branch/main',
    (JSON.parse(readFileSync(movies, 'utf8')) as unknown[])
      .slice(0, 200)
      .map((film) => JSON.stringify(film))
      .join('\n'),
  );
  for (const row of logs) await made('/pool/logs/branch/main', row);
  for (const name of spare) await made(`/pool/${name}/branch/main`, { k: 1 });
  for (const pool of ['movies', 'logs']) {
    const { commit } = JSON.parse((await client.ask('GET', `/pool/${pool}/branch/main`, { headers })).body) as {
      readonly commit: string;
    };
    for (const name of ['trial', 'a/b c']) await made(`/pool/${pool}`, { name, commit });
    await made(`/pool/${pool}/tag`, { name: 'v1', commit });
    await made(`/pool/${pool}/branch/trial`, { ts: '2026-11-22T00:00:00Z', Title: `trial ${round}`, k: round });
  }
  const kept = [
    'movies',
    'logs',
    ...(await rows('from :pools | where name in ["movies","logs"] | cut id')).map((r) => r.id),
  ];
  const commits: string[] = [];
  const objects: string[] = [];
  for (const pool of ['movies', 'logs']) {
    commits.push(...(await rows(`from ${pool}:log | where has(id) | cut id | head 5`)).map((r) => r.id));
    objects.push(...(await rows(`from ${pool}:objects | cut id | head 4`)).map((r) => r.id));
  }
  const compactable = (await rows('from logs:objects | cut id')).map((r) => r.id);
  const samples: Record<string, string[]> = {};
  for (const accept of mediaTypes) {
    const answer = await fetch(`${address}/query`, {
      method: 'POST',
      headers: { ...headers, accept },
      body: JSON.stringify({ query: 'values {k:1,ts:"a",x:1.5},{k:2,ts:"b",x:2.5}' }),
    });
    if (answer.status !== 200) throw new Error(`${accept}: ${answer.status} ${await answer.text()}`);
    samples[accept] = [Buffer.from(await answer.arrayBuffer()).toString('base64')];
  }
  client.close();
  return {
    pools: ['movies', 'logs'],
    kept,
    spare,
    branches: ['main', 'trial', 'a/b c'],
    tags: ['v1'],
    commits,
    objects,
    compactable,
    samples,
    sources: [':pools', ':branches', 'movies:branches', 'movies:tags', 'movies:objects', 'logs:log', 'logs:rawlog'],
    tables: ['movies', 'logs', 'logs@trial', `logs@${commits.at(-1)!}`],
    queries: [
      'values 1',
      'from movies | count()',
      'select count(*) as n from logs',
      'from logs | sort ts | head 1',
      'from movies | count() by Rating:=this["MPAA Rating"]',
      'from logs | where level=="info"',
    ],
    filters: [
      'k==1',
      'level=="debug"',
      'Title=="none such"',
      'ts < 2026-01-01T00:00:00Z',
      'k > 100',
      'has(peer)',
      'not has(k)',
    ],
  };
};
