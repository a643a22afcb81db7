/** Laws of the lake under random histories (history.ts); `npm run campaign -- laws` runs many. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from 'fast-check';
import { type Client, clientOf } from '../support/service/client.ts';
import { seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { runHistory, steps } from './history.ts';

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startService();
  client = clientOf(service.url);
});
afterAll(async () => {
  client.close();
  await service.close();
});

const seed = seedOf(20_001);
test(`random histories keep the laws (seed ${seed})`, {
  timeout: 300_000 + 20_000 * Number(process.env['HISTORIES'] ?? 0),
}, async () => {
  let runs = 0;
  let commits = 0;
  await fc.assert(
    fc.asyncProperty(steps(24), async (history) => {
      commits += (await runHistory(client, `h${runs++}`, history)).commits;
    }),
    { seed, numRuns: Number(process.env['HISTORIES'] ?? 12), endOnFailure: process.env['SHRINK'] === undefined },
  );
  expect({ runs: runs > 0, commits: commits > 0 }).toEqual({ runs: true, commits: true });
});
