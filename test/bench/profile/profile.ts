/**
 * Where a query's time goes: a flame chart of a worker thread, and a table of what its functions took by themselves.
 * `npm run profile -- 'select count(*) from hits' --lake FOLDER --runs 10 --top 25 --out query.cpuprofile`; `--load
 * hits=hits.parquet` fills a temporary lake.
 *
 * The service runs as it is shipped. The query is asked some times first, so that its code is warm, then again while
 * each worker thread samples itself; the thread that worked most is told of. The file opens in the Performance panel of
 * Chromium's tools, and in what else reads `.cpuprofile`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { cpus, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from '../../support/service/built.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { median, ms } from '../../support/figures.ts';

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}
interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}
interface ProfileOptions {
  readonly query: string;
  readonly lake?: string;
  readonly load?: string;
  readonly runs: number;
}
interface QueryProfile {
  readonly profile: Profile;
  readonly medianMs: number;
  readonly runs: number;
}
/** Microseconds that a function took itself, and with all that it called. */
interface FunctionTime {
  readonly name: string;
  readonly place: string;
  readonly self: number;
  readonly total: number;
}

const thread = new URL('./thread.mjs', import.meta.url).href;
const mediaTypes: Readonly<Record<string, string>> = {
  parquet: 'application/x-parquet',
  ndjson: 'application/json',
  json: 'application/json',
  csv: 'text/csv',
};

/** Profiles a query in a service of its own. */
export const profileQuery = async ({ query, lake, load, runs }: ProfileOptions): Promise<QueryProfile> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-profile-'));
  const service = await start(lake ?? join(folder, 'lake'));
  const client = clientOf(service.address);
  try {
    if (load) await loadInto(client, load);
    for (let k = 0; k < runs; k++) await client.query(query);
    await told(service.child, { command: 'start' }, 'started');
    const times: number[] = [];
    for (let k = 0; k < runs; k++) {
      const began = performance.now();
      await client.query(query);
      times.push(performance.now() - began);
    }
    const answers = await told(service.child, { command: 'stop', folder }, 'stopped');
    const profiles = answers
      .filter((a) => a.file !== undefined)
      .map((a) => JSON.parse(readFileSync(a.file!, 'utf8')) as Profile);
    const busiest = profiles.sort((a, b) => busy(b) - busy(a))[0];
    if (!busiest) throw new Error('no thread was sampled');
    nameSources(busiest);
    return { profile: busiest, medianMs: median(times), runs };
  } finally {
    client.close();
    service.child.kill();
    await service.ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
};

interface Profiled {
  readonly address: string;
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}
const start = (lake: string): Promise<Profiled> => {
  const options = `${process.env['NODE_OPTIONS'] ?? ''} --import ${thread}`;
  const child = spawn(process.execPath, [program, 'serve', '-lake', lake, '-l', '127.0.0.1:0', '-log.level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: options },
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString());
      if (found) resolve({ address: found[0], child, ended });
    });
    void ended.then(() => {
      reject(new Error('the service did not start'));
    });
  });
};

/** `NAME=FILE` as a pool. */
const loadInto = async (client: Client, load: string): Promise<void> => {
  const [name, file] = [load.slice(0, load.indexOf('=')), load.slice(load.indexOf('=') + 1)];
  const type = mediaTypes[file.split('.').at(-1)!];
  if (!type) throw new Error(`${file}: no parquet, ndjson, json or csv`);
  await client.json('POST', '/pool', { name });
  const { status, body } = await client.ask('POST', `/pool/${name}/branch/main`, {
    headers: { 'content-type': type },
    body: readFileSync(file),
  });
  if (status !== 200) throw new Error(body);
};

interface ThreadAnswer {
  readonly started?: number;
  readonly stopped?: number;
  readonly file?: string;
  readonly error?: string;
}
/** What the worker threads answer, one for each core. */
const told = (child: ChildProcess, command: unknown, wanted: 'started' | 'stopped'): Promise<readonly ThreadAnswer[]> =>
  new Promise((resolve) => {
    const answers: ThreadAnswer[] = [];
    const listen = (message: unknown): void => {
      const answer = message as ThreadAnswer;
      if (answer[wanted] === undefined) return;
      answers.push(answer);
      if (answers.length < cpus().length) return;
      child.off('message', listen);
      resolve(answers);
    };
    child.on('message', listen);
    child.send(command as object);
  });

/** What is no work: `dispatch` is the profiler's own. */
const idleNames: ReadonlySet<string> = new Set(['(idle)', '(program)', '(root)', 'dispatch']);
const busy = (profile: Profile): number => timesOf(profile).reduce((sum, t) => sum + t.self, 0);

/** What each function took, the most first; without idle time. */
export const timesOf = ({ nodes, samples, timeDeltas }: Profile): readonly FunctionTime[] => {
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const selfOf = new Map<number, number>();
  samples.forEach((id, k) => {
    selfOf.set(id, (selfOf.get(id) ?? 0) + timeDeltas[k]!);
  });
  const found = new Map<string, { name: string; place: string; self: number; total: number }>();
  const walk = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const { functionName, url, lineNumber } = node.callFrame;
    const place = url === '' ? '' : `${url}:${lineNumber + 1}`;
    const key = `${functionName} ${place}`;
    const entry = found.get(key) ?? { name: functionName || '(anonymous)', place, self: 0, total: 0 };
    const own = selfOf.get(node.id) ?? 0;
    const inside = new Set(above).add(key);
    found.set(key, entry);
    const total = (node.children ?? []).reduce((sum, id) => sum + walk(byId.get(id)!, inside), own);
    entry.self += own;
    // What calls itself is counted once.
    if (!above.has(key)) entry.total += total;
    return total;
  };
  if (nodes[0]) walk(nodes[0], new Set());
  return [...found.values()].filter((t) => !idleNames.has(t.name) && t.total > 0).sort((a, b) => b.self - a.self);
};

/** Lets functions stand in their sources, not in the bundle. */
const nameSources = ({ nodes }: Profile): void => {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) {
      try {
        maps.set(
          file,
          new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]),
        );
      } catch {
        maps.set(file, undefined);
      }
    }
    return maps.get(file);
  };
  for (const { callFrame } of nodes) {
    const file = callFrame.url.startsWith('file:') ? fileURLToPath(callFrame.url) : callFrame.url;
    const found = file.startsWith('/')
      ? mapOf(file)?.findEntry(callFrame.lineNumber, callFrame.columnNumber)
      : undefined;
    if (!found || !('originalSource' in found) || !('originalLine' in found)) continue;
    callFrame.url = String(found.originalSource).replace(/^(\.\.\/)+/, '');
    callFrame.lineNumber = Number(found.originalLine);
  }
};

/** The table that is printed; times are of one run. */
export const profileTable = ({ profile, runs }: QueryProfile, top: number): string => {
  const times = timesOf(profile);
  const all = times.reduce((sum, t) => sum + t.self, 0);
  const line = (cells: readonly string[]): string =>
    `${cells[0]!.padStart(9)} ${cells[1]!.padStart(6)} ${cells[2]!.padStart(9)}  ${cells[3]}`;
  const shown = times
    .slice(0, top)
    .map((t) =>
      line([
        (t.self / 1000 / runs).toFixed(2),
        `${((t.self * 100) / all).toFixed(1)}%`,
        (t.total / 1000 / runs).toFixed(2),
        `${t.name} ${t.place}`,
      ]),
    );
  return [line(['self ms', '', 'total ms', 'function']), ...shown].join('\n');
};

const main = async (argv: readonly string[]): Promise<void> => {
  const option = (name: string): string | undefined => {
    const at = argv.indexOf(`--${name}`);
    return at < 0 ? undefined : argv[at + 1];
  };
  const [query] = argv;
  const lake = option('lake');
  const load = option('load');
  const out = option('out') ?? 'query.cpuprofile';
  if (query === undefined || query.startsWith('--') || (lake === undefined && load === undefined))
    throw new Error(
      'usage: npm run profile -- QUERY (--lake FOLDER | --load POOL=FILE) [--runs 10] [--top 25] [--out query.cpuprofile]',
    );
  const found = await profileQuery({
    query,
    ...(lake !== undefined && { lake }),
    ...(load !== undefined && { load }),
    runs: Number(option('runs') ?? 10),
  });
  writeFileSync(out, JSON.stringify(found.profile));
  console.log(
    `${query}\n${ms(found.medianMs)} a run, of ${found.runs}; flame chart: ${basename(out) === out ? `./${out}` : out}\n${profileTable(found, Number(option('top') ?? 25))}`,
  );
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
