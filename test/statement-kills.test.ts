/** MERGE INTO and bulk requests by id, in a service that is killed in their commit: all of one is there, or nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Service, startBuiltService } from './support/service/built.ts';
import { clientOf } from './support/service/client.ts';

const started = async (lake: string, killAt?: string): Promise<Service> => {
  if (killAt === undefined) return startBuiltService({ lake, flags: ['-workers', '1'] });
  process.env['LAKE_KILL_AT'] = killAt;
  try {
    return await startBuiltService({ lake, flags: ['-workers', '1'] });
  } finally {
    delete process.env['LAKE_KILL_AT'];
  }
};
const rowsOf = async (service: Service): Promise<readonly unknown[]> => {
  const client = clientOf(service.address, 1);
  try {
    return await client.query('from p | sort id');
  } finally {
    client.close();
  }
};

const before = [
  { id: 'a', n: 1 },
  { id: 'b', n: 2 },
];
const after = [
  { id: 'a', n: 10 },
  { id: 'c', n: 3 },
];
const merge =
  "MERGE INTO p USING (VALUES ('a', 10), ('b', 0), ('c', 3)) v(id, n) ON p.id = v.id WHEN MATCHED AND v.n = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n)";
const bulk = [
  { update: { _id: 'a' } },
  { doc: { n: 10 } },
  { delete: { _id: 'b' } },
  { index: { _id: 'c' } },
  { n: 3 },
];
const requests = {
  'MERGE INTO': ['/query', 'application/json', JSON.stringify({ query: merge })],
  'a bulk request': ['/p/_bulk', 'application/x-ndjson', bulk.map((line) => `${JSON.stringify(line)}\n`).join('')],
} as const;

test.each(Object.entries(requests))('%s', { timeout: 180_000 }, async (_, [path, type, body]) => {
  const lake = mkdtempSync(join(tmpdir(), 'lake-statement-kills-'));
  onTestFinished(() => {
    rmSync(lake, { recursive: true });
  });
  const first = await started(lake);
  const client = clientOf(first.address, 1);
  await client.json('POST', '/pool', { name: 'p', layout: { keys: [['id']] }, identity: [['id']] });
  await client.load('p', before);
  client.close();
  await first.end();
  for (const [killAt, expected] of [
    ['transaction: asked', before],
    ['log: written', after],
  ] as const) {
    const service = await started(lake, killAt);
    const sender = clientOf(service.address, 1);
    // The answer never comes.
    await expect(sender.ask('POST', path, { headers: { 'content-type': type }, body })).rejects.toThrow();
    sender.close();
    expect([killAt, await service.ended]).toEqual([killAt, 'SIGKILL']);
    const again = await started(lake);
    expect([killAt, await rowsOf(again)]).toEqual([killAt, expected]);
    await again.end();
  }
});
