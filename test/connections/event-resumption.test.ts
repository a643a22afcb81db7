/**
 * Events over restarts: who comes back with the id of the last one gets the next one, each once, in order; an id that
 * is too old or was never given is told so. Real processes.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { request as httpRequest } from 'node:http';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { openLake } from '../../src/lake/lake.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';

let services: Service[] = [];
let clients: Client[] = [];
afterEach(async () => {
  for (const client of clients) client.close();
  // The last one first: it may work in the folder that the stop of an earlier one removes.
  for (const service of services.reverse()) await service.stop();
  services = [];
  clients = [];
});
const start = async (lake?: string): Promise<readonly [Service, Client]> => {
  const service = await startBuiltService(lake === undefined ? {} : { lake });
  const client = clientOf(service.address);
  services.push(service);
  clients.push(client);
  return [service, client];
};
/** Status and body of a subscription that is refused. */
const refusal = (address: string, lastEventId: string): Promise<readonly [number, string]> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${address}/events`,
      { agent: false, headers: { accept: 'application/json', 'last-event-id': lastEventId } },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('end', () => {
          resolve([response.statusCode!, body === '' ? '' : (JSON.parse(body) as { error: string }).error]);
        });
      },
    );
    sent.on('error', reject);
    sent.end();
  });

describe('Last-Event-ID', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`over a ${signal} in the middle of commits: no gap, nothing twice`, async () => {
      const [first, client] = await start();
      await client.createPool('p');
      const before = await client.events();
      const acknowledged = new Set<string>();
      let stopping = false;
      const writers = Promise.all(
        Array.from({ length: 4 }, async (_, writer) => {
          for (let i = 0; !stopping; i++) {
            const commit = await client.load('p', [{ k: i, writer }]).catch(() => undefined);
            if (commit === undefined) return;
            acknowledged.add(commit);
          }
        }),
      );
      await before.until(12);
      await first.end(signal);
      stopping = true;
      await writers;
      const seen = [...before.seen];
      const [again, later] = await start(first.lake);
      const after = await later.events({ lastEventId: seen.at(-1)!.id });
      // One more, so that it is known when all have come.
      const last = await later.load('p', [{ k: -1 }]);
      for (let count = 1; !after.seen.some(({ data }) => data.commit_id === last); count++) await after.until(count);
      const all = [...seen, ...after.seen];
      const log = await later.query<{ id: string }>('from p:log | has(message)');
      expect(all.every((event, i) => i === 0 || event.id > all[i - 1]!.id)).toBe(true);
      expect(all.map(({ data }) => data.commit_id)).toEqual(log.map(({ id }) => id).reverse());
      expect([...acknowledged].filter((commit) => !all.some(({ data }) => data.commit_id === commit))).toEqual([]);
      after.close();
      expect(await again.end()).toBe(0);
    });
  }

  test('an id that is no longer kept is gone, also after a restart; so is one that was never given; others are no ids', async () => {
    const [first, client] = await start();
    await client.createPool('p');
    await client.load('p', [{ k: 1 }]);
    await first.end();
    // The same lake, which keeps three events for once.
    const lake = await openLake({ directory: first.lake, objects: openObjects(first.lake), eventsKeptMax: 3 });
    for (const name of ['a', 'b', 'c', 'd']) await lake.createPool({ name });
    const newest = lake.lastEventId();
    await lake.close();
    const [again, later] = await start(first.lake);
    expect(await refusal(again.address, '1')).toEqual([
      410,
      `events after 1 are no longer available: the latest is ${newest}`,
    ]);
    expect(await refusal(again.address, String(newest + 5))).toEqual([
      410,
      `events after ${newest + 5} are no longer available: the latest is ${newest}`,
    ]);
    for (const id of ['x', '-1', '1.5', '1e3', '9999999999999999'])
      expect(await refusal(again.address, id)).toEqual([400, `invalid Last-Event-ID ${id}`]);
    const kept = await later.events({ lastEventId: newest - 3 });
    expect((await kept.until(3)).map(({ id, kind }) => [id, kind])).toEqual(
      [newest - 2, newest - 1, newest].map((id) => [id, 'pool-new']),
    );
    kept.close();
  });
});
