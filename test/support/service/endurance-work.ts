/**
 * Clients that use a service for as long as they are let: loads of all formats and sizes, queries of all kinds and
 * answers in all formats, spills, deletes, merges, reverts, compactions, vacuums, pools and branches that come and go,
 * subscribers, requests that are given up, keys of retries, errors.
 *
 * Each client has pools of its own, which it drops and makes again after some time, so that what the lake has to keep
 * stays as it is. What a client does follows from the seed alone; how the clients' work is mixed does not.
 */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { type Random, randomOf } from '../random.ts';

export interface EnduranceOptions {
  readonly address: string;
  readonly clients: number;
  readonly seed: number;
  /** Rows of the pool that all read, and of a large load. */
  readonly baseRows: number;
  readonly largeRows: number;
}

/** Work that goes on until it is ended. */
export interface EnduranceWork {
  /** Answers by status, so far; 0: given up by the client. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  /** Answers of 500, and what else must not be. */
  readonly faults: readonly string[];
  /** Runs all clients until so much time is over, or each has done so many things. */
  run(until: { readonly ms?: number; readonly each?: number }): Promise<void>;
  /** Drops the clients' pools and ends their connections. */
  end(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}
interface AskOptions {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Given up after so much time. */
  readonly endMs?: number;
}

const json = { 'content-type': 'application/json', accept: 'application/json' };
const answerTypes = [
  'application/json',
  'application/x-ndjson',
  'application/x-sup',
  'application/x-bsup',
  'application/x-csup',
  'application/x-jsup',
  'text/csv',
  'text/tab-separated-values',
  'application/x-zeek',
  'application/x-parquet',
  'application/vnd.apache.arrow.stream',
  'application/x-line',
] as const;
/** Those that can hold the rows and are read back. */
const bodyTypes = answerTypes.filter((type) => !/line|ndjson/.test(type));
const branchNames = ['kid', 'side'];
/** After so many things a client drops a pool and makes it again. */
const lifeOfPool = 120;

const rowsOf = (random: Random, count: number, from: number): string =>
  Array.from(
    { length: count },
    (_, i) =>
      `{"ts":${from + i},"kind":"${random.pick(['conn', 'http', 'alert'])}","user":"user${random.below(20_000)}","path":"/items/${random.below(100_000)}",` +
      `"text":"${random.hex(24)}","dur":${random.below(5_000_000) / 1e6},"odd":${random.pick(['null', '1', '"x"'])}}`,
  ).join('\n');

export const beginEndurance = async (options: EnduranceOptions): Promise<EnduranceWork> => {
  const service = new Asked(options.address);
  const random = randomOf(options.seed);
  await service.must('POST', '/pool', {
    body: JSON.stringify({ name: 'base', layout: { order: 'asc', keys: [['ts']] } }),
  });
  for (let at = 0; at < options.baseRows; at += 50_000) {
    await service.must('POST', '/pool/base/branch/main', {
      body: rowsOf(random, Math.min(50_000, options.baseRows - at), at),
    });
  }
  const bodies = new Map<string, Buffer>();
  for (const accept of bodyTypes) {
    const query = 'from base | head 3000 | drop odd';
    bodies.set(
      accept,
      await service.must('POST', '/query', { body: JSON.stringify({ query }), headers: { ...json, accept } }),
    );
  }
  const clients = Array.from(
    { length: options.clients },
    (_, number) => new EnduranceClient(service, options, number, bodies),
  );
  for (const client of clients) await client.begin();
  return {
    statuses: service.statuses,
    kinds: service.kinds,
    faults: service.faults,
    run: async ({ ms = Infinity, each = Infinity }) => {
      const endAt = performance.now() + ms;
      await Promise.all(clients.map((client) => client.work(endAt, each)));
    },
    end: async () => {
      for (const client of clients) await client.end();
      service.close();
    },
  };
};

/** Asks a service and counts its answers. */
class Asked {
  readonly statuses: Record<number, number> = {};
  readonly kinds: Record<string, number> = {};
  readonly faults: string[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 });
  private readonly heard = new WeakSet<object>();
  private readonly address: URL;
  constructor(address: string) {
    this.address = new URL(address);
  }

  ask(method: string, path: string, { body, headers = json, endMs }: AskOptions = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const settle = (status: number): void => {
        clearTimeout(timer);
        this.statuses[status] = (this.statuses[status] ?? 0) + 1;
        const bytes = Buffer.concat(chunks);
        if (status === 500) this.faults.push(`${method} ${path}: 500 ${bytes.toString('utf8', 0, 300)}`);
        resolve({ status, bytes });
      };
      const { hostname, port } = this.address;
      const sent = httpRequest(
        { hostname, port, method, path, headers, agent: this.agent },
        (response: IncomingMessage) => {
          let isSettled = false;
          const end = (status: number): void => {
            if (!isSettled) settle(status);
            isSettled = true;
          };
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
          });
          response.on('end', () => {
            end(response.statusCode!);
          });
          response.on('error', () => {
            end(0);
          });
          response.on('close', () => {
            end(0);
          });
          sent.removeAllListeners('error').on('error', () => {
            end(0);
          });
        },
      );
      const timer =
        endMs === undefined
          ? undefined
          : setTimeout(() => {
              sent.destroy();
            }, endMs);
      sent.on('error', () => {
        settle(0);
      });
      sent.on('socket', (socket) => {
        if (this.heard.has(socket)) return;
        this.heard.add(socket);
        // An answer that came before the body had ended gives the socket back with bytes on their way.
        socket.on('error', () => undefined);
      });
      sent.end(body);
    });
  }
  async must(method: string, path: string, options: AskOptions): Promise<Buffer> {
    const { status, bytes } = await this.ask(method, path, options);
    if (status >= 300 || status === 0)
      throw new Error(`${method} ${path}: ${status} ${bytes.toString('utf8', 0, 300)}`);
    return bytes;
  }
  close(): void {
    this.agent.destroy();
  }
}

/** One client with two pools of its own. */
class EnduranceClient {
  private readonly service: Asked;
  private readonly options: EnduranceOptions;
  private readonly number: number;
  private readonly bodies: ReadonlyMap<string, Buffer>;
  private readonly random: Random;
  private readonly pools: { name: string; age: number; commits: string[]; nextTs: number }[] = [];
  private made = 0;
  private subscriptions: AbortController[] = [];
  private readonly bag: readonly (readonly [string, Work])[];

  constructor(service: Asked, options: EnduranceOptions, number: number, bodies: ReadonlyMap<string, Buffer>) {
    this.service = service;
    this.options = options;
    this.number = number;
    this.bodies = bodies;
    this.random = randomOf(options.seed * 1000 + number);
    this.bag = Object.entries(works).flatMap(([kind, { weight, work }]) =>
      Array.from({ length: weight }, () => [kind, work] as const),
    );
  }

  async begin(): Promise<void> {
    for (let i = 0; i < 2; i++) this.pools.push(await this.newPool());
  }
  private async newPool(): Promise<{ name: string; age: number; commits: string[]; nextTs: number }> {
    const name = `c${this.number}-${this.made++}`;
    await this.service.must('POST', '/pool', {
      body: JSON.stringify({ name, layout: { order: this.random.pick(['asc', 'desc']), keys: [['ts']] } }),
    });
    return { name, age: this.random.below(lifeOfPool / 2), commits: [], nextTs: 0 };
  }

  async work(endAt: number, each: number): Promise<void> {
    for (let i = 0; i < each && performance.now() < endAt; i++) {
      const at = this.random.below(this.pools.length);
      const pool = this.pools[at]!;
      if (pool.age++ > lifeOfPool) {
        await this.service.ask('DELETE', `/pool/${pool.name}`);
        this.pools[at] = await this.newPool();
        continue;
      }
      const [kind, work] = this.random.pick(this.bag);
      this.service.kinds[kind] = (this.service.kinds[kind] ?? 0) + 1;
      await work(new Turn(this.service, this.random, this.options, pool, this.bodies, this.subscriptions));
    }
    for (const subscription of this.subscriptions.splice(0)) subscription.abort();
  }

  async end(): Promise<void> {
    for (const { name } of this.pools) await this.service.ask('DELETE', `/pool/${name}`);
  }
}

/** What one thing that a client does has at hand. */
class Turn {
  readonly random: Random;
  readonly options: EnduranceOptions;
  readonly branch: string;
  readonly bodies: ReadonlyMap<string, Buffer>;
  readonly subscriptions: AbortController[];
  readonly pool: string;
  private readonly service: Asked;
  private readonly state: { readonly commits: string[]; nextTs: number };

  constructor(
    service: Asked,
    random: Random,
    options: EnduranceOptions,
    state: { readonly name: string; readonly commits: string[]; nextTs: number },
    bodies: ReadonlyMap<string, Buffer>,
    subscriptions: AbortController[],
  ) {
    this.service = service;
    this.random = random;
    this.options = options;
    this.state = state;
    this.pool = state.name;
    this.bodies = bodies;
    this.subscriptions = subscriptions;
    this.branch = random.below(4) === 0 ? random.pick(branchNames) : 'main';
  }

  get path(): string {
    return `/pool/${this.pool}/branch/${this.branch}`;
  }
  get commit(): string | undefined {
    return this.state.commits.length > 0 ? this.random.pick(this.state.commits) : undefined;
  }
  ask(method: string, path: string, options?: AskOptions): Promise<Answer> {
    return this.service.ask(method, path, options);
  }
  query(query: string, options: AskOptions = {}): Promise<Answer> {
    return this.ask('POST', '/query', { body: JSON.stringify({ query }), ...options });
  }
  rows(count: number): string {
    return rowsOf(this.random, count, (this.state.nextTs += count) - count);
  }
  async committed(method: string, path: string, options?: AskOptions): Promise<void> {
    const { bytes } = await this.ask(method, path, options);
    const id = /"commit":"(0x\w{40})"/.exec(bytes.toString('latin1'))?.[1];
    if (id !== undefined) this.state.commits.push(id);
  }
  async objects(): Promise<readonly string[]> {
    const { bytes } = await this.query(`from ${this.pool}@${this.branch}:objects | values string(id)`);
    return [...bytes.toString('latin1').matchAll(/"(0x[0-9a-f]{40}|\w{27})"/g)].map((match) => match[1]!);
  }
}

type Work = (turn: Turn) => Promise<unknown>;
/** A key of the base pool, from the first part of it on. */
const baseKey = ({ random, options }: Turn): number => random.below(Math.max(1, options.baseRows));

const works: Readonly<Record<string, { readonly weight: number; readonly work: Work }>> = {
  'small load': { weight: 30, work: (t) => t.committed('POST', t.path, { body: t.rows(1 + t.random.below(5)) }) },
  load: { weight: 6, work: (t) => t.committed('POST', t.path, { body: t.rows(1000 + t.random.below(3000)) }) },
  'load of a format': {
    weight: 8,
    work: (t) => {
      const type = t.random.pick(bodyTypes);
      return t.committed('POST', t.path, { body: t.bodies.get(type)!, headers: { ...json, 'content-type': type } });
    },
  },
  'large load': { weight: 1, work: (t) => t.committed('POST', t.path, { body: t.rows(t.options.largeRows) }) },
  'broken load': { weight: 3, work: (t) => t.ask('POST', t.path, { body: `${t.rows(500)}{"ts":` }) },
  'load with a key': {
    weight: 4,
    work: async (t) => {
      const headers = { ...json, 'idempotency-key': t.random.hex(16) };
      const body = t.rows(2);
      await t.committed('POST', t.path, { body, headers });
      await t.ask('POST', t.path, { body, headers });
    },
  },
  'load given up': { weight: 2, work: (t) => t.ask('POST', t.path, { body: t.rows(5000), endMs: t.random.below(10) }) },
  count: { weight: 8, work: (t) => t.query(`from ${t.pool}@${t.branch} | count() by kind`) },
  'rows of a pool': {
    weight: 6,
    work: (t) => t.query(`from ${t.pool} | head 2000`, { headers: { ...json, accept: t.random.pick(answerTypes) } }),
  },
  'base by key': {
    weight: 8,
    work: (t) =>
      t.query(`from base | ts >= ${baseKey(t)} | head 20`, {
        headers: { ...json, accept: t.random.pick(answerTypes) },
      }),
  },
  'base, grouped': {
    weight: 4,
    work: (t) => t.query(`from base | ts >= ${baseKey(t)} | c:=count(), s:=sum(dur) by user | sort -r c | head 10`),
  },
  'base, searched': { weight: 3, work: (t) => t.query(`from base | search "${t.random.hex(3)}" | head 50`) },
  'base, all rows': {
    weight: 1,
    work: (t) =>
      t.query('from base | drop odd', {
        headers: { ...json, accept: t.random.pick(bodyTypes), 'accept-encoding': t.random.pick(['identity', 'gzip']) },
      }),
  },
  'spilling sort': { weight: 1, work: (t) => t.query('from base | sort text | tail 5') },
  'spilling join': {
    weight: 1,
    work: (t) =>
      t.query(
        'from base | inner join (from base) as {l,r} on l.ts==r.ts | values {a:l.text,b:r.text,c:l.path} | sort a | head 5',
      ),
  },
  sql: {
    weight: 3,
    work: (t) => t.query(`SELECT kind, count(*) AS n FROM ${t.pool} WHERE ts > 5 GROUP BY kind ORDER BY n`),
  },
  'query given up': { weight: 3, work: (t) => t.query('from base | sort text', { endMs: 5 + t.random.below(150) }) },
  'query with status': {
    weight: 4,
    work: async (t) => {
      const id = t.random.hex(12);
      await t.query(`from ${t.pool} | head 5`, { headers: { ...json, 'x-request-id': id } });
      await t.ask('GET', `/query/status/${id}`);
      await t.ask('GET', `/query/${id}`);
    },
  },
  'broken query': {
    weight: 3,
    work: (t) =>
      t.query(
        t.random.pick(['from (', `from ${t.pool} | nope(`, 'from absent', `from ${t.pool}@absent`, 'values 1/0']),
      ),
  },
  'query that loads': { weight: 2, work: (t) => t.query(`from ${t.pool} | head 2 | load ${t.pool}`) },
  compile: {
    weight: 2,
    work: (t) =>
      t.ask('POST', '/compile', {
        body: JSON.stringify({ query: `from ${t.pool} | sort ts | head ${t.random.below(99)}` }),
      }),
  },
  'delete where': {
    weight: 5,
    work: (t) =>
      t.committed('POST', `${t.path}/delete`, { body: JSON.stringify({ where: `ts % 7 == ${t.random.below(7)}` }) }),
  },
  update: {
    weight: 4,
    work: (t) =>
      t.committed('POST', `${t.path}/update`, {
        body: JSON.stringify({
          where: `ts % 7 == ${t.random.below(7)}`,
          put: t.random.pick(['ts:=ts+1', 'seen:=true']),
        }),
      }),
  },
  delete: {
    weight: 4,
    work: async (t) => {
      const ids = await t.objects();
      if (ids.length > 0)
        await t.committed('POST', `${t.path}/delete`, { body: JSON.stringify({ object_ids: [t.random.pick(ids)] }) });
    },
  },
  compact: {
    weight: 5,
    work: async (t) => {
      const ids = await t.objects();
      if (ids.length > 1)
        await t.committed('POST', `${t.path}/compact`, {
          body: JSON.stringify({ object_ids: ids.slice(0, 2 + t.random.below(20)) }),
        });
    },
  },
  merge: {
    weight: 4,
    work: (t) => t.committed('POST', `/pool/${t.pool}/branch/main/merge/${t.random.pick(branchNames)}`),
  },
  revert: { weight: 4, work: (t) => t.committed('POST', `${t.path}/revert/${t.commit ?? 'none'}`) },
  'create branch': {
    weight: 5,
    work: (t) =>
      t.ask('POST', `/pool/${t.pool}`, {
        body: JSON.stringify({ name: t.random.pick(branchNames), commit: t.commit ?? 'main' }),
      }),
  },
  'delete branch': { weight: 3, work: (t) => t.ask('DELETE', `/pool/${t.pool}/branch/${t.random.pick(branchNames)}`) },
  vacuum: {
    weight: 4,
    work: (t) => t.ask('POST', `/pool/${t.pool}/revision/main/vacuum?dryrun=${t.random.pick(['T', 'F', 'F'])}`),
  },
  'time travel': { weight: 3, work: (t) => t.query(`from ${t.pool}@${t.commit ?? 'main'} | count()`) },
  log: { weight: 2, work: (t) => t.query(`from ${t.pool}:log | head 20`) },
  'look around': {
    weight: 4,
    work: (t) =>
      t.ask(
        'GET',
        t.random.pick([
          `/pool/${t.pool}/stats`,
          `/pool/${t.pool}/graph`,
          '/status',
          '/ready',
          `${t.path}`,
          '/metrics',
          '/absent',
        ]),
      ),
  },
  'short-lived pool': {
    weight: 2,
    work: async (t) => {
      const name = `short-${t.random.hex(12)}`;
      await t.ask('POST', '/pool', { body: JSON.stringify({ name }) });
      await t.ask('POST', `/pool/${name}/branch/main`, { body: t.rows(2000) });
      await t.query(`from ${name} | count()`);
      await t.ask('PUT', `/pool/${name}`, { body: JSON.stringify({ name: `${name}-renamed` }) });
      await t.query(`from ${name}-renamed | sort text | head 1`);
      await t.ask('DELETE', `/pool/${name}-renamed`);
    },
  },
  subscribe: {
    weight: 3,
    work: async (t) => {
      const ends = new AbortController();
      const response = await fetch(`${t.options.address}/events`, { signal: ends.signal }).catch(() => undefined);
      void response?.body?.pipeTo(new WritableStream()).catch(() => undefined);
      t.subscriptions.push(ends);
      if (t.subscriptions.length > 3) t.subscriptions.shift()!.abort();
    },
  },
};
