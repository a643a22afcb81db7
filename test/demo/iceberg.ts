/**
 * `npm run demo:iceberg`: a lake with real data, its branches and its past, read by DuckDB's iceberg extension and by
 * pyiceberg. These are packages for Python in the folder `ICEBERG_PYTHON`; without one they are installed into a folder
 * of their own. DEMO_ENTRY names the program to start (default dist/src/main.js).
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = process.env['DEMO_ENTRY'] ?? join(root, 'dist/src/main.js');
const data = join(root, 'node_modules/vega-datasets/data');
const program = entry.endsWith('.ts') ? ['--import', 'tsx', entry] : [entry];
const packages = process.env['ICEBERG_PYTHON'] ?? join(tmpdir(), 'lake-iceberg-engines');
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

if (!existsSync(join(packages, 'duckdb_extension_iceberg'))) {
  say(`Installing pyiceberg, pyarrow and DuckDB with its extensions into ${packages}`);
  const wanted = ['iceberg', 'avro', 'httpfs'].map((name) => `duckdb-extension-${name}==1.5.5`);
  const pip = ['-m', 'pip', 'install', '-q', '--target', packages, 'pyiceberg==0.12.0', 'pyarrow', 'duckdb==1.5.5'];
  const { status } = spawnSync('python3', [...pip, ...wanted], { stdio: 'inherit' });
  if (status !== 0) throw new Error('pip could not install them');
}

const folder = mkdtempSync(join(tmpdir(), 'lake-demo-iceberg-'));
const service = spawn(
  process.execPath,
  [...program, 'serve', '-lake', join(folder, 'lake'), '-l', '127.0.0.1:0', '-log.level', 'error'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const base = await new Promise<string>((resolve, reject) => {
  let text = '';
  service.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const address = /http:\/\/[\w.:[\]]+/.exec(text);
    if (address) resolve(address[0]);
  });
  service.once('exit', (status) => reject(new Error(`the service ended with status ${status}`)));
});

/** One request, printed with its answer. */
const post = async (path: string, body: string, shown = body): Promise<string> => {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body,
  });
  const text = (await response.text()).trim();
  say(`POST ${path} ${shown}\n-> ${response.status} ${text.length > 120 ? `${text.slice(0, 117)}...` : text}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return text;
};
const records = (file: string): string =>
  (JSON.parse(readFileSync(join(data, file), 'utf8')) as unknown[]).map((row) => JSON.stringify(row)).join('\n');
const pool = (name: string, key: string): Promise<string> =>
  post('/pool', JSON.stringify({ name, layout: { order: 'asc', keys: [[key]] }, iceberg: 'lazy' }));

try {
  say(`A lake service on ${base}; its Iceberg catalogue is ${base}/iceberg\n`);
  await pool('movies', 'Title');
  await pool('flights', 'date');
  const loaded = await post('/pool/movies/branch/main', records('movies.json'), '< movies.json');
  const { commit } = JSON.parse(loaded) as { readonly commit: string };
  await post('/pool/flights/branch/main', records('flights-20k.json'), '< flights-20k.json');
  await post('/pool/movies', JSON.stringify({ name: 'trial', commit }));
  await post('/pool/movies/branch/trial', '{"Title":"A Lake","Major Genre":"Documentary","IMDB Rating":10}');
  await post('/pool/movies/branch/main/delete', JSON.stringify({ where: 'this["Major Genre"] is null' }));
  const reader = spawn(
    'python3',
    [fileURLToPath(new URL('iceberg.py', import.meta.url)), `${base}/iceberg`, commit.replace('0x', '')],
    {
      env: { ...process.env, PYTHONPATH: packages, PYTHONWARNINGS: 'ignore' },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const status = await new Promise((resolve) => reader.once('close', resolve));
  if (status !== 0) throw new Error(`the readers ended with status ${String(status)}`);
} finally {
  service.kill('SIGTERM');
  await new Promise((resolve) => (service.exitCode === null ? service.once('exit', resolve) : resolve(undefined)));
  rmSync(folder, { recursive: true, force: true });
}
