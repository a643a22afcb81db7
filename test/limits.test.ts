/**
 * What no client should send: each gets a clear error, and the lake is as it was before (same pools, tips, rows, and no
 * event). Single faults of routes, bodies and parameters are in cases/http; here are the broken, the huge and the odd.
 */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startBuiltService } from './support/service/built.ts';
import { type Answer, type Client, clientOf, jsonType } from './support/service/client.ts';
import { runProgram } from './support/service/lake-command.ts';

let service: Service;
let client: Client;
let commit = '';
let object = '';
let poolId = '';
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-body.max', '64KiB'] });
  client = clientOf(service.address);
  poolId = await client.createPool('p');
  commit = await client.load('p', [{ k: 1 }, { k: 2 }]);
  object = (await client.query<{ id: string }>('from p:objects'))[0]!.id;
  await client.json('POST', '/pool/p', { name: 'kid', commit });
});
afterAll(async () => {
  client?.close();
  await service?.stop();
});

/** All that a request could have changed. */
const state = async (): Promise<unknown> => ({
  rows: (
    await client.query(
      'fork (from :pools | values {pool:this}) (from p:branches | values {branch:this}) (from p | values {row:this})',
    )
  )
    .map((row) => JSON.stringify(row))
    .sort(),
  events: /^lake_last_event_id \d+$/m.exec((await client.ask('GET', '/metrics')).body)?.[0],
});
const refused = async (ask: () => Promise<Answer>): Promise<readonly [number, string, string]> => {
  const before = await state();
  const { status, headers, body } = await ask();
  expect(await state()).toEqual(before);
  expect([headers['content-type'], status < 400, body.endsWith('\n')]).toEqual(['application/json', false, true]);
  const { type, kind, error } = JSON.parse(body) as { type: string; kind: string; error: string };
  expect(type).toBe('Error');
  return [status, kind, error];
};
const bad = (text: unknown): readonly [number, string, unknown] => [400, 'invalid operation', text];
const like = (pattern: RegExp): unknown => expect.stringMatching(pattern) as unknown;

interface Fault {
  readonly why: string;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly answer: readonly [number, string, unknown];
}
const load = (body: string | Uint8Array, type: string): Promise<Answer> =>
  client.ask('POST', '/pool/p/branch/main', { headers: type ? { 'content-type': type } : {}, body });
const zipped = gzipSync(Array.from({ length: 10_000 }, (_, k) => `{"k":${k}}`).join('\n'));

describe('bodies of loads', () => {
  const rows = '{"k":3}\n{"k":4}\n';
  const faults: readonly Fault[] = [
    {
      why: 'JSON that ends in the middle',
      type: 'application/json',
      body: `${rows}{"k":`,
      answer: bad(like(/^json: unexpected end of JSON input/)),
    },
    {
      why: 'JSON with a stray letter',
      type: 'application/json',
      body: `${rows}{"k":x}`,
      answer: bad(like(/^json: invalid character 'x' looking for beginning of value \(line 3, column 6, byte 21\)$/)),
    },
    {
      why: 'JSON with a control character in a string',
      type: 'application/json',
      body: `${rows}{"k":"\u0001"}`,
      answer: bad(like(/^json: .*\(line 3/)),
    },
    {
      why: 'a JSON string that never ends',
      type: 'application/json',
      body: `${rows}"${'x'.repeat(300_000)}`,
      answer: bad(like(/^json: unexpected end of JSON input/)),
    },
    { why: 'a zero byte', type: 'application/json', body: `${rows}\0`, answer: bad(like(/^json: invalid character/)) },
    {
      why: 'SUP with an open brace',
      type: 'application/x-sup',
      body: `${rows}{k:`,
      answer: bad(like(/^sup: line \d+: /)),
    },
    {
      why: 'SUP with an unknown escape',
      type: 'application/x-sup',
      body: `${rows}{k:"\\q"}`,
      answer: bad(like(/^sup: line \d+: /)),
    },
    {
      why: 'SUP of an unknown type',
      type: 'application/x-sup',
      body: `${rows}{k:1::nope}`,
      answer: bad('sup: no such type name: "nope" (line 3)'),
    },
    {
      why: 'a row of CSV with too many fields',
      type: 'text/csv',
      body: 'k,v\n1,2\n1,2,3\n',
      answer: bad(like(/^csv: record on line 3: wrong number of fields/)),
    },
    {
      why: 'a quote of CSV that never ends',
      type: 'text/csv',
      body: `k,v\n1,"${'x'.repeat(1000)}`,
      answer: bad(like(/^csv: /)),
    },
    { why: 'two columns of one name', type: 'text/csv', body: 'k,k\n1,2\n', answer: bad(like(/^csv: /)) },
    {
      why: 'a short row of TSV',
      type: 'text/tab-separated-values',
      body: 'k\tv\n1\n',
      answer: bad(like(/^tsv: record on line 2: wrong number of fields/)),
    },
    {
      why: 'a row of Zeek that is no number',
      type: 'application/x-zeek',
      body: '#separator \\x09\n#fields\tk\n#types\tint\nx\n',
      answer: bad(like(/^zeek: line \d+: /)),
    },
    {
      why: 'noise that claims to be BSUP',
      type: 'application/x-bsup',
      body: Buffer.alloc(5000, 0xa5),
      answer: bad(like(/^bsup: |BSUP/)),
    },
    {
      why: 'gzip that ends in the middle',
      type: 'application/json',
      body: zipped.subarray(0, zipped.length - 100),
      answer: bad(like(/gzip|unexpected end/i)),
    },
    {
      why: 'gzip with a flipped byte',
      type: 'application/json',
      body: zipped.map((b, i) => (i === zipped.length >> 1 ? b ^ 0x55 : b)),
      answer: bad(like(/gzip|inflate|json/i)),
    },
    { why: 'gzip of nothing', type: 'application/json', body: gzipSync(''), answer: bad('no records in request') },
    { why: 'blanks alone', type: 'application/json', body: ' \n\t \n', answer: bad('no records in request') },
    {
      why: 'noise of no known format',
      type: '',
      body: Buffer.from(Array.from({ length: 999 }, (_, i) => 128 + ((i * 131) % 128))),
      answer: bad(like(/^format detection error\n/)),
    },
    { why: 'a column name alone', type: '', body: 'k\n', answer: bad(like(/^format detection error\n/)) },
    {
      why: 'a media type that is a request format of nothing',
      type: 'application/xml',
      body: rows,
      answer: bad('unsupported MIME type: application/xml'),
    },
  ];
  test.each(faults)('$why: refused, nothing is committed', async ({ type, body, answer }) => {
    expect(await refused(() => load(body, type))).toEqual(answer);
  });

  test('a key that is longer than an index takes is still loaded, and found', async () => {
    await client.createPool('longkeys');
    await client.load('longkeys', [
      { k: 'x'.repeat(100_000), n: 1 },
      { k: 'x'.repeat(99_999), n: 2 },
    ]);
    expect(await client.query('from longkeys | values n')).toEqual([2, 1]);
    await client.json('DELETE', '/pool/longkeys');
  });
  test('a row of 8 MB is loaded and comes back', async () => {
    await client.createPool('longrow');
    await client.load('longrow', [{ k: 1, text: 'y'.repeat(8 << 20) }]);
    expect(await client.query('from longrow | values len(text)')).toEqual([8 << 20]);
    await client.json('DELETE', '/pool/longrow');
  });
});

describe('control bodies', () => {
  const cases: readonly (readonly [string, string, string, string, readonly [number, string, unknown]])[] = [
    [
      'a pool body that ends in the middle',
      '/pool',
      'application/json',
      '{"name":"x"',
      bad(like(/^json: unexpected end of JSON input/)),
    ],
    ['a pool body of noise', '/pool', 'application/x-bsup', '\u0007\u0007\u0007\u0007', bad(like(/BSUP|bsup/))],
    [
      'an array where a record must be',
      '/pool',
      'application/json',
      '["x"]',
      bad(like(/^cannot unmarshal value .* into Go struct$/)),
    ],
    [
      'a pool body beyond the limit',
      '/pool',
      'application/json',
      `{"name":"${'x'.repeat(70_000)}"}`,
      [413, 'payload too large', 'request body: longer than 65536 bytes (option -body.max)'],
    ],
    [
      'keys that are numbers',
      '/pool',
      'application/json',
      '{"name":"x","layout":{"keys":[[1]]}}',
      bad('incompatible type translation: Super type int64, Go type string, Go kind string'),
    ],
    [
      'a threshold beyond 64 bits',
      '/pool',
      'application/x-sup',
      '{name:"x",thresh:99999999999999999999}',
      bad(like(/./)),
    ],
    [
      'a threshold that is a float',
      '/pool',
      'application/json',
      '{"name":"x","thresh":1.5}',
      bad('incompatible type translation: Super type float64, Go type int64, Go kind int64'),
    ],
    [
      'an empty branch name',
      '/pool/p',
      'application/json',
      `{"name":"","commit":"0x${'0'.repeat(40)}"}`,
      bad('branch name is missing'),
    ],
    [
      'a branch at a commit that is none',
      '/pool/p',
      'application/json',
      '{"name":"b","commit":"main"}',
      bad('invalid commit object: main'),
    ],
    [
      'a branch at a commit of nowhere',
      '/pool/p',
      'application/json',
      `{"name":"b","commit":"0x${'1'.repeat(40)}"}`,
      [404, 'item does not exist', like(/^commit not found: [0-9A-Za-z]{27}$/)],
    ],
    [
      'a branch that is there',
      '/pool/p',
      'application/json',
      `{"name":"kid","commit":"0x${'0'.repeat(40)}"}`,
      [409, 'conflict with pending operation', 'p/kid: branch already exists'],
    ],
    [
      'ids that are numbers',
      '/pool/p/branch/main/delete',
      'application/json',
      '{"object_ids":[1]}',
      bad('incompatible type translation: Super type int64, Go type string, Go kind string'),
    ],
    [
      'an id of 39 digits',
      '/pool/p/branch/main/delete',
      'application/json',
      `{"object_ids":["0x${'a'.repeat(39)}"]}`,
      bad(`invalid ID: 0x${'a'.repeat(39)}`),
    ],
    [
      'an id of 60,000 digits',
      '/pool/p/branch/main/delete',
      'application/json',
      `{"object_ids":["0x${'a'.repeat(60_000)}"]}`,
      bad(like(/^invalid ID: 0xa{100}/)),
    ],
    [
      'a filter that is no text',
      '/pool/p/branch/main/delete',
      'application/json',
      '{"where":1}',
      bad('incompatible type translation: Super type int64, Go type string, Go kind string'),
    ],
    [
      'a filter that does not parse',
      '/pool/p/branch/main/delete',
      'application/json',
      '{"where":"k =="}',
      bad(like(/^parse error at line 1, column \d+:/)),
    ],
    [
      'a filter with an unknown function',
      '/pool/p/branch/main/delete',
      'application/json',
      '{"where":"nope(k)"}',
      bad(like(/nope/)),
    ],
    [
      'a compaction of 1-byte ids as text',
      '/pool/p/branch/main/compact',
      'application/json',
      '{"object_ids":["0x00","0x01"]}',
      bad(like(/^invalid ID: "?0x00/)),
    ],
    [
      'a compaction of 3-byte ids',
      '/pool/p/branch/main/compact',
      'application/x-sup',
      '{object_ids:[0x010203,0x040506]}',
      bad('invalid ID: 0x010203'),
    ],
    [
      'a query that is a number',
      '/query',
      'application/json',
      '{"query":7}',
      bad('incompatible type translation: Super type int64, Go type string, Go kind string'),
    ],
    [
      'a query beyond the limit',
      '/query',
      'application/json',
      JSON.stringify({ query: `values "${'x'.repeat(70_000)}"` }),
      [413, 'payload too large', 'request body: longer than 65536 bytes (option -body.max)'],
    ],
    [
      'a pool of a query that is no text',
      '/query',
      'application/json',
      '{"query":"pass","head":{"pool":1}}',
      bad('incompatible type translation: Super type int64, Go type string, Go kind string'),
    ],
    [
      'a head that is no record',
      '/query',
      'application/json',
      '{"query":"pass","head":"p"}',
      bad(like(/into Go struct$/)),
    ],
  ];
  test.each(cases)('%s: refused', async (_, path, type, body, answer) => {
    expect(await refused(() => client.ask('POST', path, { headers: { 'content-type': type }, body }))).toEqual(answer);
  });
  test('one id that is unknown keeps the others from being deleted', async () => {
    const unknown = `0x${'2'.repeat(40)}`;
    expect(
      (
        await refused(() =>
          client.ask('POST', '/pool/p/branch/main/delete', {
            headers: jsonType,
            body: JSON.stringify({ object_ids: [object, unknown] }),
          }),
        )
      ).slice(0, 2),
    ).toEqual([404, 'item does not exist']);
  });
  test('an object of another pool is not there', async () => {
    await client.createPool('other');
    await client.load('other', [{ k: 9 }]);
    const [foreign] = await client.query<{ id: string }>('from other:objects');
    expect(
      (
        await refused(() =>
          client.ask('POST', '/pool/p/branch/main/delete', {
            headers: jsonType,
            body: JSON.stringify({ object_ids: [foreign!.id] }),
          }),
        )
      ).slice(0, 2),
    ).toEqual([404, 'item does not exist']);
    expect(
      (
        await refused(() =>
          client.ask('POST', '/pool/p', {
            headers: jsonType,
            body: JSON.stringify({ name: 'b', commit: '0x' + '3'.repeat(40) }),
          }),
        )
      ).slice(0, 2),
    ).toEqual([404, 'item does not exist']);
    const tip = await client.tip('other');
    expect(
      (
        await refused(() =>
          client.ask('POST', '/pool/p', { headers: jsonType, body: JSON.stringify({ name: 'b', commit: tip }) }),
        )
      ).slice(0, 2),
    ).toEqual([404, 'item does not exist']);
    expect((await refused(() => client.ask('POST', `/pool/p/branch/main/revert/${tip}`))).slice(0, 2)).toEqual([
      404,
      'item does not exist',
    ]);
    await client.json('DELETE', '/pool/other');
  });
});

describe('names and ids in paths', () => {
  const notFound = (text: unknown): readonly [number, string, unknown] => [404, 'item does not exist', text];
  const cases = (): readonly (readonly [string, string, readonly [number, string, unknown]])[] => [
    ['GET', '/pool/nope/branch/main', notFound('nope: pool not found')],
    ['GET', '/pool/p/branch/nope', notFound('"nope": branch not found')],
    ['GET', `/pool/0x${'4'.repeat(40)}/branch/main`, notFound(`0x${'4'.repeat(40)}: pool not found`)],
    ['GET', `/pool/${poolId.toUpperCase().replace('0X', '0x')}/branch/nope`, notFound('"nope": branch not found')],
    ['GET', `/pool/${poolId}0/branch/main`, notFound(`${poolId}0: pool not found`)],
    ['GET', '/pool/p%00/branch/main', notFound('p\0: pool not found')],
    ['GET', '/pool/__proto__/branch/main', notFound('__proto__: pool not found')],
    ['GET', '/pool/p/branch/constructor', notFound('"constructor": branch not found')],
    ['DELETE', '/pool/nope', notFound('nope: pool not found')],
    ['DELETE', '/pool/p/branch/nope', notFound('"nope": branch not found')],
    ['POST', '/pool/p/branch/main/merge/nope', notFound('"nope": branch not found')],
    ['POST', '/pool/p/branch/nope/merge/kid', notFound('"nope": branch not found')],
    [
      'POST',
      '/pool/p/branch/main/merge/kid',
      [409, 'conflict with pending operation', 'error merging "kid" into "main": difference is empty'],
    ],
    [
      'POST',
      '/pool/p/branch/main/merge/main',
      [409, 'conflict with pending operation', 'error merging "main" into "main": difference is empty'],
    ],
    ['POST', '/pool/p/branch/main/revert/main', bad('invalid path param "commit": invalid ID: main')],
    ['POST', `/pool/p/branch/main/revert/0x${'0'.repeat(40)}`, notFound(like(/^commit not found: 0{27}$/))],
    ['POST', `/pool/p/branch/main/revert/0x${'5'.repeat(40)}`, notFound(like(/^commit not found: [0-9A-Za-z]{27}$/))],
    ['POST', '/pool/p/revision/nope/vacuum', notFound('"nope": branch not found')],
    ['POST', `/pool/p/revision/0x${'6'.repeat(40)}/vacuum`, notFound('file does not exist')],
    ['POST', '/pool/p/revision/main/vacuum?dryrun=yes', bad('invalid query param "dryrun": yes: expected T or F')],
    [
      'POST',
      '/pool/p/branch/main?csv.delim=%C3%A9%C3%A9',
      bad('invalid query param "csv.delim": must be exactly one character'),
    ],
    ['GET', `/query/status/${'x'.repeat(10_000)}`, bad('query not found')],
  ];
  test('each is told by its name', async () => {
    for (const [method, path, answer] of cases())
      expect([method, path, ...(await refused(() => client.ask(method, path)))]).toEqual([method, path, ...answer]);
  });

  const odd = [
    'a/b',
    '...',
    ' ',
    '%',
    'ü'.repeat(1000),
    'x'.repeat(5000),
    'new\nline',
    '0',
    'null',
    '{a:1}',
    '__proto__',
    `0x${'7'.repeat(40)}`,
    'emoji 🦆',
    '"quoted"',
    "it's",
    'p@main',
    ':pools',
    '*',
  ];
  test.each(odd)('%j is a name like any other: created, loaded, renamed and deleted', async (name) => {
    const id = await client.createPool(name);
    const path = `/pool/${encodeURIComponent(name).replaceAll('.', '%2e')}`;
    const tip = (await client.json<{ commit: string }>('POST', `${path}/branch/main`, { k: 1 })).commit;
    await client.json('POST', path, { name, commit: tip });
    expect(await client.json('GET', `${path}/branch/${encodeURIComponent(name).replaceAll('.', '%2e')}`)).toEqual({
      commit: tip,
      warnings: null,
    });
    expect(await client.query(`from ${id} | values k`)).toEqual([1]);
    expect((await client.ask('POST', '/pool', { headers: jsonType, body: JSON.stringify({ name }) })).status).toBe(409);
    await client.json('PUT', path, { name: `${name} again` });
    expect((await client.ask('GET', `${path}/branch/main`)).status).toBe(404);
    await client.json('DELETE', `/pool/${id}`);
  });
});

describe('headers', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, readonly [number, string, unknown]])[] = [
    [
      'an Accept that nobody knows',
      { accept: 'image/png, text/html' },
      bad('could not find supported MIME type in Accept header'),
    ],
    ['a Content-Type without a slash', { 'content-type': 'json' }, bad(like(/unsupported MIME type: json/))],
    [
      "a Content-Type of a query's text",
      { 'content-type': 'application/sql' },
      bad(like(/^unsupported MIME type: application\/sql/)),
    ],
    [
      'a commit note that is no JSON',
      { 'superdb-commit': '{author' },
      bad(like(/^load endpoint encountered invalid JSON in SuperDB-Commit header: /)),
    ],
    [
      'a commit note with a number as author',
      { 'superdb-commit': '{"author":1}' },
      bad(like(/^load endpoint encountered invalid JSON in SuperDB-Commit header: /)),
    ],
    [
      'metadata of a commit that is no value',
      { 'superdb-commit': '{"meta":"{a:"}' },
      bad('invalid commit metadata in request'),
    ],
    [
      'metadata nested 100,000 deep',
      { 'superdb-commit': JSON.stringify({ meta: '['.repeat(100_000) }) },
      bad('invalid commit metadata in request'),
    ],
    [
      'an origin of elsewhere',
      { origin: 'https://elsewhere.example' },
      [403, 'invalid operation', like(/^origin https:\/\/elsewhere.example: /)],
    ],
    [
      'a host of elsewhere',
      { host: 'elsewhere.example' },
      [403, 'invalid operation', like(/^host elsewhere.example is not/)],
    ],
  ];
  test.each(cases)('%s: refused, nothing is committed', async (_, headers, answer) => {
    expect(await refused(() => client.ask('POST', '/pool/p/branch/main', { headers, body: '{"k":5}' }))).toEqual(
      answer,
    );
  });

  const raw = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(service.address);
      const socket = connect(Number(port), hostname);
      let got = '';
      socket.on('data', (chunk: Buffer) => {
        got += chunk.toString();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(got));
      socket.write(text);
    });
  const head = 'POST /pool/p/branch/main HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
  test.each([
    ['a length that is no number', `${head}Content-Length: ten\r\n\r\n{k:1}`, 'HTTP/1.1 400 Bad Request'],
    ['two lengths', `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{k:1}`, 'HTTP/1.1 400 Bad Request'],
    [
      'a length and chunks',
      `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{k:1}\r\n0\r\n\r\n`,
      'HTTP/1.1 400 Bad Request',
    ],
    ['a chunk length that is none', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{k:1}\r\n0\r\n\r\n`, ''],
    ['a header with a zero byte', `${head}X-Odd: a\0b\r\nContent-Length: 5\r\n\r\n{k:1}`, 'HTTP/1.1 400 Bad Request'],
    [
      'no host',
      'POST /pool/p/branch/main HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\n{k:1}',
      'HTTP/1.1 400 Bad Request',
    ],
    [
      'an unknown method',
      'BREW /pool/p HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      'HTTP/1.1 400 Bad Request',
    ],
  ])('%s: a 400 or a cut connection, nothing is committed', async (_, text, wanted) => {
    const before = await state();
    const got = await raw(text);
    expect([
      await state(),
      wanted === '' ? /^(HTTP\/1\.1 400 Bad Request|$)/.test(got) : got.startsWith(wanted),
    ]).toEqual([before, true]);
  });
  test('a body that stops before its length commits nothing', async () => {
    const before = await state();
    const { hostname, port } = new URL(service.address);
    const socket = connect(Number(port), hostname);
    await new Promise<void>((resolve) => {
      socket.write(`${head}Content-Length: 1000\r\n\r\n{"k":5}`, () => resolve());
    });
    socket.end();
    await new Promise<void>((resolve) => {
      socket.on('close', () => resolve()).resume();
    });
    expect(await state()).toEqual(before);
  });
});

describe('options', () => {
  test.each([
    [['serve', '-nope'], 'unknown option: -nope'],
    [['serve', '-l', 'nowhere'], 'bad value for -l: "nowhere"'],
    [['serve', '-l', '127.0.0.1:99999'], 'bad value for -l: "127.0.0.1:99999"'],
    [['serve', '-body.max', 'lots'], 'bad value for -body.max: "lots"'],
    [['serve', '-workers', '-1'], 'bad value for -workers: "-1"'],
    [['serve', '-defaultfmt', 'xml'], 'bad value for -defaultfmt: "xml"'],
    [['serve', '-lake'], 'option -lake needs a value'],
    [['brew'], 'unknown command: brew'],
  ])('%j ends with one line and status 2', async (argv, text) => {
    const { status, output, complaint } = await runProgram(argv);
    expect([status, output, complaint.trimEnd().split('\n').length, complaint.startsWith(text)]).toEqual([
      2,
      '',
      1,
      true,
    ]);
  });
  test('a second server on the same lake is told who has it', async () => {
    const { status, complaint } = await runProgram(['serve', '-lake', service.lake, '-l', '127.0.0.1:0']);
    expect([status, complaint]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(`^lake .* is in use by another server \\(process ${service.process.pid}, .*\\)\\n$`),
      ),
    ]);
    expect((await client.ask('GET', '/status')).body).toBe('ok');
  });
});
