/**
 * `lake shell` as people and scripts use it: the built program, at a pseudo terminal and through pipes, on a service
 * and on a folder.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellCommand } from '../../src/commands/shell/shell.ts';
import type { CommandIo } from '../../src/commands/io.ts';
import { ConfigError } from '../../src/config/options.ts';
import { type Service, program, startBuiltService } from '../support/service/built.ts';
import { lacksPython } from '../support/python.ts';
import { type TerminalStep, inTerminal, withoutEscapes } from '../support/service/terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-shell-'));
let service: Service;
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-query.status.ttl', '30s'] });
  const post = (path: string, body: string): Promise<Response> =>
    fetch(service.address + path, { method: 'POST', body, headers: { 'content-type': 'application/x-sup' } });
  await post('/pool', '{name:"movies",layout:{order:"asc",keys:[["title"]]}}');
  await post('/pool/movies/branch/main', '{title:"A",rating:7,info:{year:1999}}{title:"B",rating:8.5}{title:"C"}');
  await post('/pool', '{name:"big"}');
  await post('/pool/big/branch/main', Array.from({ length: 30_000 }, (_, i) => `{ts:${i}}`).join('\n'));
  const tip = /0x[0-9a-f]{40}/.exec(await (await fetch(`${service.address}/pool/movies/branch/main`)).text())![0];
  await post('/pool/movies', `{name:"trial",commit:"${tip}"}`);
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface End {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}
/** The built program. */
const built = (input: string, ...args: readonly string[]): End => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    input,
    encoding: 'utf8',
    cwd: folder,
  });
  return { status, out: stdout, err: stderr };
};
/** The command in this process. */
const shell = async (input: string, ...args: readonly string[]): Promise<End> => {
  let out = '';
  let err = '';
  async function* stdin(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(input);
  }
  const io: CommandIo = {
    cwd: folder,
    stdin: stdin(),
    stdoutIsTerminal: false,
    complain: (text) => {
      err += text;
    },
    write: (chunk) => {
      out += Buffer.from(chunk).toString();
      return Promise.resolve();
    },
  };
  const status = await shellCommand(args, io).catch((problem: Error) => {
    err += `${problem.message}\n`;
    return problem instanceof ConfigError ? problem.exitStatus : 1;
  });
  return { status, out, err };
};
const remote = (input: string, ...args: readonly string[]): Promise<End> =>
  shell(input, '-s', service.address, ...args);

describe('through a pipe', () => {
  test('queries are answered in SUP, one after another', async () => {
    expect(
      await remote(
        'from movies | cut title\nselect count(*) as n from movies;\nvalues {a:[1,\n2]}\n\nfrom movies |\n head 1 | cut title',
      ),
    ).toEqual({
      status: 0,
      out: '{title:"A"}\n{title:"B"}\n{title:"C"}\n{n:3}\n{a:[1,2]}\n{title:"A"}\n',
      err: '',
    });
  });
  test('a file may have its pipes at the beginning of lines', async () =>
    expect((await remote('from movies\n  | sort -r title\n  | head 1\n  | cut title\nvalues 2\n')).out).toBe(
      '{title:"C"}\n2\n',
    ));
  test('the first query that fails ends it with status 1; the place is told by the lines of the input', async () => {
    expect(await remote('values 1\n\nvalues 2 |\n  put x:=uper(a)\nvalues 3\n')).toEqual({
      status: 1,
      out: '1\n',
      err: 'no such function at line 4, column 10:\n  put x:=uper(a)\n         ~~~~~~~\nno such field "a" at line 4, column 15:\n  put x:=uper(a)\n              ~\nhint: did you mean "upper"?\n',
    });
  });
  test('-e=false goes on, the status stays 1', async () => {
    expect(await remote('from movis\nvalues (\n\nvalues 3\n', '-e=false')).toEqual({
      status: 1,
      out: '3\n',
      err: 'movis: pool not found at line 1, column 6:\nfrom movis\n     ~~~~~\nhint: did you mean "movies"?\nparse error at line 2, column 9:\nvalues (\n        ^\nhint: the parenthesis ( at line 2, column 8 is not closed\n',
    });
  });
  test('-use, -mode and the commands', async () => {
    expect(
      await remote(
        'head 1 | cut title, rating\n.mode csv\ncut title, rating | head 2\n.use movies@trial\n.mode json 2\nhead 1 | cut info\n.quit\nvalues 1',
        '-use',
        'movies',
      ),
    ).toEqual({
      status: 0,
      err: '',
      out: '{title:"A",rating:7}\nmode csv\ntitle,rating\nA,7\nB,8.5\nusing movies@trial\nmode json 2\n{\n  "info": {\n    "year": 1999\n  }\n}\n',
    });
    const { out } = await remote('.pools\n.branches movies\n.schema movies\n.timing on\nvalues 1');
    expect(out).toMatch(/^name +order +keys +created +id\nstring.*\nbig +asc +ts +.*\nmovies +asc +title /);
    expect(out).toMatch(/name +commit +created\n.*\nmain +[0-9A-Za-z]{27} .*\ntrial /);
    expect(out).toMatch(/movies@main: 3 values\nfield +type +optional\nstring +string +string\ntitle +string +\n/);
    expect(out).toMatch(/\ninfo\.year +int64 +\n/);
    expect(out).toMatch(/timing on\n1\n1 row in \d+ ms\n$/);
  });
  test('-index.base says from where brackets count', async () => {
    expect((await remote('values {a:[7,8][1]}', '-index.base', '1')).out).toBe('{a:7}\n');
    expect((await remote('values {a:[7,8][1]}')).out).toBe('{a:8}\n');
  });
  test('-mode table cuts nothing', async () =>
    expect((await remote(`values {a:"${'x'.repeat(300)}",b:1}`, '-mode', 'table')).out).toBe(
      `${'a'.padEnd(300)}      b\n${'string'.padEnd(300)}  int64\n${'x'.repeat(300)}      1\n`,
    ));
  test('-c runs what it is given', async () => {
    expect(await remote('', '-c', 'values 1', '-c', 'from movies\n| count()')).toEqual({
      status: 0,
      out: '1\n3\n',
      err: '',
    });
    expect(await remote('', '-c', 'values nope(1)', '-c', 'values 2')).toMatchObject({ status: 1, out: '' });
  });
  test('what the lake or the shell does not know is told', async () => {
    expect((await remote('.use movis')).err).toBe('movis: pool not found\nhint: did you mean "movies"?\n');
    expect((await remote('.use movies@trail')).err).toBe(
      'movies: "trail": branch not found\nhint: did you mean "trial"?\n',
    );
    expect((await remote('.frob')).err).toBe('.frob: no such command (.help lists them)\n');
    expect((await remote('.mode xml')).err).toMatch(/^\.mode xml: no such mode \(one of csv, json, line, sup, /);
    expect((await remote('.schema')).err).toBe('no pool in use: .schema POOL[@BRANCH], or .use one first\n');
    expect(await remote('', '-use', 'nope')).toMatchObject({ status: 1, err: 'nope: pool not found\n' });
  });
  test('a query that fails while it answers shows what came before, and why', async () => {
    const { status, out, err } = await remote('.mode csv\nvalues {a:1}, 2');
    expect({ status, out, err }).toEqual({
      status: 1,
      out: 'mode csv\na\n1\n',
      err: 'CSV output encountered non-record value: 2\n',
    });
  });
  test('a program at the other end gets each answer before it asks on', async () => {
    const child = spawn(process.execPath, [program, 'shell', '-s', service.address], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const answers: string[] = [];
    for (const text of ['values 1', 'values 2']) {
      child.stdin.write(`${text}\n`);
      answers.push(
        await new Promise<string>((resolve) => {
          child.stdout.once('data', (chunk: Buffer) => {
            resolve(chunk.toString());
          });
        }),
      );
    }
    child.stdin.end();
    expect(answers).toEqual(['1\n', '2\n']);
    expect(
      await new Promise((resolve) => {
        child.once('close', resolve);
      }),
    ).toBe(0);
  });
});

describe('on a folder', () => {
  test('a lake is opened, and made if there is none; files and URLs need their options there too', () => {
    const lake = join(folder, 'own');
    const url = `${service.address}/version`;
    const { status, out, err } = built(
      `values 1\n.pools\nfrom nope\nfrom './rows.sup'\nfrom '${url}'`,
      'shell',
      '-lake',
      lake,
      '-e=false',
    );
    expect({ status, out }).toEqual({ status: 1, out: '1\n' });
    expect(err).toBe(
      [
        `${lake}: a new lake`,
        'nope: pool not found at line 3, column 6:',
        'from nope',
        '     ~~~~',
        './rows.sup: pool not found at line 4, column 6:',
        "from './rows.sup'",
        '     ~~~~~~~~~~~~',
        'hint: files are read only from the folders that option -from.files lists',
        `${url}: not a URL that option -from.http allows at line 5, column 6:`,
        `from '${url}'`,
        `     ${'~'.repeat(url.length + 2)}`,
        '',
      ].join('\n'),
    );
    expect(
      built(
        '',
        'shell',
        '-lake',
        lake,
        '-from.http',
        service.address.slice(7),
        '-c',
        `from '${url}' | has(version) | count()`,
      ),
    ).toEqual({ status: 0, out: '1\n', err: '' });
    expect(built('', 'shell', '-lake', lake, '-index.base', '1', '-c', 'values [7,8][1]')).toMatchObject({
      status: 0,
      out: '7\n',
    });
    expect(built('', 'fsck', '-lake', lake).out).toMatch(/sound\n$/);
  });
  test('a lake that a service has open is left to it', () => {
    expect(built('values 1', 'shell', '-lake', service.lake)).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(
        /^lake .* is in use by another server \(process \d+.*\): talk to it with -s URL\n$/,
      ) as string,
    });
  });
});

test('mistakes on the command line are one line', async () => {
  expect(await shell('', '-s', 'http://127.0.0.1:1')).toMatchObject({
    status: 1,
    err: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: no service answers there \(.+\)\n$/) as string,
  });
  expect(await shell('', '-s', service.address, '-lake', 'x')).toMatchObject({
    status: 2,
    err: 'lake shell: -s and -lake exclude each other\n',
  });
  expect(await shell('', 'stray')).toMatchObject({
    status: 2,
    err: 'lake shell takes options only: "stray" is none\n',
  });
  expect(await shell('', '-mode', 'xml')).toMatchObject({
    status: 2,
    err: expect.stringMatching(/^bad value for -mode: "xml"/) as string,
  });
  const { out } = built('', 'help', 'shell');
  expect(out).toMatch(/^usage: lake shell \[OPTION \.\.\.\]/);
  expect(out).toContain('.schema [POOL[@BRANCH]]');
  expect(out).toContain('Ctrl-C');
  expect(built('', 'help', 'nothing')).toMatchObject({
    status: 2,
    err: expect.stringMatching(/^no help on nothing: /) as string,
  });
});

describe.skipIf(lacksPython('pty'))('at a terminal', () => {
  const prompt = '(?:lake|movies|movies@trial)(?:\\x1b\\[22m)?> (?:\\x1b\\[\\d+G)?$';
  let run = 0;
  /** Types the steps; the screen of each without escapes. Colours are off unless they are asked for. */
  const screens = async (
    steps: readonly TerminalStep[],
    options: {
      readonly args?: readonly string[];
      readonly columns?: number;
      readonly environment?: Readonly<Record<string, string>>;
      readonly raw?: boolean;
    } = {},
  ): Promise<readonly string[]> => {
    const { args = [], columns = 80, environment = { NO_COLOR: '1' }, raw = false } = options;
    const end = await inTerminal({
      argv: [process.execPath, program, 'shell', '-s', service.address, ...args],
      steps,
      columns,
      environment: { XDG_STATE_HOME: join(folder, `state${run++}`), ...environment },
    });
    expect(end.fault).toBe('');
    expect(end.status).toBe(0);
    return end.shown.map((text) => (raw ? text : withoutEscapes(text)));
  };

  test('a result is a table that fits, with its count of rows', async () => {
    const shown = await screens(
      [
        { wait: prompt, type: 'from movies | cut title, rating, note:=f"{title} is a film that somebody has seen"\r' },
        { wait: `rows in .*[\\s\\S]*${prompt}`, type: '\x04' },
      ],
      { columns: 40 },
    );
    expect(shown[0]).toContain('.help lists commands');
    const lines = shown[1]!.split('\n');
    const at = lines.findIndex((line) => line.startsWith('title'));
    expect(lines.slice(at, at + 5).map((line) => line.trimEnd())).toEqual([
      'title   rating           note',
      'string  int64|float64|…  string',
      'A       7                A is a film th…',
      'B       8.5              B is a film th…',
      'C       error("missing…  C is a film th…',
    ]);
    for (const line of lines.slice(at, at + 5)) expect(line.length).toBeLessThanOrEqual(40);
    expect(shown[1]).toMatch(/3 rows in \d+ ms/);
  });

  test('Tab completes operators, functions, pools, branches and fields', async () => {
    await screens([
      { wait: prompt, type: 'from mov\t' },
      { wait: 'movies', type: '@tr\t' },
      { wait: 'trial', type: ' | wh\t' },
      { wait: 'where', type: ' upp\t' },
      { wait: 'upper\\(', type: 'tit\t' },
      { wait: 'title', type: ')=="A" | cut info.y\t' },
      { wait: 'info\\.year', type: '\r' },
      { wait: `1999[\\s\\S]*${prompt}`, type: '.us\t' },
      { wait: '\\.use', type: ' big\r' },
      { wait: 'using big@main', type: '\x04' },
    ]);
  });

  test('a query on several lines is one entry of the history, also for the next shell', async () => {
    const state = { NO_COLOR: '1', LAKE_HISTORY: join(folder, 'kept-history') };
    await screens(
      [
        { wait: prompt, type: 'values [1,\r' },
        { wait: '\\.\\.\\.\\.> ', type: '2] |\r' },
        { wait: '\\.\\.\\.\\.> ', type: 'put x:=3\r' },
        { wait: `[\\s\\S]*${prompt}`, type: '\x1b[A' },
        { wait: 'values \\[1, 2\\] \\| put x:=3', type: '\x04' },
        { wait: '', type: '\x15' },
        { wait: '', type: ' values "secret"\r' },
        { wait: 'row in', type: '\x04' },
      ],
      { environment: state },
    );
    expect(readFileSync(join(folder, 'kept-history'), 'utf8')).toBe('values [1, 2] | put x:=3\n');
    const shown = await screens(
      [
        { wait: prompt, type: '\x1b[A' },
        { wait: 'put x:=3', type: '\r' },
        { wait: 'row in', type: '.quit\r' },
      ],
      { environment: state },
    );
    expect(shown[1]).toContain('values [1, 2] | put x:=3');
  });

  test('Ctrl-C cancels the query and nothing else; typed text is cleared; twice at an empty prompt it ends', async () => {
    const before = Date.now();
    const shown = await screens([
      { wait: prompt, type: 'from big | cross join (from big) | count()\r' },
      { wait: '0 rows, \\d.*Ctrl-C cancels', type: '\x03' },
      { wait: `cancelled[\\s\\S]*${prompt}`, type: 'values (1,\r' },
      { wait: '\\.\\.\\.\\.> ', type: '\x03' },
      { wait: `\\^C[\\s\\S]*${prompt}`, type: 'values "half' },
      { wait: 'half', type: '\x03' },
      { wait: `\\^C[\\s\\S]*${prompt}`, type: 'values 41+1\r' },
      { wait: `42[\\s\\S]*${prompt}`, type: '\x03' },
      { wait: `Ctrl-C again[\\s\\S]*${prompt}`, type: '\x03' },
    ]);
    expect(shown[2]).toContain('cancelled');
    expect(Date.now() - before).toBeLessThan(15_000);
    // The service has let go of the query as well.
    await expect
      .poll(
        async () =>
          /lake_queries_running (\d+)/.exec(await (await fetch(`${service.address}/metrics`)).text())?.[1] ?? '0',
        { timeout: 30_000 },
      )
      .toBe('0');
  });

  test('an error has its mark under the text, colours only where they are wanted', async () => {
    const steps = [
      { wait: `> (?:\\x1b\\[\\d+G)?$`, type: 'values "é", uper(1)\r' },
      { wait: 'hint', type: '\x04' },
    ];
    const plain = await screens(steps, { raw: true });
    expect(withoutEscapes(plain[1]!)).toContain(
      'no such function at line 1, column 14:\nvalues "é", uper(1)\n            ~~~~~~~\n',
    );
    expect(plain[1]).not.toMatch(/\x1b\[3\dm/);
    expect((await screens(steps, { environment: {}, raw: true }))[1]).toContain('\x1b[31mno such function at line 1');
  });

  test('pasted lines that begin with a pipe go on with the query; data cannot change the terminal', async () => {
    const shown = await screens(
      [
        { wait: prompt, type: 'from movies\r| sort -r title\r| head 1 | cut title\r' },
        { wait: `1 row in[\\s\\S]*${prompt}`, type: 'values {a:"x\\u001b[31my\\u0007"}\r' },
        { wait: `row in[\\s\\S]*${prompt}`, type: '.mode line\r' },
        { wait: `mode line[\\s\\S]*${prompt}`, type: 'values "\\u001b]0;t\\u0007"\r' },
        { wait: `row in[\\s\\S]*${prompt}`, type: '\x04' },
      ],
      { raw: true },
    );
    expect(shown[1]).toMatch(/title *\r\nstring *\r\nC/);
    expect(shown[2]).toContain('\r\nx\\u001b[31my\\u0007');
    expect(shown[4]).toContain('\r\n\\u001b]0;t\\u0007');
  });
});
