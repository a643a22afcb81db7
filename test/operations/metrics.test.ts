/**
 * /metrics: the text is what Prometheus reads, names and units are by its conventions, and the figures tell what
 * happened.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metricRows } from '../../src/http/metrics.ts';
import { startService, type TestService } from '../support/service/server.ts';

interface Family {
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const unescaped = (text: string): string => text.replace(/\\([\\n"])/g, (_whole, c: string) => (c === 'n' ? '\n' : c));

const labelsOf = (text: string): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {};
  const pair = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y;
  for (let at = 0; at < text.length; at = pair.lastIndex) {
    pair.lastIndex = at;
    const found = pair.exec(text);
    if (!found) throw new Error(`labels: ${text}`);
    expect(found[1]).toMatch(labelName);
    expect(labels).not.toHaveProperty([found[1]!]);
    labels[found[1]!] = unescaped(found[2]!);
  }
  return labels;
};
const numberOf = (text: string): number => {
  if (text === '+Inf') return Infinity;
  if (!/^(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|N[aA]N|Nan|-Inf)$/.test(text)) throw new Error(`no number: ${text}`);
  return Number(text);
};

/** Reads the text format 0.0.4; every deviation throws. */
const parse = (text: string): ReadonlyMap<string, Family> => {
  const families = new Map<string, { help: string; type: string; samples: Sample[] }>();
  const series = new Set<string>();
  let current: { help: string; type: string; samples: Sample[] } | undefined;
  let name = '';
  if (!text.endsWith('\n')) throw new Error('no newline at the end');
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment) {
      const [, kind, of = '', rest = ''] = comment;
      if (kind === 'HELP') {
        if (families.has(of)) throw new Error(`${of} comes twice`);
        expect(of).toMatch(metricName);
        families.set(of, (current = { help: rest, type: '', samples: [] }));
        name = of;
      } else {
        if (!current || of !== name || current.type !== '' || current.samples.length > 0)
          throw new Error(`TYPE out of place: ${line}`);
        expect(['counter', 'gauge', 'histogram', 'summary']).toContain(rest);
        current.type = rest;
      }
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!sample || !current) throw new Error(`no sample: ${line}`);
    const [, of = '', labels = '', value = ''] = sample;
    const suffix =
      current.type === 'histogram'
        ? ['_bucket', '_sum', '_count']
        : current.type === 'summary'
          ? ['', '_sum', '_count']
          : [''];
    if (!suffix.some((s) => of === name + s)) throw new Error(`${of} stands below ${name}`);
    const read = { name: of, labels: labelsOf(labels), value: numberOf(value) };
    const key = `${of} ${JSON.stringify(Object.entries(read.labels).sort())}`;
    if (series.has(key)) throw new Error(`twice: ${line}`);
    series.add(key);
    current.samples.push(read);
  }
  return families;
};

const checkHistogram = (name: string, { samples }: Family): void => {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _le, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const group of groups.values()) {
    const buckets = group.filter((s) => s.name === `${name}_bucket`);
    const bounds = buckets.map((b) => numberOf(b.labels['le']!));
    const counts = buckets.map((b) => b.value);
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
    expect(bounds.at(-1)).toBe(Infinity);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(counts.at(-1)).toBe(group.find((s) => s.name === `${name}_count`)!.value);
    expect(group.filter((s) => s.name === `${name}_sum`)).toHaveLength(1);
  }
};

let service: TestService;
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const hostile = 'a "pool"\\ with\nlines {x="1"} 1';
const scrape = async (): Promise<ReadonlyMap<string, Family>> => {
  const { status, headers, body } = await service.ask('GET', '/metrics');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return parse(body);
};
const valueOf = (
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number => {
  const of = families.get(name) ?? families.get(name.replace(/_(?:count|sum|bucket)$/, ''));
  const found =
    of?.samples.filter(
      (s) => s.name === name && Object.entries(labels).every(([key, value]) => s.labels[key] === value),
    ) ?? [];
  return found.reduce((sum, { value }) => sum + value, 0);
};

beforeAll(async () => {
  service = await startService(['-syslog', '127.0.0.1:0', '-metrics.pools', '2', '-workers', '2']);
  for (const name of ['p', hostile, 'third', 'fourth'])
    await service.ask('POST', '/pool', {
      headers: json,
      body: JSON.stringify({ name, layout: { order: 'asc', keys: [['k']] } }),
    });
  await service.ask('POST', '/pool/p/branch/main', {
    headers: json,
    body: Array.from({ length: 20_000 }, (_, k) => `{"k":${k},"s":"row ${k}"}\n`).join(''),
  });
  await service.ask('POST', '/pool/p/branch/main', { headers: json, body: '{"k":-1}' });
  await service.ask('POST', '/pool/p/branch/main', { headers: json, body: '{"k":' });
  await service.ask('POST', '/query', { headers: json, body: '{"query":"from p | count()"}' });
  await service.ask('POST', '/query', { headers: json, body: '{"query":"from p | sum(k)"}' });
  await service.ask('POST', '/query', { headers: json, body: '{"query":"from p | sum(k)"}' });
  await service.ask('POST', '/query', { headers: json, body: '{"query":"from nowhere"}' });
});
afterAll(() => service.close());

describe('the text', () => {
  test('is read by a strict reader; every family has a help text and a kind', async () => {
    for (const [name, { help, type, samples }] of await scrape()) {
      expect([name, help !== '', type !== '']).toEqual([name, true, true]);
      if (type === 'counter') expect([name, samples.every(({ value }) => value >= 0)]).toEqual([name, true]);
      if (type === 'histogram') checkHistogram(name, { help, type, samples });
    }
  });
  test('has all figures that README lists and no others of ours, with their labels', async () => {
    const families = await scrape();
    const ours = [...families].filter(([name]) => name.startsWith('lake_'));
    expect(ours.map(([name]) => name).sort()).toEqual(metricRows.map(({ name }) => name).sort());
    for (const [name, { help, samples }] of ours) {
      const row = metricRows.find((each) => each.name === name)!;
      expect([name, help]).toEqual([name, row.help]);
      for (const { labels } of samples)
        expect([
          name,
          Object.keys(labels)
            .filter((label) => label !== 'le')
            .sort(),
        ]).toEqual([name, [...(row.labels ?? [])].sort()]);
    }
  });
  test('goes by the conventions: counters end in _total, times are seconds and sizes bytes', async () => {
    for (const [name, { type }] of await scrape()) {
      if (!name.startsWith('lake_')) continue;
      expect([name, type === 'counter']).toEqual([name, name.endsWith('_total')]);
      expect(name).not.toMatch(
        /(?:_ms|_milliseconds|_micros|_kb|_mb|_minutes|_percent|_count|_sum|_bucket)(?:_total)?$/,
      );
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });
});

describe('the figures', () => {
  test('tell of requests by route and status, and of their time', async () => {
    const families = await scrape();
    expect(
      valueOf(families, 'lake_http_requests_total', {
        method: 'POST',
        route: '/pool/:pool/branch/:branch',
        status: '200',
      }),
    ).toBe(2);
    expect(
      valueOf(families, 'lake_http_requests_total', {
        method: 'POST',
        route: '/pool/:pool/branch/:branch',
        status: '400',
      }),
    ).toBe(1);
    expect(valueOf(families, 'lake_http_request_duration_seconds_count', { route: '/query' })).toBe(4);
    expect(valueOf(families, 'lake_http_request_duration_seconds_sum', { route: '/query' })).toBeGreaterThan(0);
    expect(valueOf(families, 'lake_http_received_bytes_total')).toBeGreaterThan(400_000);
    expect(valueOf(families, 'lake_http_sent_bytes_total')).toBeGreaterThan(500);
    expect(valueOf(families, 'lake_http_connections')).toBeGreaterThan(0);
  });
  test('tell of loads, commits and the disk', async () => {
    const families = await scrape();
    expect(valueOf(families, 'lake_loads_total', { outcome: 'committed' })).toBe(2);
    expect(valueOf(families, 'lake_loads_total', { outcome: 'rejected' })).toBe(1);
    expect(valueOf(families, 'lake_load_records_total')).toBe(20_001);
    expect(valueOf(families, 'lake_load_body_bytes_total')).toBeGreaterThan(500_000);
    expect(valueOf(families, 'lake_load_object_bytes_total')).toBeGreaterThan(1000);
    expect(valueOf(families, 'lake_jobs_total', { kind: 'load', outcome: 'done' })).toBe(2);
    expect(valueOf(families, 'lake_job_wait_seconds_count', { kind: 'load' })).toBe(2);
    expect(valueOf(families, 'lake_job_work_seconds_sum', { kind: 'load' })).toBeGreaterThan(0);
    expect(
      ['lake_pools', 'lake_commits', 'lake_ready', 'lake_build_info'].map((name) => valueOf(families, name)),
    ).toEqual([4, 2, 1, 1]);
    expect(valueOf(families, 'lake_objects')).toBeGreaterThanOrEqual(2);
    expect(valueOf(families, 'lake_tables_bytes')).toBeGreaterThan(4096);
    await expect.poll(async () => valueOf(await scrape(), 'lake_object_syncs_total')).toBeGreaterThan(0);
    expect(valueOf(await scrape(), 'lake_object_sync_seconds_total')).toBeGreaterThan(0);
  });
  test('tell of queries, workers and caches', async () => {
    const families = await scrape();
    expect(valueOf(families, 'lake_queries_total', { outcome: 'done' })).toBe(3);
    expect(valueOf(families, 'lake_queries_total', { outcome: 'failed' })).toBe(1);
    expect(valueOf(families, 'lake_query_records_read_total')).toBe(3 * 20_001);
    expect(valueOf(families, 'lake_query_read_bytes_total')).toBeGreaterThan(0);
    expect(valueOf(families, 'lake_query_records_sent_total')).toBe(3);
    expect(valueOf(families, 'lake_worker_threads')).toBe(2);
    expect(families.get('lake_worker_busy_seconds_total')!.samples.map(({ labels }) => labels['worker'])).toEqual([
      '0',
      '1',
    ]);
    expect(valueOf(families, 'lake_worker_busy_seconds_total')).toBeGreaterThan(0);
    expect(valueOf(families, 'lake_column_cache_misses_total')).toBeGreaterThan(0);
    expect(valueOf(families, 'lake_column_cache_bytes')).toBeGreaterThan(0);
  });
  test('tell of what is under way by its state', async () => {
    const answered = service.ask('POST', '/query', {
      headers: { ...json, 'x-request-id': 'long' },
      body: '{"query":"from p | join (from p) as {l,r} on l.k+r.k < -10 | count()"}',
    });
    await expect.poll(async () => valueOf(await scrape(), 'lake_queries', { state: 'running' })).toBe(1);
    await service.ask('DELETE', '/query/long');
    await answered;
    expect(valueOf(await scrape(), 'lake_queries_total', { outcome: 'cancelled' })).toBe(1);
    expect(valueOf(await scrape(), 'lake_queries')).toBe(0);
  });
  test('tell of events and their subscribers', async () => {
    const ending = new AbortController();
    const events = await fetch(`${service.url}/events`, { signal: ending.signal });
    const before = await scrape();
    expect(valueOf(before, 'lake_events_subscribers')).toBe(1);
    await service.ask('POST', '/pool/third/branch/main', { headers: json, body: '{"k":1}' });
    await events.body!.getReader().read();
    const after = await scrape();
    expect(valueOf(after, 'lake_events_sent_total') - valueOf(before, 'lake_events_sent_total')).toBe(1);
    expect(valueOf(after, 'lake_last_event_id') - valueOf(before, 'lake_last_event_id')).toBe(1);
    expect([
      valueOf(after, 'lake_events_lagging_subscribers'),
      valueOf(after, 'lake_events_dropped_subscribers_total'),
    ]).toEqual([0, 0]);
    ending.abort();
  });
  test('tell of staged loads until they are committed or dropped', async () => {
    const stage = async (): Promise<string> => {
      const { body } = await service.ask('POST', '/pool/third/branch/main?stage=T', {
        headers: { ...json, accept: 'application/json' },
        body: '{"k":7}',
      });
      return (JSON.parse(body) as { id: string }).id;
    };
    const staged = async (): Promise<readonly [number, boolean]> => {
      const found = await scrape();
      return [valueOf(found, 'lake_staged_loads'), valueOf(found, 'lake_staged_memory_bytes') > 0];
    };
    const ids = [await stage(), await stage()];
    expect(await staged()).toEqual([2, true]);
    const commits = [{ pool: 'third', load: ids }];
    await service.ask('POST', '/transaction', { headers: json, body: JSON.stringify({ commits }) });
    expect(await staged()).toEqual([0, false]);
  });
  test('tell of as many pools as the option says, whatever their names hold', async () => {
    expect(
      (await scrape()).get('lake_pool_queue_jobs')!.samples.map(({ labels, value }) => [labels['pool'], value]),
    ).toEqual([
      ['p', 0],
      [hostile, 0],
      ['', 0],
    ]);
  });
  test('need no more labels for names that clients make up', async () => {
    const before = (await scrape()).get('lake_http_requests_total')!.samples.length;
    for (let i = 0; i < 20; i++) await service.ask('GET', `/pool/nobody${i}/stats`);
    for (let i = 0; i < 20; i++) await service.ask('GET', `/nowhere${i}`);
    expect((await scrape()).get('lake_http_requests_total')!.samples.length).toBeLessThanOrEqual(before + 2);
  });
});
