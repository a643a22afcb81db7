/** `lake log`, `diff`, `branch`, `tag`, `merge`, `revert`, `pick` and `reset`, each against a running service. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type VersionCommand, versionCommand } from '../src/commands/versions.ts';
import { type Pool, connect } from '../src/client/client.ts';
import { startBuiltService } from './support/built-service.ts';

let service: Awaited<ReturnType<typeof startBuiltService>>;
let pool: Pool;
beforeAll(async () => {
  service = await startBuiltService();
  pool = await connect(service.address).createPool('p');
}, 60_000);
afterAll(async () => {
  await service.end();
  rmSync(dirname(service.lake), { recursive: true, force: true });
});

async function* nothing(): AsyncGenerator<Uint8Array> {}
/** What a command prints. */
const run = async (name: VersionCommand, ...argv: readonly string[]): Promise<string> => {
  const out: Uint8Array[] = [];
  await versionCommand(name, ['-lake', service.address, '-use', 'p', ...argv], {
    cwd: '.',
    stdin: nothing(),
    stdoutIsTerminal: false,
    write: (chunk) => {
      out.push(chunk.slice());
      return Promise.resolve();
    },
    complain: () => undefined,
  });
  return Buffer.concat(out).toString();
};

test('each command does what its name says', async () => {
  const main = pool.branch('main');
  const { commit: a } = await main.load('{ts:1,x:"a"}', { author: 'Zoë', message: 'one\n\nand more' });
  expect(await run('log')).toMatch(
    new RegExp(`^commit ${a} \\(main\\)\nAuthor: Zoë\nDate: {3}\\S+Z\n\n {4}one\n\n {4}and more\n\n$`),
  );
  expect(await run('branch', 'kid')).toBe(`${a} kid\n`);
  expect(await run('tag', 'v1', 'kid')).toBe(`${a} v1\n`);
  expect(await run('tag')).toBe(`${a} v1\n`);
  const { commit: b } = await pool.branch('kid').load('{ts:2,x:"b\\n"}');
  expect(await run('branch')).toBe(`${a} main\n${b} kid\n`);
  expect(await run('diff', 'v1', 'kid')).toBe('+ {ts:2,x:"b\\n"}\n');
  expect(await run('diff', 'kid', a)).toBe('- {ts:2,x:"b\\n"}\n');
  expect(await run('diff', 'main', 'kid', '-summary')).toMatch(/^added 1\nremoved 0\n/);
  expect(await run('merge', 'kid', '-dryrun')).toBe('1 records added, 0 removed\n');
  const merged = (await run('merge', 'kid', '-user', 'me', '-message', 'both')).trim();
  expect(merged).toBe(await main.tip());
  expect(await run('log', '-n', '1')).toMatch(
    new RegExp(`^commit ${merged} \\(main\\)\nAuthor: me\nDate: .*\n\n {4}both\n\n$`),
  );
  expect(await run('revert', merged, '-dryrun')).toBe('0 records added, 1 removed\n');
  const reverted = (await run('revert', merged)).trim();
  expect(reverted).toBe(await main.tip());
  await expect(run('reset', 'v1', '-if', a)).rejects.toThrow('If-Match does not match');
  expect(await run('reset', 'v1', '-if', reverted)).toBe(`${a} main\n`);
  expect(await run('pick', b, '-dryrun')).toBe('1 records added, 0 removed\n');
  const picked = (await run('pick', b, '-user', 'me', '-message', 'only b')).trim();
  expect(picked).toBe(await main.tip());
  expect(await run('diff', 'v1', 'main')).toBe('+ {ts:2,x:"b\\n"}\n');
  const { commit: c } = await pool.branch('kid').load('{ts:3,x:"c"}');
  expect(await run('reset', 'v1')).toBe(`${a} main\n`);
  expect(await run('pick', `v1..${c}`).catch(String)).toContain('v1..');
  expect(await run('pick', `${a}..${c}`, '-dryrun')).toBe('2 records added, 0 removed\n');
  await run('pick', `${a}..${c}`);
  expect(await run('diff', 'main', 'kid')).toBe('');
  expect(await run('reset', 'v1')).toBe(`${a} main\n`);
  expect(await run('branch', '-d', 'kid')).toBe('');
  expect(await run('tag', 'v1', '-d')).toBe('');
  expect(await run('branch')).toBe(`${a} main\n`);
  expect(await run('merge', '-h')).toMatch(/^usage: lake merge \[OPTION \.\.\.\] BRANCH\n/);
});

test('of a pool with an identity diff tells the fields that changed', async () => {
  await pool.setIdentity([['x']]);
  try {
    const main = pool.branch('main');
    const base = await main.tip();
    await main.load('{ts:77,x:"id",y:{"a b":1,c:1}}');
    await pool.createBranch('other', await main.tip());
    await main.update('x=="id"', 'y:={"a b":2,c:1}, z:=1');
    expect(await run('diff', 'other', 'main')).toBe(
      '~ {ts:77,x:"id",y:{"a b":1,c:1}} -> {ts:77,x:"id",y:{"a b":2,c:1},z:1} [["y","a b"],["z"]]\n',
    );
    expect(await run('diff', '-summary', 'other', 'main')).toBe('added 0\nremoved 0\nchanged 1\n  y."a b" 1\n  z 1\n');
    await main.reset(base);
    await pool.branch('other').delete();
  } finally {
    await pool.setIdentity([]);
  }
});

test('what a command lacks is told', async () => {
  await expect(run('diff', 'main')).rejects.toThrow('lake diff takes two branches, tags or commits');
  await expect(run('tag', '-d')).rejects.toThrow('lake tag -d takes one name');
  await expect(run('log', '-use', '')).rejects.toThrow('lake log: -use POOL[@BRANCH] says of which pool');
  await expect(run('merge', 'nope')).rejects.toThrow('"nope": branch not found');
  await expect(run('merge', 'main', '-dryrun')).rejects.toThrow('difference is empty');
  await expect(run('pick')).rejects.toThrow('lake pick takes a commit, or two as A..B');
  await expect(run('pick', 'nope', '-dryrun')).rejects.toThrow('nope');
  await expect(run('reset', 'nope')).rejects.toThrow('"nope": branch not found');
});
