/** A log that cannot be written, output that nobody takes, signals that are none of the service's: it goes on. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LogLines, type LogOutput } from '../../src/commands/serve/log.ts';
import { startBuiltService } from '../support/service/built.ts';

const ask = (address: string): Promise<string> =>
  fetch(`${address}/ready`, { signal: AbortSignal.timeout(5_000) }).then((answer) => answer.text());

test('a log whose file can grow no more holds up no request, and the service ends when it is told to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-log-'));
  const file = join(folder, 'log');
  writeFileSync(file, '');
  // Longer than the process may write, so that each line of the log fails: EFBIG here stands for a full disk.
  truncateSync(file, 64 << 20);
  const service = await startBuiltService({
    by: ['bash', '-c', 'ulimit -f 32768; log=$1; shift; exec "$@" 2>>"$log"', 'bash', file],
    flags: ['-log.level', 'debug'],
  });
  try {
    for (let i = 0; i < 20; i++) expect(await ask(service.address)).toBe('ready');
    expect(await service.end()).toBe(0);
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true });
  }
}, 30_000);

test('SIGUSR1 opens no debugger, and SIGHUP ends no service that has no terminal', async () => {
  const service = await startBuiltService({ flags: ['-log.level', 'info'] });
  try {
    for (const signal of ['SIGUSR1', 'SIGHUP'] as const) {
      service.process.kill(signal);
      expect(await ask(service.address)).toBe('ready');
    }
    await expect.poll(service.printed).toContain('"signal":"SIGHUP"');
    expect(service.printed()).not.toContain('Debugger');
    expect(readFileSync(`/proc/${service.process.pid}/net/tcp`, 'utf8')).not.toContain('0100007F:240D');
    expect(await service.end()).toBe(0);
  } finally {
    await service.stop();
  }
}, 30_000);

test('lines wait while they cannot be written; those beyond a mebibyte are lost, and counted', async () => {
  let isFull = true;
  let text = '';
  const take = (bytes: Buffer): number => {
    // As on a disk that is nearly full, a write may come to a part.
    const part = bytes.subarray(0, Math.ceil(bytes.length / 2));
    text += part.toString();
    return part.length;
  };
  const output: LogOutput = {
    write: (bytes, done) => setImmediate(() => (isFull ? done(new Error('ENOSPC'), 0) : done(null, take(bytes)))),
    writeNow: (bytes) => {
      if (isFull) throw new Error('ENOSPC');
      return take(bytes);
    },
  };
  const lines = new LogLines(output);
  const line = (i: number): string => `${String(i).padStart(1023, '0')}\n`;
  for (let i = 0; i < 1500; i++) lines.write(line(i));
  lines.end();
  expect(text).toBe('');
  isFull = false;
  await expect.poll(() => text, { timeout: 5_000 }).toContain('lines of the log were lost');
  const written = text.trimEnd().split('\n');
  expect(written.slice(0, -1).map(Number)).toEqual(Array.from({ length: written.length - 1 }, (_, i) => i));
  expect(JSON.parse(written.at(-1)!)).toMatchObject({ level: 40, lines: 1500 - (written.length - 1) });
  expect(written.length).toBeGreaterThan(1000);
  text = '';
  lines.write('last\n');
  lines.end();
  await expect.poll(() => text).toBe('last\n');
});
