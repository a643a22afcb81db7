/** The line that `lake load` and `lake query` draw on a terminal. */
import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { progressText } from '../../src/commands/progress.ts';
import { program } from '../support/service/built.ts';
import { lacksPython } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { inTerminal, type TerminalEnd } from '../support/service/terminal.ts';

describe('the line', () => {
  const state = {
    what: 'data/events.ndjson',
    bytes: 1_200_000_000,
    total: 2_800_000_000,
    records: 1_234_567,
    state: 'sorting',
  };
  const lines = (given: Parameters<typeof progressText>[0], ...columns: readonly number[]): readonly string[] =>
    columns.map((width) => progressText(given, { seconds: 4, columns: width, color: false }));
  test('tells less where there is less room, and never leaves the width', () => {
    expect(lines(state, 120, 100, 80, 60, 40, 20, 8, 6, 5, 0)).toEqual([
      'data/events.ndjson  [============>                 ]  42 %  sorting  1.2 GB of 2.8 GB  1,234,567 records  300 MB/s',
      'data/events.ndjson  [======>        ]  42 %  sorting  1.2 GB of 2.8 GB  1,234,567 records  300 MB/s',
      '[======>        ]  42 %  sorting  1.2 GB of 2.8 GB  1,234,567 records  300 MB/s',
      '[======>       ]  42 %  sorting  1.2 GB of 2.8 GB  300 MB/s',
      '[=====>      ]  42 %  sorting  300 MB/s',
      ' 42 %  sorting',
      ' 42 %',
      ' 42 %',
      '',
      '',
    ]);
    for (let width = 0; width < 200; width++)
      expect(progressText(state, { seconds: 4, columns: width, color: false }).length).toBeLessThan(Math.max(1, width));
  });
  test('without a length there is no bar', () => {
    expect(lines({ what: '-', bytes: 12_345, records: 0 }, 80)).toEqual(['-  12.3 kB  3.1 kB/s']);
  });
  test('a name cannot do anything to the terminal', () => {
    expect(lines({ what: 'a\x1b[2Jb\r\n\u202e\u4e2d', bytes: 1, records: 0 }, 80)).toEqual(['a?[2Jb????  1 B  0 B/s']);
  });
  test('color stays within the bar', () => {
    const colored = progressText(state, { seconds: 4, columns: 120, color: true });
    expect(colored.replaceAll(/\x1b\[\d+m/g, '')).toBe(lines(state, 120)[0]);
    expect(colored).toContain('[\x1b[36m=');
  });
});

describe.skipIf(lacksPython('pty'))('at a terminal', () => {
  let service: TestService;
  let folder: string;
  beforeAll(async () => {
    service = await startService();
    await service.ask('POST', '/pool', {
      headers: { 'content-type': 'application/json' },
      body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}',
    });
    folder = mkdtempSync(join(tmpdir(), 'lake-line-'));
    writeFileSync(
      join(folder, 'rows.ndjson'),
      Array.from(
        { length: 250_000 },
        (_, k) => `{"k":${k},"s":"row ${k} of a file that is read for a while","t":[${k},${k + 1}]}\n`,
      ).join(''),
    );
  });
  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  /** What stands on the screen's last lines when all is over: each line behind its last return, escapes taken out. */
  const left = (shown: string): readonly string[] =>
    shown
      .split('\n')
      .map((line) =>
        line
          .replace(/\r$/, '')
          .split('\r')
          .at(-1)!
          .replaceAll(/\x1b\[[\d;]*[A-Za-z]/g, ''),
      )
      .filter((line) => line !== '');
  const all = ({ shown, fault, status }: TerminalEnd): string => {
    expect([fault, status]).toEqual(['', 0]);
    return shown.join('');
  };
  /** A file that grows for a second and a half from when it is read: a pipe. */
  const slowly = (name: string): string => {
    const path = join(folder, name);
    spawnSync('mkfifo', [path]);
    const pipe = createWriteStream(path);
    // A pipe is open when its reader has opened it too.
    pipe.once('open', () => {
      let k = 0;
      const timer = setInterval(() => {
        pipe.write(`{"k":${k},"s":"${'x'.repeat(2000)}"}\n`);
        if (++k === 60) {
          clearInterval(timer);
          pipe.end();
        }
      }, 25);
    });
    return path;
  };

  test('a load shows its bytes and records, and leaves no trace', async () => {
    const shown = all(
      await inTerminal({
        argv: [process.execPath, program, 'load', '-lake', service.url, '-use', 'p', slowly('pipe')],
        steps: [],
        columns: 80,
        environment: { NO_COLOR: '1' },
      }),
    );
    expect(shown).toMatch(/\r\S*pipe  [\d.]+ kB  (?:\d+ records  )?[\d.]+ k?B\/s\x1b\[K/);
    expect(shown).not.toContain('\x1b[36m');
    expect(left(shown)).toEqual([expect.stringMatching(/^0x[0-9a-f]{40} .*pipe$/)]);
  });
  test('a query shows how much of its files it has read; its rows stand by themselves', async () => {
    const shown = all(
      await inTerminal({
        argv: [
          process.execPath,
          program,
          'query',
          '-s',
          '-c',
          'sort -r s | head 2 | values k',
          ...Array.from({ length: 4 }, () => 'rows.ndjson'),
        ],
        steps: [],
        columns: 60,
        cwd: folder,
      }),
    );
    expect(shown).toMatch(/\[\x1b\[36m=*\x1b\[0m>? *\] +\d+ %/);
    for (const [, line] of shown.matchAll(/\r([^\r\n]*)\x1b\[K/g))
      expect(line!.replaceAll(/\x1b\[\d+m/g, '').length).toBeLessThan(60);
    expect(left(shown)).toEqual(['99999', '99999']);
  });
  test('where errors go to a file there is none, nor at a terminal that cannot erase', async () => {
    const run = (redirect: string, environment: Readonly<Record<string, string>> = {}): Promise<TerminalEnd> =>
      inTerminal({
        argv: ['sh', '-c', `"${process.execPath}" "${program}" query -s -c 'count()' rows.ndjson ${redirect}`],
        steps: [],
        cwd: folder,
        environment,
      });
    expect(all(await run(`2>${join(folder, 'errors')}`))).toBe('250000\r\n');
    expect(all(await run('', { TERM: 'dumb' }))).toBe('250000\r\n');
  });
});
