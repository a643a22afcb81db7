/**
 * Formats over real sockets: limits of what is read, what was tried to tell a format, and answers that a format cannot
 * hold.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request as httpRequest } from 'node:http';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { written } from '../../support/formats/convert.ts';
import { type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService([
    '-value.max',
    '4KiB',
    '-bsup.frame.max',
    '4KiB',
    '-csup.object.max',
    '4KiB',
    '-arrows.body.max',
    '4KiB',
    '-parquet.file.max',
    '4KiB',
  ]);
  expect((await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["a"]]}}' })).status).toBe(200);
});
afterAll(() => service?.close());

const load = async (body: string | Uint8Array, type: string): Promise<readonly [number, string]> => {
  const answer = await service.ask('POST', '/pool/p/branch/main', {
    headers: type === '' ? {} : { 'content-type': type },
    body,
  });
  return [answer.status, answer.status === 200 ? '' : (JSON.parse(answer.body) as { error: string }).error];
};

describe('a load beyond a limit names it and commits nothing:', () => {
  const rows = parseSupValues(
    Array.from({ length: 900 }, (_, i) => `{a:${i},s:"${(i * 7919).toString(36)} ${(i * 104_729).toString(36)}"}`).join(
      '\n',
    ),
  );
  const long = 'x'.repeat(200_000);
  for (const [what, type, body, error] of [
    [
      'a JSON value',
      'application/json',
      () => `{"a":1,"s":"${long}"}`,
      /^json: a single value: more than 4096 bytes \(option -value\.max\)$/,
    ],
    [
      'a SUP value',
      'application/x-sup',
      () => `{a:1}\n{a:1,s:"${long}"}`,
      /^sup: a single value: more than 4096 bytes \(line 2\) \(option -value\.max\)$/,
    ],
    [
      'a CSV row',
      'text/csv',
      () => `a,s\n1,${long}\n`,
      /^csv: a single value: more than 4096 bytes \(option -value\.max\)$/,
    ],
    [
      'a Zeek row',
      'application/x-zeek',
      () => `#separator \\x09\n#fields\ta\n#types\tstring\n${long}\n`,
      /^zeek: a single value: more than 4096 bytes \(option -value\.max\)$/,
    ],
    ['a line', 'application/x-line', () => long, /^line: a single value: more than 4096 bytes \(option -value\.max\)$/],
    [
      'a BSUP frame',
      'application/x-bsup',
      () => written(rows, 'bsup', { bsupCompress: false }),
      /^bsup: large value of \d+ bytes exceeds maximum read buffer/,
    ],
    [
      'a CSUP object',
      'application/x-csup',
      () => written(rows, 'csup'),
      /^csup: object of \d+ bytes \(limit 4096\) \(option -csup\.object\.max\)/,
    ],
    [
      'an Arrow message',
      'application/vnd.apache.arrow.stream',
      () => written(rows, 'arrows'),
      /^arrows: arrow\/ipc: message body of \d+ bytes \(limit 4096\) \(option -arrows\.body\.max, byte \d+\)$/,
    ],
    [
      'a Parquet file',
      'application/x-parquet',
      () => written(rows, 'parquet'),
      /^parquet: file: more than 4096 bytes \(option -parquet\.file\.max\)$/,
    ],
  ] as const) {
    test(what, async () => {
      expect(await load(body(), type)).toEqual([413, expect.stringMatching(error)]);
      expect(await service.query('from p | count()')).toBe('0\n');
    });
  }
});

test('a body of no known format is refused with what each reader said', async () => {
  expect(await load('garbage that is nothing\n', '')).toEqual([
    400,
    `format detection error
\tarrows: schema message length exceeds 1 MiB
\tbsup: BSUP version mismatch: expected 1, found 0
\tcsup: auto-detection requires seekable input
\tcsv: line 1: delimiter ',' not found
\tjson: invalid character 'g' looking for beginning of value
\tline: auto-detection not supported
\tparquet: auto-detection requires seekable input
\tsup: line 1: syntax error
\ttsv: line 1: delimiter '\\t' not found
\tzeek: line 1: bad types/fields definition in zeek header
\tjsup: line 1: malformed JSUP: bad type object: "garbage that is nothing": unpacker error parsing JSON: invalid character 'g' looking for beginning of value`,
  ]);
});

interface Streamed {
  readonly status: number;
  readonly bytes: number;
  readonly whole: boolean;
  readonly queryId: string;
}
/** An answer as it comes; `whole`: it ended with its last chunk. */
const stream = (query: string, accept: string): Promise<Streamed> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      `${service.url}/query`,
      { method: 'POST', headers: { accept, 'content-type': 'application/json' } },
      (response) => {
        let bytes = 0;
        const done = (whole: boolean): void => {
          resolve({ status: response.statusCode!, bytes, whole, queryId: String(response.headers['x-request-id']) });
        };
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.on('end', () => {
          done(response.complete);
        });
        response.on('error', () => {
          done(false);
        });
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify({ query }));
  });

describe('rows that one file cannot hold', () => {
  beforeAll(async () => {
    expect((await service.ask('POST', '/pool', { body: '{name:"q",layout:{keys:[["a"]]}}' })).status).toBe(200);
    // More rows of the first shape than a chunk holds, so that the answer has begun.
    const body = Array.from({ length: 30_000 }, (_, i) => `{"a":${i},"s":"row ${i}"}\n`).join('');
    expect(
      (
        await service.ask('POST', '/pool/q/branch/main', {
          headers: { 'content-type': 'application/json' },
          body: `${body}{"a":30000,"t":1}\n`,
        })
      ).status,
    ).toBe(200);
  });
  const rows = 'from q | sort a';
  for (const [accept, fault] of [
    ['text/csv', /CSV output requires uniform records but multiple types encountered \(consider 'fuse'\)/],
    ['application/vnd.apache.arrow.stream', /multiple types|more than one type|fuse/],
    ['application/x-parquet', /multiple types|more than one type|fuse/],
  ] as const) {
    const isParquet = accept === 'application/x-parquet';
    test(
      isParquet
        ? 'are an error in Parquet, of which nothing was sent yet'
        : `end the answer in ${accept} without its last chunk, and the query's status tells why`,
      async () => {
        const answer = await stream(rows, accept);
        const status = await service.ask('GET', `/query/status/${answer.queryId}`);
        expect(answer).toMatchObject(isParquet ? { status: 400, whole: true } : { status: 200, whole: false });
        expect(status.body).toMatch(fault);
      },
    );
    if (accept !== 'text/csv')
      test(`are an error in ${accept} where there are few`, async () => {
        const answer = await service.ask('POST', '/query', {
          headers: { accept, 'content-type': 'application/json' },
          body: JSON.stringify({ query: 'values {id:1,e:1},{id:2,e:error("x")}' }),
        });
        expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(fault)]);
      });
    test(`are whole in ${accept} with fuse before it`, async () => {
      expect(await stream(`${rows} | fuse`, accept)).toMatchObject({ status: 200, whole: true });
    });
  }
});

test('a load of decimals of more than 38 digits says in its answer that they are rounded', async () => {
  const bytes = parquetWriteBuffer({
    columnData: [{ name: 'price "é"', data: [12345678901234567890123456789012345678912n] }],
    schema: [
      { name: 'root', num_children: 1 },
      {
        name: 'price "é"',
        type: 'BYTE_ARRAY',
        converted_type: 'DECIMAL',
        repetition_type: 'REQUIRED',
        precision: 50,
        scale: 2,
      },
    ],
  });
  const answer = await service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/x-parquet', accept: 'application/json' },
    body: new Uint8Array(bytes),
  });
  expect([
    answer.status,
    (JSON.parse(answer.body) as { readonly warnings: readonly string[] }).warnings,
    answer.headers.get('warning'),
  ]).toEqual([
    200,
    [],
    '299 - "parquet: column price \\"%C3%A9\\": decimal(50,2) is kept as float64, which does not hold all of its digits (first: 123456789012345678901234567890123456789.12)"',
  ]);
});

describe('bytes that are no UTF-8 are refused in requests, with their place:', () => {
  const text = (before: string, after: string): Uint8Array =>
    Buffer.concat([Buffer.from(before), Buffer.of(0xff), Buffer.from(after)]);
  const refused = async (target: string, body?: Uint8Array, type = 'application/json'): Promise<string> => {
    const headers = { 'content-type': type };
    const answer = await service.ask(body ? 'POST' : 'GET', target, body ? { headers, body } : {});
    expect(answer.status).toBe(400);
    return (JSON.parse(answer.body) as { error: string }).error;
  };

  test('in an address', async () => {
    const place = 'invalid query param "query": 0xff at byte 10 (from 0) is no UTF-8';
    expect(await refused('/query?query=values+%22%C3%BC%ff%22')).toBe(place);
    // The character that stands for such bytes is one like others.
    expect((await service.ask('GET', '/query?query=values+%22%EF%BF%BD%22&format=json')).body).toBe('["\ufffd"]\n');
  });
  test.each([
    ['JSON', 'application/json', '{"query":"values \\"ü', '\\""}'],
    ['JSON with escapes', 'application/json', '{"query":"values \\"\\u00fc', '\\""}'],
    ['SUP', 'application/x-sup', '{query:"values \\"ü', '\\""}'],
    ['SQL', 'application/sql', "select 'ü", "'"],
    ['plain text', 'text/plain', "select 'ü", "'"],
  ])('in a query of %s', async (_, type, before, after) => {
    const error = await refused('/query', text(before, after), type);
    expect(error).toBe(`request body: 0xff at byte ${Buffer.byteLength(before)} (from 0) is no UTF-8`);
  });
  test('in a query of a binary format, by its place in the text', async () => {
    const bytes = Buffer.from(await written(parseSupValues('{query:"values 1 -- ~"}'), 'bsup'));
    bytes[bytes.indexOf('~')] = 0xff;
    const error = await refused('/query', bytes, 'application/x-bsup');
    expect(error).toBe('text in the request body: 0xff at byte 12 (from 0) is no UTF-8');
  });
  test('in names of what is made', async () => {
    const error = await refused('/pool', text('{"name":"', '"}'));
    expect(error).toBe('request body: 0xff at byte 9 (from 0) is no UTF-8');
  });
});
