/**
 * What bodies of shippers cost: `npm run bench:shippers -- --records 200000 --runs 3 --only otlp,bulk --beside MAIN.js`.
 *
 * Each protocol sends batches of 1,000 records by eight connections at once, into a service of its own as it is shipped;
 * then 64 connections send batches of 10, beside as many loads of one record. It prints records and commits a second by
 * the clock, and processor seconds of the service and of the senders (Linux), which depend little on what else the
 * machine has to do. The bodies are made before; no two are alike, since the same body again is the same commit. With
 * `--beside` another build of the program takes the same bodies, run by run in turn. What is there afterwards is counted;
 * no time is judged.
 */
import { fileURLToPath } from 'node:url';
import { Agent, request as httpRequest } from 'node:http';
import { startBuiltService, type Service } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { median } from '../support/figures.ts';
import { otlpBytes, otlpJson } from '../support/formats/otlp.ts';
import { memoryOf, processorSecondsOf } from '../support/service/process-figures.ts';

/** What is measured of one protocol. */
export interface ShipperFigures {
  readonly name: string;
  readonly records: number;
  readonly commits: number;
  /** Medians of the runs. */
  readonly recordsPerSecond: number;
  readonly commitsPerSecond: number;
  readonly processorSecondsPer100000: number;
  /** Of the senders. */
  readonly sendingSecondsPer100000: number;
  readonly processorMsPerCommit: number;
  /** Of the process, in MB; the highest that was seen. */
  readonly memory: number;
  /** Records that the pool has in the end. */
  readonly found: number;
}
interface BenchOptions {
  readonly records: number;
  readonly runs: number;
  readonly only?: ReadonlySet<string>;
  /** Another build's program. */
  readonly beside?: string;
  readonly told?: (text: string) => void;
}
interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}
/** A way to send records. `body`: the batch of so many records from that number on. */
interface Way {
  readonly name: string;
  readonly pool: string;
  readonly batch: number;
  readonly senders: number;
  readonly body: (start: number, count: number) => Sent;
  /** Pools that the service does not make by itself. */
  readonly isMade?: true;
}

const paths = ['/cart', '/product/123', '/checkout', '/api/orders', '/health'];
const methods = ['GET', 'POST', 'PUT'];
const levels = ['INFO', 'WARN', 'ERROR', 'DEBUG'];
const since = 1_764_300_000_000;
const timeOf = (n: number): number => since + n * 7;
const idOf = (n: number, bytes: number): Buffer => {
  const id = Buffer.alloc(bytes, 0x5a);
  id.writeUInt32BE(n, bytes - 4);
  return id;
};

/** Records as an application's collector sends them: a text, five attributes, ids of the trace. */
const logs = (start: number, count: number): object => ({
  resourceLogs: [
    {
      resource: {
        attributes: [
          { key: 'service.name', value: { stringValue: 'shop' } },
          { key: 'host.name', value: { stringValue: 'web-1.example.org' } },
          { key: 'process.pid', value: { intValue: 4711 } },
        ],
      },
      scopeLogs: [
        {
          scope: { name: 'shop.http', version: '1.4.2' },
          logRecords: Array.from({ length: count }, (_, k) => {
            const n = start + k;
            return {
              timeUnixNano: `${timeOf(n)}000000`,
              observedTimeUnixNano: `${timeOf(n) + 3}000000`,
              severityNumber: 9 + (n % 4) * 4,
              severityText: levels[n % 4]!,
              body: { stringValue: `${methods[n % 3]!} ${paths[n % 5]!} took ${(n * 31) % 997} ms for order ${n}` },
              attributes: [
                { key: 'http.request.method', value: { stringValue: methods[n % 3]! } },
                { key: 'url.path', value: { stringValue: paths[n % 5]! } },
                { key: 'http.response.status_code', value: { intValue: [200, 200, 404, 500][n % 4]! } },
                { key: 'duration', value: { doubleValue: ((n * 31) % 997) / 1000 } },
                { key: 'user.id', value: { stringValue: `user-${(n * 7919) % 20_011}` } },
              ],
              traceId: idOf(n, 16),
              spanId: idOf(n, 8),
            };
          }),
        },
      ],
    },
  ],
});
/** The same as documents, in JSON. */
const documentOf = (n: number): string =>
  `{"@timestamp":"${new Date(timeOf(n)).toISOString()}","level":"${levels[n % 4]!}","host":"web-1.example.org",` +
  `"message":"${methods[n % 3]!} ${paths[n % 5]!} took ${(n * 31) % 997} ms for order ${n}",` +
  `"method":"${methods[n % 3]!}","path":"${paths[n % 5]!}","status":${[200, 200, 404, 500][n % 4]!},` +
  `"duration":${((n * 31) % 997) / 1000},"user":"user-${(n * 7919) % 20_011}"}`;
const bulkOf = (pool: string, start: number, count: number): Sent => {
  let text = '';
  for (let n = start; n < start + count; n++) text += `{"create":{"_index":"${pool}"}}\n${documentOf(n)}\n`;
  return { path: '/_bulk', headers: { 'content-type': 'application/x-ndjson' }, body: Buffer.from(text) };
};
const protobufOf = (pool: string, start: number, count: number): Sent => ({
  path: '/v1/logs',
  headers: { 'content-type': 'application/x-protobuf', 'x-lake-pool': pool },
  body: otlpBytes('logs', logs(start, count)),
});
const lokiOf = (pool: string, start: number, count: number): Sent => ({
  path: `/loki/api/v1/push?pool=${pool}`,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(
    JSON.stringify({
      streams: [
        {
          stream: { app: 'shop', host: 'web-1' },
          values: Array.from({ length: count }, (_, k) => [`${timeOf(start + k)}000000`, documentOf(start + k)]),
        },
      ],
    }),
  ),
});
const plainOf = (pool: string, start: number, count: number): Sent => ({
  path: `/pool/${pool}/branch/main`,
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: Buffer.from(Array.from({ length: count }, (_, k) => documentOf(start + k)).join('\n')),
});

const large = { batch: 1_000, senders: 8 } as const;
const small = { batch: 10, senders: 64 } as const;
const ways: readonly Way[] = [
  {
    name: 'otlp',
    pool: 'otlp',
    ...large,
    body: (start, count) => protobufOf('otlp', start, count),
  },
  {
    name: 'otlp-json',
    pool: 'otlp_json',
    ...large,
    body: (start, count) => ({
      path: '/v1/logs',
      headers: { 'content-type': 'application/json', 'x-lake-pool': 'otlp_json' },
      body: Buffer.from(otlpJson(logs(start, count))),
    }),
  },
  { name: 'bulk', pool: 'bulk', ...large, body: (start, count) => bulkOf('bulk', start, count) },
  { name: 'loki', pool: 'loki', ...large, body: (start, count) => lokiOf('loki', start, count) },
  { name: 'otlp-10', pool: 'otlp10', ...small, body: (start, count) => protobufOf('otlp10', start, count) },
  { name: 'bulk-10', pool: 'bulk10', ...small, body: (start, count) => bulkOf('bulk10', start, count) },
  {
    name: 'loads-1',
    pool: 'small',
    batch: 1,
    senders: 64,
    isMade: true,
    body: (start, count) => plainOf('small', start, count),
  },
];
/** Small batches are so many fewer records. */
const smallShare = 10;

/** A service that is measured. */
interface Measured {
  readonly label: string;
  readonly service: Service;
  readonly client: Client;
}

/** Runs all of them, in a service of its own. */
export const benchShippers = async ({
  records,
  runs,
  only,
  beside,
  told = () => undefined,
}: BenchOptions): Promise<readonly ShipperFigures[]> => {
  const services: Measured[] = [];
  const add = async (label: string, program?: string): Promise<void> => {
    const service = await startBuiltService({ asShipped: true, ...(program && { program }) });
    services.push({ label, service, client: clientOf(service.address) });
  };
  const figures: ShipperFigures[] = [];
  try {
    await add('');
    if (beside) await add(' beside', beside);
    for (const way of ways) {
      if (only && !only.has(way.name)) continue;
      for (const found of await measured(services, way, { records: recordsOf(way, records), runs })) {
        figures.push(found);
        told(shown(found));
      }
    }
    return figures;
  } finally {
    for (const { service, client } of services) {
      client.close();
      await service.stop();
    }
  }
};
const recordsOf = ({ batch }: Way, records: number): number =>
  batch === 1_000 ? records : (records / smallShare / 10) * batch;

/** What one run came to. */
interface RunFigures {
  readonly seconds: number;
  readonly busy: number;
  readonly sending: number;
  readonly memory: number;
}
const measured = async (
  services: readonly Measured[],
  way: Way,
  { records, runs }: { readonly records: number; readonly runs: number },
): Promise<readonly ShipperFigures[]> => {
  const commits = Math.ceil(records / way.batch);
  const found = services.map((one) => ({ ...one, runs: [] as RunFigures[] }));
  let next = 0;
  for (const { client } of services) if (way.isMade) await client.createPool(way.pool, '@timestamp');
  // The first run makes the code warm.
  for (let run = -1; run < runs; run++) {
    const bodies = Array.from({ length: commits }, (_, k) => way.body(next + k * way.batch, way.batch));
    next += commits * way.batch;
    for (const one of run % 2 === 0 ? found : [...found].reverse()) {
      const figures = await runOnce(one.service, bodies, way.senders);
      if (run >= 0) one.runs.push(figures);
    }
  }
  const sent = commits * way.batch;
  return Promise.all(
    found.map(async ({ label, client, runs: done }) => {
      const [row] = await client.query<{ readonly n: number }>(`from ${way.pool} | aggregate n:=count()`);
      if (row?.n !== next) throw new Error(`${way.name}: ${row?.n ?? 0} records of ${next}`);
      const of = (name: keyof RunFigures): number => median(done.map((one) => one[name]));
      return {
        name: `${way.name}${label}`,
        records: sent,
        commits,
        recordsPerSecond: sent / of('seconds'),
        commitsPerSecond: commits / of('seconds'),
        processorSecondsPer100000: (of('busy') / sent) * 100_000,
        sendingSecondsPer100000: (of('sending') / sent) * 100_000,
        processorMsPerCommit: (of('busy') / commits) * 1000,
        memory: Math.max(...done.map(({ memory }) => memory)),
        found: next,
      };
    }),
  );
};

const runOnce = async (service: Service, bodies: readonly Sent[], senders: number): Promise<RunFigures> => {
  const pid = service.process.pid!;
  const busy = processorSecondsOf(pid);
  const sending = process.cpuUsage();
  const began = performance.now();
  await sendAll(service.address, bodies, senders);
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(sending);
  const { anonymous, shared } = memoryOf(pid);
  return {
    seconds,
    busy: processorSecondsOf(pid) - busy,
    sending: (user + system) / 1e6,
    memory: anonymous + shared,
  };
};

const sendAll = async (address: string, bodies: readonly Sent[], senders: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: senders });
  let at = 0;
  const send = async (): Promise<void> => {
    while (at < bodies.length) await sendOne(address, agent, bodies[at++]!);
  };
  try {
    await Promise.all(Array.from({ length: senders }, send));
  } finally {
    agent.destroy();
  }
};
/** Of an answer only the beginning is looked at: senders are to cost little. */
const sendOne = (address: string, agent: Agent, { path, headers, body }: Sent): Promise<void> =>
  new Promise((resolve, reject) => {
    const asked = httpRequest(`${address}${path}`, { method: 'POST', agent, headers }, (response) => {
      let beginning: string | undefined;
      response.on('data', (chunk: Buffer) => {
        beginning ??= chunk.toString('latin1', 0, 200);
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0 } = response;
        if (statusCode < 300 && !beginning?.startsWith('{"errors":true')) resolve();
        else reject(new Error(`${path}: ${statusCode} ${beginning}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });

const shown = (f: ShipperFigures): string =>
  `${f.name.padEnd(17)}${f.recordsPerSecond.toFixed(0).padStart(9)} records/s ${f.commitsPerSecond.toFixed(0).padStart(7)} commits/s ` +
  `${f.processorSecondsPer100000.toFixed(2).padStart(8)} processor s for 100,000 (senders ${f.sendingSecondsPer100000.toFixed(2)}) ${f.processorMsPerCommit.toFixed(2).padStart(8)} ms a commit ` +
  `${f.memory.toFixed(0).padStart(6)} MB`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string): string | undefined =>
    process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : undefined;
  const only = option('only')?.split(',');
  const beside = option('beside');
  await benchShippers({
    records: Number(option('records') ?? 200_000),
    runs: Number(option('runs') ?? 3),
    ...(only && { only: new Set(only) }),
    ...(beside && { beside }),
    told: (text) => {
      console.log(text);
    },
  });
}
