/** What the command line says of what it cannot do, of names, and to shells. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { completion } from '../../../src/commands/completion.ts';
import { helpOn } from '../../../src/commands/help-topics.ts';
import { makeFolder } from '../../../src/lake/lock.ts';
import { runProgram } from '../../support/service/lake-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-line-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('a folder that cannot be one', () => {
  test('is told in one line', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => {
      makeFolder(join(folder, 'file'));
    }).toThrow(/^lake folder .*file cannot be used: it is a file \(option -lake\)$/);
    expect(() => {
      makeFolder(join(folder, 'file', 'lake'));
    }).toThrow(/cannot be used: ENOTDIR/);
    makeFolder(join(folder, 'a', 'b', 'c'));
    makeFolder(join(folder, 'a', 'b', 'c'));
    expect(existsSync(join(folder, 'a', 'b', 'c'))).toBe(true);
  });
  test.skipIf(process.platform !== 'linux')('ends a service that is to be in /proc', async () => {
    const { status, complaint } = await runProgram(['serve', '-lake', '/proc/x', '-l', '127.0.0.1:0']);
    expect([status, complaint]).toEqual([
      1,
      "lake folder /proc/x cannot be used: ENOENT: no such file or directory, mkdir '/proc/x' (option -lake)\n",
    ]);
  });
});

test.each(['127.0.0.1', 'localhost'])('an address that is in use at %s is told in one line', async (host) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, host, resolve));
  const { port } = other.address() as { readonly port: number };
  const { status, complaint } = await runProgram(['serve', '-lake', join(folder, 'lake'), '-l', `${host}:${port}`]);
  await new Promise((resolve) => other.close(resolve));
  expect([status, complaint]).toEqual([
    1,
    `cannot listen at ${host}:${port}: the address is in use, perhaps by another service (option -l)\n`,
  ]);
});

test('options of a service come from a file', async () => {
  const file = join(folder, 'lake.yaml');
  writeFileSync(file, `lake: ${join(folder, 'file')}\nl: 127.0.0.1:0\n`);
  expect(await runProgram(['serve', '-config', file])).toMatchObject({
    status: 1,
    complaint: expect.stringContaining('file cannot be used: it is a file') as string,
  });
  expect(await runProgram(['serve', '-config', join(folder, 'none')])).toMatchObject({
    status: 2,
    complaint: expect.stringContaining('ENOENT') as string,
  });
  expect(await runProgram(['serve', '-config', '/dev/zero'])).toMatchObject({
    status: 2,
    complaint: expect.stringContaining('-config /dev/zero: longer than 1048576 bytes') as string,
  });
  writeFileSync(file, 'config: other.yaml\n');
  expect(await runProgram(['serve', '-config', file])).toMatchObject({
    status: 2,
    complaint: expect.stringContaining('config: a file names no other file') as string,
  });
});

describe('lake help NAME', () => {
  test.each([
    ['upper', 'upper("abc") => "ABC"'],
    ['count', 'numbers the values'],
    ['row_number', 'row_number()'],
    ['sort', 'sorts the values'],
    ['parquet', 'media types application/x-parquet'],
    ['pool-not-found', 'status 404, kind item does not exist'],
    ['LOWER', 'lower("'],
  ])('%s', (name, text) => {
    expect(helpOn(name)).toContain(text);
  });
  test('a name that is none has a suggestion', () => {
    expect(() => helpOn('uper')).toThrow('no help on uper (did you mean "upper"?)');
  });
});

describe('completions', () => {
  const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
  const bash = (words: readonly string[]): readonly string[] => {
    const script = `${completion(['bash'])}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length - 1}
_lake
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((line) => line !== '');
  };
  test.skipIf(!has('bash'))('of bash complete commands, options and their values', () => {
    expect(bash(['lake', 'se'])).toEqual(['serve']);
    expect(bash(['lake', 'serve', '-start'])).toEqual(['-start.wait']);
    expect(bash(['lake', 'serve', '-log.level', 'de'])).toEqual(['debug']);
    expect(bash(['lake', 'load', 'some-file'])).toEqual([]);
  });
  test.skipIf(!has('shellcheck'))('of bash are clean under shellcheck', () => {
    const file = join(folder, 'lake.bash');
    writeFileSync(file, `#!/bin/bash\n${completion(['bash'])}`);
    expect(spawnSync('shellcheck', [file], { encoding: 'utf8' }).stdout).toBe('');
  });
  test.each(['zsh', 'fish'])('of %s are a script of its', (shell) => {
    const text = completion([shell]);
    expect(text).toContain('start.wait');
    if (has(shell)) {
      const file = join(folder, `lake.${shell}`);
      writeFileSync(file, text);
      expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    }
  });
  test('of another shell there are none', () => {
    expect(() => completion(['csh'])).toThrow('lake completion takes the name of a shell: bash, zsh, fish');
  });
});
