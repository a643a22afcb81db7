/** `lake load` over folders, globs and URLs, and what `-dryrun` says of files without loading them. */
import { createServer } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadCommand } from '../../src/commands/load/load.ts';
import { ProgressLines } from '../../src/commands/progress.ts';
import type { CommandIo } from '../../src/commands/io.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startService();
  folder = mkdtempSync(join(tmpdir(), 'lake-files-'));
  const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content);
  mkdirSync(join(folder, 'logs/2024'), { recursive: true });
  put('logs/a.json', '{"ts":1,"of":"a"}\n');
  put('logs/b.csv.gz', gzipSync('ts,of\n2,b\n'));
  put('logs/2024/c.ndjson', '{"ts":3,"of":"c"}\n{"ts":4,"of":"c"}\n');
  put('logs/2024/[d].json', '{"ts":5,"of":"d"}\n');
  put('logs/.hidden', 'no data');
  put('array.json', '[{"ts":1}]');
  put('lies.json', 'a;b\n1;2\n');
  put('semicolons', 'a,x;b;c\n1,2;3;4\n');
  put('numbers.csv', '1,2\n3,4\n');
  put('sheet.xlsx', Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0]));
  put('prose', 'nothing but words\nin lines\n');
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

const load = async (
  ...argv: readonly string[]
): Promise<{ readonly status: number | string; readonly out: string; readonly err: string }> => {
  let out = '';
  let err = '';
  const io: CommandIo = {
    cwd: folder,
    stdin: (async function* () {
      yield Buffer.from('{"ts":9,"of":"stdin"}');
    })(),
    stdoutIsTerminal: false,
    write: async (chunk) => {
      out += Buffer.from(chunk).toString();
    },
    complain: (text) => {
      err += text;
    },
  };
  const status = await loadCommand(['-lake', service.url, ...argv], io).catch((problem: Error) => problem.message);
  return { status, out, err };
};
const makePool = (name: string): Promise<unknown> =>
  service.ask('POST', '/pool', { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name }) });
const names = (out: string): readonly string[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^0x[0-9a-f]{40} /, ''))
    .sort();

describe('what is loaded', () => {
  test('a folder is all its files that are not hidden, a format each', async () => {
    await makePool('folder');
    const { status, out } = await load('-use', 'folder', 'logs');
    expect([status, names(out)]).toEqual([
      0,
      ['logs/2024/[d].json', 'logs/2024/c.ndjson', 'logs/a.json', 'logs/b.csv.gz'],
    ]);
    expect(await service.query('from folder | count() by of | sort of')).toBe(
      '{of:"a",count:1}\n{of:"b",count:1}\n{of:"c",count:2}\n{of:"d",count:1}\n',
    );
  });
  test('a glob is what matches, each file once; a name that is there is no glob', async () => {
    await makePool('glob');
    const given = ['logs/*.js?n', 'logs/**/*.[jn]*', 'logs/2024/[d].json', '-'];
    const { status, out } = await load('-use', 'glob', '-parallel', '1', ...given);
    expect([status, names(out)]).toEqual([
      0,
      ['logs/2024/[d].json', 'logs/2024/c.ndjson', 'logs/a.json', 'standard input'],
    ]);
    expect(await load('-use', 'glob', 'logs/*.parquet')).toMatchObject({ status: 'logs/*.parquet: no file matches' });
    mkdirSync(join(folder, 'empty'));
    expect(await load('-use', 'glob', 'empty')).toMatchObject({ status: 'empty: the folder has no files' });
  });
  test('a URL is read by the command; its path tells the format', async () => {
    await makePool('url');
    const server = createServer((request, response) => {
      if (request.url!.startsWith('/rows.csv'))
        response.setHeader('content-encoding', 'gzip').end(gzipSync('ts,of\n7,url\n'));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const { status, out } = await load('-use', 'url', `${base}/rows.csv?of=today`);
      expect([status, names(out)]).toEqual([0, [`${base}/rows.csv?of=today`]]);
      expect(await service.query('from url')).toBe('{ts:7.,of:"url"}\n');
      expect((await load('-use', 'url', `${base}/gone`)).status).toContain(`${base}/gone: `);
    } finally {
      server.close();
    }
  });
  test('the first that fails keeps others from being begun, and says which', async () => {
    await makePool('failing');
    const { status, out, err } = await load(
      '-use',
      'failing',
      '-parallel',
      '1',
      'logs/a.json',
      'lies.json',
      'array.json',
    );
    expect(names(out)).toEqual(['logs/a.json']);
    expect(status).toMatch(/^lies\.json: json: /);
    expect(err).toBe('1 of 3 inputs were not begun, the next is array.json\n');
  });
});

test('folders with Hive names give fields; what is no number is a text', async () => {
  await makePool('hive');
  const put = (name: string, content: string | Uint8Array): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  put('hive/year=2024/month=05/a.json', '{"ts":1}\n{"ts":2,"year":2024}');
  put('hive/year=2024/month=11/b.csv', 'ts\n3');
  put('hive/year=2025/of%20it=x%2Fy/__c=__HIVE_DEFAULT_PARTITION__/c.sup', '{ts:4}');
  put('hive/d.json', '{"ts":5}');
  // What Spark and Hive write beside the files of data.
  for (const name of ['_SUCCESS', '_metadata', '_temporary/0/a.json', 'year=2024/_delta_log/00.json'])
    put(`hive/${name}`, '');
  expect((await load('-hive', '-use', 'hive', 'hive')).status).toBe(0);
  expect(await service.query('from hive | sort ts')).toBe(
    [
      '{ts:1,year:2024,month:5}',
      '{ts:2,year:2024,month:5}',
      '{ts:3.,year:2024,month:11}',
      '{ts:4,year:2025,"of it":"x/y",__c:null}',
      '{ts:5}',
      '',
    ].join('\n'),
  );
  // A list of records counts as these; a field that says what its folder says stays as it is.
  put('hive2/day=2024-05-01/n=7/a.json', '[{"ts":6},{"n":7.0,"ts":7}]');
  put('hive2/day=2024-05-01/n=7/b.sup', '{ts:8,day:2024-05-01T00:00:00Z,n:"7"}{ts:9,n:7::(int64|string)}');
  put('hive2/n=__HIVE_DEFAULT_PARTITION__/c.sup', '{ts:10,n:null}');
  expect((await load('-hive', '-use', 'hive', 'hive2')).status).toBe(0);
  expect(await service.query('from hive | where ts > 5 | sort ts')).toBe(
    [
      '{ts:6,day:"2024-05-01",n:7}',
      '{n:7.,ts:7,day:"2024-05-01"}',
      '{ts:8,day:2024-05-01T00:00:00Z,n:"7"}',
      '{ts:9,n:7::(int64|string),day:"2024-05-01"}',
      '{ts:10,n:null}',
      '',
    ].join('\n'),
  );
  expect((await load('-hive', '-use', 'hive', 'hive/year=2024/_delta_log')).status).toBe(
    'hive/year=2024/_delta_log/00.json: no records in request',
  );
  put('hive/year=2024/month=05/a.json', '{"ts":');
  expect((await load('-hive', '-use', 'hive', 'hive/year=2024/month=05')).status).toMatch(
    /^hive\/year=2024\/month=05\/a\.json: json: /,
  );
  put('hive/y=1/y=2/a.json', '{"ts":1}');
  expect((await load('-hive', '-use', 'hive', 'hive/y=1')).status).toBe(
    'hive/y=1/y=2/a.json: two of its folders give the field "y"',
  );
  for (const [name, content, fault] of [
    ['n=7/a.json', '{"n":8}', 'its folder says that "n" is 7, this record of the file says otherwise: {n:8}'],
    ['n=7/b.csv', 'n,m\n,1', 'its folder says that "n" is 7, this record of the file says otherwise: {n:null,m:1.}'],
    [
      'n=7/c.sup',
      '{n:error("x")}',
      'its folder says that "n" is 7, this record of the file says otherwise: {n:error("x")}',
    ],
    ['n=7/d.json', '{"m":1}\n[{"m":2},3]', 'fields of folders go into records, and this is none: 3'],
    ['n=7/e.sup', 'error({m:1})', 'fields of folders go into records, and this is none: an error value'],
    ['of=x/f.json', JSON.stringify({ of: 'y'.repeat(1000) }), 'its folder says that "of" is "x", this record'],
  ] as const) {
    put(`refused/${name}`, content);
    const { status } = await load('-hive', '-use', 'hive', `refused/${name}`);
    expect(String(status)).toMatch(new RegExp(`^refused/${name}: .{1,300}$`));
    expect(status).toContain(fault);
  }
  expect(await service.query('from hive | count()')).toBe('10\n');
  expect((await load('-dryrun', '-hive', 'hive/year=2024/month=11')).out).toContain(
    '  fields  year:2024,month:11 of its folders\n',
  );
  expect((await load('-hive', '-follow', '-use', 'hive', 'x')).status).toBe(
    'lake load: -hive and -follow exclude each other',
  );
});

describe('-dryrun', () => {
  const dryRun = async (...argv: readonly string[]): Promise<string> => (await load('-dryrun', ...argv)).out;
  test('tells format and why, type, key and rows of each, and changes nothing', async () => {
    await makePool('dry');
    expect(await dryRun('-use', 'dry', 'logs/2024/c.ndjson', '-')).toBe(`logs/2024/c.ndjson
  format  json, since its name says so
  type    {ts:int64,of:string} (of the first 2 records)
  key     ts asc, of the pool dry
  rows    {ts:3,of:"c"}
          {ts:4,of:"c"}
standard input
  format  json, since its beginning reads as JSON
  type    {ts:int64,of:string} (of the first 1 records)
  key     ts asc, of the pool dry
  rows    {ts:9,of:"stdin"}
`);
    expect(await service.query('from dry | count()')).toBe('0\n');
  });
  test('tells why it is unsure', async () => {
    const unsure = async (name: string): Promise<readonly string[]> =>
      [...(await dryRun(name)).matchAll(/^ {2}(?:unsure|format) +(.*)$/gm)].map(([, text]) => text!);
    expect(await unsure('array.json')).toEqual([
      'json, since its name says so',
      'it begins with an array, which is one value (unnest=T: a record for each element)',
    ]);
    expect(await unsure('semicolons')).toEqual([
      "csv, since the first line has the delimiter ','",
      "the first line has ';' more often (csv.delim)",
    ]);
    expect(await unsure('numbers.csv')).toEqual([
      'csv, since its name says so',
      'without that it would be read as sup, since the first value reads as SUP, but not as JSON',
      'the first line has numbers alone, and is taken for the names of the columns (csv.header=0: there are none)',
    ]);
  });
  test('tells the key that suits where there is no pool', async () => {
    expect(await dryRun('-use', 'new', 'logs/a.json')).toContain(
      'key     ts, for a new pool (there is no pool new yet)\n',
    );
    expect(await dryRun('logs/a.json')).toContain('key     ts, for a new pool\n');
  });
  test('what cannot be read is told with a reason, and ends with 1', async () => {
    writeFileSync(join(folder, 'empty.json'), '');
    writeFileSync(join(folder, 'escapes'), '\x1b[2J\0');
    const { status, out } = await load('-dryrun', 'lies.json', 'sheet.xlsx', 'prose', 'empty.json', 'escapes');
    expect(out).toContain('empty.json\n  would be refused: no records in request\n');
    expect(out).not.toMatch(/[\0\x1b]/);
    expect(status).toBe(1);
    expect(out).toMatch(/^lies\.json\n {2}would be refused: json: .*\n/);
    expect(out).toContain('hint: it begins like a ZIP file, as spreadsheets are (.xlsx)\n');
    expect(out).toContain(
      'hint: text without a structure is loaded line by line as format line (application/x-line)\n',
    );
  });
});

test('an error behind the beginning tells how the format was found', async () => {
  await makePool('found');
  writeFileSync(join(folder, 'breaks'), 'a,b\n1,2\n3\n');
  expect((await load('-use', 'found', 'breaks')).status).toMatch(
    /^breaks: csv: .*\nhint: the format was not said: read as csv since the first line has the delimiter ','; line 3 has another/,
  );
});

test('lines of files that go on side by side are drawn below each other', async () => {
  const drawn: string[] = [];
  const lines = new ProgressLines({
    cwd: '',
    stdin: (async function* () {})(),
    stdoutIsTerminal: true,
    progress: { columns: () => 70, rows: () => 3, color: false },
    write: async () => {},
    complain: (text) => {
      drawn.push(text);
    },
  });
  const [a, b, c] = [lines.begin(), lines.begin(), lines.begin()];
  const tell = (): void => {
    for (const [i, line] of [a, b, c].entries()) line.tell(() => ({ what: `f${i}`, bytes: 5, total: 10, records: 0 }));
  };
  await expect
    .poll(() => {
      tell();
      return drawn.at(-1);
    })
    .toMatch(/^\rf0 .* 50 %.*\x1b\[K\r\nf1 .* 50 %.*\x1b\[K\x1b\[J\x1b\[1A\r$/);
  a.hide();
  expect(drawn.at(-1)).toBe('\r\x1b[J');
});
