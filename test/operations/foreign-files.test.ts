/** Files of the lake that belong to somebody else, as `sudo lake fsck` leaves them: named, and never taken for lost. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { program, startBuiltService } from '../support/service/built.ts';

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

/** A closed lake with 20,001 rows, most of them in a data object: tests have copies of it. */
const closed = mkdtempSync(join(tmpdir(), 'lake-foreign-'));
beforeAll(async () => {
  const service = await startBuiltService({ lake: closed });
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
});
afterAll(() => rmSync(closed, { recursive: true }));

/** A lake like that, of the user. */
const makeLake = (): { readonly lake: string; readonly files: (folder: string) => string[] } => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-foreign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lake = join(folder, 'lake');
  cpSync(closed, lake, { recursive: true });
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

test('a repair by who may not read an object is refused, and takes no rows out', () => {
  const { lake, files } = makeLake();
  const [object] = files(join(lake, 'objects'));
  forbid(object!);
  expect(run('fsck', '-lake', lake)).toMatch(
    /: file: read failed: .*: permission denied to user \d+; .* \(EACCES, open\)/,
  );
  expect(run('fsck', '-lake', lake, '-repair')).toMatch(
    /^1: lake .*: nothing was repaired, since this user may not work on all of it: .*: permission denied to user \d+; check its owner and mode, and those of the folders above \(EACCES, access\)\n$/,
  );
  permit(object!);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);

test('tables whose lock belongs to somebody else are made again, by a reader too', () => {
  const { lake } = makeLake();
  const lock = join(lake, 'tables', 'lock.mdb');
  forbid(lock);
  if (isRoot) chmodSync(lock, 0o644);
  expect(run('fsck', '-lake', lake)).toMatch(/lock\.mdb: permission denied to user/);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);

test('tables that belong to somebody else are an error that names the file', () => {
  const { lake } = makeLake();
  const file = join(lake, 'tables', 'data.mdb');
  forbid(file);
  if (isRoot) chmodSync(file, 0o644);
  expect(run('serve', '-lake', lake, '-l', '127.0.0.1:0')).toMatch(
    /^1: lake .* cannot be opened: .*data\.mdb: permission denied to user \d+; .* \(EACCES, open\)\n$/,
  );
  permit(file);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 120_000);

const noRights = (path: string, call: string): string =>
  `${path}: permission denied to user ${isRoot ? user.uid : process.getuid?.()}; check its owner and mode, and those of the folders above (EACCES, ${call})`;

test('each part of a lake that this user may not use is named when the lake is opened, with what to do', () => {
  const { lake, files } = makeLake();
  const [object] = files(join(lake, 'objects'));
  const [segment] = files(join(lake, 'log'));
  const folder = (name: string): readonly [path: string, answer: string] => [
    join(lake, name),
    `lake folder ${join(lake, name)} cannot be used: ${noRights(join(lake, name, '.writable'), 'open')} (option -lake)`,
  ];
  const refusals = [
    folder('objects'),
    folder('log'),
    folder('tables'),
    [dirname(object!), noRights(dirname(object!), 'opendir')],
    [segment!, `lake ${lake} cannot be opened: ${noRights(segment!, 'open')}`],
  ] as const;
  const refused = (answer: string): void => {
    for (const command of [
      ['serve', '-lake', lake, '-l', '127.0.0.1:0'],
      ['shell', '-lake', lake, '-c', 'from p | count()'],
    ])
      expect(run(...command)).toBe(`1: ${answer}\n`);
  };
  for (const [path, answer] of refusals) {
    forbid(path);
    refused(answer);
    permit(path);
    chmodSync(path, path === segment ? 0o600 : 0o700);
  }
  // Whoever may read all of it and write none.
  const [log, answer] = folder('log');
  if (isRoot) chownSync(log, 0, 0);
  chmodSync(log, isRoot ? 0o755 : 0o500);
  refused(answer);
  permit(log);
  chmodSync(log, 0o700);
  expect(run('shell', '-lake', lake, '-c', 'from p | count()')).toBe('20001\n');
}, 240_000);

test('so are files that options name', () => {
  const { lake } = makeLake();
  const other = join(dirname(lake), 'other');
  writeFileSync(other, '');
  forbid(other);
  const listen = ['-lake', lake, '-l', '127.0.0.1:0'];
  const others = join(dirname(lake), 'others');
  mkdirSync(others, { mode: 0o755 });
  if (!isRoot) chmodSync(others, 0o500);
  for (const option of ['-audit', '-record'])
    expect(run('serve', ...listen, option, join(others, 'x'))).toBe(
      `1: ${option} ${noRights(join(others, 'x'), 'open')}\n`,
    );
  expect(run('serve', ...listen, '-tls.cert', other, '-tls.key', other)).toBe(
    `1: -tls.cert: ${noRights(other, 'open')}\n`,
  );
  expect(run('serve', '-config', other)).toBe(`2: -config ${noRights(other, 'open')}\n`);
  const keys = join(lake, 'keys.json');
  expect(run('key', 'add', '-lake', lake, '-role', 'admin', 'me')).toMatch(/^\S+\n$/);
  forbid(keys);
  const refused = `1: keys of the lake: ${noRights(keys, 'open')}\n`;
  expect(run('serve', ...listen, '-auth.keys')).toBe(refused);
  expect(run('fsck', '-lake', lake)).toBe(refused);
  permit(keys);
  expect(run('key', 'list', '-lake', lake)).toContain('me');
  expect(run('replay', other)).toBe(`1: ${noRights(other, 'open')}\n`);
}, 240_000);

test('temporary files that cannot be written are an error of the query that needs them', async () => {
  const { lake } = makeLake();
  const spill = join(lake, 'spill');
  const service = await startBuiltService({
    lake,
    flags: ['-memory', '64MiB'],
    by: isRoot ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [],
  });
  const query = (text: string): Promise<string> =>
    fetch(`${service.address}/query`, { method: 'POST', body: JSON.stringify({ query: text }) }).then((a) => a.text());
  forbid(spill);
  expect(JSON.parse(await query('from p, p, p, p, p, p, p, p | sort s, id | tail 1'))).toEqual({
    type: 'Error',
    kind: 'other error',
    error: `temporary files cannot be written: ${noRights(join(spill, 'task-XXXXXX'), 'mkdtemp')}`,
  });
  permit(spill);
  chmodSync(spill, 0o700);
  await service.end();
}, 120_000);
