/** Requests that are sent again, and writes on a condition, over real HTTP and restarts. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request as httpRequest } from 'node:http';
import { openTables } from '../src/lake/repair/recovery.ts';
import { startBuiltService } from './support/service/built.ts';
import { type Answer, startService, type TestService } from './support/service/server.ts';

let service: TestService;
let directory: string;
let pools = 0;
let pool = '';
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lake-retries-'));
  service = await startService([], directory);
});
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  pool = `p${pools++}`;
  await service.ask('POST', '/pool', {
    headers: json,
    body: JSON.stringify({ name: pool, layout: { keys: [['k']] } }),
  });
});
const post = (path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Answer> =>
  service.ask('POST', `/pool/${pool}/${path}`, {
    headers: { ...json, ...headers },
    ...(body !== undefined && { body }),
  });
const load = (body: string, headers: Readonly<Record<string, string>> = {}, branch = 'main'): Promise<Answer> =>
  post(`branch/${branch}`, headers, body);
const commitOf = (answer: Answer): string => {
  expect(answer.status, answer.body).toBe(200);
  return (JSON.parse(answer.body) as { readonly commit: string }).commit;
};
const errorOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (JSON.parse(body) as { readonly error: string }).error,
];
const keys = async (branch = 'main'): Promise<string> =>
  (await service.query(`from ${pool}@${branch} | collect(k)`)).trim();
const restart = async (flags: readonly string[] = []): Promise<void> => {
  await service.close();
  service = await startService(flags, directory);
};

describe('Idempotency-Key', () => {
  test('a load that is sent again is the same commit, once, over a restart too', async () => {
    const first = commitOf(await load('{"k":1}', { 'idempotency-key': 'a' }));
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'a' }))).toBe(first);
    await restart();
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'a' }))).toBe(first);
    expect(
      commitOf(
        await service.ask('POST', `/pool/0x${service.lake.pool(pool).config.id}/branch/main`, {
          headers: { ...json, 'idempotency-key': 'a' },
          body: '{"k":1}',
        }),
      ),
    ).toBe(first);
    expect(commitOf(await load('{"k":2}', { 'idempotency-key': 'b' }))).not.toBe(first);
    expect(await keys()).toBe('[1,2]');
  });

  test('an upsert that had nothing to change is done: sent again it changes nothing, whatever has come since', async () => {
    await service.ask('PUT', `/pool/${pool}`, { headers: json, body: JSON.stringify({ identity: [['k']] }) });
    const upsert = (key: string): Promise<Answer> =>
      post('branch/main?upsert=T&delete=gone', { 'idempotency-key': key }, '{"k":1,"gone":true}');
    // Of an empty branch too.
    const none = commitOf(await upsert('none'));
    expect(none).toMatch(/^0x0+$/);
    const two = commitOf(await load('{"k":2}'));
    expect(commitOf(await upsert('two'))).toBe(two);
    await load('{"k":1}');
    for (const [key, commit] of Object.entries({ none, two })) {
      expect(commitOf(await upsert(key))).toBe(commit);
      expect(errorOf(await post('branch/main?upsert=T', { 'idempotency-key': key }, '{"k":9}'))[0]).toBe(422);
    }
    await restart();
    for (const [key, commit] of Object.entries({ none, two })) expect(commitOf(await upsert(key))).toBe(commit);
    expect(await keys()).toBe('[1,2]');
    expect(commitOf(await upsert('three'))).not.toBe(two);
    expect(await keys()).toBe('[2]');
  });

  test('many of the same at once are one commit', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => load('{"k":7}', { 'idempotency-key': `k${i % 4}` })),
    );
    expect(new Set(answers.map(commitOf)).size).toBe(4);
    expect(await keys()).toBe('[7,7,7,7]');
    const large = Array.from({ length: 30_000 }, (_, k) => `{"k":${k},"text":"${'x'.repeat(40)}"}`).join('\n');
    const [one, two] = await Promise.all([
      load(large, { 'idempotency-key': 'large' }),
      load(large, { 'idempotency-key': 'large' }),
    ]);
    expect(commitOf(one!)).toBe(commitOf(two!));
    expect(await service.query(`from ${pool} | count()`)).toBe('30004\n');
  });

  test('merge, revert and delete are done once', async () => {
    const base = commitOf(await load('{"k":1}'));
    await service.ask('POST', `/pool/${pool}`, {
      headers: json,
      body: JSON.stringify({ name: 'child', commit: base }),
    });
    commitOf(await load('{"k":2}', {}, 'child'));
    const twice = async (path: string, key: string, body?: string): Promise<string> => {
      const first = commitOf(await post(path, { 'idempotency-key': key }, body));
      const rows = await keys();
      expect(commitOf(await post(path, { 'idempotency-key': key }, body))).toBe(first);
      expect(await keys()).toBe(rows);
      return first;
    };
    const merged = await twice('branch/main/merge/child', 'm');
    expect(await keys()).toBe('[1,2]');
    await twice('branch/main/delete', 'd', '{"where":"k==1"}');
    expect(await keys()).toBe('[2]');
    await twice(`branch/main/revert/${merged}`, 'r');
    expect(await keys()).toBe('null');
  });

  test('one that failed may be tried again; one that named another request is refused', async () => {
    expect((await load('{"k":', { 'idempotency-key': 'x' })).status).toBe(400);
    expect((await load('{"k":5}', { 'idempotency-key': 'x' })).status).toBe(200);
    expect(errorOf(await post('branch/main/delete', { 'idempotency-key': 'x' }, '{"where":"k==5"}'))).toEqual([
      422,
      'Idempotency-Key x was already used for a different request',
    ]);
    expect(errorOf(await load('{"k":5}', { 'idempotency-key': 'y'.repeat(256) }))).toEqual([
      400,
      'Idempotency-Key must be 1 to 255 characters, got 256',
    ]);
    expect(await keys()).toBe('[5]');
  });

  test('another body is another request, whatever reads it; so is another way to read the same bytes', async () => {
    const large = (k: number): string =>
      Array.from({ length: 20_000 }, (_, i) => `{"k":${i === 19_999 ? k : 0}}`).join('\n');
    const reused = (key: string): readonly [number, string] => [
      422,
      `Idempotency-Key ${key} was already used for a different request`,
    ];
    commitOf(await load('{"k":1}', { 'idempotency-key': 'small' }));
    expect(errorOf(await load('{"k":2}', { 'idempotency-key': 'small' }))).toEqual(reused('small'));
    const first = commitOf(await load(large(7), { 'idempotency-key': 'large' }));
    expect(errorOf(await load(large(8), { 'idempotency-key': 'large' }))).toEqual(reused('large'));
    expect(commitOf(await load(large(7), { 'idempotency-key': 'large' }))).toBe(first);
    commitOf(await load('k\n1\n', { 'idempotency-key': 'type', 'content-type': 'text/csv' }));
    expect(
      errorOf(await load('k\n1\n', { 'idempotency-key': 'type', 'content-type': 'text/tab-separated-values' })),
    ).toEqual(reused('type'));
    commitOf(
      await post('branch/main?csv.delim=%3B', { 'idempotency-key': 'delimiter', 'content-type': 'text/csv' }, 'k\n1\n'),
    );
    expect(
      errorOf(
        await post(
          'branch/main?csv.delim=%7C',
          { 'idempotency-key': 'delimiter', 'content-type': 'text/csv' },
          'k\n1\n',
        ),
      ),
    ).toEqual(reused('delimiter'));
    commitOf(await post('branch/main/delete', { 'idempotency-key': 'where' }, '{"where":"k==1"}'));
    expect(errorOf(await post('branch/main/delete', { 'idempotency-key': 'where' }, '{"where":"k==7"}'))).toEqual(
      reused('where'),
    );
    expect(await service.query(`from ${pool} | count()`)).toBe('20000\n');
    await restart();
    expect(errorOf(await load('{"k":2}', { 'idempotency-key': 'small' }))).toEqual(reused('small'));
    expect(commitOf(await load(large(7), { 'idempotency-key': 'large' }))).toBe(first);
  });

  test('of two bodies at once under one key one is done; the other is refused, or done if the first cannot be', async () => {
    const large = (end: string): string =>
      `${Array.from({ length: 30_000 }, (_, k) => `{"k":${k}}`).join('\n')}\n${end}`;
    const answers = await Promise.all(
      ['{"k":-1}', '{"k":-2}'].map((end) => load(large(end), { 'idempotency-key': 'two' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    const [broken, whole] = await Promise.all(
      ['{"k":', '{"k":-3}'].map((end) => load(large(end), { 'idempotency-key': 'broken' })),
    );
    expect([broken!.status, whole!.status]).toEqual([400, 200]);
    expect(await service.query(`from ${pool} | count()`)).toBe('60002\n');
  });

  test('a body that is sent again and stops coming is told so', async () => {
    await restart(['-body.idle', '200ms']);
    const body = '{"k":1}\n'.repeat(2000);
    commitOf(await load(body, { 'idempotency-key': 'idle' }));
    const answer = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(
        `${service.url}/pool/${pool}/branch/main`,
        { method: 'POST', headers: { ...json, 'idempotency-key': 'idle', 'content-length': body.length } },
        (response) => {
          response.resume();
          resolve(response.statusCode!);
        },
      );
      request.on('error', reject);
      request.write(body.slice(0, 100));
    });
    expect(answer).toBe(408);
    await restart();
  });

  test('what an earlier build kept has no body to compare, and is honoured', async () => {
    const first = commitOf(await load('{"k":1}', { 'idempotency-key': 'before' }));
    await service.close();
    const { tables } = await openTables({ directory });
    await tables.write(
      tables
        .keys('retries', { prefix: Buffer.from('t') })
        .map((key) => ({ table: 'retries', key, payload: Buffer.alloc(0) })),
    );
    await tables.close();
    service = await startService([], directory);
    expect(commitOf(await load('{"k":2}', { 'idempotency-key': 'before' }))).toBe(first);
    expect((await post('branch/main/delete', { 'idempotency-key': 'before' }, '{"where":"k==1"}')).status).toBe(422);
  });

  test('a key goes with its branch: on one of the same name the request is done again, also after a kill', async () => {
    const first = commitOf(await load('{"k":1}', { 'idempotency-key': 'main' }));
    const { id } = service.lake.pool(pool).config;
    const make = (commit = first): Promise<Answer> =>
      service.ask('POST', `/pool/${pool}`, { headers: json, body: JSON.stringify({ name: 'b', commit }) });
    const remake = async (): Promise<void> => {
      expect((await service.ask('DELETE', `/pool/${pool}/branch/b`)).status).toBe(204);
      expect((await make()).status).toBe(200);
    };
    await make();
    const inBranch = commitOf(await load('{"k":2}', { 'idempotency-key': 'b' }, 'b'));
    await remake();
    const again = commitOf(await load('{"k":2}', { 'idempotency-key': 'b' }, 'b'));
    expect(again).not.toBe(inBranch);
    expect(await keys('b')).toBe('[1,2]');
    expect(commitOf(await load('{"k":2}', { 'idempotency-key': 'b' }, 'b'))).toBe(again);
    await remake();
    // The key is free: for another request too.
    expect(commitOf(await load('{"k":3}', { 'idempotency-key': 'b' }))).toMatch(/^0x/);
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'main' }))).toBe(first);
    await service.ask('PUT', `/pool/${pool}`, { headers: json, body: `{"name":"renamed_${pool}"}` });
    pool = `renamed_${pool}`;
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'main' }))).toBe(first);

    await service.close();
    const killed = await startBuiltService({ lake: directory });
    const send = async (
      method: string,
      path: string,
      body?: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<string> => {
      const answer = await fetch(`${killed.address}/pool/0x${id}${path}`, {
        method,
        headers: { ...json, ...headers },
        ...(body !== undefined && { body }),
      });
      expect(answer.ok, await answer.clone().text()).toBe(true);
      return answer.text();
    };
    const kept = await send('POST', '/branch/b', '{"k":4}', { 'idempotency-key': 'killed' });
    await send('DELETE', '/branch/b');
    killed.process.kill('SIGKILL');
    await killed.ended;
    service = await startService([], directory);
    expect((await make()).status).toBe(200);
    expect((await load('{"k":4}', { 'idempotency-key': 'killed' }, 'b')).body).not.toBe(kept);
    expect(await keys('b')).toBe('[1,4]');
  });

  test('a key is forgotten after -retry.keep, and its rows go', async () => {
    await restart(['-retry.keep', '1s']);
    const first = commitOf(await load('{"k":1}', { 'idempotency-key': 'old' }));
    await new Promise((resolve) => {
      setTimeout(resolve, 1100);
    });
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'old' }))).not.toBe(first);
    for (let i = 0; i < 5; i++) await load('{"k":2}', { 'idempotency-key': `n${i}` });
    await restart();
    expect(commitOf(await load('{"k":1}', { 'idempotency-key': 'old' }))).not.toBe(first);
  });
});

describe('If-Match', () => {
  test('a write on a tip that has moved is refused with 412, whatever it is, and tells the tip', async () => {
    const first = commitOf(await load('{"k":1}'));
    const got = await service.ask('GET', `/pool/${pool}/branch/main`, { headers: json });
    expect(got.headers.get('etag')).toBe(`"${first}"`);
    const second = commitOf(await load('{"k":2}', { 'if-match': got.headers.get('etag')! }));
    await service.ask('POST', `/pool/${pool}`, {
      headers: json,
      body: JSON.stringify({ name: 'child', commit: first }),
    });
    commitOf(await load('{"k":3}', {}, 'child'));
    const stale = { 'if-match': `"${first}"` };
    for (const answer of [
      await load('{"k":9}', stale),
      await post('branch/main/delete', stale, '{"where":"k==1"}'),
      await post('branch/main/merge/child', stale),
      await post(`branch/main/revert/${second}`, stale),
    ]) {
      expect({ status: answer.status, body: JSON.parse(answer.body) as unknown }).toEqual({
        status: 412,
        body: {
          type: 'Error',
          kind: 'precondition failed',
          error: expect.stringMatching(/^If-Match does not match: the branch is at \w{27}$/),
          commit: second,
        },
      });
    }
    expect(await keys()).toBe('[1,2]');
    expect(commitOf(await post('branch/main/merge/child', { 'if-match': `"${first}", "${second}"` }))).toMatch(/^0x/);
    expect((await load('{"k":4}', { 'if-match': '*' })).status).toBe(200);
    expect(errorOf(await load('{"k":4}', { 'if-match': first }))).toEqual([
      400,
      `invalid If-Match ${first}: expected quoted commit ids or *`,
    ]);
  });

  test('what is no commit, or only told, has the condition too', async () => {
    const first = commitOf(await load('{"k":1}'));
    const second = commitOf(await load('{"k":2}'));
    const stale = { 'if-match': `"${first}"` };
    const right = { 'if-match': `"${second}"` };
    const object = /0x\w{40}/.exec(await service.query(`from ${pool}@main:objects | values id | head 1`))?.[0] ?? '';
    await service.ask('POST', `/pool/${pool}`, {
      headers: json,
      body: JSON.stringify({ name: 'child', commit: first }),
    });
    commitOf(await load('{"k":3}', {}, 'child'));
    const ask = (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>>,
      body?: string,
    ): Promise<Answer> =>
      service.ask(method, `/pool/${pool}/${path}`, {
        headers: { ...json, ...headers },
        ...(body !== undefined && { body }),
      });
    const requests: readonly (readonly [string, string, string?])[] = [
      ['POST', 'branch/main/delete?dryrun=T', '{"where":"k==1"}'],
      ['POST', 'branch/main/merge/child?dryrun=T'],
      [`POST`, `branch/main/revert/${second}?dryrun=T`],
      ['POST', 'revision/main/vacuum?dryrun=T'],
      ['POST', 'revision/main/vacuum'],
      ['POST', `revision/${second}/vacuum`],
      ['POST', 'revision/main/vector', JSON.stringify({ object_ids: [object] })],
      ['DELETE', 'branch/main'],
    ];
    for (const [method, path, body] of requests) {
      const answer = await ask(method, path, stale, body);
      expect({ path, status: answer.status, body: JSON.parse(answer.body) as unknown }).toMatchObject({
        path,
        status: 412,
        body: { kind: 'precondition failed', commit: second },
      });
    }
    expect(await keys()).toBe('[1,2]');
    for (const [method, path, body] of requests.slice(0, -2))
      expect({ path, status: (await ask(method, path, right, body)).status }).toEqual({ path, status: 200 });
    const marked = commitOf(await ask('POST', 'revision/main/vector', right, JSON.stringify({ object_ids: [object] })));
    expect((await ask('DELETE', 'revision/main/vector', right, JSON.stringify({ object_ids: [object] }))).status).toBe(
      412,
    );
    expect(errorOf(await ask('DELETE', 'branch/main', { 'if-match': 'x' }))).toEqual([
      400,
      'invalid If-Match x: expected quoted commit ids or *',
    ]);
    expect((await ask('DELETE', 'branch/main', { 'if-match': `"${first}", "${marked}"` })).status).toBe(204);
  });

  test('a branch that is deleted on a condition has lost no commit', async () => {
    const base = commitOf(await load('{"k":1}'));
    const outcomes: string[] = [];
    for (let i = 0; i < 20; i++) {
      await service.ask('POST', `/pool/${pool}`, {
        headers: json,
        body: JSON.stringify({ name: `b${i}`, commit: base }),
      });
      const remove = (): Promise<Answer> =>
        service.ask('DELETE', `/pool/${pool}/branch/b${i}`, { headers: { 'if-match': `"${base}"` } });
      const [loaded, removed] =
        i % 2 === 0
          ? await Promise.all([load('{"k":2}', {}, `b${i}`), remove()])
          : (await Promise.all([remove(), load('{"k":2}', {}, `b${i}`)])).reverse();
      outcomes.push(`${loaded!.status} ${removed!.status}`);
    }
    expect(outcomes.filter((outcome) => outcome !== '200 412' && outcome !== '404 204')).toEqual([]);
  });

  test('where it has no meaning it is refused', async () => {
    const headers = { ...json, 'if-match': '*' };
    for (const [method, path, route, body] of [
      ['POST', '/pool', '/pool', '{"name":"never"}'],
      ['PUT', `/pool/${pool}`, '/pool/:pool', '{"name":"never"}'],
      ['POST', `/pool/${pool}`, '/pool/:pool', `{"name":"b","commit":"0x${'0'.repeat(40)}"}`],
      ['DELETE', `/pool/${pool}`, '/pool/:pool', undefined],
      ['POST', '/query', '/query', `{"query":"values {k:1} | load ${pool}"}`],
    ] as const) {
      expect(errorOf(await service.ask(method, path, { headers, ...(body !== undefined && { body }) }))).toEqual([
        400,
        `If-Match is not supported by ${method} ${route}`,
      ]);
    }
    expect((await service.ask('GET', `/pool/${pool}/branch/main`, { headers })).status).toBe(200);
    expect(service.lake.pools().some(({ name }) => name === 'never')).toBe(false);
  });

  test('an empty one is none that can be kept; several lines are one list', async () => {
    const tip = commitOf(await load('{"k":1}'));
    const send = (...lines: readonly (readonly [string, string])[]): Promise<readonly [number, string]> =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(service.url);
        const request = httpRequest(
          {
            hostname,
            port,
            method: 'POST',
            path: `/pool/${pool}/branch/main`,
            headers: [['Host', 'localhost'], ['Accept', 'application/json'], ['Content-Length', '7'], ...lines].flat(),
          },
          (response) => {
            let body = '';
            response.on('data', (chunk: Buffer) => {
              body += chunk.toString();
            });
            response.on('end', () => {
              resolve([response.statusCode!, body]);
            });
          },
        );
        request.on('error', reject);
        request.end('{"k":2}');
      });
    for (const value of ['', ' ', ',']) {
      const [status, body] = await send(['If-Match', value]);
      expect({ value, status, error: (JSON.parse(body) as { readonly error: string }).error }).toEqual({
        value,
        status: 400,
        error: `invalid If-Match ${value.trim()}: expected quoted commit ids or *`,
      });
    }
    const other = `"0x${'1'.repeat(40)}"`;
    expect((await send(['If-Match', other], ['If-Match', other]))[0]).toBe(412);
    expect((await send(['If-Match', other], ['If-Match', `"${tip}"`]))[0]).toBe(200);
    for (const [name, one, two] of [
      ['Idempotency-Key', 'a', 'b'],
      ['Idempotency-Key', 'a', 'a'],
      ['Host', 'localhost', '127.0.0.1'],
      // Node takes the first of these two, and of the others joins both to what nobody sent.
      ['Content-Type', 'text/csv', 'application/json'],
      ['Authorization', 'Bearer a', 'Bearer b'],
      ['SuperDB-Commit', '{"author":"a"}', '{"author":"b"}'],
      ['X-Lake-Pool', 'a', 'b'],
    ] as const) {
      const [status, body] = await send(...(name === 'Host' ? [] : [[name, one] as const]), [name.toLowerCase(), two]);
      expect({ name, status, error: (JSON.parse(body) as { readonly error: string }).error }).toEqual({
        name,
        status: 400,
        error: `${name}: header must not be repeated`,
      });
    }
    expect(await keys()).toBe('[1,2]');
  });

  test('of many writers on one tip exactly one wins', async () => {
    const tip = commitOf(await load('{"k":0}'));
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, i) => load(`{"k":${i + 1}}`, { 'if-match': `"${tip}"` })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array.from({ length: 31 }, () => 412)]);
    expect((await keys()).split(',')).toHaveLength(2);
  });

  test('a counter by compare-and-swap loses no step', async () => {
    let tip = commitOf(await load('{"k":0}'));
    const client = async (): Promise<void> => {
      for (let done = 0; done < 5; ) {
        const { body, headers } = await service.ask('GET', `/pool/${pool}/branch/main`, { headers: json });
        tip = (JSON.parse(body) as { readonly commit: string }).commit;
        const last = Number((await service.query(`from ${pool}@${tip} | max(k)`)).trim());
        if ((await load(`{"k":${last + 1}}`, { 'if-match': headers.get('etag')! })).status === 200) done++;
      }
    };
    await Promise.all([client(), client(), client()]);
    expect(await keys()).toBe(`[${Array.from({ length: 16 }, (_, k) => k).join(',')}]`);
  });
});

describe('dry runs', () => {
  test('they tell what a write would do, and do nothing', async () => {
    const base = commitOf(await load('{"k":1}\n{"k":2}\n{"k":3}'));
    await service.ask('POST', `/pool/${pool}`, {
      headers: json,
      body: JSON.stringify({ name: 'child', commit: base }),
    });
    commitOf(await load('{"k":4}', {}, 'child'));
    const preview = async (path: string, body?: string): Promise<Record<string, unknown>> => {
      const before = await service.ask('GET', `/pool/${pool}/branch/main`);
      const answer = await post(`${path}?dryrun=T`, {}, body);
      expect(answer.status, answer.body).toBe(200);
      expect((await service.ask('GET', `/pool/${pool}/branch/main`)).body).toBe(before.body);
      const { adds, removes, records, error, tip } = JSON.parse(answer.body) as {
        readonly adds: readonly string[];
        readonly removes: readonly string[];
        readonly records: number;
        readonly error: unknown;
        readonly tip: string;
      };
      return { adds: adds.length, removes: removes.length, records, error, tip };
    };
    expect(await preview('branch/main/merge/child')).toEqual({
      adds: 1,
      removes: 0,
      records: 1,
      error: null,
      tip: base,
    });
    expect(await preview('branch/main/delete', '{"where":"k>=2"}')).toEqual({
      adds: 1,
      removes: 1,
      records: -2,
      error: null,
      tip: base,
    });
    expect(await preview(`branch/main/revert/${base}`)).toEqual({
      adds: 0,
      removes: 1,
      records: -3,
      error: null,
      tip: base,
    });
    expect(await preview('branch/main/delete', '{"where":"k>=20"}')).toEqual({
      adds: 0,
      removes: 0,
      records: 0,
      error: 'empty transaction: the filter selects no row of the branch',
      tip: base,
    });
    expect(await preview('branch/main/merge/main')).toMatchObject({
      records: 0,
      error: expect.stringContaining('difference is empty'),
    });
    commitOf(await post('branch/main/delete', {}, '{"where":"k==1"}'));
    commitOf(await post('branch/child/delete', {}, '{"where":"k==2"}'));
    expect(JSON.parse((await post('branch/main/merge/child?dryrun=T', {})).body)).toMatchObject({
      records_added: 1,
      records_removed: 1,
      conflicts: [],
      error: null,
      record_conflicts: { count: 0 },
    });
    expect(errorOf(await post('branch/main/delete?dryrun=T', {}, `{"object_ids":["0x${'0'.repeat(40)}"]}`))).toEqual([
      400,
      'dryrun is for deletes by where, not for object_ids',
    ]);
  });
});
