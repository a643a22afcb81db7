/** Identities of pools: what is double is found out in the background, and the setting is durable. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLake } from '../../src/lake/lake.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { formatVersion } from '../../src/lake/tables/versions.ts';
import { tablesFolder } from '../../src/lake/repair/replay.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { tablesOf } from '../unit/lake/support.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const started = async (): Promise<TestService> => {
  const service = await startService();
  onTestFinished(() => service.close());
  return service;
};
const ask = async (service: TestService, method: string, path: string, body?: unknown): Promise<string> => {
  const answer = await service.ask(method, path, {
    headers: json,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
  return answer.body;
};
interface Told {
  readonly identity: readonly (readonly string[])[];
  readonly check: { readonly state: string; readonly [field: string]: unknown } | null;
}
const told = async (service: TestService, pool: string, query = ''): Promise<Told> => {
  for (let asked = query; ; asked = '') {
    const found = JSON.parse(await ask(service, 'GET', `/pool/${pool}/identity${asked}`)) as Told;
    if (found.check?.state !== 'running') return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
};

test('what is double is told when an identity is set on data', async () => {
  const service = await started();
  await ask(service, 'POST', '/pool', { name: 'p', layout: { keys: [['k']] } });
  const rows =
    '{k:1,id:7,a:{b:"x"}} {k:2,id:7,a:{b:"x"}} {k:3,id:7,a:{b:"y"}} {k:4,a:{b:"x"}} {k:5,a:{b:"x"}} {k:6,id:null,a:{b:"x"}} {k:7,id:null,a:{b:"x"}} {k:8,id:7.,a:{b:"x"}} {k:9,id:7,a:1} "no record" "no record" {k:10,id:error("e"),a:{b:"x"}} {k:11,id:error("e"),a:{b:"x"}}';
  const loaded = await service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/x-sup' },
    body: rows,
  });
  expect(loaded.status).toBe(200);
  const { commit } = JSON.parse(await ask(service, 'GET', '/pool/p/branch/main')) as { readonly commit: string };
  await ask(service, 'PUT', '/pool/p', { identity: [['id'], ['a', 'b']] });
  expect(await told(service, 'p')).toEqual({
    identity: [['id'], ['a', 'b']],
    check: {
      commit,
      state: 'done',
      double: 1,
      records: 2,
      sample: [{ key: { id: 7, 'a.b': 'x' }, count: 2 }],
      error: null,
    },
  });
  await ask(service, 'PUT', '/pool/p', { identity: [['k']] });
  expect(await told(service, 'p')).toMatchObject({ check: { double: 0, records: 0, sample: [] } });
  expect((await service.query('from :pools | values identity')).trim()).toContain('["k"]');
});

test('values that may be null are double as what they are; names and types of numbers count', async () => {
  const service = await started();
  await ask(service, 'POST', '/pool', { name: 'p', layout: { keys: [['k']] }, identity: [['id']] });
  const loaded = await service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/x-sup' },
    body:
      '{k:1,id:1} {k:2,id:1::(int64|null)} {k:3,id:"a"::(int64|string)} {k:4,id:"a"} ' +
      '{k:5,id:1.::(float64|null)} {k:6,id:null::(int64|null)} {k:7,id:null} {k:8,id:1::=port}',
  });
  expect(loaded).toMatchObject({ status: 200 });
  const { check } = await told(service, 'p', '?check=T');
  expect(check).toMatchObject({ double: 2, records: 4 });
});

test('no more than a hundred double keys are told, and none that is very long', async () => {
  const service = await started();
  await ask(service, 'POST', '/pool', { name: 'p', layout: { keys: [['id']] }, identity: [['id']] });
  const ids: unknown[] = Array.from({ length: 150 }, (_, id) => ({ id }));
  await ask(service, 'POST', '/pool/p/branch/main', [...ids, ...ids].map((row) => JSON.stringify(row)).join('\n'));
  const { check } = await told(service, 'p', '?check=T');
  expect(check).toMatchObject({ double: 150, records: 300 });
  expect(check!['sample']).toHaveLength(100);
  const long = JSON.stringify({ id: 'x'.repeat(100_000) });
  await ask(service, 'POST', '/pool', { name: 'long', layout: { keys: [['id']] }, identity: [['id']] });
  await ask(service, 'POST', '/pool/long/branch/main', `${long}\n${long}`);
  expect(await told(service, 'long')).toMatchObject({ check: { double: 1, records: 2, sample: [] } });
});

test('it outlives a restart, also of a lake whose tables are made again, and older builds refuse the lake', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-identity-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const open = (): ReturnType<typeof openLake> => openLake({ directory, objects: openObjects(directory) });
  let lake = await open();
  const events: string[] = [];
  lake.onEvent(({ kind }) => {
    events.push(kind);
  });
  await lake.createPool({ name: 'p' });
  await lake.createPool({ name: 'q', identity: [['id']] });
  await lake.setPool('p', { identity: [['a'], ['b', 'c']] });
  await lake.setPool('p', { iceberg: 'lazy' });
  await lake.renamePool('p', 'r');
  expect(events).toEqual(['pool-new', 'pool-new', 'pool-update', 'pool-update', 'pool-update']);
  await lake.close();
  rmSync(tablesFolder(directory), { recursive: true });
  lake = await open();
  expect(lake.pool('r').config).toMatchObject({ identity: [['a'], ['b', 'c']], iceberg: 'lazy' });
  expect(lake.pool('q').config).toMatchObject({ identity: [['id']] });
  await lake.setPool('q', { identity: [] });
  expect(lake.pool('q').config.identity).toBeUndefined();
  await lake.close();
  expect((await tablesOf(directory)).version()).toBe(formatVersion);
});
