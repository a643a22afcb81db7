/**
 * Part `mixes`: what several people do at once to one pool of 1,000,000 rows, each over and over: loads, upserts,
 * updates, deletes, compactions, exports, and queries that hold all they may. Each request ends whole, or is refused
 * with an error that names a limit or tells to come again; the process stays within a bound; afterwards no row is there
 * twice, none is missing that nobody deleted, and a query is answered. A seed chooses who comes.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMib } from '../support/resident.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';
import { type Random, randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

const isSmall = process.env['VITEST'] !== undefined;
const rowCount = isSmall ? 40_000 : 1_000_000;
const mixMs = Number(process.env['MIX_MS'] ?? (isSmall ? 5000 : 45_000));
/** MiB: `-memory` of 256, 256 beside it, and what limits.md tells of such mixes. */
const residentMax = 600;
const clientsLeast = 6;
/** Of those who come again at once; the others rest in between. */
const restMs = 500;

const text = (i: number): string => `text ${i} of a row that is ${i % 97}`;
const lines = (ids: readonly number[], random: Random, s: (id: number) => string = text): string =>
  ids
    .map((id) => `{"id":${id},"k":${random.below(3 * rowCount)},"v":${random.below(1e9) / 1e9},"s":"${s(id)}"}\n`)
    .join('');
const someIds = (random: Random, count: number): readonly number[] => {
  const first = random.below(rowCount);
  const step = 1 + random.below(40);
  return [...new Set(Array.from({ length: count }, (_, i) => (first + i * step) % rowCount))];
};

interface Request {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}
const asked = (query: string, accept = 'application/json'): Request => ({
  path: '/query',
  headers: { ...jsonType, accept },
  body: JSON.stringify({ query }),
});
const change = (verb: string, body: object): Request => ({
  path: `/pool/p/branch/main/${verb}`,
  headers: jsonType,
  body: JSON.stringify(body),
});

/** What people do. `deleted` is told of the ids that a request may delete. */
type Work = (random: Random, deleted: (first: number, count: number) => void) => Request;
const works: Readonly<Record<string, Work>> = {
  upsert: (random) => ({
    path: '/pool/p/branch/main?upsert=T',
    headers: jsonType,
    body: lines(someIds(random, rowCount / 50), random, () => 'upserted'),
  }),
  delete: (random, deleted) => {
    const first = random.below(rowCount);
    deleted(first, 500);
    return change('delete', { where: `id >= ${first} and id < ${first + 500}` });
  },
  update: (random) => change('update', { where: `id % ${900 + random.below(100)} == 7`, put: 'v:=v+1' }),
  compact: () => change('compact', {}),
  load: (random) => ({
    path: '/pool/c/branch/main',
    headers: jsonType,
    body: lines(someIds(random, rowCount / 5), random),
  }),
  'load of CSV': (random) => ({
    path: '/pool/c/branch/main',
    headers: { 'content-type': 'text/csv' },
    body: `id,k,v,s\n${someIds(random, rowCount / 5)
      .map((id) => `${id},${random.below(3 * rowCount)},0.5,${text(id)}\n`)
      .join('')}`,
  }),
  groups: () => asked('from p | c:=count(),m:=max(s) by k,id | sort c | head 5'),
  'groups in SQL': () => asked('select s, count(*), avg(v), string_agg(s) from p group by s order by 2 desc limit 10'),
  distinct: () => asked('select count(*) from (select distinct k, s from p) t'),
  medians: () => asked('select count(distinct s), count(distinct k), median(v) from p'),
  windows: () =>
    asked(`select sum(r) as r, max(l) from (select row_number() over (order by v) as r,
      lag(s) over (order by k) as l, sum(v) over (partition by k % 1000 order by id) as x from p) t`),
  join: () => asked('select count(*) from p a join p b on a.s = b.s join c on c.k = a.k'),
  'all in one list': () => asked('from p | collect(this) | len(collect)'),
  'all in one text': () => asked("select length(string_agg(s, ',')) as l, len(array_agg(s)) from p"),
  'all texts in a set': () => asked('from p | union(s) | len(union)'),
  'export of Parquet': () => asked('from p', 'application/vnd.apache.parquet'),
  'export of Arrow': () => asked('from p', 'application/vnd.apache.arrow.stream'),
  'export in order': () => asked('from c | sort s', 'text/csv'),
};
const patient: ReadonlySet<string> = new Set(['compact', 'load', 'load of CSV', 'join']);

interface Outcome {
  readonly status: number;
  readonly bytes: number;
  readonly end: string;
}
/** Sends a request; of the answer its end is kept. Rejects when none came. */
const send = (address: string, { path, headers = {}, body }: Request): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const sent = request(`${address}${path}`, { method: 'POST', headers: { accept: 'application/json', ...headers } });
    sent.on('error', reject).on('response', (response) => {
      let bytes = 0;
      let end = '';
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        end = (end + chunk.subarray(-400).toString('latin1')).slice(-400);
      });
      response.on('close', () => {
        resolve({ status: response.complete ? (response.statusCode ?? 0) : -1, bytes, end });
      });
    });
    sent.end(body);
  });
/** What is wrong with an outcome; an answer that has begun is broken off where memory ends it. */
const faultOf = ({ status, end }: Outcome): string | undefined =>
  status === 200 ||
  status === -1 ||
  ((status === 413 || status === 503) && /-memory|come again|busy|Retry/i.test(end)) ||
  (status === 400 && end.includes('two or more source objects required'))
    ? undefined
    : `${status}: ${end}`;

const prepare = async (client: Client, random: Random): Promise<void> => {
  await client.json('POST', '/pool', { name: 'p', layout: { order: 'asc', keys: [['id']] } });
  await client.json('PUT', '/pool/p', { identity: [['id']] });
  await client.json('POST', '/pool', { name: 'c', layout: { order: 'asc', keys: [['k']] } });
  const batch = 50_000;
  for (let first = 0; first < rowCount; first += batch)
    await client.load(
      'p',
      lines(
        Array.from({ length: Math.min(batch, rowCount - first) }, (_, i) => first + i),
        random,
      ),
    );
};

/** What is wrong with the rows afterwards. */
const faultOfRows = async (client: Client, gone: ReadonlySet<number>): Promise<string | undefined> => {
  const [row] = await client.query<{ rows: number; ids: number; least: number; most: number }>(
    'select count(*) as rows, count(distinct id) as ids, min(id) as least, max(id) as most from p',
  );
  const { rows, ids, least, most } = row!;
  if (rows !== ids) return `${rows} rows have ${ids} ids`;
  if (rows < rowCount - gone.size || rows > rowCount) return `${rows} rows, ${gone.size} may be deleted`;
  return least >= 0 && most < rowCount ? undefined : `ids ${least} to ${most}`;
};

const mix = async (
  service: Service,
  seed: number,
  count: (name: string, n?: number) => void,
): Promise<string | undefined> => {
  const random = randomOf(seed);
  const client = clientOf(service.address);
  await prepare(client, random);
  const names = Object.keys(works);
  const coming = names.filter(() => random.below(names.length) >= (seed % 3) * 4);
  const who = coming.length < clientsLeast ? names : coming;
  const gone = new Set<number>();
  const faults: string[] = [];
  const until = Date.now() + mixMs;
  const all = who.map(async (name, i) => {
    const own = randomOf(seed * 100 + i);
    do {
      const what = works[name]!(own, (first, n) => {
        for (let id = first; id < Math.min(first + n, rowCount); id++) gone.add(id);
      });
      const outcome = await send(service.address, what).catch((error: unknown) => ({
        status: 0,
        bytes: 0,
        end: String(error),
      }));
      const fault = faultOf(outcome);
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
      count(outcome.status === 200 || outcome.status === 400 ? 'requests' : 'requests refused');
      if (patient.has(name)) await sleep(restMs);
    } while (Date.now() < until && service.process.exitCode === null);
  });
  await Promise.all(all);
  const rows = await faultOfRows(client, gone).catch((error: unknown) => String(error));
  client.close();
  return faults[0] ?? rows;
};

export const mixes: PartRun = async ({ seeds, count, failed }) => {
  for (const seed of seeds) {
    const service = await startBuiltService({ asShipped: true });
    try {
      const fault = await mix(service, seed, count);
      const peak = Math.round(residentMib(service.process.pid!, 'VmHWM') ?? 0);
      count('peak, MiB', peak, 'max');
      if (fault !== undefined) failed(seed, fault);
      else if (peak > residentMax) failed(seed, `${peak} MiB`);
      count('mixes');
    } finally {
      await service.stop();
    }
  }
};
