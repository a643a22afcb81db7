/**
 * A pool that one may not read cannot be told from one that is not there, whatever is wrong with the request: all rows
 * of the route table x malformations x callers are sent for both, and the answers must be the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKey } from '../../src/http/access/keys.ts';
import { parseGrant } from '../../src/http/access/roles.ts';
import { changeKeys } from '../../src/commands/key-file.ts';
import { base62, newIdText } from '../../src/lake/ksuid.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { type TestService, startService } from '../support/service/server.ts';

/** What is wrong with a request, or nothing. `POOL` in the body is the pool's name. */
interface Malformation {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sent for the path's other parameters. */
  readonly parameter?: string;
}
const header = (name: string, ...values: readonly string[]): readonly Malformation[] =>
  values.map((value) => ({ headers: { [name]: value }, body: '{"name":"x"}' }));
const bodyBytesMax = 4096;
const malformations: readonly Malformation[] = [
  {},
  ...['PATCH', 'OPTIONS', 'HEAD', 'DELETE', 'PUT', 'GET', 'POST', 'SEARCH'].map((method) => ({ method })),
  ...[
    'dryrun=maybe',
    'csv.delim=ab',
    'vectors=2',
    'limit=0',
    'from=zz',
    'ctrl=maybe',
    'names=zz',
    'dryrun=T&dryrun=%zz',
  ].map((query) => ({ query })),
  ...['', 'nosuch', 'HEAD', '0x00', '0'.repeat(40), `0x${'f'.repeat(40)}`, '%00', '%ff', 'x'.repeat(5000)].map(
    (parameter) => ({ parameter }),
  ),
  ...header(
    'accept',
    'nonsense',
    'image/png',
    '/',
    'application/x-zeek',
    'text/csv',
    'application/vnd.apache.parquet',
    'a/b;q=x',
  ),
  ...header(
    'content-type',
    'nonsense',
    'application/',
    'image/png',
    'application/json; charset',
    'application/vnd.apache.parquet',
    'application/x-csup',
    ' ',
  ),
  ...header('content-encoding', 'nonsense', 'gzip', 'gzip, gzip, gzip, gzip, gzip', 'zstd', 'br', 'identity, x'),
  ...header('if-match', 'nonsense', '"0x00"', '""', `"0x${'1'.repeat(40)}"`, '*, *', '*'),
  ...header('idempotency-key', '', 'x'.repeat(300), 'one'),
  ...header('superdb-commit', '{', '[]', '5', '{"meta":"{"}', '{"author":5}', 'null'),
  ...header('zed-commit', '{'),
  ...header('last-event-id', 'nonsense', '-1', '999999999'),
  ...header('expect', '100-continue'),
  ...header('origin', 'http://evil.example', 'null'),
  ...header('cookie', 'lake_session=x'),
  ...header('accept-encoding', 'gzip', 'nonsense'),
  ...header('x-request-id', 'mine', ''),
  ...header('transfer-encoding', 'chunked'),
  ...[
    '',
    '{',
    '[]',
    'null',
    '5',
    '"x"',
    '{"name":""}',
    '{"name":5}',
    '{"name":"x"}',
    '{"name":"x","commit":"zz"}',
    `{"name":"x","commit":"0x${'1'.repeat(40)}"}`,
    '{"object_ids":5}',
    '{"object_ids":["zz"]}',
    `{"object_ids":["0x${'1'.repeat(40)}"]}`,
    '{"where":""}',
    '{"where":"nosuch("}',
    '{"where":"a==1","object_ids":["zz"]}',
    '{"query":5}',
    '{"query":""}',
    '{"query":"from POOL"}',
    '{"head":{"pool":"POOL"}}',
    '{"head":{"pool":"POOL","branch":"x"},"query":"count()"}',
    '\u0000\u0001',
    `{"name":"${'x'.repeat(2 * bodyBytesMax)}"}`,
  ].map((body) => ({ body, headers: { 'content-type': 'application/json' } })),
];

/** Texts of queries that name the pool. */
const texts = [
  'from POOL',
  'from POOL@main',
  'from POOL@nosuch',
  `from POOL@0x${'1'.repeat(40)}`,
  'from POOL:log',
  'from POOL:nosuch',
  'from POOL@main:objects',
  'from POOL@nosuch:objects',
  'from POOL | nosuch()',
  'nosuch() | from POOL',
  'from own | load POOL',
  'from own | load POOL@main',
  'from own | load POOL@nosuch',
  'values 1 | load POOL author "a" message "m" meta "{"',
  'values 1 | load POOL meta "1"',
  'load POOL',
  'from own | join (from POOL) on left.k==right.k',
  'from own | where k in (from POOL)',
  'select * from POOL',
  'select * from own, POOL',
  'select nosuch from POOL',
  'with t as (select * from POOL) select 1',
  'select 1 where exists (select 1 from POOL)',
  'from "POOL"',
  "from 'POOL'",
  'from `POOL`',
  'from POOL*',
  'from PO*',
  'from /POOL/',
  'from /^POOL$/',
  'from POOL (format csv)',
  'from POOL | head',
  'from POOL |',
  'from POOL order by',
  'fork (from POOL) (from own)',
  'from :pools | name=="POOL"',
  'from :branches | where pool.name=="POOL"',
  'from :nosuch',
  'from f"POOL"',
  'from eval("POOL")',
  'from ["POOL"]',
  'from (from POOL)',
  'from POOL as x | values x.nosuch',
  'switch case true (from POOL)',
  'values "POOL" | from this',
  'describe from POOL',
] as const;

/** A part of the cases where many say the same; all with SECRECY=all. */
const some = <T>(cases: readonly T[]): readonly T[] =>
  process.env['SECRECY'] === 'all' ? cases : cases.filter((_, i) => i % 7 === 0);

const people = {
  reader: ['reader:own'],
  writer: ['writer:own'],
  admin: ['admin:own'],
  nobodys: ['reader:no such pool'],
} as const;
const others = ['reader', 'writer', 'nobodys', 'nobody', 'stranger'] as const;
type Person = keyof typeof people | (typeof others)[number];
interface Asked extends Malformation {
  readonly path: string;
  readonly who: Person;
}
interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe('an unreadable pool and an absent one', () => {
  let service: TestService;
  let directory: string;
  const tokens = new Map<Person, string>([['stranger', `lake_${'0'.repeat(12)}_${'x'.repeat(43)}`]]);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const absent = newIdText();
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lake-secrecy-'));
    for (const [name, texts_] of Object.entries(people)) {
      const { text, record } = newKey({ name, grants: texts_.map((grant) => parseGrant(grant)!) });
      changeKeys(directory, (keys) => [...keys, record]);
      tokens.set(name as Person, text);
    }
    service = await startService(
      ['-auth.keys', '-body.max', `${bodyBytesMax}`, '-events.heartbeat', '0s', '-connections.max', '64'],
      directory,
    );
    for (const name of ['own', 'hidnq']) await service.lake.createPool({ name, keys: [['k']] });
  });
  afterAll(async () => {
    agent.destroy();
    await service.close();
    await rm(directory, { recursive: true, force: true });
  });

  const send = ({ method = 'GET', path, headers, body, who }: Asked, name: string): Promise<Got> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.url);
      const token = tokens.get(who);
      const bytes = body === undefined ? undefined : Buffer.from(body.replaceAll('POOL', name));
      // A GET or DELETE with a body has it framed only where that is said.
      const length = bytes && !headers?.['transfer-encoding'] ? { 'content-length': `${bytes.length}` } : {};
      const sent = { ...(token && { authorization: `Bearer ${token}` }), ...length, ...headers };
      const client = httpRequest(
        { hostname, port, agent, method, path: path.replaceAll('POOL', name), headers: sent },
        (response) => {
          let text = '';
          response
            .setEncoding('utf8')
            .on('data', (chunk: string) => {
              text += chunk;
            })
            .on('error', reject);
          response.on('end', () => {
            resolve({ status: response.statusCode!, headers: response.headers, body: text });
          });
          // A stream of events has no end.
          if (response.headers['content-type'] === 'text/event-stream') {
            response.destroy();
            resolve({ status: response.statusCode!, headers: response.headers, body: '' });
          }
        },
      );
      client.on('error', reject).end(bytes);
    });
  /** What a client can tell, without the names and what differs from one answer to the next. */
  const seen = ({ status, headers, body }: Got, name: string): unknown => {
    const ownOnes = ['date', 'x-request-id', 'last-event-id', 'set-cookie'];
    const told = Object.entries(headers).map(([key, value]) => [key, ownOnes.includes(key) ? 'there' : value]);
    return JSON.parse(JSON.stringify({ status, told, body }).replaceAll(name, 'POOL'));
  };
  /** Sends both; what differs. */
  const compare = async (
    asked: readonly Asked[],
    [hidden, missing]: readonly [string, string],
  ): Promise<readonly unknown[]> => {
    const differences: unknown[] = [];
    const waiting = [...asked];
    const work = async (): Promise<void> => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const [a, b] = [await send(one, hidden), await send(one, missing)];
        const [x, y] = [seen(a, hidden), seen(b, missing)];
        if (JSON.stringify(x) !== JSON.stringify(y)) differences.push({ asked: one, hidden: x, missing: y });
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    return differences;
  };

  test('each row that names a pool in its path asks for a role on it', () => {
    expect(routes.filter(({ path, need }) => path.includes(':pool') !== need.endsWith('of pool'))).toEqual([]);
  });

  const parameters = ['branch', 'child', 'commit', 'revision', 'id'];
  const targetOf = (path: string, parameter = 'main'): string =>
    parameters.reduce(
      (target, name) => target.replace(new RegExp(`:${name}(?=/|$)`), parameter),
      path.replace(':pool', 'POOL'),
    );
  const spellings = (): readonly (readonly [string, string])[] => {
    const { id } = service.lake.pool('hidnq').config;
    return [
      ['hidnq', 'absnq'],
      [`0x${id}`, `0x${'7'.repeat(40)}`],
      [base62(id), absent],
    ];
  };
  for (const { method, path } of routes) {
    test(`${method} ${path} answers alike for both, however it is asked`, async () => {
      const isOfPool = path.includes(':pool');
      const asked = malformations.map(
        (malformation, i): Asked => ({
          method,
          ...malformation,
          path: `${targetOf(path, malformation.parameter)}${malformation.query === undefined ? '' : `?${malformation.query}`}`,
          who: others[i % others.length]!,
        }),
      );
      // What names no pool in its path may do so in its body.
      expect(await compare(isOfPool || method === 'POST' ? asked : some(asked), spellings()[0]!)).toEqual([]);
      if (!isOfPool) return;
      // Who may do as much elsewhere gets furthest.
      const furthest = asked.map((one): Asked => ({ ...one, who: 'admin' }));
      for (const [i, pair] of spellings().entries())
        expect(await compare(i === 0 ? furthest : some(furthest), pair)).toEqual([]);
    });
  }

  test('so do queries, however the pool is named and whatever else is wrong with the text', async () => {
    const bodies = texts.map((text) => JSON.stringify({ query: text }));
    const asked = (['/query', '/query?ctrl=T', '/query/describe', '/compile'] as const).flatMap((path) =>
      bodies.flatMap((body) =>
        (['reader', 'writer', 'nobodys'] as const).map(
          (who): Asked => ({
            method: 'POST',
            path,
            body,
            who,
            headers: { 'content-type': 'application/json', accept: 'application/json' },
          }),
        ),
      ),
    );
    const deletes = texts.map(
      (text): Asked => ({
        method: 'POST',
        path: '/pool/own/branch/main/delete?dryrun=T',
        who: 'writer',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ where: `k in (${text})` }),
      }),
    );
    // An id is spelled as one literal.
    expect(await compare([...asked, ...deletes], ['hidnq', 'absnq'])).toEqual([]);
  });

  test('and so do the queries and loads of others, beside ids that nobody used', async () => {
    const json = { 'content-type': 'application/json' };
    await send(
      {
        method: 'POST',
        path: '/query',
        who: 'reader',
        body: '{"query":"from own"}',
        headers: { ...json, 'x-request-id': 'hidnq' },
      },
      '',
    );
    await send(
      {
        method: 'POST',
        path: '/pool/own/branch/main',
        who: 'writer',
        body: '{"k":1}',
        headers: { ...json, 'x-request-id': 'hidnq' },
      },
      '',
    );
    const asked = (['GET', 'DELETE'] as const).flatMap((method) =>
      ['/query/POOL', '/load/POOL', '/query/status/POOL'].flatMap((path) =>
        malformations.map((malformation): Asked => ({ ...malformation, method, path, who: 'nobodys' })),
      ),
    );
    expect(await compare(asked, ['hidnq', 'absnq'])).toEqual([]);
  });
});
