/**
 * What is cancelled stops, whatever it is doing: a worker that has been at one query or load for some time answers
 * another one soon after that was given up. One worker thread, so that the next query has nowhere else to go, and no
 * thread may be lost.
 */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startBuiltService } from './support/service/built.ts';
import { busy, busyFlags, loadBusyPools, untilNext } from './support/service/busy-queries.ts';
import { type Client, clientOf } from './support/service/client.ts';
import { ms, printFigures } from './support/figures.ts';

let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService({ flags: busyFlags });
  client = clientOf(service.address);
  await loadBusyPools(client);
});
afterAll(async () => {
  client?.close();
  await service?.stop();
});

/** A thread that does not stop is ended after ten seconds, with all that it does. */
const soonMsMax = 8000;
const beforeMs = Number(process.env['CANCEL_AFTER'] ?? 150);
const pause = (forMs: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, forMs);
  });

describe('a query that is cancelled', () => {
  const figures: Record<string, string> = {};
  for (const [what, how] of Object.entries(busy)) {
    test(`${what}: the next one has its turn`, async () => {
      const took = await untilNext(client, how, beforeMs);
      figures[what] = took === undefined ? 'ended before' : ms(took);
      if (process.env['CANCEL_VERBOSE']) printFigures(what, { took: figures[what]! });
      expect({ what, took: took ?? 0 }).toEqual({
        what,
        took: expect.toSatisfy((n: number) => n < soonMsMax) as unknown,
      });
    });
  }
  afterAll(() => {
    printFigures('next query after a cancelled one', figures);
  });
});

describe('a load whose client goes away', () => {
  const bodies: Readonly<Record<string, readonly [type: string, body: () => string]>> = {
    'one long list': ['application/json', () => `{"k":1,"a":[${'1,2,3,4,'.repeat(2_500_000)}1]}`],
    'one long list of records in SUP': [
      'application/x-sup',
      () => `{k:1,a:[${'{a:1,b:"x"},'.repeat(1_200_000)}{a:1,b:"y"}]}`,
    ],
    'many rows': ['application/json', () => '{"k":1,"s":"some text"}\n'.repeat(600_000)],
  };
  for (const [what, [type, body]] of Object.entries(bodies)) {
    test(`${what}: the next query has its turn, and nothing is committed`, async () => {
      const tip = await client.tip('p');
      const sent = httpRequest(`${service.address}/pool/p/branch/main`, {
        method: 'POST',
        agent: false,
        headers: { 'content-type': type },
      });
      sent.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        sent.end(body(), resolve);
      });
      await pause(beforeMs / 3);
      sent.destroy();
      const began = performance.now();
      expect(await client.query('values 1')).toEqual([1]);
      const took = performance.now() - began;
      printFigures(`next query after a load that was given up, ${what}`, { took: ms(took) });
      expect(took).toBeLessThan(soonMsMax);
      expect(await client.tip('p')).toBe(tip);
    });
  }
});

test('no thread was lost', async () => {
  expect((await client.ask('GET', '/metrics')).body).toMatch(/^lake_workers_replaced_total(_total)? 0$/m);
});
