/** Answers by their addresses: tags, lengths and ranges, as readers of files ask for them. */
import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacksPython, quits } from '../../support/python.ts';
import { type Answer, type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
const load = (rows: string): Promise<Answer> => service.ask('POST', '/pool/p/branch/main', { body: rows });
beforeAll(async () => {
  service = await startService(['-answers.max', '100000']);
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["a"]]}}' });
  await load(Array.from({ length: 5000 }, (_, i) => `{a:${i},s:"row ${i % 7}"}`).join('\n'));
});
afterAll(() => service.close());

const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> =>
  service.ask(method, path, { headers });
const count = '/query?query=from+p|count()&format=sup';

describe('a tag', () => {
  test('saves an answer that would be the same, until something is committed', async () => {
    const first = await get(count);
    const tag = first.headers.get('etag')!;
    expect(tag).toMatch(/^W\/"/);
    const again = await get(count, { 'if-none-match': `"other", ${tag}` });
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', tag]);
    await load('{a:-1}');
    const after = await get(count, { 'if-none-match': tag });
    expect([first.body, after.status, after.body]).toEqual(['5000\n', 200, '5001\n']);
  });
  test('is another one for another format, limit, text or branch', async () => {
    await service.ask('POST', '/pool/p', { body: '{name:"kid",commit:"main"}' });
    const paths = [count, `${count}&limit=1`, `${count}&fuse=T`, '/query?query=from+p|count()&format=json'];
    const tags = await Promise.all(paths.map(async (path) => (await get(path)).headers.get('etag')));
    expect(new Set(tags).size).toBe(paths.length);
  });
  test('of a tip is its commit', async () => {
    const tip = await get('/pool/p/branch/main');
    const again = await get('/pool/p/branch/main', { 'if-none-match': tip.headers.get('etag')! });
    expect([again.status, again.body]).toEqual([304, '']);
    await load('{a:-2}');
    expect((await get('/pool/p/branch/main', { 'if-none-match': tip.headers.get('etag')! })).status).toBe(200);
  });
  test('saves the document of the API', async () => {
    const tag = (await get('/openapi.json')).headers.get('etag')!;
    expect((await get('/openapi.json', { 'if-none-match': tag })).status).toBe(304);
  });
});

test('a page of the graph leads to the next one by Link, and HEAD of it too', async () => {
  await service.ask('POST', '/pool', { body: '{name:"paged",layout:{keys:[["a"]]}}' });
  for (let a = 0; a < 5; a++) await service.ask('POST', '/pool/paged/branch/main', { body: `{a:${a}}` });
  const pages: string[][] = [];
  for (let path: string | undefined = '/pool/paged/graph?limit=2'; path !== undefined; ) {
    const { headers, body } = await get(path, { accept: 'application/json' });
    pages.push(
      (JSON.parse(body) as { readonly commits: readonly { readonly id: string }[] }).commits.map(({ id }) => id),
    );
    expect((await get(path, {}, 'HEAD')).headers.get('link')).toBe(headers.get('link'));
    path = /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
  expect(new Set(pages.flat()).size).toBe(5);
});

describe('If-Match', () => {
  const rows = '/query?query=from+p|count()&format=json';
  test('keeps readers of parts to the answer that they began with', async () => {
    const tag = (await get(rows, {}, 'HEAD')).headers.get('etag')!;
    expect((await get(rows, { 'if-match': tag })).status).toBe(200);
    // A weak one names rows, not bytes.
    for (const wanted of [`W/${tag}`, 'x', `${tag.slice(0, -2)}"`])
      for (const method of ['GET', 'HEAD']) expect((await get(rows, { 'if-match': wanted }, method)).status).toBe(412);
    const { headers } = await get(rows, { 'if-match': 'x' });
    expect(headers.get('link')).toBe('</docs#error-answer-moved>; rel="help"');
    // Of what depends on more than commits there is no tag to keep to.
    expect((await get('/query?query=values+now()', { 'if-match': tag })).status).toBe(412);
    expect((await get('/query?query=values+now()', { 'if-match': '*' })).status).toBe(200);
  });
});

describe('lengths and ranges', () => {
  const rows = '/query?query=from+p|cut+a|head+1000&format=csv';
  test('are of the bytes that the whole answer has', async () => {
    const whole = (await get(rows)).body;
    const head = await get(rows, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      String(whole.length),
      'bytes',
    ]);
    const part = async (range: string, more: Readonly<Record<string, string>> = {}) => {
      const { status, headers, body } = await get(rows, { range, ...more });
      return [status, headers.get('content-range'), body];
    };
    const { length } = whole;
    expect(await part('bytes=2-9')).toEqual([206, `bytes 2-9/${length}`, whole.slice(2, 10)]);
    expect(await part('bytes=100-')).toEqual([206, `bytes 100-${length - 1}/${length}`, whole.slice(100)]);
    expect(await part('bytes=-5')).toEqual([206, `bytes ${length - 5}-${length - 1}/${length}`, whole.slice(-5)]);
    expect(await part(`bytes=0-${length * 9}`)).toEqual([206, `bytes 0-${length - 1}/${length}`, whole]);
    expect(await part('bytes=0-1,4-5')).toEqual([200, null, whole]);
    expect(await part('rows=0-1')).toEqual([200, null, whole]);
    expect(await part('bytes=0-1', { 'if-range': '"another"' })).toEqual([200, null, whole]);
    expect(await part('bytes=0-1', { 'if-range': head.headers.get('etag')! })).toEqual([
      206,
      `bytes 0-1/${length}`,
      whole.slice(0, 2),
    ]);
    const stale = await part('bytes=0-1', { 'if-match': '"another"' });
    expect(stale).toEqual([412, null, expect.stringContaining('If-Match \\"another\\" does not match')]);
    for (const wanted of [head.headers.get('etag')!, `"another", ${head.headers.get('etag')!}`, '*'])
      expect(await part('bytes=0-1', { 'if-match': wanted })).toEqual([206, `bytes 0-1/${length}`, whole.slice(0, 2)]);
    const beyond = await get(rows, { range: `bytes=${length}-` });
    expect([beyond.status, beyond.headers.get('content-range'), JSON.parse(beyond.body)]).toEqual([
      416,
      `bytes */${length}`,
      {
        type: 'Error',
        kind: 'invalid operation',
        error: `range bytes=${length}- is beyond the answer, which has ${length} bytes`,
      },
    ]);
  });
  test('are not given of what is longer than option -answers.max allows, which streams all the same', async () => {
    const long = '/pool/p/branch/main/data?format=json';
    const head = await get(long, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, null]);
    const part = await get(long, { range: 'bytes=0-9' });
    expect([part.status, JSON.parse(part.body)]).toMatchObject([
      413,
      {
        error:
          'answer is too long for its length or ranges: more than 100000 bytes (option -answers.max); without Range it is streamed',
      },
    ]);
    expect(JSON.parse((await get(long)).body)).toHaveLength(5002);
  });
  test('of other answers take the place of those that nobody asked for longest', async () => {
    for (let i = 1; i < 40; i++) {
      const path = `/query?query=from+p|cut+a|head+${1000 + i}&format=csv`;
      const [part, whole] = [await get(path, { range: 'bytes=0-99' }), await get(path)];
      expect([part.status, part.body]).toEqual([206, whole.body.slice(0, 100)]);
    }
  });
  test('of many answers need no more descriptors than some hundred', async () => {
    const path = (i: number) => `/query?query=from+p|head+1|put+i:=${i}|cut+a&format=csv`;
    for (let i = 1; i <= 300; i++) expect((await get(path(i), { range: 'bytes=0-0' })).body).toBe('a');
    const open = (): readonly string[] =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return /answer\d+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
        } catch {
          return false;
        }
      });
    // One that gave way is closed a little later.
    await expect.poll(() => open().length).toBeLessThanOrEqual(256);
  });
  test('are made again for one whose maker left', async () => {
    const path = '/query?query=from+p|sort+-a|cut+a&format=csv&limit=3000';
    const [first, second] = [new AbortController(), get(path, { range: 'bytes=0-9' })];
    const left = fetch(service.url + path, { headers: { range: 'bytes=0-3' }, signal: first.signal }).catch(
      () => 'left',
    );
    first.abort();
    expect(await left).toBe('left');
    expect([(await second).status, (await get(path, { range: 'bytes=0-9' })).body]).toEqual([206, (await second).body]);
  });
  test('come side by side', async () => {
    const path = '/query?query=from+p|cut+a|tail+2000&format=csv';
    const parts = await Promise.all(
      Array.from({ length: 8 }, (_, i) => get(path, { range: `bytes=${i * 100}-${i * 100 + 99}` })),
    );
    expect(parts.map(({ body }) => body).join('')).toBe((await get(path)).body.slice(0, 800));
  });
});

describe.skipIf(lacksPython('pandas', 'polars', 'pyarrow'))('tools that take an address', () => {
  // Not `python` of support, which waits: the service is in this process.
  test('read the same rows', async () => {
    const script = `
import pandas as pd, polars as pl
from urllib.parse import quote
of = lambda f: '${service.url}/query?query=' + quote('from p | where a >= 0 | cut a, s | head 2000') + '&format=' + f
frames = [
  pd.read_csv(of('csv')), pd.read_json(of('json')), pd.read_json(of('ndjson'), lines=True), pd.read_parquet(of('parquet')), pd.read_feather(of('arrow')),
  *[f.to_pandas() for f in (pl.read_csv(of('csv')), pl.read_parquet(of('parquet')), pl.scan_parquet(of('parquet')).collect(), pl.scan_csv(of('csv')).collect(), pl.read_ipc_stream(of('arrows')), pl.read_ipc(of('arrow')), pl.read_ndjson(of('ndjson')))],
]
print([(f.shape, int(f['a'].sum()), f['s'][8]) for f in frames])
`;
    const { stdout } = await promisify(execFile)('python3', ['-c', script + quits]);
    expect(stdout.trim()).toBe(`[${Array(12).fill("((2000, 2), 1999000, 'row 1')").join(', ')}]`);
  });
});
