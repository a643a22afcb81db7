/** `lake load -follow`: every line once, whatever happens to the files, the command and the service. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { program, type Service, startBuiltService } from '../support/service/built.ts';
import { randomOf, seedOf } from '../support/random.ts';

let service: Service;
let folder: string;
let pools = 0;
let pool: string;
const running = new Set<ChildProcess>();
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(async () => {
  await service.stop();
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lake-follow-'));
  pool = `p${++pools}`;
  await post('/pool', { name: pool });
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const post = async (path: string, body: unknown): Promise<unknown> => {
  const answer = await fetch(service.address + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.json();
};
/** What the pool has, as JSON; what a service that is not there has is not known. */
const has = async (query = 'sort n | values n'): Promise<unknown> =>
  post('/query', { query: `from ${pool} | ${query}` }).catch(() => undefined);
const soon = { timeout: 60_000, interval: 100 };

interface Follower {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly end: (signal?: NodeJS.Signals) => Promise<number | string>;
}
const follow = (...argv: readonly string[]): Follower => {
  const child = spawn(
    process.execPath,
    [program, 'load', '-lake', service.address, '-use', pool, '-follow', '-batch.wait', '50ms', ...argv],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  running.add(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (status, signal) => {
      running.delete(child);
      resolve(status ?? signal ?? 'unknown');
    }),
  );
  return {
    child,
    said: () => said,
    end: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
};
const at = (name: string): string => join(folder, name);
let n = 0;
/** Writes lines with the next numbers. */
const write = (name: string, count = 1): void =>
  appendFileSync(at(name), Array.from({ length: count }, () => `{"n":${n++}}\n`).join(''));
const numbers = (): readonly number[] => Array.from({ length: n }, (_, i) => i);
beforeEach(() => {
  n = 0;
});

describe('a file', () => {
  test('is read as it grows; what has no line end waits; a signal ends the command', async () => {
    write('a.log', 3);
    appendFileSync(at('a.log'), '{"n":');
    const command = follow('a.log');
    await expect.poll(has, soon).toEqual([0, 1, 2]);
    appendFileSync(at('a.log'), '3}\n');
    await expect.poll(has, soon).toEqual([0, 1, 2, 3]);
    expect(await command.end('SIGINT')).toBe(0);
    expect(command.said()).toMatch(/^0x[0-9a-f]{40} a\.log 0-24\n0x[0-9a-f]{40} a\.log 24-32\n$/);
    appendFileSync(at('a.log'), '{"n":4}\n');
    const next = follow('a.log');
    await expect.poll(has, soon).toEqual([0, 1, 2, 3, 4]);
    expect(await next.end()).toBe(0);
    expect(next.said()).toMatch(/^0x[0-9a-f]{40} a\.log 32-40\n$/);
  });
  test('of plain text is lines; of CSV each batch has the header, and ends between records', async () => {
    writeFileSync(at('plain.log'), '2024-01-01 12:00:00,123 INFO started\nsecond\n');
    writeFileSync(at('rows.csv'), 'a,b\n1,"x\ny"\n2,"z');
    const command = follow('plain.log', 'rows.csv');
    await expect
      .poll(() => has('sort this'), soon)
      .toEqual(expect.arrayContaining([{ a: 1, b: 'x\ny' }, '2024-01-01 12:00:00,123 INFO started', 'second']));
    appendFileSync(at('rows.csv'), '\nend"\n3,w\n');
    await expect
      .poll(() => has('where a > 1 | sort a'), soon)
      .toEqual([
        { a: 2, b: 'z\nend' },
        { a: 3, b: 'w' },
      ]);
    expect(await command.end()).toBe(0);
  });
  test('is read on where it was renamed to, with what had come while nobody looked', async () => {
    write('a.log', 2);
    const command = follow('a.log');
    await expect.poll(has, soon).toEqual([0, 1]);
    write('a.log');
    renameSync(at('a.log'), at('a.log.1'));
    write('a.log.1');
    write('a.log', 2);
    await expect.poll(has, soon).toEqual(numbers());
    await command.end('SIGKILL');
    write('a.log');
    renameSync(at('a.log'), at('a.log.2'));
    write('a.log');
    const next = follow('a.log');
    await expect.poll(has, soon).toEqual(numbers());
    expect(await next.end()).toBe(0);
  });
  test('that was copied and truncated goes on at its beginning, and its end comes from the copy', async () => {
    write('a.log', 2);
    const command = follow('a.log');
    await expect.poll(has, soon).toEqual([0, 1]);
    const rotate = (to: string): void => {
      write('a.log');
      copyFileSync(at('a.log'), at(to));
      truncateSync(at('a.log'));
      write('a.log', 1);
    };
    rotate('a.log.1');
    await expect.poll(has, soon).toEqual(numbers());
    await command.end('SIGKILL');
    rotate('a.log.2');
    const next = follow('a.log');
    await expect.poll(has, soon).toEqual(numbers());
    expect(await next.end()).toBe(0);
  });
  test('that was truncated within a line begins with the rest of it, a text, and is what it was from there', async () => {
    write('a.log', 2);
    const command = follow('a.log');
    await expect.poll(has, soon).toEqual([0, 1]);
    appendFileSync(at('a.log'), '{"n":-1,"half":');
    copyFileSync(at('a.log'), at('a.log.1'));
    truncateSync(at('a.log'));
    appendFileSync(at('a.log'), '"a line"}\n');
    write('a.log', 2);
    await expect.poll(() => has('where kind(this)=="record" | sort n | values n'), soon).toEqual(numbers());
    truncateSync(at('a.log'));
    appendFileSync(at('a.log'), 'alone"}\n');
    await expect.poll(() => has('where kind(this)!="record" | sort this'), soon).toEqual(['"a line"}', 'alone"}']);
    write('a.log', 2);
    await expect.poll(() => has('where kind(this)=="record" | sort n | values n'), soon).toEqual(numbers());
    expect(await command.end()).toBe(0);
    expect(command.said()).toContain('a.log: begins within a line, whose rest is loaded as a text\n');
  });
});

test('a glob takes files that come, knows renamed ones again, and leaves copies in the making alone', async () => {
  write('a.log', 2);
  const command = follow('*.log*');
  await expect.poll(has, soon).toEqual([0, 1]);
  write('b.log');
  renameSync(at('a.log'), at('a.log.1'));
  write('a.log');
  await expect.poll(has, soon).toEqual(numbers());
  copyFileSync(at('a.log'), at('a.log.2'));
  write('b.log');
  await expect.poll(has, soon).toEqual(numbers());
  truncateSync(at('a.log'));
  write('a.log', 2);
  writeFileSync(at('old.log.gz'), 'not looked into');
  await expect.poll(has, soon).toEqual(numbers());
  await expect.poll(command.said, soon).toContain('old.log.gz: compressed, not followed\n');
  expect(await command.end()).toBe(0);
});

describe('what goes wrong', () => {
  test('a line that is refused ends the command, and can be skipped by the next', async () => {
    write('a.json', 1);
    const command = follow('a.json');
    await expect.poll(has, soon).toEqual([0]);
    appendFileSync(at('a.json'), '{"n":broken}\n{"n":1}\n');
    expect(await command.end('SIGCONT')).toBe(1);
    expect(command.said()).toMatch(/\na\.json: bytes 8-29: json: /);
    const next = follow('-errors', 'skip', 'a.json');
    await expect.poll(has, soon).toEqual([0, 1]);
    await next.end();
    expect(next.said()).toMatch(/a\.json: bytes 8-29, line 1: /);
  });
  test('a state belongs to one command, and to one pool', async () => {
    write('a.log');
    const command = follow('a.log');
    await expect.poll(has, soon).toEqual([0]);
    const second = follow('a.log');
    expect(await second.end('SIGCONT')).toBe(1);
    expect(second.said()).toMatch(
      /another command follows files with this state \(process \d+, .*; option -state\)\n$/,
    );
    await command.end();
    const kept = readFileSync(at('.lake-follow/state.json'), 'utf8');
    writeFileSync(at('.lake-follow/state.json'), kept.replace(`${pool}@main`, 'other@main'));
    const other = follow('a.log');
    expect(await other.end('SIGCONT')).toBe(1);
    expect(other.said()).toContain('state.json: the state is of loads into other@main at http://');
    writeFileSync(at('.lake-follow/state.json'), '{}');
    const spoilt = follow('a.log');
    expect(await spoilt.end('SIGCONT')).toBe(1);
    expect(spoilt.said()).toContain('state.json: this is no state of lake load -follow (option -state)\n');
  });
  test('what cannot be followed is told', async () => {
    writeFileSync(at('a.parquet'), 'PAR1');
    writeFileSync(at('long.log'), 'x'.repeat(5000));
    const ends = async (...argv: readonly string[]): Promise<readonly [unknown, string]> => {
      const command = follow(...argv);
      return [await command.end('SIGCONT'), command.said()];
    };
    expect(await ends('a.parquet')).toEqual([1, 'a.parquet: parquet cannot be followed, lines can\n']);
    expect(await ends('-')).toEqual([2, 'lake load: -follow takes files, folders and globs, not -\n']);
    expect(await ends('-batch.line', '2000', '-batch.bytes', '1024', 'long.log')).toEqual([
      1,
      'long.log: byte 0: a line longer than 2000 bytes (option -batch.line)\n',
    ]);
  });
});

test('nothing is lost and nothing comes twice while both ends are killed and files rotate', async () => {
  const seed = seedOf(20261128);
  const random = randomOf(seed);
  let command = follow('-batch.bytes', '1024', 'a.log*');
  let rotated = 0;
  const steps = [
    () => write('a.log', 1 + random.below(200)),
    () => renameSync(at('a.log'), at(`a.log.${++rotated}`)),
    () => {
      copyFileSync(at('a.log'), at(`a.log.${++rotated}`));
      truncateSync(at('a.log'));
    },
    async () => {
      await command.end('SIGKILL');
      command = follow('-batch.bytes', '1024', 'a.log*');
    },
    async () => {
      const { lake, address } = service;
      await service.end('SIGKILL');
      service = await startBuiltService({ lake, port: Number(new URL(address).port) });
    },
  ] as const;
  for (const step of [0, 4, 0, 1, 0, 3, 0, 2, 3, 0, 4, 3, 0]) {
    await steps[step]!();
    if (step === 0) write('a.log', 1 + random.below(100));
    // So that the next step comes somewhere within.
    const wanted = Math.max(0, n - random.below(300));
    await expect.poll(async () => ((await has('count()')) as readonly number[] | undefined)?.[0], soon).gte(wanted);
  }
  await expect.poll(() => has('count(), max(n)'), soon).toEqual([{ count: n, max: n - 1 }]);
  expect(await has(), `SEED=${seed}`).toEqual(numbers());
  expect(await command.end()).toBe(0);
}, 180_000);
