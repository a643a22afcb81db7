/** Pools as they were at a time, over real HTTP: in pipes and SQL, by addresses, with roles and errors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
let service: TestService;
const times: string[] = [];

beforeAll(async () => {
  service = await startService();
  const ask = async (method: string, path: string, body?: string): Promise<string> => {
    const answer = await service.ask(method, path, { headers: json, ...(body !== undefined && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  };
  const load = async (branch: string, k: number): Promise<string> => {
    const { commit } = JSON.parse(await ask('POST', `/pool/p/branch/${branch}`, JSON.stringify({ k }))) as {
      readonly commit: string;
    };
    // The time of the commit itself: it is there from then on.
    times.push((await service.query(`from p@${commit}:log | has(parent) | head 1 | values date`)).trim());
    return commit;
  };
  await ask('POST', '/pool', '{"name":"p","layout":{"keys":[["k"]]}}');
  const one = await load('main', 1);
  await load('main', 2);
  await ask('POST', '/pool/p', JSON.stringify({ name: 'trial', commit: one }));
  await load('trial', 3);
  await ask('PUT', '/pool/p/branch/main', JSON.stringify({ commit: one }));
  await load('main', 4);
  await ask('DELETE', '/pool/p/branch/trial');
}, 60_000);
afterAll(async () => {
  await service.close();
});

describe('a pool at a time', () => {
  test.each([
    ['from p@T0 | values k', '1'],
    ['from p@T1 | values k', '1\n2'],
    ['from p@T2 | values k', '1\n2'],
    ['from p@T3 | values k', '1\n4'],
    ['from p (asof T1) | values k', '1\n2'],
    ['from p (asof "T1") | values k', '1\n2'],
    ['from p@main (asof T1) | values k', '1\n2'],
    ['from p@trial (asof T2) | values k', '1\n3'],
    ['from p (commit trial asof T2) | values k', '1\n3'],
    ['from p@trial (asof T2) | join (from p@T0) on left.k==right.k | count()', '1'],
    ['select count(*) as n from p@T1', '{n:2}'],
    ['select count(*) as n from p (asof T1)', '{n:2}'],
    ['select a.k from p (asof T1) a join p b on a.k = b.k', '{k:1}'],
    ['from p@T1:log | has(parent) | count()', '2'],
    ['from p@trial:log (asof T2) | has(parent) | count()', '2'],
    ['from p@T1:objects | count()', '2'],
    ['from p@2999-01-01T00:00:00Z | values k', '1\n4'],
  ])('%s', async (text, rows) => {
    const asked = text.replace(/\bT(\d)\b/g, (_, i: string) => times[Number(i)]!);
    expect((await service.query(asked)).trim()).toBe(rows);
  });

  test.each([
    ['from p@2020-01-01T00:00:00Z', '"main": there was no such branch or tag at 2020-01-01T00:00:00Z'],
    ['from p@trial (asof T3)', undefined],
    ['from p@trial (asof T0)', '"trial": there was no such branch or tag at T0'],
    ['from p@nope (asof T0)', '"nope": branch not found'],
    [
      'from p (asof yesterday)',
      'yesterday: expected an RFC 3339 time, e.g. 2026-11-01T00:00:00Z at line 1, column 14:\nfrom p (asof yesterday)\n             ~~~~~~~~~',
    ],
    ['from p@2026-13-01T00:00:00Z', '"2026-13-01T00:00:00Z": branch not found'],
    ['values {k:9} | load p (asof T1)', 'unknown argument "asof"'],
    ['values {k:9} | load p@T1', 'T1: branch not found'],
  ])('%s is refused, and says why', async (text, error) => {
    const filled = (each: string): string => each.replace(/\bT(\d)\b/g, (_, i: string) => times[Number(i)]!);
    const answer = await service.ask('POST', '/query', {
      headers: json,
      body: JSON.stringify({ query: filled(text) }),
    });
    if (error === undefined) expect(answer.status).toBe(200);
    else {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect((JSON.parse(answer.body) as { readonly error: string }).error.replaceAll('"', '')).toContain(
        filled(error).replaceAll('"', ''),
      );
    }
  });

  test('by its address, in the head of a request, in sums and a vacuum', async () => {
    const at = encodeURIComponent(times[1]!);
    const get = (path: string): Promise<{ readonly status: number; readonly body: string }> =>
      service.ask('GET', path, { headers: { accept: 'application/json' } });
    expect((await get(`/pool/p/branch/${at}/data`)).body.trim()).toBe('[{"k":1},{"k":2}]');
    expect(JSON.parse((await get(`/pool/p/revision/${at}/sums`)).body)).toMatchObject({ records: 2 });
    const head = { query: 'values k', head: { pool: 'p', branch: times[1] } };
    const answer = await service.ask('POST', '/query', { headers: json, body: JSON.stringify(head) });
    expect(answer.body.trim()).toBe('[1,2]');
    const early = encodeURIComponent('2020-01-01T00:00:00Z');
    expect((await get(`/pool/p/revision/${early}/sums`)).status).toBe(404);
    expect((await get(`/pool/p/branch/${early}/data`)).status).toBe(404);
    const vacuum = await service.ask('POST', `/pool/p/revision/${at}/vacuum?dryrun=T`, { headers: json });
    expect(JSON.parse(vacuum.body)).toEqual({ object_ids: [] });
  });
});
