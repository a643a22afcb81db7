/** Engines that are packages for Python, in a folder of their own (`ICEBERG_PYTHON`), and how they are asked. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.env['ICEBERG_PYTHON'] ?? '';
const script = fileURLToPath(new URL('engines.py', import.meta.url));

/**
 * How the manual calls an engine, whether it reads a branch or a tag by name, and tables with columns of variants.
 * `folder`: the variable that says where an engine of Java is, which takes its time and is for `npm run engines`.
 */
export const engines = {
  pyiceberg: { name: 'pyiceberg', refs: true, variants: false, isJava: false, needs: ['pyiceberg', 'pyarrow'] },
  duckdb: {
    name: 'DuckDB',
    refs: false,
    variants: true,
    isJava: false,
    needs: ['duckdb', 'duckdb_extension_iceberg', 'duckdb_extension_avro'],
  },
  polars: { name: 'Polars', refs: true, variants: false, isJava: false, needs: ['polars', 'pyiceberg'] },
  daft: { name: 'Daft', refs: true, variants: false, isJava: false, needs: ['daft', 'pyiceberg'] },
  chdb: { name: 'ClickHouse (chDB)', refs: false, variants: false, isJava: false, needs: ['chdb'] },
  spark: { name: 'Spark', refs: true, variants: true, isJava: true, needs: [] },
  trino: { name: 'Trino', refs: true, variants: false, isJava: true, needs: [] },
} as const;
export type Engine = keyof typeof engines;
const javaFolders: Partial<Record<Engine, string>> = {
  spark: process.env['ICEBERG_SPARK'] ?? '',
  trino: process.env['ICEBERG_TRINO'] ?? '',
};
export const lacks = (engine: Engine): boolean =>
  engines[engine].isJava
    ? javaFolders[engine] === ''
    : process.env['NO_SKIPS'] === undefined && !engines[engine].needs.every((name) => existsSync(join(folder, name)));

/** Where a service is, and what opens it. */
interface Address {
  readonly url: string;
  readonly key: string;
}
/** What an engine gives for each case (engines.py); `pyarrow` is the files alone. */
export const readBy = (
  engine: Engine | 'pyarrow',
  { url, key }: Address,
  cases: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> =>
  new Promise((resolve, reject) => {
    const child = spawn('python3', [script, engine], {
      env: {
        ...process.env,
        PYTHONPATH: engine === 'spark' ? javaFolders.spark : folder,
        PYTHONWARNINGS: 'ignore',
        PYTHONDONTWRITEBYTECODE: '1',
        DO_NOT_TRACK: '1',
      },
    });
    let out = '';
    let complaints = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (status) => {
      const lines = out.split('\n').filter((line) => line.startsWith('["'));
      if (status !== 0 || lines.length !== Object.keys(cases).length) reject(new Error(`${status}: ${complaints}`));
      else resolve(Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, unknown])));
    });
    child.stdin.end(JSON.stringify({ uri: `${url}/iceberg`, bucket: `${url}/lake`, key, column: 'id', cases }));
  });
