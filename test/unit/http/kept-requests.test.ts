/** What is known of a load or query that ended does not hold on to its request: the body and the connection go with it. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService } from '../../support/service/server.ts';

let service: TestService;
let collect: () => void;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  await service.ask('POST', '/pool', {
    headers: { 'content-type': 'application/json' },
    body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}',
  });
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
});
afterAll(() => service.close());

const count = 30;
/** How many of some requests are still held when all of them were answered. */
const held = async (send: (n: number) => Promise<{ readonly status: number }>): Promise<number> => {
  const requests: WeakRef<object>[] = [];
  const note = (request: object): void => {
    requests.push(new WeakRef(request));
  };
  service.app.server.on('request', note);
  for (let n = 0; n < count; n++) expect((await send(n)).status).toBe(200);
  service.app.server.off('request', note);
  expect(requests.length).toBe(count);
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    collect();
  }
  return requests.filter((one) => one.deref() !== undefined).length;
};
/** Of the newest a connection knows, and the timers of what was just answered. */
const newestMax = 5;

test.each([
  ['a small load', '/pool/p/branch/main', 'application/json', (n: number) => `{"k":${n}}`],
  [
    'a load of a worker',
    '/pool/p/branch/main',
    'application/json',
    (n: number) => Array.from({ length: 500 }, (_, k) => `{"k":${n * 500 + k}}`).join('\n'),
  ],
  ['a body of a shipper', '/_bulk', 'application/x-ndjson', (n: number) => `{"create":{"_index":"b"}}\n{"k":${n}}\n`],
  ['a query', '/query', 'application/json', (n: number) => `{"query":"values ${n}"}`],
])('%s', async (_, path, type, body) => {
  const headers = { 'content-type': type, accept: 'application/json' };
  expect(await held((n) => service.ask('POST', path, { headers, body: body(n) }))).toBeLessThanOrEqual(newestMax);
});
