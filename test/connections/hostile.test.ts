/**
 * What somebody sends who means harm: on the raw socket, in names and headers, too slowly, too much. The service stays,
 * answers, and does none of it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Socket } from 'node:net';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatTable, requestMediaType, type FormatName } from '../../src/formats/formats.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService([
    '-header.time',
    '300ms',
    '-body.idle',
    '300ms',
    '-query.time',
    '4s',
    '-recursion.rounds.max',
    '1000000000',
    '-query.text.max',
    '2000',
    '-name.max',
    '64',
  ]);
  await service.ask('POST', '/pool', { headers: json, body: '{"name":"p","layout":{"keys":[["k"]]}}' });
  // The first query of a cold worker may take long on a busy machine.
  for (let tries = 0; tries < 10 && (await count().catch(() => '')) !== '0'; tries++);
});
afterAll(() => service.close());
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;

/** What comes back for these bytes until the service ends the connection, or nothing more comes. */
const exchange = (...parts: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const socket: Socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(got);
    });
    socket.setTimeout(2500, () => socket.destroy());
    for (const part of parts) socket.write(part, 'latin1');
  });
const statuses = (answers: string): readonly string[] =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((found) => found[1]!);
const count = async (): Promise<string> => (await service.query('from p | count()')).trim();

test('a question about the server as a whole is answered for OPTIONS alone', async () => {
  const ask = (method: string): Promise<string> =>
    exchange(`${method} * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const answer = await ask('OPTIONS');
  expect(answer).toMatch(/^HTTP\/1\.1 204 /);
  expect(answer).toMatch(/\r\nallow: DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT\r\n/i);
  expect(statuses(await ask('GET'))).toEqual(['404']);
  expect(statuses(await ask('TRACE'))).toEqual(['404']);
});

describe('smuggled requests', () => {
  const hidden = 'DELETE /pool/p HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const cases: Readonly<Record<string, string>> = {
    'length and chunks': `POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'two lengths': `POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    'a list of lengths': `POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0, ${hidden.length}\r\n\r\n${hidden}`,
    'a signed length': `POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: +0\r\n\r\n${hidden}`,
    'chunks that are not the last coding': `POST /query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    'a blank before the colon': `POST /query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n${hidden}`,
    'a folded header': `POST /query HTTP/1.1\r\nHost: localhost\r\nX: a\r\n Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n${hidden}`,
    'bare line feeds in chunks': `POST /query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;\n\n0\n\n${hidden}`,
    'a chunk size with a sign': `POST /query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n0\r\n\r\n${hidden}`,
    'a carriage return alone in a header': `POST /query HTTP/1.1\r\nHost: localhost\r\nX: a\rTransfer-Encoding: chunked\r\nContent-Length: y\r\n\r\n${hidden}`,
    'a NUL in a header': `POST /query HTTP/1.1\r\nHost: localhost\r\nX: \0\r\nContent-Length: 0\r\n\r\n${hidden}`,
    'no host': `POST /query HTTP/1.1\r\nContent-Length: 0\r\n\r\n`,
  };
  for (const [what, bytes] of Object.entries(cases)) {
    test(`${what}: refused, and nothing behind it is done`, async () => {
      const answers = statuses(await exchange(bytes));
      expect({ what, answers: answers.filter((status) => !status.startsWith('4')) }).toEqual({ what, answers: [] });
      expect(await count()).toBe('0');
    });
  }
});

describe('transfer codings', () => {
  const chunked = (path: string, coding: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${coding}\r\n\r\n7\r\n{"k":1}\r\n0\r\n\r\n`;
  const behind = 'GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n';

  test('all but chunked alone are a 501 that names the coding, on every path, and the connection ends', async () => {
    const before = await count();
    for (const [lines, named] of [
      ['Transfer-Encoding: deflate, chunked', 'deflate'],
      ['Transfer-Encoding: zstd, chunked', 'zstd'],
      ['Transfer-Encoding: gzip, chunked', 'gzip'],
      ['Transfer-Encoding: foo;a=b, Chunked', 'foo;a=b'],
      ['Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked', 'gzip'],
    ] as const) {
      for (const path of [
        '/pool/p/branch/main',
        '/pool/p/branch/main/delete',
        '/pool',
        '/query',
        '/version',
        '/absent',
        '/docs/',
      ]) {
        const answer = await exchange(chunked(path, lines), behind);
        expect({ lines, path, statuses: statuses(answer) }).toEqual({ lines, path, statuses: ['501'] });
        expect(answer).toMatch(/^connection: close\r$/im);
        expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toEqual({
          type: 'Error',
          kind: 'invalid operation',
          error: `Transfer-Encoding: unknown coding ${named}, only chunked is supported`,
        });
      }
    }
    expect(await count()).toBe(before);
  });
  test('with a body that is still to come, the answer comes before it', async () => {
    expect(
      statuses(
        await exchange(
          'POST /pool/p/branch/main HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
        ),
      ),
    ).toEqual(['501']);
  });
  test('chunked is taken in any letter case', async () => {
    expect(
      statuses(
        await exchange(
          chunked('/query', 'Transfer-Encoding:  CHUNKED ').replace('7\r\n{"k":1}', '12\r\n{query:"values 1"}'),
        ),
      ),
    ).toEqual(['200']);
  });
});

describe('paths and names', () => {
  test('no path leads to a file', async () => {
    for (const path of [
      '/assets/../../package.json',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/assets/..%2f..%2fpackage.json',
      '/..%5c..%5cpackage.json',
      '/assets/%00',
      '/inspect/..%2f..%2f..%2fetc%2fpasswd',
      '/pool/..%2f..%2fx/stats',
    ]) {
      const answer = statuses(await exchange(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`));
      expect({ path, found: answer[0] === '200' }).toEqual({ path, found: false });
    }
  });

  test('a pool may be called like a path; its data stays in the lake', async () => {
    for (const name of [
      '../../escape',
      '/tmp/escape',
      'a\0b',
      '...',
      'con',
      'a\r\nX-Injected: 1',
      '<img src=x onerror=alert(1)>',
      '\u202Eexe',
      '__proto__',
      'constructor',
    ]) {
      expect((await service.ask('POST', '/pool', { headers: json, body: JSON.stringify({ name }) })).status).toBe(200);
      const listed = JSON.parse(
        (await service.ask('POST', '/query', { headers: json, body: '{"query":"from :pools | cut name"}' })).body,
      ) as readonly { readonly name: string }[];
      expect(listed.map((row) => row.name)).toContain(name);
      const created = await service.ask('POST', '/pool', { headers: json, body: JSON.stringify({ name }) });
      expect({ name, status: created.status, injected: created.headers.get('x-injected') }).toEqual({
        name,
        status: 409,
        injected: null,
      });
      expect((await service.ask('DELETE', `/pool/0x${service.lake.pool(name).config.id}`)).status).toBe(204);
    }
    expect(existsSync(join(service.directory, '..', 'escape'))).toBe(false);
  });

  test('a request id with line ends is no header of its own', async () => {
    const answer = await exchange(
      'GET /auth/method HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a%0d%0aSet-Cookie:%20x\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/x-request-id: a%0d%0aSet-Cookie:%20x\r\n/i);
    expect(answer).not.toMatch(/^set-cookie/im);
  });

  test('names beyond the limit are refused', async () => {
    const name = 'é'.repeat(33);
    for (const [method, path, body] of [
      ['POST', '/pool', { name }],
      ['PUT', '/pool/p', { name }],
      ['POST', '/pool/p', { name, commit: `0x${'0'.repeat(40)}` }],
    ] as const) {
      const answer = await service.ask(method, path, { headers: json, body: JSON.stringify(body) });
      expect({ status: answer.status, text: (JSON.parse(answer.body) as { readonly error: string }).error }).toEqual({
        status: 400,
        text: `${path === '/pool/p' && method === 'POST' ? 'branch' : 'pool'} name is too long: 66 bytes, at most 64 (option -name.max)`,
      });
    }
  });
});

describe('names of JavaScript', () => {
  const names = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    'valueOf',
    'then',
    'length',
  ];
  const record = `{${names.map((name, i) => `${JSON.stringify(name)}:${i + 1}`).join(',')},k:0}`;

  test('they are ordinary fields: loaded, filtered, grouped, joined, and as function names unknown', async () => {
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"js","layout":{"keys":[["k"]]}}' });
    expect(
      (
        await service.ask('POST', '/pool/js/branch/main', {
          headers: { 'content-type': 'application/x-sup' },
          body: record,
        })
      ).status,
    ).toBe(200);
    for (const [i, name] of names.entries()) {
      const quoted = `this["${name}"]`;
      expect(await service.query(`from js | ${quoted}==${i + 1} | count() by x:=${quoted} | cut x`)).toBe(
        `{x:${i + 1}}\n`,
      );
      expect(await service.query(`from js | drop ${quoted} | has(${quoted})`)).toBe('');
    }
    for (const call of ['__proto__()', 'constructor(1)', 'toString()', 'valueOf(1)', 'hasOwnProperty("a")']) {
      const answer = await service.ask('POST', '/query', {
        headers: json,
        body: JSON.stringify({ query: `values ${call}` }),
      });
      expect({
        call,
        status: answer.status,
        unknown: /no such function|not a function|unknown function/i.test(answer.body),
      }).toEqual({ call, status: 400, unknown: true });
    }
    expect(({} as Record<string, unknown>)['1']).toBeUndefined();
  });

  for (const format of (Object.keys(formatTable) as FormatName[]).filter(
    (name) => formatTable[name].reader !== undefined && !['line', 'zeek'].includes(name),
  )) {
    test(`${format} carries them there and back`, async () => {
      const pool = `js ${format}`;
      const media = requestMediaType(format)!;
      await service.ask('POST', '/pool', {
        headers: json,
        body: JSON.stringify({ name: pool, layout: { keys: [['k']] } }),
      });
      const out = await fetch(`${service.url}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: format === 'json' ? 'application/x-ndjson' : media },
        body: '{"query":"from js"}',
      });
      const back = await service.ask('POST', `/pool/${encodeURIComponent(pool)}/branch/main`, {
        headers: { 'content-type': media },
        body: new Uint8Array(await out.arrayBuffer()),
      });
      expect({ format, out: out.status, back: back.status }).toEqual({ format, out: 200, back: 200 });
      const [row] = JSON.parse(
        (await service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query: `from '${pool}'` }) }))
          .body,
      ) as readonly Record<string, unknown>[];
      expect(Object.entries(row!).filter(([name]) => name !== 'k')).toEqual(names.map((name, i) => [name, i + 1]));
    });
  }
});

describe('too slow, too long', () => {
  test('headers that do not come to an end are answered with 408', async () => {
    expect(await exchange('GET /version HTTP/1.1\r\nHost: localhost\r\nX: ')).toMatch(/^HTTP\/1\.1 408 /);
  });
  test('a body that pauses too long is answered with 408 and commits nothing', async () => {
    const before = await count();
    const query = exchange('POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{');
    const answers = await Promise.all(
      ['Content-Length: 20', 'Content-Length: 2000000', 'Transfer-Encoding: chunked'].map((length) =>
        exchange(
          `POST /pool/p/branch/main HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n${length.startsWith('T') ? '7\r\n{"k":1}' : '{"k":1}'}`,
        ),
      ),
    );
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain('request body timed out: no data for 0.3 s (option -body.idle)');
    }
    expect(await query).toMatch(/^HTTP\/1\.1 408 /);
    expect(await count()).toBe(before);
  });
  test('a query text beyond the limit is refused', async () => {
    const answer = await service.ask('POST', '/query', {
      headers: json,
      body: JSON.stringify({ query: `values ${'1,'.repeat(1000)}1` }),
    });
    expect({ status: answer.status, text: answer.body }).toEqual({
      status: 413,
      text: expect.stringContaining('query text is too long: 2008 characters, at most 2000 (option -query.text.max)'),
    });
  });

  const endless = 'with recursive t as (select 1 as n union all select n+1 as n from t) select count(*) as c from t';
  test('a query that runs too long is ended and told so', async () => {
    const answer = await service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query: endless }) });
    expect({ status: answer.status, retry: answer.headers.get('retry-after'), text: answer.body }).toEqual({
      status: 503,
      retry: '1',
      text: expect.stringContaining('query timed out after 4 s (option -query.time)'),
    });
  });
  test('a query is ended by its id, and its worker takes the next one', async () => {
    const running = service.ask('POST', '/query', {
      headers: { ...json, 'x-request-id': 'to end' },
      body: JSON.stringify({ query: endless }),
    });
    await expect.poll(() => service.workers.status().queriesRunning).toBe(1);
    expect((await service.ask('DELETE', '/query/to%20end')).status).toBe(204);
    expect((await running).status).toBe(499);
    expect((await service.ask('DELETE', '/query/to%20end')).body).toBe(
      '{"type":"Error","kind":"item does not exist","error":"no running query with id to end"}\n',
    );
    expect(service.workers.status()).toMatchObject({ queriesRunning: 0, replaced: 0 });
    expect(await service.query('values 1')).toBe('1\n');
  });
  test('a pattern that makes others run for ever does not', async () => {
    expect(
      await service.query(
        `values regexp_replace("${'a'.repeat(500)}!", "(a+)+$", "b"), "${'a'.repeat(500)}!" == "x" or grep("(a|aa)+$", "${'a'.repeat(500)}!") | count()`,
      ),
    ).toBe('2\n');
  });
});
