/** Loads that replace records of the same identity. */
import { expect, onTestFinished, test } from 'vitest';
import { lastRows } from '../../src/workers/load/upsert.ts';
import { intValue, recordValue } from '../../src/vectors/value.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import type { Vector } from '../../src/vectors/vector.ts';
import { startService, type TestService } from '../support/service/server.ts';

const started = async (identity: readonly (readonly string[])[] = [['id']], key = 'id'): Promise<TestService> => {
  const service = await startService();
  onTestFinished(() => service.close());
  await service.ask('POST', '/pool', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'p', layout: { keys: [[key]] }, ...(identity.length > 0 && { identity }) }),
  });
  return service;
};
const load = async (service: TestService, body: string, query = '?upsert=T', status = 200): Promise<string> => {
  const answer = await service.ask('POST', `/pool/p/branch/main${query}`, {
    headers: { accept: 'application/json', 'content-type': 'application/x-sup' },
    body,
  });
  expect({ status: answer.status, ...(answer.status !== status && { body: answer.body }) }).toEqual({ status });
  return answer.body;
};
const tipOf = async (service: TestService): Promise<string> => {
  const { body } = await service.ask('GET', '/pool/p/branch/main', { headers: { accept: 'application/json' } });
  return (JSON.parse(body) as { commit: string }).commit;
};
const rows = async (service: TestService, query = 'from p'): Promise<string> =>
  (await service.ask('POST', '/query', { body: JSON.stringify({ query }) })).body;

test('records replace those of the same identity, the last one of a body counts, others are added', async () => {
  const service = await started();
  await load(service, '{id:1,v:"a"} {id:2,v:"b"} {id:3,v:"c"}', '');
  await load(service, '{id:9,v:"i"}', '');
  const objects = (await rows(service, 'from p:objects | values id')).trim().split('\n');
  await load(
    service,
    '{id:2,v:"B"} {id:4,v:"d"} {id:2,v:"BB"} {id:2,v:"BBB"} {v:"none"} {v:"none"} {id:null,v:"null"}',
  );
  const expected = '{id:1,v:"a"}\n{id:2,v:"BBB"}\n{id:3,v:"c"}\n{id:4,v:"d"}\n{id:9,v:"i"}\n';
  const sorted = (text: string): string => text.trim().split('\n').sort().join('\n');
  expect(sorted(await rows(service, 'from p | id is not null and not is_error(id)'))).toBe(sorted(expected));
  expect(await rows(service, 'from p | count()')).toBe('8\n');
  const after = (await rows(service, 'from p:objects | values id')).trim().split('\n');
  expect(after.filter((id) => objects.includes(id)).length).toBe(1);
  // 1 and 1. are two identities, and texts are none of numbers.
  await load(service, '{id:1.,v:"float"} {id:"1",v:"text"}');
  expect(await rows(service, 'from p | v in ["a","float","text"] | count()')).toBe('3\n');
});

test('records whose field is true only take others away', async () => {
  const service = await started();
  await load(service, '{id:1,v:1} {id:2,v:2} {id:3,v:3}', '');
  await load(
    service,
    '{id:1,gone:true} {id:3,v:33} {id:4,gone:true} {id:5,gone:false} {id:3,gone:true} {id:2,gone:true} {id:2,v:22}',
    '?upsert=T&delete=gone',
  );
  expect(await rows(service)).toBe('{id:2,v:22}\n{id:5,gone:false}\n');
  await load(service, '{id:2,gone:true}', '?upsert=T&delete=gone');
  expect(await rows(service)).toBe('{id:5,gone:false}\n');
  // What was to go is gone already, as when a change comes a second time: no commit, no failure.
  const tip = await tipOf(service);
  expect(JSON.parse(await load(service, '{id:77,gone:true}', '?upsert=T&delete=gone'))).toEqual({
    commit: tip,
    warnings: [],
  });
  expect(await tipOf(service)).toBe(tip);
  // Its condition holds or does not, as where there is something to do.
  const conditioned = async (ifMatch: string): Promise<number> =>
    (
      await service.ask('POST', '/pool/p/branch/main?upsert=T&delete=gone', {
        headers: { accept: 'application/json', 'content-type': 'application/x-sup', 'if-match': ifMatch },
        body: '{id:77,gone:true}',
      })
    ).status;
  expect(await conditioned(`"${tip}"`)).toBe(200);
  expect(await tipOf(service)).toBe(tip);
  await load(service, '{id:8}', '');
  expect(await conditioned(`"${tip}"`)).toBe(412);
});

test('an identity of several fields that are no key, in many objects', async () => {
  const service = await started([['a', 'b'], ['c']], 'ts');
  const body = (from: number, to: number, v: number): string =>
    Array.from(
      { length: to - from },
      (_, i) => `{ts:${(i * 7919) % 1000},a:{b:"k${from + i}"},c:${(from + i) % 3},v:${v}}`,
    ).join('\n');
  await load(service, body(0, 3000, 0), '');
  await load(service, body(3000, 6000, 0), '');
  await load(service, body(2900, 3100, 1));
  expect(await rows(service, 'from p | count() by v | sort v')).toBe('{v:0,count:5800}\n{v:1,count:200}\n');
  expect(await rows(service, 'from p | count() by a.b, c | where count > 1 | count()')).toBe('0\n');
  // The order of the pool is kept.
  expect(await rows(service, 'from p | values ts | head 1')).toBe('0\n');
});

test('what cannot be is refused', async () => {
  const service = await started([]);
  expect(JSON.parse(await load(service, '{id:1}', '?upsert=T', 400))).toMatchObject({
    error:
      'upsert: pool p has no identity; PUT /pool/p with {"identity": [["id"]]} says which fields identify a record',
  });
  expect(JSON.parse(await load(service, '{id:1}', '?delete=gone', 400))).toMatchObject({
    error: 'query param "delete" goes with upsert=T',
  });
  expect(JSON.parse(await load(service, '{id:1}', '?upsert=maybe', 400))).toMatchObject({ kind: 'invalid operation' });
});

test('records that only take others away, none of which says which, are refused by the reason', async () => {
  const service = await started([['id'], ['at', 'day']]);
  expect(
    JSON.parse(await load(service, '{id:null,gone:true}{id:1,gone:true}', '?upsert=T&delete=gone', 400)),
  ).toMatchObject({
    error:
      'upsert: nothing to be done: the field gone is true in all records of the request, and none of them has a value in each field of the identity id, at.day, by which it would take others away',
  });
});

test('a body that takes too much memory is refused', async () => {
  async function* batches(): AsyncGenerator<Vector> {
    yield vectorOf([recordValue([{ name: 'id', value: intValue(1) }])]);
  }
  await expect(lastRows(batches(), { identity: [['id']] }, () => 1)).rejects.toMatchObject({ code: 'upsert-large' });
});

test('64 clients upsert the same keys: the end is that of the commits in their order, which is that of the events', async () => {
  const service = await started();
  const keys = 100;
  const clients = 64;
  await load(service, Array.from({ length: 50 }, (_, id) => `{id:${id},by:"before"}`).join('\n'), '');
  const made = await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      // Each has some of the keys, and a key of its own; others load meanwhile.
      const own = Array.from({ length: keys }, (__, id) => id).filter((id) => (id * 31 + client * 17) % 3 > 0);
      const body = [...own.map((id) => `{id:${id},by:"${client}"}`), `{id:${1000 + client},by:"${client}"}`].join('\n');
      const { commit } = JSON.parse(await load(service, body)) as { readonly commit: string };
      return { commit, client, own };
    }),
  );
  const log = JSON.parse(
    (
      await service.ask('POST', '/query', {
        headers: { accept: 'application/json' },
        body: JSON.stringify({ query: 'from p:log | has(parent) | cut id' }),
      })
    ).body,
  ) as readonly { readonly id: string }[];
  expect(log.length).toBe(clients + 1);
  const model = new Map<number, string>(Array.from({ length: 50 }, (_, id) => [id, 'before']));
  for (const { id } of [...log].reverse()) {
    const one = made.find(({ commit }) => commit === id);
    if (!one) continue;
    for (const key of one.own) model.set(key, String(one.client));
    model.set(1000 + one.client, String(one.client));
  }
  expect(await rows(service, 'from p | sort id')).toBe(
    [...model]
      .sort(([a], [b]) => a - b)
      .map(([id, by]) => `{id:${id},by:"${by}"}\n`)
      .join(''),
  );
}, 120_000);

test.each([
  ['a key of the pool', 'id'],
  ['no key of the pool', 'ts'],
])('an identity that may be null is that of the value, %s', async (_, key) => {
  const service = await started([['id']], key);
  const body = (from: number, to: number, value: (n: number) => string, v: string): string =>
    Array.from({ length: to - from }, (_, i) => `{ts:${(i * 7919) % 1000},id:${value(from + i)},v:"${v}"}`).join('\n');
  const plain = (n: number): string => (n % 2 === 0 ? `${n}` : `"k${n}"`);
  const nullable = (n: number): string => (n % 2 === 0 ? `${n}::(int64|null)` : `"k${n}"::(string|null)`);
  const counts = 'from p | aggregate n:=count() by v | sort v';
  await load(service, body(0, 20000, nullable, 'old'), '');
  // A few, then very many, of which some are new; then the other way round.
  await load(service, body(7000, 7003, plain, 'few'));
  expect(await rows(service, counts)).toBe('{v:"few",n:3}\n{v:"old",n:19997}\n');
  await load(service, body(10000, 25000, plain, 'many'));
  expect(await rows(service, counts)).toBe('{v:"few",n:3}\n{v:"many",n:15000}\n{v:"old",n:9997}\n');
  await load(service, body(12000, 12002, nullable, 'back'));
  await load(
    service,
    '{id:1000::(int64|null),gone:true} {id:1002,gone:true} {id:1002::(int64|null),gone:true}',
    '?upsert=T&delete=gone',
  );
  expect(await rows(service, counts)).toBe('{v:"back",n:2}\n{v:"few",n:3}\n{v:"many",n:14998}\n{v:"old",n:9995}\n');
  // The last one of a body counts, however it is written; null is no identity.
  await load(service, '{id:3,v:"a"} {id:3::(int64|null),v:"b"} {id:null::(int64|null),v:"none"}');
  expect(await rows(service, 'from p | v in ["a","b","none"] | values v | sort this')).toBe('"b"\n"none"\n');
});

test('an upsert in JSON replaces what came as Parquet', async () => {
  const service = await started();
  const query = encodeURIComponent("select * from (values (1,'a'),(2,'b'),(null,'c')) t(id,v)");
  const parquet = await fetch(`${service.url}/query?query=${query}&format=parquet`);
  const loaded = await service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/vnd.apache.parquet' },
    body: new Uint8Array(await parquet.arrayBuffer()),
  });
  expect(loaded.status).toBe(200);
  expect(await rows(service, 'from p | head 1 | values typeof(id)')).toBe('<int64|null>\n');
  await load(service, '{id:2,v:"B"}');
  expect((await rows(service, 'from p | values v')).trim().split('\n').sort()).toEqual(['"B"', '"a"', '"c"']);
});
