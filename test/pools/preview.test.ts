/** Looks into bodies that are to be loaded, over HTTP: every format, bodies that are cut, what is refused, who may. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect, type LoadPreview } from '../../src/client/client.ts';
import { createWriter, type FormatName, mediaTypeOf, openReader } from '../../src/formats/formats.ts';
import { bearer, lakeKey } from '../iceberg/support.ts';
import { pieces } from '../support/formats/convert.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["ts"]],order:"desc"}}' });
});
afterAll(() => service.close());

interface Told extends LoadPreview {
  readonly error: string;
  readonly hint?: string;
}
interface Seen {
  readonly status: number;
  readonly seen: Told;
}
const look = async (
  body: string | Uint8Array,
  more = '',
  headers: Readonly<Record<string, string>> = {},
  path = '/pool/p/branch/main?dryrun=T',
): Promise<Seen> => {
  const answer = await service.ask('POST', `${path}${more}`, {
    headers: { accept: 'application/json', ...headers },
    body,
  });
  return { status: answer.status, seen: JSON.parse(answer.body) as Told };
};
/** Nothing was loaded by what was looked at. */
const isEmpty = async (): Promise<void> => {
  expect(await service.query('from p')).toBe('');
};

const rowText = (i: number): string =>
  `{ts:2026-11-28T00:00:${String(i % 60).padStart(2, '0')}Z,level:"info",text:"line ${i}"}`;
/** Rows in a format. */
const bytesOf = async (format: FormatName, count: number): Promise<Uint8Array> => {
  const text = Array.from({ length: count }, (_, i) => `${rowText(i)}\n`).join('');
  const writer = createWriter(format, { bsupFrameBytes: 4096, othersAsText: true });
  const out: Uint8Array[] = [];
  for await (const batch of await openReader('sup', pieces(Buffer.from(text), 1 << 20), { batchRows: 100 }))
    out.push(...writer.write(batch));
  out.push(...writer.end());
  return Buffer.concat(out);
};
const found = ['arrows', 'bsup', 'csup', 'csv', 'json', 'jsup', 'parquet', 'sup', 'tsv', 'zeek'] as const;

test('every format is found, with its types, first rows and the key of the pool, and nothing is loaded', async () => {
  for (const format of [...found, 'line'] as const) {
    const headers: Record<string, string> = format === 'line' ? { 'content-type': mediaTypeOf('line') } : {};
    const { status, seen } = await look(await bytesOf(format, 500), '', headers);
    expect({ format, status, error: seen.error }).toEqual({ format, status: 200, error: undefined });
    expect({ ...seen, rows: seen.rows.length }).toMatchObject({
      format,
      records: 500,
      complete: true,
      rows: 3,
      fault: null,
      layout: { order: 'desc', keys: [['ts']] },
    });
    if (format === 'line') continue;
    expect(seen.fields).toEqual(['ts', 'level', 'text']);
    expect(seen.type).toMatch(/^\{ts:.*text:/);
    expect(seen.warnings).toEqual([]);
  }
  await isEmpty();
});

test('the answer says why it is that format, and what speaks for another', async () => {
  expect((await look('ts;n\n2026-01-01T00:00:00Z;1\n2026-01-02T00:00:00Z;2\n')).seen).toEqual({
    format: 'csv',
    why: "the first line has the delimiter ';'",
    doubts: [],
    type: '{ts:string,n:float64}',
    records: 2,
    complete: true,
    rows: ['{ts:"2026-01-01T00:00:00Z",n:1.}', '{ts:"2026-01-02T00:00:00Z",n:2.}'],
    fields: ['ts', 'n'],
    layout: { order: 'desc', keys: [['ts']] },
    warnings: [],
    fault: null,
  });
  expect((await look('[{"ts":1},{"ts":2}]')).seen).toMatchObject({
    doubts: ['it begins with an array, which is one value (unnest=T: a record for each element)'],
    records: 1,
  });
  expect((await look('[{"ts":1},{"ts":2}]', '&unnest=T')).seen).toMatchObject({
    records: 2,
    rows: ['{ts:1}', '{ts:2}'],
  });
  expect((await look('{"ts":1}', '', { 'content-type': 'application/x-sup' })).seen).toMatchObject({
    format: 'sup',
    why: 'Content-Type says so',
    doubts: ['without that it would be read as json, since its beginning reads as JSON'],
  });
  expect((await look('{"at":"5"}\n{"at":6}\n')).seen).toMatchObject({
    warnings: ['no record has ts, a key of the pool'],
    type: '{at:int64|string}',
  });
  expect((await look('{"ts":1763500000}', '&time=ts')).seen.rows).toEqual(['{ts:2025-11-18T21:06:40Z}']);
  expect(
    (await look('{"ts":1}\n{"ts":\n{"ts":3}\n', '&errors=skip', { 'content-type': 'application/json' })).seen,
  ).toMatchObject({
    warnings: [expect.stringMatching(/^1 record cannot be read; the first: /)],
  });
  await isEmpty();
});

test('without a pool the key is one that suits the records', async () => {
  const answer = await look('id,created_at\n1,2026-01-01\n', '', {}, '/preview');
  expect(answer).toMatchObject({ status: 200, seen: { layout: { order: 'asc', keys: [['created_at']] } } });
});

test('of a long body the first 1,000 records are read, and long texts are cut', async () => {
  const long = await look(await bytesOf('json', 30_000));
  expect(long).toMatchObject({ status: 200, seen: { records: 1000, complete: false } });
  const wide = await look(JSON.stringify({ ts: '🙂'.repeat(500_000) }));
  expect(wide.seen.rows[0]!.length).toBeLessThan(5000);
  expect(wide.seen.rows[0]!.endsWith('🙂...')).toBe(true);
});

test('a body that is cut is read as far as it goes', async () => {
  for (const format of found) {
    const all = await bytesOf(format, 500);
    const whole = (await look(all)).seen;
    const { status, seen } = await look(all.subarray(0, Math.floor(all.length * 0.9)), '&cut=T');
    expect({ format, status, error: seen.error }).toEqual({ format, status: 200, error: undefined });
    expect({ found: seen.format, complete: seen.complete }).toEqual({ found: format, complete: false });
    // What they hold is told at the end of the file.
    if (format === 'parquet') expect(seen).toMatchObject({ records: 0, type: null });
    else if (seen.records > 0)
      expect({ type: seen.type, rows: seen.rows }).toEqual({ type: whole.type, rows: whole.rows });
    // Those of blocks have 500 rows in one.
    if (format !== 'parquet' && format !== 'csup' && format !== 'arrows')
      expect({ format, some: seen.records > 100 }).toEqual({ format, some: true });
  }
  await isEmpty();
});

test('compressed bodies that are cut are read as far as they go', async () => {
  const random = randomOf(1);
  const text = Array.from({ length: 900 }, (_, i) => `{"ts":${i},"v":"${random.hex(60)}"}\n`).join('');
  for (const [coding, bytes] of [
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const) {
    const { status, seen } = await look(bytes.subarray(0, bytes.length / 2), '&cut=T', { 'content-encoding': coding });
    expect({ coding, status, error: seen.error }).toEqual({ coding, status: 200, error: undefined });
    expect({ coding, some: seen.records > 300, rows: seen.rows[0]!.slice(0, 6) }).toEqual({
      coding,
      some: true,
      rows: '{ts:0,',
    });
    // Without a word a body that ends too early is damage.
    expect((await look(bytes.subarray(0, bytes.length / 2), '', { 'content-encoding': coding })).status).toBe(400);
  }
});

test('a record that the cut ends is not taken for a whole one', async () => {
  expect((await look('ts,n\n1,100\n2,20', '&cut=T')).seen).toMatchObject({ records: 1, rows: ['{ts:1.,n:100.}'] });
  expect((await look('ts,n\n1,100\n2,"a\nb', '&cut=T')).seen).toMatchObject({ records: 1 });
  // The delimiter shows in the lines that are whole, of inputs that are shorter than what is looked at too.
  for (const delimiter of [';', '|']) {
    const text = `ts,n,m\n1,100,a\n2,20,b\n3,3`.replaceAll(',', delimiter);
    for (let end = text.indexOf('2') + 1; end <= text.length; end++)
      expect((await look(text.slice(0, end), '&cut=T')).seen).toMatchObject({
        format: 'csv',
        why: `the first line has the delimiter '${delimiter}'`,
        doubts: [],
        records: end > text.lastIndexOf('\n') + 1 ? 2 : 1,
        fields: ['ts', 'n', 'm'],
        fault: null,
      });
    expect((await look(text, '&cut=T')).seen.rows).toEqual(['{ts:1.,n:100.,m:"a"}', '{ts:2.,n:20.,m:"b"}']);
  }
  expect((await look('{"ts":1}\n{"ts":2', '&cut=T')).seen).toMatchObject({ format: 'json', records: 1, fault: null });
  expect((await look('{\n  "ts": 1,\n  "a": [1, 2', '&cut=T')).seen).toMatchObject({
    format: 'json',
    records: 0,
    type: null,
    fault: null,
  });
  expect((await look('{ts:1}\n{ts:2,a:"x', '&cut=T')).seen).toMatchObject({ format: 'sup', records: 1 });
  const fault = await look('ts,n\n1,100\n2,3,4\n5,6\n', '&cut=T');
  expect(fault.seen).toMatchObject({ records: 1, fault: expect.stringContaining('record on line 3') });
});

test('a cell in quotes that the cut ends is no fault, whatever stands in it and wherever the cut is', async () => {
  for (const delimiter of [',', ';', '|', '\t']) {
    const text = 'ts,n,m\n1,100,"a, ""b""\nc"\n2,20,"d\ne,f\n""g"""\n3,30,"x'.replaceAll(',', delimiter);
    const rows = [text.indexOf('\n2') + 1, text.indexOf('\n3') + 1];
    for (const more of ['', '&errors=skip', '&errors=wrap'])
      for (let end = text.indexOf('"') + 1; end <= text.length; end += more === '' ? 2 : 9)
        expect(
          (await look(text.slice(0, end), `&cut=T${more}`)).seen,
          `${more} ${JSON.stringify(text.slice(0, end))}`,
        ).toMatchObject({
          format: delimiter === '\t' ? 'tsv' : 'csv',
          doubts: [],
          warnings: [],
          fault: null,
          records: rows.filter((at) => end > at).length,
        });
  }
  // Dialects have a parser of their own.
  for (const more of ['', '&errors=skip'])
    expect(
      (await look("ts;m\n1;'a\nb'\n2;'c\nd", `&csv.delim=;&csv.quote='&cut=T${more}`, { 'content-type': 'text/csv' }))
        .seen,
    ).toMatchObject({ warnings: [], fault: null, records: 1 });
  // A name may have several lines, cut or not.
  for (const cut of ['', '&cut=T'])
    expect((await look('"t\ns";"n;x"\n1;2\n3;4\n', cut)).seen).toMatchObject({
      format: 'csv',
      fields: ['t\ns', 'n;x'],
    });
  // What a quote took that nobody closes is not what the cut ends.
  const open = await look(`ts,n\n1,2\n3,"4\n${'5,6\n'.repeat(20_000)}`, '&cut=T');
  expect(open.seen).toMatchObject({ records: 1, fault: expect.stringContaining('record on line 3: quote not closed') });
});

test('what a load would refuse is refused with the same words', async () => {
  for (const [body, type] of [
    ['{"ts":1}\n{"ts":,}\n', 'application/json'],
    ['a,b\n1,2\n3\n', 'text/csv'],
    ['', 'application/json'],
    ['no format at all', ''],
    ['PK\u0003\u0004 a spreadsheet', ''],
  ] as const) {
    const dry = await look(body, '', { 'content-type': type });
    const real = await service.ask('POST', '/pool/p/branch/main', {
      headers: { accept: 'application/json', 'content-type': type },
      body,
    });
    expect({ body, status: dry.status, error: dry.seen.error }).toEqual({
      body,
      status: real.status,
      error: (JSON.parse(real.body) as Told).error,
    });
    expect(dry.status).toBe(400);
  }
  expect((await look('PK\u0003\u0004')).seen.hint).toContain('a ZIP file');
  const missing = await look('{}', '', {}, '/pool/p/branch/none?dryrun=T');
  expect(missing.status).toBe(404);
  const moved = await look('{}', '', { 'if-match': `"0x${'1'.repeat(40)}"` });
  expect(moved.status).toBe(412);
});

test('a dry run goes with nothing that loads, and cut with nothing but a dry run', async () => {
  expect(await look('{}', '&stage=T')).toMatchObject({
    status: 400,
    seen: { error: 'stage=T is not supported with dryrun=T, by which nothing is loaded' },
  });
  expect(await look('{}', '', {}, '/pool/p/branch/main?cut=T')).toMatchObject({
    status: 400,
    seen: { error: 'cut=T is for a dry run (dryrun=T): a load takes a body as a whole' },
  });
  expect((await look('{}', '&upsert=T')).status).toBe(400);
  expect((await look('{}', '', {}, '/preview?upsert=T')).status).toBe(400);
});

test('who may not load may not look', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-preview-'));
  const keys: Record<string, string> = {};
  for (const role of ['reader', 'writer', 'writer:p'])
    keys[role] = await lakeKey(directory, 'add', '-role', role, role);
  const guarded = await startService(['-workers', '1', '-auth.keys'], directory);
  onTestFinished(async () => {
    await guarded.close();
    await rm(directory, { recursive: true, force: true });
  });
  const ask = async (role: string, path: string): Promise<number> =>
    (await guarded.ask('POST', path, { headers: bearer(keys[role]!), body: '{name:"p"}' })).status;
  expect(await ask('writer', '/pool')).toBe(200);
  const all = [];
  for (const role of Object.keys(keys))
    all.push([role, await ask(role, '/pool/p/branch/main?dryrun=T'), await ask(role, '/preview')]);
  expect(all).toEqual([
    ['reader', 403, 403],
    ['writer', 200, 200],
    ['writer:p', 200, 403],
  ]);
});

test('wherever a body is cut, and whatever it is, there is an answer', async () => {
  const seed = seedOf(30);
  console.log(`seed ${seed}`);
  const random = randomOf(seed);
  const statuses = new Set<number>();
  const note = async (bytes: Uint8Array, headers = {}): Promise<void> => {
    const { status, seen } = await look(bytes, '&cut=T', headers);
    statuses.add(status);
    if (status === 200 && (seen.records === 0) !== (seen.type === null)) throw new Error(JSON.stringify(seen));
  };
  for (const format of found) {
    const all = await bytesOf(format, 40);
    for (let i = 0; i < 12; i++) await note(all.subarray(0, random.below(all.length)));
    for (let i = 0; i < 6; i++) {
      const damaged = Uint8Array.from(all);
      for (let k = 0; k < 4; k++) damaged[random.below(damaged.length)] = random.below(256);
      await note(damaged, { 'content-type': mediaTypeOf(format) });
      await note(gzipSync(damaged).subarray(0, random.below(200)), { 'content-encoding': 'gzip' });
    }
  }
  expect([...statuses].sort()).toEqual([200, 400]);
  await isEmpty();
});

test('a client that goes away ends it', async () => {
  const stop = new AbortController();
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(
      '{"ts":1}\n'
        .repeat(10_000)
        .slice(0, 50_000)
        .replace(/[^\n]*$/, ''),
    );
    await new Promise((_, reject) => {
      stop.signal.addEventListener('abort', () => {
        reject(new Error('left'));
      });
    });
  };
  const lake = connect(service.url);
  const asked = lake
    .preview(endless(), { format: 'csv', signal: stop.signal })
    .catch((error: unknown) => String(error));
  await expect.poll(() => service.workers.status().loadsRunning).toBe(1);
  stop.abort();
  await asked;
  await expect.poll(() => service.workers.status().loadsRunning).toBe(0);
});

test('the client tells what the service does', async () => {
  const lake = connect(service.url);
  const seen = await lake.pool('p').branch('main').previewLoad('ts;n\n1;2\n3;', { format: 'csv', cut: true });
  expect(seen).toMatchObject({ format: 'csv', records: 1, type: '{ts:float64,n:float64}' });
  expect(await lake.preview('[{"k":1}]', { parameters: { unnest: 'T' } })).toMatchObject({ rows: ['{k:1}'] });
});
