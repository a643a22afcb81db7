/**
 * `npm run test:strange`: the suite (with `LAKE_TEST=core` its core) as somebody without rights runs it, in a folder with
 * blanks and umlauts that nobody may write to, under umask 077, without Python. Ends with the suite's status; arguments
 * are vitest's.
 *
 * The folder is a copy of what git knows, of `node_modules` and of `dist`; only what tests make for themselves is
 * written: below TMPDIR and in `node_modules/.cache`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const part = process.env['LAKE_TEST'] === undefined ? {} : { LAKE_TEST: process.env['LAKE_TEST'] };
const root = fileURLToPath(new URL('../../', import.meta.url));
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const folder = mkdtempSync(join(tmpdir(), 'Die Läke, schön '));
const copy = join(folder, 'Ablage für Daten');
const temporary = join(folder, 'Übergang');
const programs = join(folder, 'programs');

/** A folder that the suite's user may write to. */
const ownFolder = (path: string): void => {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o700);
  if (isRoot) chownSync(path, nobody, nobody);
};
const copyAll = (): void => {
  mkdirSync(copy);
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 1 << 26 });
  execFileSync('xargs', ['-0', 'cp', '--parents', '-P', '-t', copy], { cwd: root, input: tracked });
  for (const name of ['node_modules', 'dist']) execFileSync('cp', ['-a', join(root, name), copy]);
  for (const cache of ['.cache', '.vite', '.vite-temp'])
    rmSync(join(copy, 'node_modules', cache), { recursive: true, force: true });
  ownFolder(join(copy, 'node_modules/.cache'));
  if (isRoot)
    execFileSync('chown', ['-R', 'root:root', ...readdirSync(copy).filter((name) => name !== 'node_modules')], {
      cwd: copy,
    });
  execFileSync('chmod', ['-R', 'a-w,a+rX', copy]);
  chmodSync(join(copy, 'node_modules/.cache'), 0o700);
};
/** All programs that can be found, but for Python and what comes with it. */
const linkPrograms = (): void => {
  mkdirSync(programs);
  for (const place of (process.env['PATH'] ?? '').split(delimiter))
    for (const name of listed(place))
      if (!/^(python|pip)/.test(name) && !listed(programs).includes(name))
        symlinkSync(join(place, name), join(programs, name));
};
const listed = (place: string): readonly string[] => {
  try {
    accessSync(place, constants.R_OK);
    return readdirSync(place);
  } catch {
    return [];
  }
};

let status: number | null = 1;
try {
  copyAll();
  linkPrograms();
  ownFolder(temporary);
  chmodSync(folder, 0o755);
  const rights = isRoot ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'runner'];
  ({ status } = spawnSync('sh', ['-c', 'umask 077; exec "$@"', 'sh', ...rights, ...vitest, ...process.argv.slice(2)], {
    cwd: copy,
    stdio: 'inherit',
    env: { PATH: programs, HOME: temporary, TMPDIR: temporary, LANG: 'C.UTF-8', ...part },
  }));
} finally {
  execFileSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
process.exitCode = status ?? 1;
