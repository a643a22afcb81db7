/**
 * Many clients at once on one branch, and queries that stream while everything changes under them (promises P3 to P5,
 * mistake 3 of the reference).
 */
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startBuiltService } from './support/service/built.ts';
import { type Client, clientOf, jsonType, logOf } from './support/service/client.ts';
import { ms, printFigures } from './support/figures.ts';
import { randomOf, seedOf } from './support/random.ts';

let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService();
  client = clientOf(service.address, 128);
});
afterAll(async () => {
  client?.close();
  await service?.stop();
});

const crowd = (clients: number, each: (index: number) => Promise<void>): Promise<void[]> =>
  Promise.all(Array.from({ length: clients }, (_, index) => each(index)));
const countOf = async (pool: string): Promise<number> =>
  (await client.query<{ n: number }>(`from ${pool} | aggregate n:=count()`))[0]!.n;

const each = Number(process.env['COMMITS_EACH'] ?? 20);
test(`64 clients x ${each} commits on one branch: none fails, none is lost, events come in the order of the log`, async () => {
  const pool = await client.createPool('crowd');
  const events = await client.events();
  const commits: string[] = [];
  const began = performance.now();
  await crowd(64, async (index) => {
    for (let i = 0; i < each; i++) commits.push(await client.load('crowd', [{ k: index * each + i, client: index }]));
  });
  const took = performance.now() - began;
  const told = await events.until(64 * each);
  const log = (await logOf(client, 'crowd')).filter((commit) => commit.id !== undefined).reverse();
  expect(log.map((commit) => commit.id)).toEqual(told.map((event) => event.data.commit_id));
  expect(log.map((commit) => commit.parent)).toEqual([
    `0x${'0'.repeat(40)}`,
    ...log.slice(0, -1).map((commit) => commit.id),
  ]);
  expect(log.map((commit) => commit.id).sort()).toEqual(commits.sort());
  expect(new Set(told.map(({ kind, data }) => `${kind} ${data.pool_id} ${data.branch}`))).toEqual(
    new Set([`pool-commit ${pool} main`]),
  );
  expect(told.every((event, i) => i === 0 || event.id === told[i - 1]!.id + 1)).toBe(true);
  expect((await client.query<{ k: number }>('from crowd | values {k}')).map(({ k }) => k)).toEqual(
    Array.from({ length: 64 * each }, (_, k) => k),
  );
  // Who comes later gets the same from the ids.
  const later = await client.events({ lastEventId: told[0]!.id });
  expect(await later.until(64 * each - 1)).toEqual(told.slice(1));
  events.close();
  later.close();
  printFigures('crowd', { commits: 64 * each, 'each commit': ms(took / (64 * each)) });
});

/** A query whose client reads nothing until it is told to. */
interface SlowQuery {
  readonly rest: () => Promise<{ readonly rows: readonly { readonly k: number }[]; readonly whole: boolean }>;
  readonly received: () => number;
}
const slowQuery = (text: string): Promise<SlowQuery> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      `${service.address}/query`,
      { method: 'POST', agent: false, headers: { ...jsonType, accept: 'application/x-ndjson' } },
      (response: IncomingMessage) => {
        let length = 0;
        resolve({
          received: () => length,
          rest: () =>
            new Promise((done) => {
              const chunks: Buffer[] = [];
              const end = (whole: boolean): void =>
                done({
                  whole,
                  rows: Buffer.concat(chunks)
                    .toString()
                    .split('\n')
                    .filter((line) => line.endsWith('}'))
                    .map((line) => JSON.parse(line) as { k: number }),
                });
              response.on('data', (chunk: Buffer) => {
                chunks.push(chunk);
                length += chunk.length;
              });
              response.on('end', () => end(true));
              response.on('error', () => end(false));
            }),
        });
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify({ query: text }));
  });

describe('while queries stream', () => {
  const rows = 60_000;
  test('commits, deletes, a merge, vacuum and the end of the pool change nothing of what they deliver', async () => {
    const random = randomOf(1);
    const texts = Array.from({ length: 64 }, () => random.hex(200));
    await client.json('POST', '/pool', { name: 'stream', layout: { order: 'asc', keys: [['k']] }, thresh: 1_000_000 });
    const row = (k: number) => ({ k, text: texts[k % 64] });
    for (let part = 0; part < 4; part++)
      await client.load(
        'stream',
        Array.from({ length: rows / 4 }, (_, i) => row(i * 4 + part)),
      );
    const first = await client.tip('stream');
    await client.json('POST', '/pool/stream', { name: 'kid', commit: first });
    // Each of them is some 14 MB, more than all buffers on the way hold.
    const whole = await slowQuery('from stream');
    const past = await slowQuery(`from stream@${first}`);
    const kid = await slowQuery('from stream@kid');
    await client.load('stream', [row(rows)]);
    const longer = await slowQuery('from stream');

    await crowd(8, async (index) => {
      for (let i = 0; i < 5; i++) await client.load('stream', [row(rows + 1 + index * 5 + i)]);
    });
    for (const branch of ['main', 'kid'])
      await client.json('POST', `/pool/stream/branch/${branch}/delete`, { where: `k < ${rows / 2}` });
    await client.json('POST', '/pool/stream/branch/main/delete', { where: 'k % 2 == 1' });
    await client.json('DELETE', '/pool/stream/branch/kid');
    // All that is held by queries alone stays: the first objects, and nothing else was ever in a tip that is gone.
    const held = await client.json<{ object_ids: string[] }>('POST', '/pool/stream/revision/main/vacuum?dryrun=T');
    expect(await client.json('POST', '/pool/stream/revision/main/vacuum')).toEqual(held);

    expect((await client.ask('GET', '/metrics')).body).toMatch(/^lake_queries_running 4$/m);
    const all = Array.from({ length: rows }, (_, k) => k);
    expect(whole.received() + past.received() + kid.received() + longer.received()).toBe(0);
    for (const [query, keys] of [
      [whole, all],
      [past, all],
      [kid, all],
      [longer, [...all, rows]],
    ] as const) {
      const got = await query.rest();
      expect(got.whole).toBe(true);
      expect(got.rows.map(({ k }) => k)).toEqual(keys);
    }
    // Nothing holds them any more: the dry run lists exactly what the real run removes.
    const dry = await client.json<{ object_ids: string[] }>('POST', '/pool/stream/revision/main/vacuum?dryrun=T');
    expect(dry.object_ids.length).toBeGreaterThan(4);
    expect(await client.json('POST', '/pool/stream/revision/main/vacuum')).toEqual(dry);
    expect(
      (await client.json<{ object_ids: string[] }>('POST', '/pool/stream/revision/main/vacuum')).object_ids,
    ).toEqual([]);
    const kept = Array.from({ length: rows + 41 }, (_, k) => k).filter((k) => k >= rows / 2 && k % 2 === 0);
    expect((await client.query<{ k: number }>('from stream | values {k}')).map(({ k }) => k)).toEqual(kept);
    const gone = await client.ask('POST', '/query', {
      headers: jsonType,
      body: JSON.stringify({ query: `from stream@${first} | count()` }),
    });
    expect({ status: gone.status, kind: (JSON.parse(gone.body) as { kind: string }).kind }).toEqual({
      status: 410,
      kind: 'gone',
    });

    const last = await slowQuery('from stream');
    await client.json('DELETE', '/pool/stream');
    expect((await last.rest()).rows.map(({ k }) => k)).toEqual(kept);
  });
});

test('appends, deletes by filter, compaction, vacuum, branches and merges at once: each query sees whole commits, and no row is lost', async () => {
  const seed = seedOf(11);
  const random = randomOf(seed);
  await client.createPool('mixed');
  await client.load('mixed', [{ k: -1, batch: 'first' }]);
  const group = 5;
  const batches = 40;
  const writers = 8;
  const deleted = new Set<string>();
  const loaded = new Set<string>(['first']);
  let writing = writers;
  let queries = 0;
  let compactions = 0;
  let merges = 0;
  let vacuumed = 0;
  const objects = (): Promise<readonly { id: string }[]> => client.query<{ id: string }>('from mixed:objects');
  const writer = async (index: number): Promise<void> => {
    for (let i = 0; i < batches; i++) {
      const batch = `${index}-${i}`;
      await client.load(
        'mixed',
        Array.from({ length: group }, (_, part) => ({ k: random.below(1000), batch, part })),
      );
      loaded.add(batch);
    }
    writing--;
  };
  const reader = async (): Promise<void> => {
    while (writing > 0) {
      queries++;
      const rows = await client.query<{ n: number | null }>(
        "fork (from mixed | where batch != 'first' | aggregate n:=count()) (from mixed | where batch != 'first' | count() by batch | aggregate n:=sum(count)) | values {n}",
      );
      const [n = 0, other = 0] = rows.map((row) => row.n ?? 0);
      if (n !== other || n % group !== 0) throw new Error(`a query saw ${n} rows and ${other}`);
    }
  };
  const deleter = async (): Promise<void> => {
    while (writing > 0) {
      const batch = random.pick([...loaded]);
      if (batch === 'first' || deleted.has(batch)) await client.query('from mixed | count()');
      else {
        await client.json('POST', '/pool/mixed/branch/main/delete', { where: `batch=='${batch}'` });
        deleted.add(batch);
      }
    }
  };
  const packer = async (): Promise<void> => {
    while (writing > 0) {
      const some = (await objects()).slice(0, 6).map((o) => o.id);
      const answer = await client.ask('POST', '/pool/mixed/branch/main/compact', {
        headers: { 'content-type': 'application/x-sup' },
        body: `{object_ids:[${some.join(',')}]}`,
      });
      // Another one may have rewritten an object in the meantime: that is told, and nothing is lost.
      if (answer.status === 200) compactions++;
      else expect([400, 404, 409]).toContain(answer.status);
      vacuumed += (await client.json<{ object_ids: string[] }>('POST', '/pool/mixed/revision/main/vacuum')).object_ids
        .length;
    }
  };
  const merger = async (): Promise<void> => {
    for (let i = 0; writing > 0; i++) {
      await client.json('POST', '/pool/mixed', { name: `b${i}`, commit: await client.tip('mixed') });
      await client.load(
        'mixed',
        [...Array(group).keys()].map((part) => ({ k: part, batch: `b${i}`, part })),
        `b${i}`,
      );
      await client.json('POST', `/pool/mixed/branch/main/merge/b${i}`);
      await client.json('DELETE', `/pool/mixed/branch/b${i}`);
      loaded.add(`b${i}`);
      merges++;
    }
  };
  const began = performance.now();
  await Promise.all([crowd(writers, writer), reader(), reader(), deleter(), packer(), merger()]);
  const counts = await client.query<{ batch: string; count: number }>('from mixed | count() by batch');
  const found = Object.fromEntries(counts.map(({ batch, count }) => [batch, count]));
  expect(found).toEqual(
    Object.fromEntries(
      [...loaded].filter((batch) => !deleted.has(batch)).map((batch) => [batch, batch === 'first' ? 1 : group]),
    ),
  );
  expect(await countOf('mixed')).toBe((loaded.size - 1 - deleted.size) * group + 1);
  printFigures('mixed', {
    seed,
    took: ms(performance.now() - began),
    loads: writers * batches,
    deletes: deleted.size,
    compactions,
    merges,
    'objects vacuumed': vacuumed,
    queries,
  });
});

test('queries that need much each get their answers one after the other, instead of being refused for the others', async () => {
  const { address, stop } = await startBuiltService({ flags: ['-memory', '64MiB'] });
  const ours = clientOf(address, 40);
  try {
    await ours.createPool('much');
    await ours.load(
      'much',
      Array.from({ length: 20_000 }, (_, k) => ({ k, s: `abcdefghij${(k * 7919) % 20_000}`.repeat(3) })),
    );
    const texts = [
      'from much | values [s,s,s,s] | distinct this | n:=count()',
      'from much | n:=count() by s | n:=count()',
      'from much | u:=union(s) | values {n:len(u)}',
      'from much | sort s desc | n:=count()',
    ];
    for (const text of texts) expect(await ours.query(text), text).toEqual([{ n: 20_000 }]);
    const answers = await Promise.all(
      Array.from({ length: 16 }, async (_, i) =>
        ours.query(texts[i % texts.length]!).catch((error: Error) => error.message),
      ),
    );
    expect(answers).toEqual(answers.map(() => [{ n: 20_000 }]));
  } finally {
    ours.close();
    await stop();
  }
});

test('sorts at once, each of more than its share of memory, put their rows aside instead of being refused', async () => {
  const { address, stop } = await startBuiltService({ flags: ['-memory', '64MiB'] });
  const ours = clientOf(address, 40);
  const random = randomOf(seedOf(13));
  try {
    await ours.createPool('sorts');
    const rows = 250_000;
    const body = Array.from({ length: rows }, (_, k) => `{"k":${k},"g":${k % 1000},"h":"${random.hex(16)}"}\n`).join(
      '',
    );
    expect((await ours.ask('POST', '/pool/sorts/branch/main', { headers: jsonType, body })).status).toBe(200);
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () =>
        ours.query('from sorts | sort h | n:=count()').catch((error: Error) => error.message),
      ),
    );
    expect(answers).toEqual(answers.map(() => [{ n: rows }]));
  } finally {
    ours.close();
    await stop();
  }
});
