/** Elasticsearch's `filter_path`: what clients are told who want only a part of an answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const body = [
  '{"index":{"_index":"fruits"}}',
  '{"n":1}',
  '{"create":{"_index":"fruits","_id":"ä\\"1"}}',
  '{"n":2}',
  '{"index":{"_index":"fruits"}}',
  '{"n":',
  '{"index":{"_index":"birds"}}',
  '{"n":3}',
  '',
].join('\n');
const answer = async (path: string, sent = body): Promise<string> => {
  const got = await service.ask('POST', path, { headers: { 'content-type': 'application/x-ndjson' }, body: sent });
  expect(got.status, got.body).toBe(200);
  return got.body.replace(/"took":\d+/, '"took":0');
};
const asked = (filter: string, sent?: string): Promise<string> =>
  answer(`/_bulk?filter_path=${encodeURIComponent(filter)}`, sent);

test('without one, all of it', async () => {
  const shards = '"_shards":{"total":1,"successful":1,"failed":0}';
  const made = `"_version":1,"result":"created",${shards},"status":201}}`;
  const found = await answer('/_bulk');
  const reason = /"reason":"([^"]*)"/.exec(found)?.[1];
  expect(reason).toContain('line 6');
  expect(found).toBe(
    `{"errors":true,"took":0,"items":[{"index":{"_index":"fruits","_id":null,${made},` +
      `{"create":{"_index":"fruits","_id":"ä\\"1",${made},` +
      `{"index":{"_index":"fruits","_id":null,"status":400,"error":{"type":"document_parsing_exception","reason":"${reason}"}}},` +
      `{"index":{"_index":"birds","_id":null,${made}]}\n`,
  );
});

describe('a filter', () => {
  const statuses =
    '{"index":{"status":201}},{"create":{"status":201}},{"index":{"status":400}},{"index":{"status":201}}';
  test.each([
    ['errors', '{"errors":true}\n'],
    ['took,errors', '{"errors":true,"took":0}\n'],
    ['items.*.status', `{"items":[${statuses}]}\n`],
    ['errors,items.*.st*s', `{"errors":true,"items":[${statuses}]}\n`],
    ['items.create.*d', '{"items":[{"create":{"_id":"ä\\"1"}}]}\n'],
    [
      'items.create',
      expect.stringMatching(/^\{"items":\[\{"create":\{"_index":"fruits","_id":"ä\\"1","_version":1.*\}\}\]\}\n$/),
    ],
    [
      '**._id',
      '{"items":[{"index":{"_id":null}},{"create":{"_id":"ä\\"1"}},{"index":{"_id":null}},{"index":{"_id":null}}]}\n',
    ],
    ['items.*.error.type,nothing', '{"items":[{"index":{"error":{"type":"document_parsing_exception"}}}]}\n'],
    ['**.error.**.type', '{"items":[{"index":{"error":{"type":"document_parsing_exception"}}}]}\n'],
    ['items.*._shards.total,-items.index', '{"items":[{"create":{"_shards":{"total":1}}}]}\n'],
    ['-items', '{"errors":true,"took":0}\n'],
    [
      'items.*._i*,-**._id',
      '{"items":[{"index":{"_index":"fruits"}},{"create":{"_index":"fruits"}},{"index":{"_index":"fruits"}},{"index":{"_index":"birds"}}]}\n',
    ],
    ['nothing', '{}\n'],
    ['items.*.*.*.*.*', '{}\n'],
    ['**', expect.stringContaining('"_shards"')],
  ])('%s', async (filter, wanted) => {
    expect(await asked(filter)).toEqual(wanted);
  });
  test('faults that nobody has are left out, and the list with them', async () => {
    expect(await asked('errors,items.*.error', '{"index":{"_index":"fruits"}}\n{"n":1}\n')).toBe('{"errors":false}\n');
  });
  test('of too many names is refused: filter-path-long', async () => {
    const path = `/_bulk?filter_path=${'a.b,'.repeat(50)}c`;
    const got = await service.ask('POST', path, { headers: { 'content-type': 'application/x-ndjson' }, body });
    expect([got.status, got.body]).toEqual([400, expect.stringContaining('101 names, more than 100')]);
  });
  test('of what clients look at', async () => {
    const looked = async (path: string): Promise<string> =>
      (await service.ask('GET', path, { headers: { accept: 'application/json' } })).body;
    expect(await looked('/_cluster/health?filter_path=status,timed_out')).toBe(
      '{"status":"green","timed_out":false}\n',
    );
    expect(await looked('/_license?filter_path=license.type')).toBe('{"license":{"type":"basic"}}\n');
    expect(await looked('/?filter_path=version.number')).toBe('{"version":{"number":"8.17.0"}}\n');
  });
});

test('thousands of items keep their order and their ids, whatever they are', async () => {
  const count = 3_000;
  const ids = Array.from({ length: count }, (_, k) => (k % 3 === 0 ? undefined : `${'é☃😀'.repeat(k % 40)}${k}`));
  const sent = ids
    .map((id, k) => `${JSON.stringify({ index: { _id: id } })}\n${k % 7 === 5 ? '{' : `{"k":${k}}`}\n`)
    .join('');
  const all = JSON.parse(await answer('/many/_bulk', sent)) as {
    readonly items: readonly { readonly index: { readonly _id: string | null; readonly status: number } }[];
  };
  expect(all.items.map(({ index: { _id, status } }) => [_id, status])).toEqual(
    ids.map((id, k) => [id ?? null, k % 7 === 5 ? 400 : 201]),
  );
  const some = JSON.parse(await answer('/many/_bulk?filter_path=items.*.status', sent)) as typeof all;
  expect(some.items.map(({ index }) => index)).toEqual(ids.map((_, k) => ({ status: k % 7 === 5 ? 400 : 201 })));
});
