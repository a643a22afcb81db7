/**
 * What engines fetch of a table, beside what they fetch where pyarrow wrote its files: bytes counted at the endpoint, by
 * pyiceberg and DuckDB (traffic.py). `npm run engines:traffic` does it with 1,000,000 rows.
 */
import { spawn } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { writeEvents } from '../bench/events.ts';
import { startService } from '../support/service/server.ts';
import { folderCatalogue } from './folder-catalogue.ts';
import { tablePath } from './support.ts';

const script = fileURLToPath(new URL('traffic.py', import.meta.url));
/** Columns that are asked for: texts of few kinds and of many, whole numbers, and the key. */
const allColumns = ['kind', 'uid', 'bytes', 'ts'];
/** The part of the key range that is asked for. */
const part = 0.06;

/** Bytes of data files that one query fetched. */
export interface Fetched {
  readonly engine: string;
  readonly column: string;
  /** All rows, or those of the last part of the key range (`isPart`). */
  readonly rows: number;
  readonly isPart: boolean;
  readonly ours: number;
  readonly pyarrow: number;
}
interface Traffic {
  /** Bytes of all data files. */
  readonly sizes: { readonly ours: number; readonly pyarrow: number };
  readonly fetched: readonly Fetched[];
}

/**
 * Loads so many rows of the benchmark's kind and has engines read them. `python`: the folder of the engines.
 * `isPartOnly`: none reads all rows.
 */
export const measureTraffic = async ({
  rows,
  python,
  columns = allColumns,
  isPartOnly = false,
}: {
  readonly rows: number;
  readonly python: string;
  readonly columns?: readonly string[];
  readonly isPartOnly?: boolean;
}): Promise<Traffic> => {
  const folder = await mkdtemp(join(tmpdir(), 'lake-traffic-'));
  const own = await startService();
  const counter = countFiles();
  let peers: Awaited<ReturnType<typeof startService>> | undefined;
  try {
    const since = await load(own.url, rows, folder);
    const root = join(folder, 'peers');
    const engines = startEngines([root, `${own.url}/iceberg`], python);
    const [, [size = 0, peerSize = 0] = []] = (await engines.next()) as [string, readonly number[]];
    const { pool = '' } =
      /s3:\/\/lake\/(?<pool>\w+)/.exec((await own.ask('GET', tablePath('events'))).body)?.groups ?? {};
    const catalogue = folderCatalogue([{ pool, name: 'events' }], root);
    peers = await startService([], undefined, undefined, undefined, undefined, { catalogue });
    const queries = columns.flatMap((column) => [...(isPartOnly ? [] : [[column, null]]), [column, since]]);
    counter.take();
    const found: Counted[] = [];
    let line = await engines.next(JSON.stringify({ peers: `${peers.url}/iceberg`, queries }));
    for (; line; line = await engines.next('')) {
      const [query, count] = line as [Counted['query'], number];
      found.push({ query, rows: count, bytes: counter.take() });
    }
    return { sizes: { ours: size, pyarrow: peerSize }, fetched: inPairs(found) };
  } finally {
    counter.stop();
    await peers?.close();
    await own.close();
    await rm(folder, { recursive: true, force: true });
  }
};

/** A query of one of the two tables. */
interface Counted {
  /** Engine, table, column, least key. */
  readonly query: readonly [string, 'ours' | 'pyarrow', string, string | null];
  readonly rows: number;
  readonly bytes: number;
}
/** What each engine fetched of either: pyarrow's comes after ours. */
const inPairs = (found: readonly Counted[]): readonly Fetched[] =>
  found.flatMap(({ query: [engine, whose, column, since], rows, bytes }, at) => {
    const peer = found[at + 1];
    if (whose !== 'ours' || !peer) return [];
    if (peer.rows !== rows) throw new Error(`${engine} found ${rows} rows of ours, ${peer.rows} of pyarrow's`);
    return [{ engine, column, rows, isPart: since !== null, ours: bytes, pyarrow: peer.bytes }];
  });

/** Loads rows in one piece; the key from which on there are as many as the part that is asked for. */
const load = async (url: string, rows: number, folder: string): Promise<string> => {
  const pool = { name: 'events', layout: { order: 'asc', keys: [['ts']] }, iceberg: 'lazy' };
  const path = join(folder, 'events.ndjson');
  await writeEvents(path, rows);
  const post = async (to: string, body: RequestInit['body'], type: string): Promise<string> => {
    const headers = { 'content-type': type, accept: 'application/json' };
    const answer = await fetch(url + to, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    if (answer.status !== 200) throw new Error(`${to}: ${await answer.text()}`);
    return answer.text();
  };
  await post('/pool', JSON.stringify(pool), 'application/json');
  await post(
    '/pool/events/branch/main',
    createReadStream(path) as unknown as RequestInit['body'],
    'application/x-ndjson',
  );
  const query = `from events | sort ts | skip ${Math.floor(rows * (1 - part))} | head 1 | values ts`;
  return (
    (JSON.parse(await post('/query', JSON.stringify({ query }), 'application/json')) as readonly string[])[0] ?? ''
  );
};

/** Counts the bytes of answers to requests for data files, with their headers, of any service of this process. */
const countFiles = (): { readonly take: () => number; readonly stop: () => void } => {
  let bytes = 0;
  const begun = new WeakMap<IncomingMessage, number>();
  const begin = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    if (request.method === 'GET' && /^\/s3\/lake\/\w+\/(?:data|merged)\//.test(request.url ?? ''))
      begun.set(request, request.socket.bytesWritten);
  };
  const end = (message: unknown): void => {
    const { request, socket } = message as { readonly request: IncomingMessage; readonly socket: Socket };
    bytes += socket.bytesWritten - (begun.get(request) ?? socket.bytesWritten);
  };
  diagnostics.subscribe('http.server.request.start', begin);
  diagnostics.subscribe('http.server.response.finish', end);
  return {
    take: () => {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    stop: () => {
      diagnostics.unsubscribe('http.server.request.start', begin);
      diagnostics.unsubscribe('http.server.response.finish', end);
    },
  };
};

/** The script: `next` sends it a line, if any, and gives what it says then; undefined when it ends. */
const startEngines = (
  argv: readonly string[],
  python: string,
): { readonly next: (line?: string) => Promise<unknown> } => {
  const child = spawn('python3', [script, ...argv], {
    env: { ...process.env, PYTHONPATH: python, PYTHONWARNINGS: 'ignore' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const ended = new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    next: async (line) => {
      if (line !== undefined) child.stdin.write(`${line}\n`);
      const { value, done } = await lines.next();
      if (!done) return JSON.parse(value) as unknown;
      const status = await ended;
      if (status !== 0) throw new Error(`${status}: ${complaints}`);
      return undefined;
    },
  };
};

/** What the script prints. */
export const trafficLines = ({ sizes, fetched }: Traffic): readonly string[] => [
  `data files: ${sizes.ours} bytes, of pyarrow ${sizes.pyarrow} (${(sizes.ours / sizes.pyarrow).toFixed(3)})`,
  ...fetched.map(
    ({ engine, column, isPart, rows, ours, pyarrow }) =>
      `${engine} ${column}${isPart ? ', 6 % of the key range' : ''}: ${rows} rows, ${ours} bytes, of pyarrow ${pyarrow} (${(ours / pyarrow).toFixed(3)})`,
  ),
];
