/** Files of the lake that belong to somebody else, as `sudo lake fsck` leaves them: named, and never taken for lost. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { program, startBuiltService } from '../support/built-service.ts';

const isRoot = process.getuid?.() === 0;
/** An ordinary user: nobody, where the tests run as root, whom nothing is forbidden. */
const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const run = (...argv: readonly string[]): string => {
  try {
    return execFileSync(process.execPath, [program, ...argv], {
      ...user,
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 60_000,
    });
  } catch (error) {
    const { status, signal, stdout, stderr } = error as Record<'status' | 'signal' | 'stdout' | 'stderr', string>;
    return `${status ?? signal}: ${stdout}${stderr}`;
  }
};
const forbid = (path: string): void => {
  if (isRoot) chownSync(path, 0, 0);
  chmodSync(path, isRoot ? 0o600 : 0);
};
const permit = (path: string): void => {
  if (isRoot) chownSync(path, user.uid!, user.gid!);
  chmodSync(path, 0o600);
};

/** A closed lake of the user with 20,001 rows, most of them in a data object. */
const makeLake = async (): Promise<{ readonly lake: string; readonly files: (folder: string) => string[] }> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-foreign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lake = join(folder, 'lake');
  const service = await startBuiltService({ lake });
  const post = (path: string, body: string): Promise<string> =>
    fetch(service.address + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body),
    }).then((answer) => answer.text());
  await post('/pool', '{"name":"p","layout":{"keys":[["id"]]}}');
  await post('/pool/p/branch/main', '{"id":-1}');
  const text = (i: number): string => String(i).padStart(6, '0').repeat(80);
  await post(
    '/pool/p/branch/main',
    Array.from({ length: 20_000 }, (_, id) => `{"id":${id},"s":"${text(id)}"}\n`).join(''),
  );
  await service.end();
  const files = (of: string): string[] =>
    readdirSync(of, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  if (isRoot)
    for (const path of [folder, lake, ...files(lake).flatMap((file) => [dirname(file), file]), join(lake, 'spill')])
      chownSync(path, user.uid!, user.gid!);
  if (isRoot)
    for (const name of readdirSync(join(lake, 'objects'))) chownSync(join(lake, 'objects', name), user.uid!, user.gid!);
  if (isRoot) chownSync(join(lake, 'objects'), user.uid!, user.gid!);
  return { lake, files };
};

test('a repair by who may not read an object is refused, and takes no rows out', async () => {
  const { lake, files } = await makeLake();
  const [object] = files(join(lake, 'objects'));
  forbid(object!);
  expect(run('fsck', '-lake', lake)).toContain('read failed: EACCES');
  expect(run('fsck', '-lake', lake, '-repair')).toMatch(
    /^1: lake .*: nothing was repaired, since this user may not work on all of it: EACCES: permission denied, access '.*'\n$/,
  );
  permit(object!);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);

test('tables whose lock belongs to somebody else are made again, by a reader too', async () => {
  const { lake } = await makeLake();
  const lock = join(lake, 'tables', 'lock.mdb');
  forbid(lock);
  if (isRoot) chmodSync(lock, 0o644);
  expect(run('fsck', '-lake', lake)).toMatch(/EACCES: permission denied, open '.*lock\.mdb'/);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);

test('tables that belong to somebody else are an error that names the file', async () => {
  const { lake } = await makeLake();
  const file = join(lake, 'tables', 'data.mdb');
  forbid(file);
  if (isRoot) chmodSync(file, 0o644);
  expect(run('serve', '-lake', lake, '-l', '127.0.0.1:0')).toMatch(
    /^1: lake .*: its tables cannot be read: EACCES: permission denied, open '.*data\.mdb'\n$/,
  );
  permit(file);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);
