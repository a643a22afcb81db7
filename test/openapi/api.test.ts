/**
 * The API tester against the real service: it finds no answer that the document lacks, no 5xx, and no bad data that is
 * taken. `npm run test:api` sends more.
 */
import { describe, expect, test } from 'vitest';
import { lacksSchemathesis, testApi } from './tester.ts';

describe.skipIf(lacksSchemathesis())('schemathesis (python3 -m pip install schemathesis)', () => {
  test('finds nothing in a few hundred requests', { timeout: 300_000 }, async () => {
    const seed = Number(process.env['API_SEED'] ?? 20261121);
    const { failures, requests, statuses } = await testApi({ requests: 200, seed, phases: 'fuzzing', examples: 4 });
    expect(failures, `npm run test:api -- -seed ${seed}`).toBe('');
    expect(requests).toBeGreaterThan(200);
    expect(Object.keys(statuses).filter((status) => status.startsWith('5'))).toEqual([]);
    expect(statuses['200']).toBeGreaterThan(40);
  });
});
