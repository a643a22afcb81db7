import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { eventBytes } from '../../../src/http/events.ts';
import { eventValue } from '../../../src/http/bodies/records.ts';
import { valueBytes } from '../../../src/http/reply.ts';
import { formatTable } from '../../../src/formats/formats.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { readValues } from '../../support/formats/convert.ts';
import { hostileTexts } from '../../support/hostile-texts.ts';
import { type TestService, startService } from '../../support/service/server.ts';

interface Event {
  readonly event: string;
  readonly data: string;
  readonly id: number;
}
interface Stream {
  readonly events: Event[];
  readonly headers: IncomingMessage['headers'];
  readonly ended: () => boolean;
  readonly until: (count: number) => Promise<Event[]>;
  readonly close: () => void;
}

let service: TestService;
beforeAll(async () => {
  service = await startService(['-events.queue.max', '3', '-events.heartbeat', '50ms', '-name.max', '1MiB']);
});
afterAll(() => service?.close());

const parse = (lines: readonly string[]): Event => {
  const value = (name: string): string =>
    lines
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n');
  return { event: value('event'), data: value('data'), id: Number(value('id')) };
};

const subscribe = (
  path = '/events',
  headers: Readonly<Record<string, string>> = {},
  paused = false,
  base = service.url,
): Promise<Stream & { readonly comments: () => number }> =>
  new Promise((resolve, reject) => {
    const client = httpRequest(base + path, { headers, agent: false }, (response) => {
      const events: Event[] = [];
      const block: string[] = [];
      let rest = '';
      let ended = false;
      let comments = 0;
      response.setEncoding('utf8');
      response.on('close', () => {
        ended = true;
      });
      response.on('error', () => {
        ended = true;
      });
      if (!paused) {
        response.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop()!;
          for (const line of lines) {
            if (line.startsWith(':')) comments++;
            else if (line !== '') block.push(line);
            else events.push(parse(block.splice(0)));
          }
        });
      }
      resolve({
        events,
        headers: response.headers,
        ended: () => ended,
        comments: () => comments,
        close: () => client.destroy(),
        until: async (count) => {
          for (let i = 0; events.length < count; i++) {
            if (i > 500) throw new Error(`${events.length} of ${count} events came`);
            await pause(10);
          }
          return events;
        },
      });
    });
    client.on('error', reject);
    client.end();
  });
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const create = async (name: string): Promise<string> => {
  const { body } = await service.ask('POST', '/pool', {
    headers: { accept: 'application/json' },
    body: `{name:"${name}",layout:{keys:[["a"]]}}`,
  });
  return (JSON.parse(body) as { pool: { id: string } }).pool.id;
};
const commit = async (pool: string, row: string): Promise<string> => {
  const { body } = await service.ask('POST', `/pool/${pool}/branch/main`, {
    headers: { accept: 'application/json' },
    body: row,
  });
  return (JSON.parse(body) as { commit: string }).commit;
};

describe('the events feed', () => {
  test('headers come at once, events in order with growing ids, in the format asked for', async () => {
    const json = await subscribe('/events', { accept: 'application/json' });
    const browser = await subscribe('/events', { accept: 'text/event-stream' });
    // Proxies are told to keep nothing back: nginx by the last one.
    expect([json.headers['content-type'], json.headers['cache-control'], json.headers['x-accel-buffering']]).toEqual([
      'text/event-stream',
      'no-cache',
      'no',
    ]);
    const start = Number(json.headers['last-event-id']);
    const id = await create('e1');
    const tip = await commit('e1', '{a:1}');
    await service.ask('POST', '/pool/e1', { body: `{name:"kid",commit:"${tip}"}` });
    await service.ask('DELETE', '/pool/e1/branch/kid');
    await service.ask('PUT', '/pool/e1', { body: '{name:"e2"}' });
    await service.ask('DELETE', '/pool/e2');
    const events = await json.until(6);
    // The stream says where it begins, so that a client can come back before it has seen an event.
    expect(events[0]!.id).toBe(start + 1);
    expect(events.map(({ event, data }) => [event, JSON.parse(data)])).toEqual([
      ['pool-new', { pool_id: id }],
      ['pool-commit', { commit_id: tip, pool_id: id, branch: 'main', parent: '' }],
      ['branch-update', { pool_id: id, branch: 'kid' }],
      ['branch-delete', { pool_id: id, branch: 'kid' }],
      ['pool-update', { pool_id: id }],
      ['pool-delete', { pool_id: id }],
    ]);
    expect(events.every((e, i) => i === 0 || e.id === events[i - 1]!.id + 1)).toBe(true);
    expect((await browser.until(6))[0]!.data).toBe(`{pool_id:${id}::=KSUID}::=EventPool`);
    json.close();
    browser.close();
  });
  test("the reference's names can be asked for", async () => {
    const stream = await subscribe('/events?names=superdb');
    await create('e3');
    await commit('e3', '{a:1}');
    expect((await stream.until(2)).map((e) => e.event)).toEqual(['pool-new', 'branch-commit']);
    stream.close();
  });
  test('a merge tells what was merged, and with the names of the reference as the reference does', async () => {
    const id = await create('merged');
    const tip = await commit('merged', '{a:1}');
    await service.ask('POST', '/pool/merged', { body: `{name:"kid \\"1\\"",commit:"${tip}"}` });
    await service.ask('POST', '/pool/merged/branch/kid%20%221%22', { body: '{a:2}' });
    const formats = ['application/json', 'application/x-sup'];
    const own = await Promise.all(formats.map((accept) => subscribe('/events', { accept })));
    const theirs = await Promise.all(formats.map((accept) => subscribe('/events?names=superdb', { accept })));
    const merged = await service.ask('POST', '/pool/merged/branch/main/merge/kid%20%221%22', {
      headers: { accept: 'application/json' },
    });
    const commitId = (JSON.parse(merged.body) as { readonly commit: string }).commit;
    const ids = { commit_id: commitId, pool_id: id };
    const first = async (streams: typeof own) => Promise.all(streams.map(async (s) => (await s.until(1))[0]!.data));
    const [json, sup] = await first(own);
    expect(JSON.parse(json!)).toEqual({ ...ids, branch: 'main', parent: 'main', child: 'kid "1"' });
    expect(sup).toContain('branch:"main",parent:"main",child:"kid \\"1\\""}');
    const [asJson, asSup] = await first(theirs);
    expect(JSON.parse(asJson!)).toEqual({ ...ids, branch: 'kid "1"', parent: 'main' });
    expect(asSup).toContain('branch:"kid \\"1\\"",parent:"main"}');
    for (const stream of [...own, ...theirs]) stream.close();
  });
  test('data of several lines is several data lines', async () => {
    const stream = await subscribe('/events', { accept: 'text/csv' });
    const id = await create('e4');
    expect((await stream.until(1))[0]!.data).toBe(`pool_id\n${id}`);
    stream.close();
  });
  test.each(Object.values(formatTable).flatMap((f) => f.mediaTypes.map((type) => [type, f] as const)))(
    '%s holds every event',
    async (type, { name, isBinary }) => {
      const stream = await subscribe('/events', { accept: type });
      const pool = type.replaceAll(/\W/g, '-');
      const reader = name === 'ndjson' ? 'json' : name;
      const id = await create(pool);
      const tip = await commit(pool, '{a:1}');
      await service.ask('DELETE', `/pool/${pool}/branch/main`);
      const rows = await Promise.all(
        (await stream.until(3)).map(async ({ data }) =>
          (await readValues(isBinary ? Buffer.from(data, 'base64') : `${data}\n`, reader)).map((v) => supText(v)),
        ),
      );
      expect(rows.map((r) => r.length)).toEqual([1, 1, 1]);
      // An id is bytes or its text, and in lines the text of a text.
      if (!isBinary)
        expect([rows[0]![0], rows[1]![0]]).toEqual([expect.stringContaining(id), expect.stringContaining(tip)]);
      stream.close();
    },
  );
  test('ids are strings in Zeek', async () => {
    const stream = await subscribe('/events', { accept: 'application/x-zeek' });
    const id = await create('zeek');
    expect((await stream.until(1))[0]!.data.split('\n').slice(-3)).toEqual(['#fields\tpool_id', '#types\tstring', id]);
    stream.close();
  });
  test('without a format asked for, data is in the one that -defaultfmt says', async () => {
    const other = await startService(['-defaultfmt', 'json']);
    try {
      for (const accept of [undefined, '*/*', 'text/event-stream', 'application/x-sup']) {
        const stream = await subscribe('/events', accept === undefined ? {} : { accept }, false, other.url);
        const name = `d${stream.headers['last-event-id'] as string}`;
        await other.ask('POST', '/pool', { body: JSON.stringify({ name }) });
        expect([accept, (await stream.until(1))[0]!.data]).toEqual([
          accept,
          expect.stringMatching(
            accept === 'application/x-sup'
              ? /^\{pool_id:0x\w{40}::=KSUID\}::=EventPool$/
              : /^\{"pool_id":"0x\w{40}"\}$/,
          ),
        ]);
        stream.close();
      }
    } finally {
      await other.close();
    }
  });
  test('binary formats are base64', async () => {
    const stream = await subscribe('/events', { accept: 'application/x-bsup' });
    await create('e6');
    const bytes = Buffer.from((await stream.until(1))[0]!.data, 'base64');
    expect(bytes.at(-1)).toBe(0xff);
    stream.close();
  });
  test('who comes back gets what it missed; ids that are no longer kept are gone', async () => {
    const first = await subscribe();
    await create('e5');
    const { id } = (await first.until(1))[0]!;
    first.close();
    await commit('e5', '{a:1}');
    const second = await subscribe('/events', { 'last-event-id': String(id) });
    expect((await second.until(1))[0]).toMatchObject({ event: 'pool-commit', id: id + 1 });
    second.close();
    expect((await service.ask('GET', '/events', { headers: { 'last-event-id': '999999' } })).status).toBe(410);
  });
  test('comments keep an idle stream alive', async () => {
    const stream = await subscribe();
    await pause(300);
    expect(stream.comments()).toBeGreaterThanOrEqual(2);
    stream.close();
  });
  test('a subscriber that does not read is closed; the others get every event', async () => {
    await create('big');
    const tip = await commit('big', '{a:1}');
    const slow = await subscribe('/events', {}, true);
    const quick = await subscribe();
    const count = 60;
    for (let i = 0; i < count; i++) {
      const { status } = await service.ask('POST', '/pool/big', {
        body: `{name:"${i}-${'n'.repeat(400_000)}",commit:"${tip}"}`,
      });
      expect(status).toBe(200);
    }
    expect(await quick.until(count)).toHaveLength(count);
    const metrics = (await service.ask('GET', '/metrics')).body;
    expect(metrics).toMatch(/^lake_events_subscribers 1$/m);
    slow.close();
    quick.close();
  });
});

test('the JSON of every kind of event is what the writer makes of it, whatever the branch is called', () => {
  for (const kind of [
    'pool-new',
    'pool-update',
    'pool-delete',
    'pool-commit',
    'branch-update',
    'branch-delete',
  ] as const) {
    for (const branch of [
      'main',
      'a b/c:d@e-f.g_1',
      '',
      'say "so"',
      ...hostileTexts.filter((text) => !/[\r\n]/.test(text)),
    ]) {
      const event = {
        id: 7,
        kind,
        poolId: 'ab'.repeat(20),
        branch,
        ...(kind === 'pool-commit' && { commitId: '01'.repeat(20), parent: branch, child: branch }),
      };
      const written = Buffer.from(valueBytes(eventValue(event), 'json'))
        .toString()
        .trimEnd();
      expect(eventBytes(event, { format: 'json', names: 'interface' }).toString()).toBe(
        `event: ${kind}\ndata: ${written}\nid: 7\n\n`,
      );
    }
  }
});
