/** Some of what `npm run test:bucket` runs whole: laws, endpoints and recorded cases on a lake in a bucket. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHistory, steps } from '../laws/history.ts';
import { differences, lawCases } from '../random/laws.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let client: Client;
beforeAll(async () => {
  process.env['LAKE_TEST_STORE'] = 'memory';
  service = await startService(['-workers', '1']);
  client = clientOf(service.url);
});
afterAll(async () => {
  client.close();
  await service.close();
});

const seed = seedOf(28_001);
test(`random histories keep the laws (seed ${seed})`, async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps(12), async (history) => {
      await runHistory(client, `h${runs++}`, history);
    }),
    { seed, numRuns: 3, endOnFailure: true },
  );
  expect(runs).toBeGreaterThan(0);
});

test('data objects are read from the bucket, and none stays in the folder', async () => {
  const pool = await service.ask('POST', '/pool', { body: '{name:"p"}' });
  expect(pool.status).toBe(200);
  const random = randomOf(seed);
  const rows = Array.from({ length: 5000 }, (_, k) => JSON.stringify({ k, text: random.hex(20) }));
  const loaded = await service.ask('POST', '/pool/p/branch/main', {
    body: rows.join('\n'),
    headers: { 'content-type': 'application/x-ndjson' },
  });
  expect(loaded.status, loaded.body).toBe(200);
  const folder = join(service.directory, 'objects');
  const files = () =>
    existsSync(folder) ? readdirSync(folder, { recursive: true }).filter((name) => String(name).length > 10) : [];
  await expect.poll(files, { timeout: 60_000 }).toEqual([]);
  expect(await service.query('from p | a:=sum(k),b:=sum(len(text))')).toBe('{a:12497500,b:100000}\n');
  expect(files()).toEqual([]);
});

test(`recorded cases answer the same from objects in a bucket (seed ${seed})`, async () => {
  const random = randomOf(seed);
  const cases = lawCases();
  for (let n = 0; n < 40; n++) {
    const picked = random.pick(cases);
    expect(await differences(picked, ['rows of a bucket']), picked.id).toEqual([]);
  }
});
