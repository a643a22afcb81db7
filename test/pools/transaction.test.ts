/** Transactions over HTTP: staged loads, conditions, keys, roles, what is told of them, and queries beside them. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, lakeKey } from '../iceberg/support.ts';
import type { PoolFace } from '../../src/lake/pool/pool.ts';
import { startService, type TestService } from '../support/service/server.ts';

const json = { accept: 'application/json', 'content-type': 'application/json' };
const started = async (...flags: readonly string[]): Promise<TestService> => {
  const service = await startService(['-workers', '1', ...flags]);
  onTestFinished(() => service.close());
  for (const name of ['p', 'q'])
    await ask(service, 'POST', '/pool', { name, layout: { keys: [['id']] }, identity: [['id']] });
  return service;
};
interface Told {
  readonly status: number;
  readonly answer: {
    readonly id: string;
    readonly records: number;
    readonly transaction: string;
    readonly commits: readonly { readonly pool: string; readonly branch: string; readonly commit: string }[];
    readonly error: string;
  };
}
const ask = async (
  service: TestService,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Told> => {
  const told = await service.ask(method, path, {
    headers: { ...json, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: told.status, answer: (told.body === '' ? {} : JSON.parse(told.body)) as Told['answer'] };
};
const stage = async (service: TestService, pool: string, rows: string, more = ''): Promise<string> => {
  const told = await service.ask('POST', `/pool/${pool}/branch/main?stage=T${more}`, {
    headers: { accept: 'application/json', 'content-type': 'application/x-sup' },
    body: rows,
  });
  expect(told).toMatchObject({ status: 200 });
  return (JSON.parse(told.body) as Told['answer']).id;
};
/** Records of both pools, by one query. */
const counts = async (service: TestService): Promise<readonly string[]> =>
  (
    await rows(
      service,
      'fork (from p | aggregate n:=count() | values {side:"p",n}) (from q | aggregate n:=count() | values {side:"q",n}) | sort side | values n',
    )
  ).split('\n');
const rows = async (service: TestService, text: string): Promise<string> => (await service.query(text)).trimEnd();
const transact = (service: TestService, commits: unknown, headers?: Readonly<Record<string, string>>): Promise<Told> =>
  ask(service, 'POST', '/transaction', { commits }, headers);

test('a staged upsert is refused where the pool has another identity by then', async () => {
  const service = await started();
  await service.ask('POST', '/pool/p/branch/main', { body: '{id:1,v:2}{id:2,v:1}' });
  const identity = (fields: readonly string[]): Promise<Told> =>
    ask(service, 'PUT', '/pool/p', { identity: fields.map((field) => [field]) });
  await identity(['id']);
  const staged = await stage(service, 'p', '{id:1,v:1}', '&upsert=T');
  for (const [fields, now] of [
    [['v'], '[["v"]]'],
    [[], '[]'],
  ] as const) {
    await identity(fields);
    expect(await transact(service, [{ pool: 'p', load: [staged] }])).toMatchObject({
      status: 409,
      answer: {
        error: `commits[0]: upsert: its records were read by the identity [["id"]], and pool p has ${now} by now: nothing was changed, load or stage them again`,
      },
    });
  }
  expect(await rows(service, 'from p')).toBe('{id:1,v:2}\n{id:2,v:1}');
  await identity(['id']);
  expect(await transact(service, [{ pool: 'p', load: [staged] }])).toMatchObject({ status: 200 });
  expect(await rows(service, 'from p | sort id')).toBe('{id:1,v:1}\n{id:2,v:1}');
});

test('an upsert is refused where the pool gets another identity between its preparation and its commit', async () => {
  const service = await started();
  await service.ask('POST', '/pool/p/branch/main', { body: '{id:1,v:2}{id:2,v:1}' });
  await ask(service, 'PUT', '/pool/p', { identity: [['id']] });
  const face = service.lake.pool('p') as PoolFace;
  const { prepareRewrite } = face;
  face.prepareRewrite = async (terms, prepare) => {
    const prepared = await prepareRewrite.call(face, terms, prepare);
    await ask(service, 'PUT', '/pool/p', { identity: [['v']] });
    return prepared;
  };
  const refusal = 'upsert: its records were read by the identity [["id"]], and pool p has [["v"]] by now';
  const staged = await stage(service, 'p', '{id:1,v:1}', '&upsert=T');
  expect((await transact(service, [{ pool: 'p', load: [staged] }])).answer).toMatchObject({
    error: expect.stringContaining(refusal) as unknown,
  });
  await ask(service, 'PUT', '/pool/p', { identity: [['id']] });
  expect(await ask(service, 'POST', '/pool/p/branch/main?upsert=T', { id: 1, v: 1 })).toMatchObject({
    status: 409,
    answer: { error: expect.stringContaining(refusal) as unknown },
  });
  await ask(service, 'PUT', '/pool/p', { identity: [['id']] });
  // A shipper is to send it again.
  const { body } = await service.ask('POST', '/p/_bulk', { body: '{"index":{"_id":"7"}}\n{"v":1}\n' });
  expect(JSON.parse(body)).toMatchObject({
    items: [
      { index: { status: 503, error: { reason: expect.stringContaining(`send it again: ${refusal}`) as unknown } } },
    ],
  });
  expect(await rows(service, 'from p')).toBe('{id:1,v:2}\n{id:2,v:1}');
  face.prepareRewrite = prepareRewrite;
});

test('an upsert that finds nothing to do is none of a transaction: its branch stays, and the others are changed', async () => {
  const service = await started();
  await ask(service, 'POST', '/pool/p/branch/main', { id: 1 });
  const tip = (
    JSON.parse((await service.ask('GET', '/pool/p/branch/main', { headers: json })).body) as { commit: string }
  ).commit;
  const gone = () => stage(service, 'p', '{id:7,gone:true}', '&upsert=T&delete=gone');
  const commits = [
    { pool: 'p', load: [await gone()] },
    { pool: 'q', load: [await stage(service, 'q', '{id:2}')] },
  ];
  const key = { 'Idempotency-Key': 'once' };
  const first = await transact(service, commits, key);
  expect(first).toMatchObject({ status: 200, answer: { commits: [{ commit: tip }, { branch: 'main' }] } });
  expect((await transact(service, commits, key)).answer).toMatchObject({ commits: first.answer.commits });
  expect(await counts(service)).toEqual(['1', '1']);
  const alone = await transact(service, [{ pool: 'p', load: [await gone()] }]);
  expect(alone).toMatchObject({ status: 200, answer: { transaction: tip, commits: [{ commit: tip }] } });
  const stale = { pool: 'p', load: [await gone()], if_match: `0x${'0'.repeat(40)}` };
  expect((await transact(service, [stale])).status).toBe(412);
});

test('staged loads, deletes, updates, upserts and merges are commits of one transaction', async () => {
  const service = await started();
  for (const pool of ['p', 'q'])
    await service.ask('POST', `/pool/${pool}/branch/main`, { body: '{id:1,v:1}{id:2,v:2}' });
  const { answer: main } = await ask(service, 'GET', '/pool/q/branch/main');
  await ask(service, 'POST', '/pool/q', { name: 'kid', commit: (main as unknown as { commit: string }).commit });
  await service.ask('POST', '/pool/q/branch/kid', { body: '{id:9,v:9}' });
  const [plain, second] = [await stage(service, 'p', '{id:3,v:3}'), await stage(service, 'p', '{id:4,v:4}')];
  expect(await rows(service, 'from p | count()')).toBe('2');
  const { status, answer } = await transact(service, [
    { pool: 'p', load: [plain, second], delete: { where: 'id==1' } },
    { pool: 'q', branch: 'main', merge: 'kid' },
    { pool: 'q', branch: 'kid', update: { where: 'id==2', put: 'v:=22' } },
  ]);
  expect(status).toBe(200);
  const [p, q, kid] = answer.commits;
  expect([p!.commit, q!.commit, p!.branch, kid!.branch]).toEqual([
    answer.transaction,
    answer.transaction,
    'main',
    'kid',
  ]);
  expect(await rows(service, `fork (from p@${answer.transaction}) (from q@${answer.transaction}) | sort id, v`)).toBe(
    '{id:1,v:1}\n{id:2,v:2}\n{id:2,v:2}\n{id:3,v:3}\n{id:4,v:4}\n{id:9,v:9}',
  );
  expect(await rows(service, 'from q@kid | id==2')).toBe('{id:2,v:22}');
  const replacing = await stage(service, 'p', '{id:4,v:44}{id:2,gone:true}', '&upsert=T&delete=gone');
  expect((await transact(service, [{ pool: 'p', load: [replacing] }])).status).toBe(200);
  expect(await rows(service, 'from p')).toBe('{id:3,v:3}\n{id:4,v:44}');
});

test('what comes to nothing leaves staged loads as they were; each is committed once', async () => {
  const service = await started();
  const one = await stage(service, 'p', '{id:1}');
  const other = await stage(service, 'q', '{id:1}');
  const commits = [
    { pool: 'p', load: [one] },
    { pool: 'q', load: [other], if_match: `0x${'1'.repeat(40)}` },
  ];
  expect(await transact(service, commits)).toMatchObject({
    status: 412,
    answer: { error: expect.stringMatching(/^commits\[1\]: If-Match does not match: /) },
  });
  expect(await counts(service)).toEqual(['0', '0']);
  const wrong = async (wanted: readonly unknown[]): Promise<string> => {
    const { status, answer } = await transact(service, wanted);
    return `${status} ${answer.error}`;
  };
  expect(await wrong([])).toBe('400 commits is empty: expected at least one commit');
  expect(await wrong([{ pool: 'p' }])).toBe(
    '400 commits[0]: expected load, delete or update, load with one of the two, one staged upsert, or merge; got none of them',
  );
  expect(await wrong([{ pool: 'p', load: [one], merge: 'x' }])).toMatch(/; got load, merge$/);
  expect(
    await wrong([
      { pool: 'p', load: [one] },
      { pool: 'p', load: [one] },
    ]),
  ).toMatch(/^409 commits\[1\]: staged load/);
  expect(await wrong([{ pool: 'q', load: [one] }])).toBe(`400 commits[0]: staged load ${one} is for p/main`);
  expect(await wrong([{ pool: 'p', load: ['nope'] }])).toMatch(/^404 commits\[0\]: staged load nope not found/);
  expect(await wrong([{ pool: 'r', load: [one] }])).toBe('404 commits[0]: r: pool not found');
  expect(await wrong([{ load: [one] }])).toBe('400 commits[0]: pool name is missing');
  expect(await wrong([{ pool: 'p', branch: 'kid', load: [one] }])).toBe('404 commits[0]: "kid": branch not found');
  expect(await wrong([{ pool: 'p', load: [one], if_match: '"x"' }])).toMatch(/^400 commits\[0\]: invalid If-Match/);
  expect(await wrong([{ pool: 'p', load: [one, one] }])).toMatch(/^409 commits\[0\]: staged load/);
  expect(await wrong([{ pool: 'p', merge: 'main', resolve: 'both' }])).toMatch(/^400 commits\[0\]: /);
  expect(await wrong(Array.from({ length: 257 }, () => ({ pool: 'p', delete: { where: 'true' } })))).toMatch(
    /^413 commits: a transaction has at most 256 commits, got 257$/,
  );
  expect(
    await wrong([
      { pool: 'p', delete: { where: 'id==1' } },
      { pool: 'p', delete: { where: 'true' } },
    ]),
  ).toMatch(/^400 commits\[1\]: p\/main: two commits of one transaction/);
  const upsert = await stage(service, 'p', '{id:5}', '&upsert=T');
  expect(await wrong([{ pool: 'p', load: [one, upsert] }])).toMatch(/got a staged upsert with others$/);
  expect(
    (
      await transact(service, [
        { pool: 'p', load: [one] },
        { pool: 'q', load: [other] },
      ])
    ).status,
  ).toBe(200);
  expect(await counts(service)).toEqual(['1', '1']);
  expect(await wrong([{ pool: 'p', load: [one] }])).toMatch(/^404 /);
});

test('a staged load takes nothing that is its commit’s, and can be dropped', async () => {
  const service = await started();
  const refused = async (headers: Readonly<Record<string, string>>, query = ''): Promise<number> =>
    (await service.ask('POST', `/pool/p/branch/main?stage=T${query}`, { headers, body: '{id:1}' })).status;
  expect(
    (await service.ask('POST', '/pool/p/branch/main?stage=T', { headers: { 'if-match': '*' }, body: '{id:1}' })).body,
  ).toContain('If-Match is not supported with stage=T: it goes with the transaction');
  expect(await refused({ 'idempotency-key': 'a' })).toBe(400);
  expect(await refused({}, '&errors=skip&rejected=q')).toBe(400);
  const told = await service.ask('POST', '/pool/p/branch/main?stage=T', {
    headers: { accept: 'application/json', 'x-request-id': 'staged-1' },
    body: '{id:1}',
  });
  const { id } = JSON.parse(told.body) as Told['answer'];
  expect(await ask(service, 'GET', '/load/staged-1')).toMatchObject({ answer: { state: 'committing', records: 1 } });
  expect((await ask(service, 'DELETE', '/load/staged-1')).status).toBe(204);
  expect((await transact(service, [{ pool: 'p', load: [id] }])).status).toBe(404);
});

test('a staged load goes with its pool: one of the same name is another pool', async () => {
  const service = await started();
  const [gone, other] = [await stage(service, 'p', '{id:1}'), await stage(service, 'q', '{id:1}')];
  await ask(service, 'DELETE', '/pool/p');
  expect((await service.ask('GET', '/metrics')).body).toMatch(/^lake_staged_loads 1$/m);
  await ask(service, 'POST', '/pool', { name: 'p' });
  expect(await transact(service, [{ pool: 'p', load: [gone] }])).toMatchObject({
    status: 404,
    answer: { error: expect.stringMatching(/^commits\[0\]: staged load \S+ not found: .*its pool was deleted/) },
  });
  expect((await transact(service, [{ pool: 'q', load: [other] }])).status).toBe(200);
});

test('the same request under its key is done once', async () => {
  const service = await started();
  const commits = [
    { pool: 'p', load: [await stage(service, 'p', '{id:1}')] },
    { pool: 'q', load: [await stage(service, 'q', '{id:1}')] },
  ];
  const key = { 'idempotency-key': 'once' };
  const [first, again] = await Promise.all([transact(service, commits, key), transact(service, commits, key)]);
  expect(first.status).toBe(200);
  expect(again).toEqual(first);
  expect(await transact(service, commits, key)).toEqual(first);
  expect((await transact(service, commits.slice(1), key)).status).toBe(422);
  expect(await counts(service)).toEqual(['1', '1']);
});

test('it takes the role writer on each pool; the audit log has a line for each commit', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-transaction-'));
  const log = join(directory, 'audit.log');
  const keys = {
    admin: await lakeKey(directory, 'add', '-role', 'admin', 'admin'),
    half: await lakeKey(directory, 'add', '-role', 'writer:p', '-role', 'reader:q', 'half'),
  };
  const service = await startService(['-auth.keys', '-workers', '1', '-audit', log], directory);
  try {
    const admin = bearer(keys.admin);
    for (const name of ['p', 'q', 'r']) await ask(service, 'POST', '/pool', { name }, admin);
    const commits = (...pools: readonly string[]) =>
      pools.map((pool) => ({ pool, update: { where: 'true', put: 'a:=1' } }));
    for (const pool of ['p', 'q'])
      await service.ask('POST', `/pool/${pool}/branch/main`, { headers: admin, body: '{ts:1}' });
    expect((await transact(service, commits('p', 'q'), bearer(keys.half))).status).toBe(403);
    expect((await transact(service, commits('p', 'r'), bearer(keys.half))).status).toBe(404);
    expect((await transact(service, commits('p'), bearer(keys.half))).status).toBe(200);
    await ask(service, 'PUT', '/pool/q/branch/main/protection', { delete: 'nobody' }, admin);
    expect((await transact(service, commits('p', 'q'), admin)).status).toBe(403);
    await ask(service, 'PUT', '/pool/q/branch/main/protection', {}, admin);
    const { answer } = await transact(service, commits('p', 'q'), admin);
    await service.close();
    const lines = (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { commit?: string; path: string; refused?: string });
    const own = lines.filter(({ path }) => path === '/transaction');
    expect(own.filter(({ commit }) => commit === answer.transaction).length).toBe(2);
    expect(own.filter(({ refused }) => refused !== undefined).map(({ refused }) => refused)).toEqual([
      'writer',
      'reader',
    ]);
  } finally {
    await service.close();
    await rm(directory, { recursive: true });
  }
});

test('queries over both pools see all of a transaction or nothing', async () => {
  const service = await started();
  let wrong = 0;
  let read = 0;
  let isDone = false;
  const reader = async (): Promise<void> => {
    while (!isDone) {
      const [p, q] = await counts(service);
      if (p !== q) wrong++;
      if (p !== '0') read++;
    }
  };
  const readers = [reader(), reader()];
  // Until a busy machine has read between them too.
  for (let i = 0; i < 30 || read < 10; i++) {
    const [one, other] = [await stage(service, 'p', `{id:${i}}`), await stage(service, 'q', `{id:${i}}`)];
    expect(
      (
        await transact(service, [
          { pool: 'q', load: [other] },
          { pool: 'p', load: [one] },
        ])
      ).status,
    ).toBe(200);
  }
  isDone = true;
  await Promise.all(readers);
  expect({ wrong, hasRead: read > 0 }).toEqual({ wrong: 0, hasRead: true });
});

test('16 clients merge and transact on one branch: none starves', async () => {
  const service = await started();
  const each = 8;
  const ids = Array.from({ length: 2 * each }, (_, id) => id);
  await service.ask('POST', '/pool/p/branch/main', { body: ids.map((id) => `{id:${id},v:0}`).join('\n') });
  const { answer: begun } = await ask(service, 'GET', '/pool/p/branch/main');
  const { commit } = begun as unknown as { readonly commit: string };
  for (let i = 0; i < each; i++) {
    await ask(service, 'POST', '/pool/p', { name: `kid${i}`, commit });
    await ask(service, 'POST', `/pool/p/branch/kid${i}/update`, { where: `id==${i}`, put: 'v:=1' });
  }
  const told = await Promise.all([
    ...ids.slice(0, each).map((i) => ask(service, 'POST', `/pool/p/branch/main/merge/kid${i}`, {})),
    ...ids.slice(each).map(async (i) =>
      transact(service, [
        { pool: 'p', update: { where: `id==${i}`, put: 'v:=2' } },
        { pool: 'q', load: [await stage(service, 'q', `{id:${i}}`)] },
      ]),
    ),
  ]);
  expect(told.map(({ status, answer: { error } }) => (status === 200 ? status : error))).toEqual(ids.map(() => 200));
  expect(await rows(service, 'from p | aggregate n:=count() by v | sort v')).toBe(`{v:1,n:${each}}\n{v:2,n:${each}}`);
  expect(await counts(service)).toEqual([`${2 * each}`, `${each}`]);
});
