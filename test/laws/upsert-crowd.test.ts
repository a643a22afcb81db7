/**
 * 64 clients upsert the same 1,000 keys at once: what is there in the end, and at each commit, is what the upserts come
 * to one after the other, in the order in which the stream of events tells of their commits. Each leaves out and takes
 * away some keys of its own, so that no other order comes to the same. `UPSERTS=20` of each client are more.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, clientOf } from '../support/service/client.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

const clients = 64;
const keys = 1000;
const upserts = Number(process.env['UPSERTS'] ?? 1);
const seed = seedOf(29_641);

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  client = clientOf(service.url, clients + 1);
});
afterAll(async () => {
  client.close();
  await service.close();
});

/** A key's version; absent: the key goes. */
type Change = ReadonlyMap<number, number | undefined>;
const changeOf = (number: number): Change => {
  const random = randomOf(seed + number);
  const change = new Map<number, number | undefined>();
  for (let id = 0; id < keys; id++) {
    const kind = random.below(20);
    if (kind > 0) change.set(id, kind === 1 ? undefined : number);
  }
  return change;
};
const bodyOf = (change: Change): string =>
  [...change].map(([id, by]) => (by === undefined ? `{"id":${id},"gone":true}` : `{"id":${id},"by":${by}}`)).join('\n');

test(`64 clients upsert the same keys in the order of the events (seed ${seed})`, { timeout: 600_000 }, async () => {
  await client.json('POST', '/pool', { name: 'crowd', layout: { keys: [['id']] }, identity: [['id']] });
  const events = await client.events();
  const changes = new Map<string, Change>();
  const send = async (number: number): Promise<void> => {
    const change = changeOf(number);
    const path = '/pool/crowd/branch/main?upsert=T&delete=gone';
    const { status, body } = await client.ask('POST', path, {
      headers: { 'content-type': 'application/x-ndjson' },
      body: bodyOf(change),
    });
    expect([status, status === 200 ? '' : body]).toEqual([200, '']);
    changes.set((JSON.parse(body) as { readonly commit: string }).commit, change);
  };
  await Promise.all(
    Array.from({ length: clients }, async (_, n) => {
      for (let round = 0; round < upserts; round++) await send(round * clients + n + 1);
    }),
  );
  const order = (await events.until(clients * upserts)).map(({ kind, data }) => {
    expect([kind, data.branch]).toEqual(['pool-commit', 'main']);
    return data.commit_id!;
  });
  events.close();
  expect(new Set(order)).toEqual(new Set(changes.keys()));
  const looked = randomOf(seed);
  const model = new Map<number, number>();
  for (const [n, commit] of order.entries()) {
    for (const [id, by] of changes.get(commit)!)
      if (by === undefined) model.delete(id);
      else model.set(id, by);
    if (n < order.length - 1 && looked.below(8) > 0) continue;
    const rows = await client.query<{ readonly id: number; readonly by: number }>(`from crowd@${commit}`);
    expect(rows.map(({ id, by }) => [id, by])).toEqual([...model].sort(([a], [b]) => a - b));
  }
  expect(await client.tip('crowd')).toBe(order.at(-1));
});
