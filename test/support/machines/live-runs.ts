/** What can be seen of loads and queries from outside, with charts that are given: a service over HTTP. */
import { connect } from 'node:net';
import { loadMachine } from '../../../machines/load.machine.ts';
import { queryMachine } from '../../../machines/query.machine.ts';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { Runs } from '../../../src/http/runs.ts';
import { loadChart, queryChart } from '../../../src/workers/watches.ts';
import { startService, type TestService } from '../service/server.ts';

/** What a mutant leaves undone is never done: so often is asked for it. */
const asksMax = 50;
const json = { accept: 'application/json', 'content-type': 'application/json' };

/** A service whose charts of loads and queries are changed while it runs: each load and query begins on the newest. */
export class RunBench {
  private readonly service: TestService;
  private readonly charts: { load: ReturnType<typeof loadChart>; query: ReturnType<typeof queryChart> };
  private ids = 0;

  private constructor(service: TestService, charts: RunBench['charts']) {
    this.service = service;
    this.charts = charts;
  }
  static async start(): Promise<RunBench> {
    const charts = {
      load: loadChart(loadMachine),
      query: queryChart(queryMachine),
      subscriber: subscriberMachine,
    };
    const flags = ['-workers', '1', '-query.status.ttl', '1s'];
    const service = await startService(flags, undefined, undefined, charts);
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}' });
    const rows = Array.from({ length: 60_000 }, (_, k) => `{"k":${k},"text":"some text to fill the line"}`).join('\n');
    await service.ask('POST', '/pool/p/branch/main', { headers: json, body: rows });
    const bench = new RunBench(service, charts);
    await bench.outcomes('');
    return bench;
  }
  close(): Promise<void> {
    return this.service.close();
  }

  async seenOfLoads(machine: typeof loadMachine): Promise<readonly string[]> {
    this.charts.load = loadChart(machine);
    const seen: string[] = [];
    const load = async (what: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
      const id = this.id();
      const { status } = await this.service.ask('POST', '/pool/p/branch/main', {
        headers: { ...json, 'x-request-id': id, ...headers },
        body,
      });
      seen.push(`${what}: ${status}, ${await this.load(id)}`);
    };
    await load('small', '{"k":1}');
    await load('large', Array.from({ length: 3000 }, (_, k) => `{"k":${k}}`).join('\n'));
    await load('broken', '{"k":');
    await load('broken later', `${Array.from({ length: 3000 }, (_, k) => `{"k":${k}}`).join('\n')}\n{"k":`);
    await load('without rows', '');
    const key = { 'idempotency-key': this.id() };
    await load('with a key', '{"k":2}', key);
    await load('sent again', '{"k":2}', key);
    await load('another body', '{"k":3}', key);
    await load('on a condition that fails', '{"k":4}', { 'if-match': `"0x${'1'.repeat(40)}"` });
    const id = this.id();
    const open = this.openLoad(id);
    seen.push(`open: ${await this.until(() => this.load(id), /receiving/)}`);
    seen.push(`cancel: ${(await this.service.ask('DELETE', `/load/${id}`)).status}`);
    seen.push(`open: ${await this.until(() => this.load(id), /cancelled/)}`);
    open.destroy();
    seen.push(await this.outcomes('lake_loads_total'), this.whileCommitting());
    return seen;
  }
  async seenOfQueries(machine: typeof queryMachine): Promise<readonly string[]> {
    this.charts.query = queryChart(machine);
    const seen: string[] = [];
    const ids: string[] = [];
    const query = async (what: string, text: string): Promise<void> => {
      const id = this.id();
      ids.push(id);
      const { status } = await this.service.ask('POST', '/query', {
        headers: { ...json, 'x-request-id': id },
        body: JSON.stringify({ query: text }),
      });
      seen.push(`${what}: ${status}, ${await this.query(id)}, ${await this.status(id)}`);
    };
    await query('small', 'values 1');
    await query('wrong', 'from nowhere');
    await query('fails', 'SELECT cast(text as int) FROM p');
    const id = this.id();
    ids.push(id);
    const open = this.openQuery(id, 'from p | cross join (from p | head 100)');
    seen.push(`open: ${await this.until(() => this.query(id), /streaming/)}`);
    seen.push(`cancel: ${(await this.service.ask('DELETE', `/query/${id}`)).status}`);
    open.destroy();
    seen.push(`open: ${await this.until(() => this.query(id), /cancelled/)}, ${await this.status(id)}`);
    seen.push(await this.outcomes('lake_queries_total'));
    const known = (): number =>
      this.service.watch.actors().filter(({ input }) => ids.includes((input as { readonly id?: string }).id ?? ''))
        .length;
    seen.push(`known to the inspector: ${await this.until(() => Promise.resolve(String(known())), /^0$/)}`);
    return seen;
  }

  /** A load whose commit was asked for is not cancelled: its DELETE waits. */
  private whileCommitting(): string {
    const running = new Runs({ queryMsMax: 0, keepMs: 0, charts: this.charts, inspect: undefined });
    const run = running.beginLoad({
      id: '1',
      owner: undefined,
      poolId: '',
      pool: '',
      branch: '',
      bytesTotal: 1,
      whenLeft: () => undefined,
    });
    run.watch.begin();
    run.watch.wroteAtOnce({ objects: [], records: 1, bytes: 1 }, 1);
    const before = run.isCommitting;
    void run.commit(() => new Promise(() => undefined));
    running.close();
    return `may be cancelled: ${!before}, once its commit was asked for: ${!run.isCommitting}`;
  }

  private id(): string {
    return `run-${++this.ids}`;
  }
  private async load(id: string): Promise<string> {
    const { body } = await this.service.ask('GET', `/load/${id}`, { headers: json });
    const { state, records, commit, error } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return `${String(state)} ${String(records)} ${commit === null ? 'without a commit' : 'committed'} ${shape(error)}`;
  }
  private async query(id: string): Promise<string> {
    const { body } = await this.service.ask('GET', `/query/${id}`, { headers: json });
    const { state, error } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return `${String(state)} ${shape(error)}`;
  }
  private async status(id: string): Promise<string> {
    return shape((await this.service.ask('GET', `/query/status/${id}`, { headers: json })).body);
  }
  /** What the metrics count more than when they were asked last. */
  private async outcomes(metric: string): Promise<string> {
    const { body } = await this.service.ask('GET', '/metrics');
    const lines = body.split('\n').filter((line) => line.startsWith(metric));
    const counts = new Map(lines.map((line) => line.split(/ (?=\S+$)/) as [string, string]));
    const more = [...counts].map(([name, count]) => `${name} ${Number(count) - (this.counted.get(name) ?? 0)}`);
    for (const [name, count] of counts) this.counted.set(name, Number(count));
    return more
      .filter((line) => !line.endsWith(' 0'))
      .sort()
      .join(', ');
  }
  private readonly counted = new Map<string, number>();

  /** Asks until the answer is like that, or for long enough. */
  private async until(ask: () => Promise<string>, wanted: RegExp): Promise<string> {
    let answer = '';
    for (let i = 0; i < asksMax; i++) {
      answer = await ask();
      if (wanted.test(answer)) return answer;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
    return answer;
  }
  /** A body that does not end. */
  private openLoad(id: string): { destroy(): void } {
    return this.open('/pool/p/branch/main', id, '5\r\n{"k":\r\n');
  }
  /** An answer that nobody reads. */
  private openQuery(id: string, query: string): { destroy(): void } {
    const body = JSON.stringify({ query });
    const socket = this.open('/query', id, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    socket.pause();
    return socket;
  }
  private open(path: string, id: string, chunks: string) {
    const { hostname, port } = new URL(this.service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: application/json\r\nContent-Type: application/json\r\nX-Request-ID: ${id}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
    return socket;
  }
}

/** A text without what differs from run to run. */
const shape = (text: unknown): string =>
  JSON.stringify(text)?.replaceAll(/[0-9a-f]{40}|\b[0-9A-Za-z]{27}\b|run-\d+/g, '') ?? '';
