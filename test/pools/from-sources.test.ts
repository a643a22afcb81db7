/**
 * `from` with files and URLs in the service: refused unless switched on, and then only what the options list; the
 * command line reads what its user may.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromPolicyOf } from '../../src/commands/from-options.ts';
import { queryCommand } from '../../src/commands/query.ts';
import { parseServe } from '../../src/config/serve.ts';
import { type TestService, startService } from '../support/service/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'from-sources-'));
let server: Server;
let port = 0;
let hits = 0;
beforeAll(async () => {
  mkdirSync(join(folder, 'open'));
  writeFileSync(join(folder, 'open', 'rows.csv'), 'a,b\n1,x\n2,y\n');
  writeFileSync(join(folder, 'open', 'semi.dat'), 'a,b\n3,z\n4,w\n');
  writeFileSync(join(folder, 'secret.csv'), 'a\n9\n');
  symlinkSync(join(folder, 'secret.csv'), join(folder, 'open', 'link.csv'));
  server = createServer((request, response) => {
    hits++;
    if (request.url === '/inside') response.writeHead(302, { location: `http://localhost:${port}/rows` }).end();
    else response.writeHead(request.url?.startsWith('/part') ? 206 : 200).end('{"a":5}\n{"a":6}\n');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const json = { 'content-type': 'application/json', accept: 'application/x-sup' };
interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly hint?: string;
  readonly fault?: { readonly Pos: number; readonly End: number };
}
const refusal = async (service: TestService, query: string, path = '/query'): Promise<Refusal> => {
  const { status, body } = await service.ask('POST', path, { headers: json, body: JSON.stringify({ query }) });
  if (status === 200) return { status, error: `rows: ${body}` };
  const {
    error,
    hint,
    compilation_errors: [fault] = [],
  } = JSON.parse(body) as {
    error: string;
    hint?: string;
    compilation_errors?: readonly { Pos: number; End: number }[];
  };
  return {
    status,
    error: error.split('\n')[0]!,
    ...(hint !== undefined && { hint }),
    ...(fault && { fault: { Pos: fault.Pos, End: fault.End } }),
  };
};

describe('without options', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"movies"}' });
  });
  afterAll(() => service.close());

  test('URLs are refused at their place, the option is named, nobody is asked', async () => {
    const url = `http://127.0.0.1:${port}/rows`;
    expect(await refusal(service, `from '${url}'`)).toEqual({
      status: 400,
      error: `${url}: not a URL that option -from.http allows at line 1, column 6:`,
      fault: { Pos: 5, End: url.length + 6 },
    });
    for (const query of [
      'from http://example.com/x',
      `select * from '${url}'`,
      `values (from '${url}')`,
      `from movies | join (from '${url}') on a=b`,
      `from f"http://127.0.0.1:${port}/"`,
      `let q = (from '${url}') from q`,
    ]) {
      expect((await refusal(service, query)).error).toMatch(/not a URL that option -from\.http allows/);
    }
    expect((await refusal(service, `from '${url}'`, '/compile')).error).toMatch(/not a URL that option/);
    expect((await refusal(service, `from '${url}'`, '/query/describe')).error).toMatch(/not a URL that option/);
    const head = await service.ask('POST', '/query', {
      headers: json,
      body: JSON.stringify({ query: 'count()', head: { pool: url } }),
    });
    expect(head).toMatchObject({
      status: 400,
      body: expect.stringContaining('not a URL that option -from.http allows') as string,
    });
    // What a value of the data names is never opened.
    expect((await refusal(service, `values "${url}" | from f"{this}"`)).error).toBe(
      `${url}: cannot open in a database environment`,
    );
    expect((await refusal(service, `from movies | load '${url}'`)).status).toBe(400);
    expect(hits).toBe(0);
  });
  test('files are no pools, and a name that can only be a file is told of the option', async () => {
    const path = join(folder, 'open', 'rows.csv');
    expect(await refusal(service, `from '${path}'`)).toMatchObject({
      status: 400,
      error: `${path}: pool not found at line 1, column 6:`,
      hint: 'files are read only from the folders that option -from.files lists',
    });
    expect(await refusal(service, `from 'file://${path}'`)).toMatchObject({
      status: 400,
      error: expect.stringMatching(/: pool not found at/) as string,
    });
    expect(await refusal(service, "from 'rows.csv'")).toEqual({
      status: 400,
      error: 'rows.csv: pool not found at line 1, column 6:',
      fault: { Pos: 5, End: 14 },
    });
    expect(await refusal(service, "from 'stdio:stdin'")).toMatchObject({
      status: 400,
      error: 'stdio:stdin: pool not found at line 1, column 6:',
    });
    expect((await refusal(service, 'from ro*.csv')).error).toMatch(/pool matching glob not found/);
    expect((await refusal(service, `values "${path}" | from f"{this}"`)).error).toBe(
      `${path}: cannot open in a database environment`,
    );
    expect((await refusal(service, `from movies (format csv)`)).error).toMatch(/^unknown argument "format"/);
  });
});

describe('with options', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService([
      '-from.files',
      join(folder, 'open'),
      `-from.http=127.0.0.1:${port}`,
      '-from.http=*',
      '-from.http.max',
      '1KiB',
    ]);
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"rows.csv"}' });
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"movies"}' });
  });
  afterAll(() => service.close());

  test('files of the folders are read, with their endings or a format, alone and by globs', async () => {
    expect(await service.query(`from '${join(folder, 'open', 'rows.csv')}' | cut a`)).toBe('{a:1.}\n{a:2.}\n');
    expect(await service.query("from './rows.csv' | count()")).toBe('2\n');
    expect(await service.query('from semi.dat (format csv) | cut b')).toBe('{b:"z"}\n{b:"w"}\n');
    expect(await service.query("select sum(a) as s from './rows.csv'")).toBe('{s:3.}\n');
    expect(await service.query('from se*.dat | count()')).toBe('2\n');
    expect((await refusal(service, 'from no*.dat')).error).toMatch(/^no\*\.dat: pool matching glob not found/);
  });
  test('a pool goes before a file of its name', async () => {
    expect(await service.query('from rows.csv | count()')).toBe('0\n');
    expect((await refusal(service, "from 'rows.csv' (format csv)")).error).toMatch(/^unknown argument "format"/);
  });
  test('other files are refused, behind links and dots too', async () => {
    for (const name of [
      join(folder, 'secret.csv'),
      '../secret.csv',
      './link.csv',
      '/etc/passwd',
      'file:///etc/passwd',
    ]) {
      expect(await refusal(service, `from '${name}'`)).toMatchObject({
        status: 400,
        error: `${name}: not in a folder that option -from.files allows at line 1, column 6:`,
      });
    }
    expect((await refusal(service, "from 'nothing.csv'")).error).toBe(
      'nothing.csv: pool not found at line 1, column 6:',
    );
    expect((await refusal(service, `from '${folder}/open'`)).error).toMatch(/not in a folder|is a directory/);
  });
  test('URLs that are listed are read; a redirect inside is refused and its target never asked', async () => {
    expect(await service.query(`from 'http://127.0.0.1:${port}/rows' | sum(a)`)).toBe('11\n');
    expect(await service.query(`from 'http://127.0.0.1:${port}/rows' (format line) | count()`)).toBe('2\n');
    const before = hits;
    expect(await refusal(service, `from 'http://127.0.0.1:${port}/inside'`)).toMatchObject({
      status: 400,
      error: `http://localhost:${port}/rows: not a URL that option -from.http allows`,
    });
    expect((await refusal(service, 'from http://localhost/rows')).error).toMatch(
      /localhost has the address \S+, which is not public/,
    );
    expect((await refusal(service, 'from http://169.254.169.254/latest')).error).toMatch(
      /169\.254\.169\.254, which is not public/,
    );
    expect(hits).toBe(before + 1);
  });

  test('a part of a resource is read only where a range was asked for', async () => {
    const url = `http://127.0.0.1:${port}/part`;
    expect(await refusal(service, `from '${url}'`)).toMatchObject({
      status: 400,
      error: `${url}: 206 Partial Content, though no range was asked for`,
    });
    expect(await service.query(`from '${url}' (headers {Range:["bytes=0-15"]}) | count()`)).toBe('2\n');
  });
});

test('a bad entry or a folder that is not there ends the start with one line', () => {
  const policy =
    (...flags: readonly string[]) =>
    (): unknown => {
      const config = parseServe(flags);
      return 'help' in config ? config : fromPolicyOf(config.from, folder);
    };
  expect(policy('-from.files', 'nowhere')).toThrow('bad value for -from.files: "nowhere" (a folder that is there)');
  expect(policy('-from.http', 'ftp://x')).toThrow(/^bad value for -from\.http: "ftp:\/\/x" \(a host such as/);
  expect(policy('-from.files=open', '-from.http=*.example.com')()).toMatchObject({
    files: [{ path: join(folder, 'open') }],
    http: { rules: [{ host: '*.example.com', path: '/' }], bytesMax: 2 ** 30, waitMsMax: 60_000 },
  });
});

describe('lake query', () => {
  const query = async (...args: readonly string[]): Promise<string> => {
    const out: string[] = [];
    async function* stdin(): AsyncGenerator<Uint8Array> {
      /* nothing */
    }
    await queryCommand(['-s', ...args], {
      cwd: folder,
      stdin: stdin(),
      stdoutIsTerminal: false,
      write: async (chunk) => {
        out.push(Buffer.from(chunk).toString());
      },
      complain: (text) => {
        out.push(text);
      },
    });
    return out.join('');
  };
  test('reads any file and any URL of its user', async () => {
    expect(await query('-c', 'from secret.csv')).toBe('{a:9.}\n');
    expect(await query('-c', `from 'http://127.0.0.1:${port}/inside' | sum(a)`)).toBe('11\n');
    expect(await query('-c', 'sum(a)', `http://127.0.0.1:${port}/rows`)).toBe('11\n');
  });
  test('reads only the URLs that -from.http lists, if it is given', async () => {
    expect(await query('-from.http', `127.0.0.1:${port}`, '-c', `from 'http://127.0.0.1:${port}/rows' | sum(a)`)).toBe(
      '11\n',
    );
    expect(await query('-from.http', `127.0.0.1:${port}`, '-c', `from 'http://127.0.0.1:${port}/inside'`)).toMatch(
      /localhost:\d+\/rows: not a URL that option -from\.http allows/,
    );
    expect(await query('-from.http=example.com', '-c', `from 'http://127.0.0.1:${port}/rows'`)).toMatch(
      /not a URL that option -from\.http allows/,
    );
  });
});
