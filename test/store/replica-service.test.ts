/** A writer and its replica, as users start them: a write is read at the other service, and only there not written. */
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { type BucketServices, startBucketServices } from '../support/store/services.ts';
import type { Service } from '../support/service/built.ts';
import { runProgram } from '../support/service/lake-command.ts';

let bucket: BucketServices;
let writer: Service;
let replica: Service;
beforeAll(async () => {
  bucket = await startBucketServices();
  writer = await bucket.start('-store', 's3://lakes/a');
  const made = await ask(writer, '/pool', {
    body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]},"iceberg":"lazy"}',
  });
  expect(made.status, made.text).toBe(200);
  replica = await bucket.start('-follow', 's3://lakes/a', '-follow.url', writer.address, '-after.wait', '30s');
}, 120_000);
afterAll(() => bucket.close());

interface Asked {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}
const ask = async ({ address }: Service, path: string, { body, headers, method }: Asked = {}) => {
  const answer = await fetch(`${address}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    ...(body !== undefined && { body }),
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  return { status: answer.status, text: await answer.text(), event: answer.headers.get('lake-event') };
};
const load = (service: Service, body: string) => ask(service, '/pool/p/branch/main', { body });
const query = (service: Service, text: string, headers: Readonly<Record<string, string>> = {}) =>
  ask(service, '/query', {
    body: JSON.stringify({ query: text }),
    headers: { accept: 'application/x-ndjson', ...headers },
  });

test('what was written is read at the replica by the event of the answer', async () => {
  let last = 0;
  for (let k = 1; k <= 10; k++) {
    const { status, event } = await load(writer, `{"k":${k}}`);
    expect(status).toBe(200);
    expect(Number(event)).toBeGreaterThan(last);
    last = Number(event);
    const { text, event: known } = await query(replica, 'from p | count()', { 'lake-after': event! });
    expect(text).toBe(`${k}\n`);
    expect(Number(known)).toBeGreaterThanOrEqual(last);
  }
  const lake = connect(writer.address);
  const copy = connect(replica.address, { after: () => lake.lastEvent });
  for (let k = 11; k <= 15; k++) {
    await lake.pool('p').branch('main').insert([{ k }]);
    expect(await copy.query('from p | count()').all()).toEqual([BigInt(k)]);
  }
  const long = Array.from({ length: 20_000 }, (_, i) => `{"k":${i},"text":"${'x'.repeat(i % 50)}"}`).join('\n');
  const { event } = await load(writer, long);
  const { text } = await query(replica, 'from p | where has(text) | count()', { 'lake-after': event! });
  expect(text).toBe('20000\n');
}, 120_000);

test('writes are refused by the name of the writer', async () => {
  // The port that it got, not the 0 that it was started with.
  const { host } = new URL(writer.address);
  const refusal = new RegExp(
    `^this service is a replica of s3://lakes/a and takes no writes: .*, ${host.replaceAll('.', '\\.')} is the writer$`,
  );
  const asked: [string, Asked][] = [
    ['/pool', { body: '{"name":"q"}' }],
    ['/pool/p/branch/main', { body: '{"k":1}' }],
    ['/pool/p/branch/main/delete', { body: '{"where":"k > 5"}' }],
    ['/query', { body: '{"query":"create view v as from p"}' }],
    ['/pool/p', { method: 'DELETE' }],
  ];
  for (const [path, each] of asked) {
    const { status, text } = await ask(replica, path, each);
    expect([path, status, (JSON.parse(text) as { error: string }).error]).toEqual([
      path,
      421,
      expect.stringMatching(refusal),
    ]);
  }
});

test('an event that does not come is a 504, a number that is none a 400', async () => {
  const late = await ask(writer, '/pool/p/stats', { headers: { 'lake-after': '0' } });
  expect(late.status).toBe(200);
  expect((await ask(replica, '/pool/p/stats', { headers: { 'lake-after': 'x' } })).text).toContain(
    'invalid Lake-After x: expected the number of an event',
  );
  const short = await bucket.start('-follow', 's3://lakes/a', '-after.wait', '50ms');
  const { status, text, event } = await ask(short, '/pool/p/stats', { headers: { 'lake-after': '999999' } });
  expect([status, text]).toEqual([
    504,
    expect.stringMatching(/Lake-After 999999: the lake is at event \d+ after 0.05 s/),
  ]);
  expect(event).toMatch(/^\d+$/);
  await short.end('SIGKILL');
}, 60_000);

test('readiness, metrics, events and Iceberg tables', async () => {
  expect((await ask(replica, '/ready')).text).toMatch(
    /^ready; a replica of s3:\/\/lakes\/a, at segment \d+, which was all \d+\.\d s ago; .* is the writer$/,
  );
  const metrics = (await ask(replica, '/metrics')).text;
  expect(metrics).toMatch(/^lake_store_state\{state="following"\} 1$/m);
  expect(metrics.match(/^lake_store_state\{state="\w+"\} 0$/gm)).toHaveLength(6);
  expect(metrics).toMatch(/^lake_follow_segment \d+$/m);
  expect(metrics).toMatch(/^lake_follow_behind_seconds \d/m);
  expect(metrics).toMatch(/^lake_follow_failing 0$/m);
  expect(metrics).toMatch(/^lake_store_requests_total \d/m);

  const ending = new AbortController();
  const events = await fetch(`${replica.address}/events`, {
    headers: { accept: 'text/event-stream' },
    signal: ending.signal,
  });
  const { event } = await load(writer, '{"k":77}');
  let read = '';
  for await (const chunk of events.body!) {
    read += Buffer.from(chunk).toString();
    if (read.includes(`id: ${event}\n`)) break;
  }
  ending.abort();

  const table = async (service: Service): Promise<Record<string, unknown>> => {
    for (;;) {
      const { status, text } = await ask(service, '/iceberg/v1/lake/namespaces/lake/tables/p');
      if (status === 200) return JSON.parse(text) as Record<string, unknown>;
      expect(status, text).toBe(503);
      await later(100);
    }
  };
  const uuid = (answer: Record<string, unknown>) => (answer['metadata'] as Record<string, unknown>)['table-uuid'];
  expect(uuid(await table(replica))).toBe(uuid(await table(writer)));
}, 60_000);

test('a replica does not begin what it is no part of', async () => {
  const refused = await runProgram(['serve', '-follow', 's3://lakes/a', '-store', 's3://lakes/a']);
  expect(refused.complaint).toContain('-follow does not go with -store: a replica writes to no bucket');
  const heard = await runProgram(['serve', '-follow', 's3://lakes/a', '-syslog', '127.0.0.1:0']);
  expect(heard.complaint).toContain('-follow does not go with -syslog: a replica takes no records');
  const polled = await runProgram(['serve', '-follow', 's3://lakes/a', '-follow.poll', '1ms']);
  expect(polled.complaint).toContain('bad value for -follow.poll: 1 ms, at least 10 ms');
});
