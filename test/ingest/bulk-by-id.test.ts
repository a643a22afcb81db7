/** Elasticsearch's bulk request on pools whose identity is one field, over real HTTP: what becomes of each item. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { randomOf, seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let pools = 0;
let pool = '';
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
beforeEach(async () => {
  pool = `p${pools++}`;
  await made(pool, [['id']]);
});
const made = async (name: string, identity: readonly (readonly string[])[]): Promise<void> => {
  const answer = await service.ask('POST', '/pool', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, identity, layout: { order: 'asc', keys: [['ts']] } }),
  });
  expect(answer.status, answer.body).toBe(200);
};

interface Told {
  readonly errors: boolean;
  readonly items: readonly Readonly<Record<string, Item>>[];
}
interface Item {
  readonly _id: string | null;
  readonly status: number;
  readonly result?: string;
  readonly error?: { readonly type: string; readonly reason: string };
}
type Line = Readonly<Record<string, unknown>> | string;
const lines = (...values: readonly Line[]): string =>
  values.map((value) => `${typeof value === 'string' ? value : JSON.stringify(value)}\n`).join('');
const bulk = async (body: string, headers: Readonly<Record<string, string>> = {}): Promise<Told> => {
  const answer = await service.ask('POST', `/${pool}/_bulk`, {
    headers: { 'content-type': 'application/x-ndjson', ...headers },
    body,
  });
  expect(answer.status, answer.body).toBe(200);
  return JSON.parse(answer.body) as Told;
};
/** Results, or the error with its status. */
const toldOf = ({ items }: Told): readonly unknown[] =>
  items.map((item) => {
    const [{ status, result, error }] = Object.values(item) as [Item];
    return error ? [status, error.type, error.reason] : [status, result];
  });
const rows = async (order = 'id'): Promise<readonly string[]> =>
  (await service.query(`from ${pool} | sort ${order}`)).split('\n').filter((row) => row !== '');
const commits = async (): Promise<number> => Number(await service.query(`from ${pool}:log | has(message) | count()`));
const index = (id: string, document: Line): string => lines({ index: { _id: id } }, document);
const update = (id: string, body: Line): string => lines({ update: { _id: id } }, body);
const remove = (id: string): string => lines({ delete: { _id: id } });

describe('operations by _id', () => {
  test('each is answered by what the pool had, and all of them are one commit', async () => {
    expect(
      toldOf(await bulk(index('a', { ts: 1, n: 1 }) + index('b', { ts: 2, n: 2, deep: { x: 1, y: [1] } }))),
    ).toEqual([
      [201, 'created'],
      [201, 'created'],
    ]);
    const answer = await bulk(
      index('a', { ts: 3, n: 10 }) +
        update('b', { doc: { n: 20, deep: { y: [2, 3], z: 'new' } } }) +
        update('c', { doc: { ts: 4, n: 30 }, doc_as_upsert: true }) +
        update('d', { doc: { n: 40 }, upsert: { ts: 5, n: 41 } }) +
        lines({ create: { _id: 'e' } }, { ts: 6 }),
    );
    expect(answer.errors).toBe(false);
    expect(toldOf(answer)).toEqual([
      [200, 'updated'],
      [200, 'updated'],
      [201, 'created'],
      [201, 'created'],
      [201, 'created'],
    ]);
    expect(await rows()).toEqual([
      '{id:"a",ts:3,n:10}',
      '{id:"b",ts:2,n:20,deep:{x:1,y:[2,3],z:"new"}}',
      '{id:"c",ts:4,n:30}',
      '{id:"d",ts:5,n:41}',
      '{id:"e",ts:6}',
    ]);
    expect(await commits()).toBe(2);
    const gone = await bulk(remove('a') + remove('nobody'));
    // Elasticsearch does not count what was not there among the errors.
    expect([gone.errors, toldOf(gone)]).toEqual([
      false,
      [
        [200, 'deleted'],
        [404, 'not_found'],
      ],
    ]);
    expect((await rows()).length).toBe(4);
    expect(await commits()).toBe(3);
  });

  test('each sees what those before it did', async () => {
    const answer = await bulk(
      remove('a') +
        index('a', { ts: 1, n: 1 }) +
        update('a', { doc: { n: 2 } }) +
        remove('a') +
        update('a', { doc: { n: 3 } }) +
        lines({ create: { _id: 'a' } }, { ts: 2 }, { create: { _id: 'a' } }, { ts: 3 }),
    );
    expect(toldOf(answer)).toEqual([
      [404, 'not_found'],
      [201, 'created'],
      [200, 'updated'],
      [200, 'deleted'],
      [404, 'document_missing_exception', '[a]: document missing'],
      [201, 'created'],
      [409, 'version_conflict_engine_exception', '[a]: version conflict, document already exists'],
    ]);
    expect(answer.errors).toBe(true);
    expect(await rows()).toEqual(['{id:"a",ts:2}']);
  });

  test('what changes nothing makes no commit', async () => {
    await bulk(index('a', { ts: 1, n: { x: 1 } }));
    const answer = await bulk(
      update('a', { doc: { n: { x: 1 } } }) +
        update('a', { doc: {} }) +
        lines({ create: { _id: 'a' } }, { ts: 1 }) +
        remove('b') +
        update('b', { doc: { n: 1 } }),
    );
    expect(toldOf(answer).map((told) => (told as readonly unknown[]).slice(0, 2))).toEqual([
      [200, 'noop'],
      [200, 'noop'],
      [409, 'version_conflict_engine_exception'],
      [404, 'not_found'],
      [404, 'document_missing_exception'],
    ]);
    expect(await commits()).toBe(1);
    expect(toldOf(await bulk(update('a', { doc: {}, detect_noop: false })))).toEqual([[200, 'updated']]);
    expect(await rows()).toEqual(['{id:"a",ts:1,n:{x:1}}']);
  });

  test('times are times, in updates too', async () => {
    await bulk(index('a', { '@timestamp': '2026-11-28T05:00:00Z' }));
    const same = await bulk(update('a', { doc: { '@timestamp': '2026-11-28T05:00:00Z' } }));
    const other = await bulk(update('a', { doc: { '@timestamp': 1764306000 } }));
    expect([...toldOf(same), ...toldOf(other)]).toEqual([
      [200, 'noop'],
      [200, 'updated'],
    ]);
    expect(await rows()).toEqual(['{id:"a","@timestamp":2025-11-28T05:00:00Z}']);
  });

  test('the field of the identity is the _id, as a string', async () => {
    const differs = "the field of the pool's identity is not this _id, as a string";
    expect(
      toldOf(
        await bulk(
          index('a', { id: 'a', ts: 1 }) +
            index('7', { id: 7, ts: 1 }) +
            update('a', { doc: { id: 'b' } }) +
            update('a', { doc: { id: null } }) +
            update('x', { doc: { id: 'y' }, doc_as_upsert: true }) +
            lines({ index: {} }, { id: 7, ts: 2 }),
        ),
      ),
    ).toEqual([
      [201, 'created'],
      [400, 'document_parsing_exception', `[7]: ${differs}`],
      [400, 'document_parsing_exception', `[a]: ${differs}`],
      [400, 'document_parsing_exception', `[a]: ${differs}`],
      [400, 'document_parsing_exception', `[x]: ${differs}`],
      [201, 'created'],
    ]);
    // What was loaded with a number has another identity.
    expect(toldOf(await bulk(remove('7')))).toEqual([[404, 'not_found']]);
    expect(await rows('ts')).toEqual(['{id:"a",ts:1}', '{id:7,ts:2}']);
  });

  test('an identity that is called _id, and one of which several records are', async () => {
    pool = `${pool}i`;
    await made(pool, [['_id']]);
    const load = await service.ask('POST', `/pool/${pool}/branch/main`, {
      body: '{_id:"a",ts:1}\n{_id:"a",ts:2}\n{_id:"b",ts:3}\n{ts:4}\n',
    });
    expect(load.status, load.body).toBe(200);
    expect(toldOf(await bulk(index('a', { ts: 5 }) + remove('b')))).toEqual([
      [200, 'updated'],
      [200, 'deleted'],
    ]);
    expect(await rows('ts')).toEqual(['{ts:4}', '{_id:"a",ts:5}']);
  });
});

describe('what cannot be done', () => {
  const parsing = 'document_parsing_exception';
  test.each<[string, string, Line | undefined, string]>([
    ['no id', '{"delete":{}}', undefined, 'bulk: delete: _id is missing (line 1)'],
    ['no id', '{"update":{}}', { doc: {} }, 'bulk: update: _id is missing (line 2)'],
    [
      'a script',
      '{"update":{"_id":"a"}}',
      { script: 'x' },
      'bulk: update: script is not supported, only doc, doc_as_upsert, upsert, detect_noop (line 2)',
    ],
    ['no doc', '{"update":{"_id":"a"}}', { upsert: {} }, 'bulk: update: doc is missing (line 2)'],
    [
      'a condition',
      '{"delete":{"_id":"a","if_seq_no":3}}',
      undefined,
      'bulk: delete: if_seq_no is not supported (line 1)',
    ],
    ['no object', '{"update":{"_id":"a"}}', { doc: 5 }, '[a]: doc and upsert of an update are objects'],
    ['broken', '{"update":{"_id":"a"}}', '{"doc":{', 'json: unexpected end of JSON input (line 2, column 9, byte 31)'],
  ])('%s: the item fails alone', async (_, action, document, reason) => {
    const told = await bulk(lines(action, ...(document === undefined ? [] : [document])) + index('b', { ts: 1 }));
    expect(toldOf(told)).toEqual([
      [400, parsing, reason],
      [201, 'created'],
    ]);
    expect(await rows()).toEqual(['{id:"b",ts:1}']);
  });

  test('pools without such an identity, and pools that are not there', async () => {
    await made(`${pool}two`, [['a'], ['b']]);
    await made(`${pool}deep`, [['a', 'b']]);
    const of = (name: string): string => lines({ delete: { _index: name, _id: 'a' } });
    const told = toldOf(await bulk(of(`${pool}two`) + of(`${pool}deep`) + of(`${pool}none`)));
    expect(told).toEqual([
      ...['two', 'deep'].map((name) => [
        400,
        'illegal_argument_exception',
        `bulk: delete: pool ${pool}${name} has no identity of one field; PUT /pool/${pool}${name} with {"identity": [["id"]]} gives it one`,
      ]),
      [404, 'index_not_found_exception', `${pool}none: pool not found`],
    ]);
    // A delete makes no pool; what comes behind it may.
    expect(service.lake.pools().some(({ name }) => name === `${pool}none`)).toBe(false);
    const name = `${pool}none`;
    await bulk(of(name) + lines({ index: { _index: name } }, { n: 1 }));
    expect(await service.query(`from ${name}`)).toBe('{n:1}\n');
  });

  test('with Idempotency-Key nothing is done (bulk-retry); the same body without is done again', async () => {
    const refused = await bulk(index('a', { ts: 1 }), { 'idempotency-key': 'k' });
    const reason = 'and what became of items by _id is not kept; send them without it';
    expect(toldOf(refused)).toEqual([
      [400, 'illegal_argument_exception', `Idempotency-Key: pool ${pool} has an identity, ${reason}`],
    ]);
    expect(await rows()).toEqual([]);
    for (const result of ['created', 'updated'])
      expect(toldOf(await bulk(index('a', { ts: 1 })))).toMatchObject([[expect.anything(), result]]);
    await bulk(remove('a'));
    expect(toldOf(await bulk(index('a', { ts: 1 })))).toEqual([[201, 'created']]);
  });
});

test('random bodies of all sizes come to what a map says, whoever else writes', async () => {
  const seed = seedOf(77);
  const random = randomOf(seed);
  const model = new Map<string, { ts: number; n: number }>();
  for (let round = 0; round < 6; round++) {
    const count = round === 5 ? 4000 : 1 + random.below(40);
    const wanted: unknown[] = [];
    let body = '';
    for (let k = 0; k < count; k++) {
      const id = `i${random.below(30 + count / 4)}`;
      const old = model.get(id);
      const next = { ts: random.below(5000), n: round * 10_000 + k };
      switch (random.below(4)) {
        case 0:
          body += index(id, next);
          wanted.push(old ? [200, 'updated'] : [201, 'created']);
          model.set(id, next);
          break;
        case 1:
          body += remove(id);
          wanted.push(old ? [200, 'deleted'] : [404, 'not_found']);
          model.delete(id);
          break;
        case 2:
          body += update(id, { doc: { n: next.n } });
          wanted.push(old ? [200, 'updated'] : [404, 'document_missing_exception', `[${id}]: document missing`]);
          if (old) model.set(id, { ...old, n: next.n });
          break;
        default:
          body += update(id, { doc: next, doc_as_upsert: true });
          wanted.push(old ? [200, 'updated'] : [201, 'created']);
          model.set(id, next);
      }
    }
    const others = `{id:"other${round}",ts:${round}}`;
    const [told] = await Promise.all([bulk(body), service.ask('POST', `/pool/${pool}/branch/main`, { body: others })]);
    expect(toldOf(told), `SEED=${seed}, round ${round}`).toEqual(wanted);
    expect(
      (await service.query(`from ${pool} | has(n) | sort id | values {id,ts,n}`)).split('\n').slice(0, -1),
      `SEED=${seed}, round ${round}`,
    ).toEqual(
      [...model].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, { ts, n }]) => `{id:"${id}",ts:${ts},n:${n}}`),
    );
  }
});
