/** Access control, over real HTTP: every route with every role, what is hidden, keys, sessions, the audit log. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { keyCommand } from '../../src/commands/key.ts';
import { serveCommand } from '../../src/commands/serve.ts';
import { feedPath } from '../../src/http/inspect/socket.ts';
import type { Need } from '../../src/http/access/access.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { type Answer, startService, type TestService } from '../support/service/server.ts';

/** Runs `lake key`; what it printed. */
const lakeKey = async (directory: string, ...argv: readonly string[]): Promise<string> => {
  let out = '';
  const [action, ...rest] = argv;
  await keyCommand([action!, '-lake', directory, ...rest], {
    cwd: directory,
    stdin: (async function* none() {
      yield* [];
    })(),
    stdoutIsTerminal: false,
    complain: () => undefined,
    write: async (chunk) => {
      out += Buffer.from(chunk).toString();
    },
  });
  return out.trim();
};

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Who asks: the grants of their key. */
const people = {
  'lake reader': ['reader'],
  'lake writer': ['writer'],
  'lake admin': ['admin'],
  'reader of own': ['reader:own'],
  'writer of own': ['writer:own'],
  'admin of own': ['admin:own'],
  'reader of other': ['reader:other'],
  'reader of the lake, writer of own': ['reader', 'writer:own'],
  'nothing at all': ['reader:no such pool'],
} as const satisfies Record<string, readonly string[]>;
type Person = keyof typeof people;
const ranks = ['reader', 'writer', 'admin'];

/** What the grants say, worked out apart from the service's own code. */
const may = (need: Need, grants: readonly string[], pool: string): boolean => {
  if (need === 'open' || need === 'known') return true;
  const [role, ofPool] = need.split(' ') as [string, string | undefined];
  return grants.some((grant) => {
    const [held, on] = grant.split(':') as [string, string | undefined];
    return ranks.indexOf(held) >= ranks.indexOf(role) && (on === undefined || (ofPool !== undefined && on === pool));
  });
};

describe('with keys', () => {
  let service: TestService;
  let directory: string;
  let audit: string;
  const tokens = new Map<Person, string>();
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lake-access-'));
    audit = join(directory, 'audit.ndjson');
    for (const [person, grants] of Object.entries(people))
      tokens.set(
        person as Person,
        await lakeKey(directory, 'add', ...grants.flatMap((grant) => ['-role', grant]), person),
      );
    service = await startService(['-auth.keys', '-audit', audit, '-events.heartbeat', '1h'], directory);
  });
  afterAll(async () => {
    await service.close();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    for (const name of ['own', 'other']) {
      const there = service.lake.pools().find((pool) => pool.name === name);
      if (
        there &&
        service.lake
          .pool(name)
          .branches()
          .some((branch) => branch.name === 'main')
      )
        continue;
      if (there) await service.lake.deletePool(name);
      await service.lake.createPool({ name, keys: [['k']] });
      await ask('lake admin', 'POST', `/pool/${name}/branch/main`, `{"k":1,"of":"${name}"}`);
    }
  });
  const ask = (
    person: Person | undefined,
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    service.ask(method, path, {
      headers: { ...json, ...(person && bearer(tokens.get(person)!)), ...headers },
      ...(body !== undefined && { body }),
    });
  const query = (person: Person | undefined, text: string): Promise<Answer> =>
    ask(person, 'POST', '/query', JSON.stringify({ query: text }));
  const lines = (): readonly Record<string, unknown>[] =>
    readFileSync(audit, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  for (const { method, path, need, tag } of routes) {
    // Their pool stands in the request and may be made by it: test/ingest.
    if (tag === 'Shippers') continue;
    test(`${method} ${path} (${need}) is open to whom it is meant for and to nobody else`, async () => {
      // Without a body a handler that was reached changes nothing, but for what takes none.
      const target = path
        .replace(':pool', 'own')
        .replace(':branch', 'main')
        .replace(':tag', 'v1')
        .replace(':child', 'none')
        .replace(':revision', 'main')
        .replace(':commit', '0'.repeat(40))
        .replace(':id', 'none');
      const verdicts: Record<string, string> = {};
      const wanted: Record<string, string> = {};
      for (const person of [undefined, ...(Object.keys(people) as Person[])]) {
        if (path === '/events' && person !== undefined) continue;
        if (!service.lake.pools().some((pool) => pool.name === 'own'))
          await service.lake.createPool({ name: 'own', keys: [['k']] });
        const { status, body } = await ask(person, method, target);
        const name = person ?? 'nobody';
        verdicts[name] =
          status === 401
            ? 'who?'
            : status === 403
              ? 'no'
              : status === 404 && body.includes('own: pool not found')
                ? 'hidden'
                : 'yes';
        const grants = person ? people[person] : [];
        const reads = may('reader of pool', grants, 'own');
        wanted[name] = !person
          ? need === 'open'
            ? 'yes'
            : 'who?'
          : may(need, grants, 'own')
            ? 'yes'
            : path.includes(':pool') && !reads
              ? 'hidden'
              : 'no';
      }
      expect(verdicts).toEqual(wanted);
    });
  }

  test('no token is told apart from a wrong one', async () => {
    const answer = await service.ask('GET', '/auth/identity', { headers: { accept: 'application/json' } });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 401,
      body: '{"type":"Error","kind":"missing authentication credentials","error":"no token present in request"}\n',
    });
  });

  test('a token that is none, is cut, or has another scheme is invalid', async () => {
    const token = tokens.get('lake admin')!;
    for (const authorization of [
      'Bearer nonsense',
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}x`,
      `Bearer ${token.replace(/.$/, token.endsWith('A') ? 'B' : 'A')}`,
      `Basic ${token}`,
      'Bearer',
      'Bearer null',
      token,
    ]) {
      const answer = await service.ask('GET', '/auth/identity', {
        headers: { accept: 'application/json', authorization },
      });
      expect({ authorization, status: answer.status, body: answer.body }).toEqual({
        authorization,
        status: 401,
        body: '{"type":"Error","kind":"missing authentication credentials","error":"invalid token"}\n',
      });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('everybody sees their own pools alone', async () => {
    const names = async (person: Person): Promise<string> =>
      (await query(person, 'from :pools | sort name | collect(name)')).body.trim();
    expect(await names('lake reader')).toBe('[["other","own"]]');
    expect(await names('reader of own')).toBe('[["own"]]');
    expect(await names('nothing at all')).toBe('[null]');
    expect((await query('reader of own', 'from :branches | count()')).body.trim()).toBe('[1]');
    expect((await query('reader of own', 'from * | collect(of)')).body.trim()).toBe('[["own"]]');
    expect((await query('reader of own', 'from own | join (from own) on left.k==right.k | count()')).body.trim()).toBe(
      '[1]',
    );
  });

  test('a pool that one may not read cannot be told from one that is not there', async () => {
    for (const text of [
      'from NAME',
      'from own | join (from NAME) on left.k==right.k',
      'select * from NAME',
      'from NAME:log',
      'from NAME@main:objects',
      'from own | load NAME',
    ]) {
      const hidden = await query('reader of own', text.replace('NAME', 'other'));
      const absent = await query('reader of own', text.replace('NAME', 'absnt'));
      expect(hidden.body).not.toContain('did you mean');
      expect({ text, status: hidden.status, body: hidden.body.replaceAll('other', 'absnt') }).toEqual({
        text,
        status: absent.status,
        body: absent.body,
      });
    }
    const hidden = await ask('reader of own', 'POST', '/query/describe', '{"query":"from other"}');
    const absent = await ask('reader of own', 'POST', '/query/describe', '{"query":"from absnt"}');
    expect(hidden.body.replaceAll('other', 'absnt')).toBe(absent.body);
  });

  test('the filter of a delete reads what its writer may read', async () => {
    const where = (pool: string): string => JSON.stringify({ where: `k in (from ${pool} | values k)` });
    const [hidden, absent] = [
      await ask('writer of own', 'POST', '/pool/own/branch/main/delete', where('other')),
      await ask('writer of own', 'POST', '/pool/own/branch/main/delete', where('absnt')),
    ];
    expect({ status: hidden.status, body: hidden.body.replaceAll('other', 'absnt') }).toEqual({
      status: 400,
      body: absent.body,
    });
    expect(
      (await ask('reader of the lake, writer of own', 'POST', '/pool/own/branch/main/delete', where('other'))).status,
    ).toBe(200);
    expect((await query('lake reader', 'from own | count()')).body.trim()).toBe('[0]');
    expect((await ask('lake admin', 'DELETE', '/pool/own')).status).toBe(204);
  });

  test('an update reads what its writer may read, and needs the writer of its pool', async () => {
    const from = (pool: string): string => JSON.stringify({ where: 'true', put: `x:=(from ${pool} | count())` });
    const [hidden, absent] = [
      await ask('writer of own', 'POST', '/pool/own/branch/main/update', from('other')),
      await ask('writer of own', 'POST', '/pool/own/branch/main/update', from('absnt')),
    ];
    expect({ status: hidden.status, body: hidden.body.replaceAll('other', 'absnt') }).toEqual({
      status: 400,
      body: absent.body,
    });
    expect((await ask('reader of own', 'POST', '/pool/own/branch/main/update', from('own'))).status).toBe(403);
  });

  test('load in a query needs the writer of its pool', async () => {
    const refused = await query('reader of own', 'from own | load own');
    expect({ status: refused.status, body: JSON.parse(refused.body) as unknown }).toEqual({
      status: 403,
      body: {
        type: 'Error',
        kind: 'invalid operation',
        error: 'reader of own lacks permission: requires role writer on pool own',
      },
    });
    expect((await query('writer of own', 'values {k:2,of:"own"} | load own')).status).toBe(200);
    expect((await query('lake reader', 'from own | count()')).body.trim()).toBe('[2]');
  });

  test('views are made by who may make pools, and read by who may read them and what they read', async () => {
    const { lake } = service;
    const statuses = async (text: string, ...persons: readonly Person[]): Promise<readonly number[]> => {
      const found: number[] = [];
      for (const person of persons) found.push((await query(person, text)).status);
      return found;
    };
    const text = 'create view seen as from other | cut k';
    expect(await statuses(text, 'lake reader', 'writer of own', 'admin of own')).toEqual([403, 400, 400]);
    expect(await statuses('create view seen as from own', 'writer of own')).toEqual([403]);
    expect(await statuses(text, 'lake writer')).toEqual([200]);
    expect(lake.view('seen')).toMatchObject({ author: 'lake writer', query: 'from other | cut k' });
    // Who may read it lacks what it reads, or the other way round, or nothing.
    const id = `0x${lake.view('seen')!.id}`;
    const [reader, writer, whole] = await Promise.all(
      [[`reader:seen`], [`writer:${id}`], ['reader:seen', 'reader:other']].map((grants, i) =>
        lakeKey(directory, 'add', ...grants.flatMap((grant) => ['-role', grant]), `view ${i}`),
      ),
    );
    const asked = (token: string | undefined, body: string): Promise<Answer> =>
      service.ask('POST', '/query', { headers: { ...json, ...bearer(token!) }, body: JSON.stringify({ query: body }) });
    expect((await asked(whole, 'from seen')).body.trim()).toBe('[{"k":1}]');
    const refused = JSON.parse((await asked(reader, 'from seen')).body) as { error: string };
    expect(refused.error).toContain('view "seen": other: pool not found (line 1, column 6 of its text)');
    const hidden = await query('reader of other', 'from seen');
    const absent = await query('reader of other', 'from nope');
    expect(hidden.body.replaceAll('seen', 'nope')).toBe(absent.body);
    expect((await query('reader of other', 'from :views')).body.trim()).toBe('[]');
    expect((await asked(reader, 'from :views | values name')).body.trim()).toBe('["seen"]');
    // A new version takes nothing away; dropping a view cannot be undone.
    const replaced = 'create or replace view seen as values 1';
    expect(await statuses(replaced, 'lake reader', 'reader of other')).toEqual([403, 403]);
    expect((await asked(writer, replaced)).status).toBe(200);
    expect((await asked(writer, 'drop view seen')).status).toBe(403);
    expect(await statuses('drop view seen', 'lake writer', 'reader of other')).toEqual([403, 404]);
    // Another name takes the one away that others know it by.
    expect((await asked(writer, 'alter view seen rename to hidden')).status).toBe(403);
    expect((await asked(writer, 'alter view seen as values 2')).status).toBe(200);
    expect(await statuses('alter view seen rename to hidden', 'lake writer', 'reader of other')).toEqual([403, 404]);
    expect(await statuses('alter view seen as values 1', 'reader of other')).toEqual([404]);
    expect(await statuses('alter view if exists seen rename to hidden', 'reader of other')).toEqual([200]);
    // Nothing is said of one that is hidden: it is as absent.
    expect(await statuses('drop view if exists seen', 'reader of other')).toEqual([200]);
    expect(await statuses('drop view if exists nowhere', 'reader of other')).toEqual([200]);
    expect(await statuses('drop view seen', 'lake admin')).toEqual([200]);
  });

  test('views have the same roles where they are asked for by their address', async () => {
    const asked = async (method: string, path: string, body: object | undefined, ...persons: readonly Person[]) => {
      const found: number[] = [];
      for (const person of persons) found.push((await ask(person, method, path, body && JSON.stringify(body))).status);
      return found;
    };
    const made = { name: 'shown', query: 'from other | cut k' };
    expect(await asked('POST', '/view', made, 'lake reader', 'writer of own', 'lake writer')).toEqual([403, 400, 200]);
    expect(await asked('GET', '/view/shown', undefined, 'lake reader', 'reader of other')).toEqual([200, 404]);
    const listed = async (person: Person): Promise<unknown> =>
      (JSON.parse((await ask(person, 'GET', '/view')).body) as { readonly views: readonly unknown[] }).views;
    expect([await listed('lake reader'), await listed('reader of other')]).toEqual([
      [expect.objectContaining({ name: 'shown', author: 'lake writer' })],
      [],
    ]);
    const text = { query: 'values 1' };
    expect(await asked('PUT', '/view/shown', text, 'lake reader', 'reader of other', 'lake writer')).toEqual([
      403, 403, 200,
    ]);
    expect(await asked('PUT', '/view/shown', { name: 'else' }, 'reader of other', 'lake writer', 'lake admin')).toEqual(
      [404, 403, 200],
    );
    expect(await asked('DELETE', '/view/else', undefined, 'reader of other', 'lake writer', 'lake admin')).toEqual([
      404, 403, 204,
    ]);
  });

  test('the status of a query is told to who asked it and to admins', async () => {
    await ask('lake reader', 'POST', '/query', '{"query":"from own | nosuch()"}', { 'x-request-id': 'theirs' });
    await ask('lake reader', 'POST', '/query', '{"query":"from own"}', { 'x-request-id': 'theirs' });
    expect((await ask('reader of own', 'GET', '/query/status/theirs')).body).toContain('query not found');
    expect((await ask('lake reader', 'GET', '/query/status/theirs')).status).toBe(200);
    expect((await ask('lake admin', 'GET', '/query/status/theirs')).status).toBe(200);
  });
  test("an id that another gives to theirs stays one's own", async () => {
    const id = { 'x-request-id': 'both' };
    const queryOf = async (who: Parameters<typeof ask>[0]): Promise<unknown> =>
      (JSON.parse((await ask(who, 'GET', '/query/both')).body) as { readonly query: string }).query;
    await ask('lake admin', 'POST', '/query', '{"query":"from own | nosuch()"}', id);
    await ask('reader of own', 'POST', '/query', '{"query":"values 1"}', id);
    expect(await queryOf('lake admin')).toBe('from own | nosuch()');
    expect(await queryOf('reader of own')).toBe('values 1');
    expect((await ask('lake admin', 'GET', '/query/status/both')).body).toContain('nosuch');
    expect((await ask('reader of own', 'GET', '/query/status/both')).body).not.toContain('nosuch');
    expect((await ask('lake reader', 'GET', '/query/both')).status).toBe(404);
  });

  test('events are those of readable pools, and end when the key is revoked', async () => {
    const token = await lakeKey(directory, 'add', '-role', 'reader:own', 'listener');
    const response = await fetch(`${service.url}/events`, {
      headers: { accept: 'application/json', ...bearer(token) },
    });
    const seen: string[] = [];
    const ended = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()))
        seen.push(...chunk.split('\n').filter((line) => line.startsWith('data:')));
    })();
    await ask('lake admin', 'POST', '/pool/other/branch/main', '{"k":5}');
    await ask('lake admin', 'POST', '/pool/own/branch/main', '{"k":6}');
    const own = service.lake.pool('own').config.id;
    await expect.poll(() => seen.length).toBe(1);
    expect(seen[0]).toContain(own);
    await lakeKey(directory, 'revoke', 'listener');
    await ended;
    expect(seen).toHaveLength(1);
  });

  test('who comes back gets the events that an open stream got: of the pools that had the name, or the id, when it happened', async () => {
    const first = service.lake.lastEventId();
    const controller = new AbortController();
    const listen = async (role: string, lastEventId?: number): Promise<readonly number[]> => {
      const token = await lakeKey(directory, 'add', '-role', role, `of ${role} ${lastEventId}`);
      const seen: number[] = [];
      const { body } = await fetch(`${service.url}/events`, {
        headers: {
          accept: 'application/json',
          ...bearer(token),
          ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
        },
        signal: controller.signal,
      });
      void (async () => {
        for await (const chunk of body!.pipeThrough(new TextDecoderStream()))
          seen.push(...[...chunk.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id) - first));
      })().catch(() => undefined);
      return seen;
    };
    const open = await listen('reader:came');
    const create = async (name: string): Promise<string> =>
      `0x${(await service.lake.createPool({ name, keys: [['k']] })).pool.id}`;
    const one = await create('came'); // 1
    const openById = await listen(`reader:${one}`);
    await ask('lake admin', 'POST', '/pool/came/branch/main', '{"k":1}'); // 2
    await service.lake.deletePool('came'); // 3
    const two = await create('secret'); // 4
    await ask('lake admin', 'POST', '/pool/secret/branch/main', '{"k":1}'); // 5
    await service.lake.renamePool('secret', 'came'); // 6
    await ask('lake admin', 'POST', '/pool/came/branch/main', '{"k":2}'); // 7
    await service.lake.renamePool('came', 'gone'); // 8
    await ask('lake admin', 'POST', '/pool/gone/branch/main', '{"k":3}'); // 9
    await service.lake.deletePool('gone'); // 10
    const wanted = {
      'reader:came': [1, 2, 3, 6, 7],
      [`reader:${one}`]: [1, 2, 3],
      [`reader:${two}`]: [4, 5, 6, 7, 8, 9, 10],
      'reader:secret': [4, 5],
      'reader:gone': [8, 9, 10],
      'reader:none': [],
    } as const;
    const again: Record<string, readonly number[]> = {};
    for (const role of Object.keys(wanted)) again[role] = await listen(role, first);
    await expect
      .poll(() => ({ open, openById, ...again }))
      .toEqual({ open: wanted['reader:came'], openById: [2, 3], ...wanted });
    controller.abort();
  });

  test("the inspector's feed needs a reader of the lake", async () => {
    expect([
      (await ask(undefined, 'GET', feedPath)).status,
      (await ask('reader of own', 'GET', feedPath)).status,
      (await ask('lake reader', 'GET', feedPath)).status,
    ]).toEqual([401, 403, 426]);
  });

  test('a session cookie stands for its token, for our own pages alone, until it is ended', async () => {
    const opened = await ask('writer of own', 'POST', '/auth/session', undefined, { origin: service.url });
    const set = opened.headers.get('set-cookie')!;
    expect({ status: opened.status, set: set.replace(/=[^;]+/, '=X') }).toEqual({
      status: 204,
      set: expect.stringMatching(/^lake_session=X; Path=\/; Max-Age=43(200|199); HttpOnly; SameSite=Strict$/),
    });
    const cookie = set.split(';')[0]!;
    expect(JSON.parse((await ask(undefined, 'GET', '/auth/identity', undefined, { cookie })).body)).toMatchObject({
      user_id: 'writer of own',
      roles: ['writer:own'],
    });
    expect(
      (await ask(undefined, 'POST', '/pool/own/branch/main', '{"k":9}', { cookie, origin: service.url })).status,
    ).toBe(200);
    for (const [method, path] of [
      ['POST', '/pool/own/branch/main'],
      ['POST', '/query'],
      ['GET', '/events'],
      ['POST', '/auth/session'],
    ] as const) {
      expect(
        (
          await ask(undefined, method, path, method === 'POST' ? '{"k":9}' : undefined, {
            cookie,
            origin: 'http://evil.example',
          })
        ).status,
      ).toBe(403);
    }
    expect(
      (await ask('writer of own', 'POST', '/auth/session', undefined, { origin: 'http://evil.example' })).status,
    ).toBe(403);
    expect(
      (
        await ask('writer of own', 'POST', '/auth/session', undefined, {
          origin: service.url.replace('http', 'https'),
          'x-forwarded-proto': 'https',
        })
      ).headers.get('set-cookie'),
    ).toContain('; Secure');
    const closed = await ask(undefined, 'DELETE', '/auth/session', undefined, { cookie, origin: service.url });
    expect(closed.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await ask(undefined, 'GET', '/auth/identity', undefined, { cookie })).status).toBe(401);
  });

  test('a key that is revoked has no sessions, one that expires ends', async () => {
    const token = await lakeKey(directory, 'add', '-role', 'reader', '-ttl', '1s', 'short');
    const cookie = (await service.ask('POST', '/auth/session', { headers: { ...bearer(token) } })).headers
      .get('set-cookie')!
      .split(';')[0]!;
    expect((await ask(undefined, 'GET', '/auth/identity', undefined, { cookie })).status).toBe(200);
    await expect
      .poll(async () => (await service.ask('GET', '/auth/identity', { headers: bearer(token) })).status, {
        timeout: 5000,
      })
      .toBe(401);
    expect((await ask(undefined, 'GET', '/auth/identity', undefined, { cookie })).status).toBe(401);
  });

  /** The lines that what is asked makes: written once an answer is out, so those of the tests before may still come. */
  const linesOf = async (count: number, asked: () => Promise<unknown>): Promise<readonly Record<string, unknown>[]> => {
    let before = -1;
    for (
      ;
      before !== lines().length;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      })
    )
      before = lines().length;
    await asked();
    await expect.poll(() => lines().length).toBeGreaterThanOrEqual(before + count);
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    return lines()
      .slice(before)
      .map(({ time: _time, request: _request, from: _from, ...rest }) => rest);
  };

  test('the audit log has a line for each change and each refusal, and cannot be forged', async () => {
    const made = await linesOf(3, async () => {
      await ask('lake writer', 'POST', '/pool/own/branch/main', '{"k":3}', { 'x-request-id': 'r1' });
      await ask('lake reader', 'POST', '/query', '{"query":"from own"}');
      await ask('lake reader', 'DELETE', '/pool/own');
      await service.ask('POST', '/pool/%0A%7B%22who%22:%22root%22%7D/branch/main', { headers: json });
    });
    const own = service.lake.pool('own');
    expect(lines().find(({ request }) => request === 'r1')).toMatchObject({
      time: expect.any(String),
      request: 'r1',
      from: '127.0.0.1',
    });
    expect(made).toEqual([
      {
        who: 'lake writer',
        method: 'POST',
        path: '/pool/own/branch/main',
        status: 200,
        pool: `0x${own.config.id}`,
        branch: 'main',
        commit: `0x${own.branch('main').commit}`,
      },
      {
        who: 'lake reader',
        method: 'DELETE',
        path: '/pool/own',
        status: 403,
        refused: 'admin',
        pool: `0x${own.config.id}`,
      },
      { method: 'POST', path: '/pool/%0A%7B%22who%22:%22root%22%7D/branch/main', status: 401, refused: 'token' },
    ]);
  });

  test('a line names the pool and the branch that the path names, by whatever name, and nothing that could be a credential', async () => {
    const { id } = (await service.lake.createPool({ name: 'audited', keys: [['k']] })).pool;
    const secret = tokens.get('lake admin')!;
    const own = { who: 'lake admin', pool: `0x${id}` };
    const first = (
      JSON.parse((await ask('lake admin', 'POST', '/pool/audited/branch/main', '{"k":0}')).body) as {
        readonly commit: string;
      }
    ).commit;
    const made = await linesOf(7, async () => {
      await ask(
        'lake admin',
        'POST',
        `/pool/audited/branch/main?access_token=${secret}&csv.delim=%3B&key=${secret}`,
        '{"k":1}',
      );
      await ask('lake admin', 'POST', `/pool/0x${id}/branch/main/delete?dryrun=T&${secret}`, '{"where":"k==1"}');
      await ask('lake admin', 'POST', `/pool/audited/branch/none?${secret}=1`, '{"k":1}');
      await ask('lake admin', 'POST', '/pool/audited/revision/main/vacuum?dryrun=T');
      await ask('lake admin', 'POST', `/pool/audited/revision/${first}/vacuum?dryrun=T`);
      await ask('lake admin', 'PUT', '/pool/audited', '{"name":"audited too"}');
      await ask('lake admin', 'DELETE', '/pool/audited+too');
    });
    expect(made).toEqual([
      { ...own, method: 'POST', path: '/pool/audited/branch/main?csv.delim=%3B', status: 400, branch: 'main' },
      { ...own, method: 'POST', path: `/pool/0x${id}/branch/main/delete?dryrun=T`, status: 400, branch: 'main' },
      { ...own, method: 'POST', path: '/pool/audited/branch/none', status: 400, branch: 'none' },
      { ...own, method: 'POST', path: '/pool/audited/revision/main/vacuum?dryrun=T', status: 200, branch: 'main' },
      { ...own, method: 'POST', path: `/pool/audited/revision/${first}/vacuum?dryrun=T`, status: 200 },
      { ...own, method: 'PUT', path: '/pool/audited', status: 204 },
      { ...own, method: 'DELETE', path: '/pool/audited+too', status: 204 },
    ]);
  });

  test('a refusal that looks like a pool that is not there has its line, and one that is not there has none', async () => {
    const other = service.lake.pool('other').config.id;
    const hidden = (method: string, path: string, status: number): unknown => ({
      who: 'writer of own',
      method,
      path,
      status,
      refused: 'reader',
      pool: `0x${other}`,
    });
    const paths = [
      ['GET', '/pool/NAME/stats'],
      ['GET', '/pool/NAME/branch/main'],
      ['GET', '/pool/NAME/graph'],
      ['GET', '/pool/NAME/revision/main/sums'],
    ] as const;
    const texts = [
      ['/query', 'from NAME'],
      ['/query', 'from own | load NAME'],
      ['/query', 'from NAME:log'],
      ['/query/describe', 'from NAME'],
      ['/compile', 'from own | load NAME'],
      ['/compile', 'select * from NAME'],
    ] as const;
    const asked = (name: string) => async (): Promise<void> => {
      for (const [method, path] of paths)
        expect((await ask('writer of own', method, path.replace('NAME', name))).status).toBe(404);
      for (const [path, query_] of texts)
        expect(
          (await ask('writer of own', 'POST', path, JSON.stringify({ query: query_.replace('NAME', name) }))).status,
        ).toBe(400);
      await ask('writer of own', 'POST', '/query', `{"head":{"pool":"${name}"}}`);
      await ask(
        'writer of own',
        'POST',
        '/pool/own/branch/main/delete',
        JSON.stringify({ where: `k in (from ${name} | values k)` }),
      );
    };
    const wanted = [
      ...paths.map(([method, path]) => hidden(method, path.replace('NAME', 'other'), 404)),
      ...texts.map(([path]) => hidden('POST', path, 400)),
      hidden('POST', '/query', 404),
      hidden('POST', '/pool/own/branch/main/delete', 400),
    ];
    expect(await linesOf(wanted.length, asked('other'))).toEqual(wanted);
    // A delete may change something.
    expect(await linesOf(1, asked('absnt'))).toEqual([
      {
        who: 'writer of own',
        method: 'POST',
        path: '/pool/own/branch/main/delete',
        status: 400,
        pool: `0x${service.lake.pool('own').config.id}`,
        branch: 'main',
      },
    ]);
    // A name that is no source of the query is none.
    expect(
      await linesOf(0, () => query('writer of own', 'values {other:1} | put x:=other | where "other"==x')),
    ).toEqual([]);
  });

  test('a load of a query has its line with a status, and so has one that is refused', async () => {
    const own = service.lake.pool('own').config.id;
    const other = service.lake.pool('other').config.id;
    const made = await linesOf(3, async () => {
      expect((await query('writer of own', 'values {k:2,of:"own"} | load own')).status).toBe(200);
      expect(
        (await query('reader of the lake, writer of own', 'fork (values {k:1} | load own) (values {k:2} | load other)'))
          .status,
      ).toBe(403);
    });
    expect(made).toHaveLength(3);
    expect(made).toContainEqual({
      who: 'writer of own',
      method: 'POST',
      path: '/query',
      status: 200,
      pool: `0x${own}`,
      branch: 'main',
      commit: expect.stringMatching(/^0x[0-9a-f]{40}$/),
    });
    expect(made).toContainEqual({
      who: 'reader of the lake, writer of own',
      method: 'POST',
      path: '/query',
      status: 403,
      refused: 'writer',
      pool: `0x${other}`,
    });
  });

  test('a view that a query makes or drops has its line, and one that is refused', async () => {
    const made = await linesOf(3, async () => {
      expect((await query('lake admin', 'create view kept as values 1')).status).toBe(200);
      expect((await query('lake reader', 'drop view kept')).status).toBe(403);
      expect((await query('lake admin', 'drop view kept')).status).toBe(200);
    });
    const id = expect.stringMatching(/^0x[0-9a-f]{40}$/);
    const line = { method: 'POST', path: '/query' };
    expect(made).toEqual([
      { ...line, who: 'lake admin', status: 200, view: id, version: id },
      { ...line, who: 'lake reader', status: 403, refused: 'admin', pool: id },
      { ...line, who: 'lake admin', status: 200, view: id },
    ]);
  });

  test('a view that is changed by its address has one line a request', async () => {
    const steps = [
      ['lake admin', 'POST', '/view', '{"name":"kept","query":"values 1"}', 200],
      ['lake admin', 'PUT', '/view/kept', '{"name":"else"}', 200],
      ['lake reader', 'DELETE', '/view/else', undefined, 403],
      ['lake admin', 'DELETE', '/view/kept', undefined, 404],
      ['lake admin', 'DELETE', '/view/else', undefined, 204],
    ] as const;
    const made = await linesOf(steps.length, async () => {
      for (const [who, method, path, body, status] of steps)
        expect((await ask(who, method, path, body)).status).toBe(status);
    });
    const id = expect.stringMatching(/^0x[0-9a-f]{40}$/);
    const admin = { who: 'lake admin' };
    expect(made).toEqual([
      { ...admin, method: 'POST', path: '/view', status: 200, view: id, version: id },
      { ...admin, method: 'PUT', path: '/view/kept', status: 200, view: id, version: id },
      { who: 'lake reader', method: 'DELETE', path: '/view/else', status: 403, refused: 'admin', pool: id },
      { ...admin, method: 'DELETE', path: '/view/kept', status: 404 },
      { ...admin, method: 'DELETE', path: '/view/else', status: 204, view: id },
    ]);
  });

  test("refusals of the inspector's feed have their lines, by plain request and by WebSocket, and those of foreign pages", async () => {
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const open = (headers: Readonly<Record<string, string>>): Promise<number> =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(service.url);
        httpRequest({ hostname, port, path: feedPath, headers: { ...upgrade, ...headers } }, (response) => {
          response.resume();
          resolve(response.statusCode!);
        })
          .on('upgrade', (response, socket) => {
            socket.destroy();
            resolve(response.statusCode!);
          })
          .on('error', reject)
          .end();
      });
    const line = (status: number, refused: string, who?: Person): unknown => ({
      ...(who && { who }),
      method: 'GET',
      path: feedPath,
      status,
      refused,
    });
    const made = await linesOf(5, async () => {
      await ask(undefined, 'GET', feedPath);
      await ask('reader of own', 'GET', feedPath);
      expect(await open({})).toBe(401);
      expect(await open(bearer(tokens.get('reader of own')!))).toBe(403);
      expect(await open({ ...bearer(tokens.get('lake reader')!), origin: 'http://evil.example' })).toBe(403);
      expect(await open(bearer(tokens.get('lake reader')!))).toBe(101);
    });
    expect(made).toEqual([
      line(401, 'token'),
      line(403, 'reader', 'reader of own'),
      line(401, 'token'),
      line(403, 'reader', 'reader of own'),
      line(403, 'origin'),
    ]);
  });

  test('a write whose client left has its line', async () => {
    const made = await linesOf(
      1,
      () =>
        new Promise<void>((resolve) => {
          const { hostname, port } = new URL(service.url);
          const client = httpRequest({
            hostname,
            port,
            method: 'POST',
            path: '/pool/own/branch/main',
            headers: { ...bearer(tokens.get('lake writer')!), 'content-length': '100' },
          });
          client
            .on('error', () => {
              resolve();
            })
            .on('socket', (socket) => {
              socket.on('connect', () => {
                setTimeout(() => {
                  client.destroy(new Error('left'));
                }, 100);
              });
            });
          client.write('{"k":');
        }),
    );
    expect(made).toEqual([
      {
        who: 'lake writer',
        method: 'POST',
        path: '/pool/own/branch/main',
        status: 400,
        pool: `0x${service.lake.pool('own').config.id}`,
        branch: 'main',
      },
    ]);
  });

  test('who watches the machines is cut off when the key is revoked', async () => {
    const token = await lakeKey(directory, 'add', '-role', 'reader', 'watcher');
    await expect
      .poll(async () => (await service.ask('GET', '/auth/identity', { headers: bearer(token) })).status, {
        timeout: 5000,
      })
      .toBe(200);
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}${feedPath}`, { headers: bearer(token) });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve).once('error', reject);
    });
    const closed = new Promise<number>((resolve) => {
      socket.once('close', resolve);
    });
    await lakeKey(directory, 'revoke', 'watcher');
    expect(await closed).toBe(1008);
  });
});

test('without access control there are no sessions', async () => {
  const service = await startService();
  for (const method of ['POST', 'DELETE'])
    expect((await service.ask(method, '/auth/session', { headers: { accept: 'application/json' } })).body).toBe(
      '{"type":"Error","kind":"item does not exist","error":"access control is off: there are no sessions"}\n',
    );
  await service.close();
});

describe('lake key', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lake-keys-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test("keys are listed without their secret, kept hashed, for their owner's eyes", async () => {
    const token = await lakeKey(
      directory,
      'add',
      '-role',
      'writer:events',
      '-role',
      'reader',
      '-ttl',
      '24h',
      'nightly load',
    );
    const secret = token.slice(-43);
    const path = join(directory, 'keys.json');
    expect(await lakeKey(directory, 'list')).toMatch(
      /^[0-9a-f]{12} {2}nightly load {2}writer:events reader {2}since \S+Z {2}until \S+Z$/,
    );
    expect(readFileSync(path, 'utf8')).not.toContain(secret);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  test('mistakes on the command line are told', async () => {
    await expect(lakeKey(directory, 'add', '-role', 'owner', 'x')).rejects.toThrow(
      'bad value for -role: "owner" (reader, writer, admin, or with a pool writer:POOL)',
    );
    await expect(lakeKey(directory, 'add', 'x')).rejects.toThrow('-role says what the key may do');
    await expect(lakeKey(directory, 'add', '-role', 'reader', 'nightly load')).rejects.toThrow(
      'there is a key "nightly load" already',
    );
    await expect(lakeKey(directory, 'revoke', 'nobody')).rejects.toThrow('no key "nobody"');
    await expect(lakeKey(join(directory, 'none'), 'list')).rejects.toThrow('no lake in');
    expect(await lakeKey(join(directory, 'new', 'lake'), 'add', '-role', 'reader', 'first')).not.toBe('');
    writeFileSync(join(directory, 'keys.json.new'), '');
    await expect(lakeKey(directory, 'revoke', 'nightly load')).rejects.toThrow('another command is changing the keys');
  });
});

describe('listening', () => {
  const serve = (...argv: readonly string[]): Promise<unknown> =>
    serveCommand([...argv, '-lake', '/nonexistent/lake'], {
      cwd: '/',
      stdin: (async function* none() {
        yield* [];
      })(),
      stdoutIsTerminal: false,
      write: async () => undefined,
      complain: () => undefined,
    });

  test('an address that others reach needs access control, or the word that none is wanted', async () => {
    for (const address of ['0.0.0.0:0', '192.0.2.1:80', '[::]:0', 'lake.example:80'])
      await expect(serve('-l', address)).rejects.toThrow(
        '-auth.keys or -auth.domain turn it on, -insecure goes without',
      );
  });
  test('tokens of an issuer need an audience', async () => {
    await expect(serve('-auth.domain', 'https://issuer.example')).rejects.toThrow('-auth.domain needs -auth.audience');
    await expect(serve('-auth.domain', 'issuer')).rejects.toThrow('bad value for -auth.domain');
  });
});
