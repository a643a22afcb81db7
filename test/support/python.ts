/**
 * Python and its packages, the independent readers and writers of columnar files. Where they are absent, tests are
 * skipped by name; with NO_SKIPS they fail.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The last lines of a script: it ends without what its packages' threads do at exit, where pyarrow now and then aborts
 * ("terminate called without an active exception") after all was answered.
 */
export const quits = '\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n';

const lacking = new Map<string, boolean>();
/**
 * Whether tests that need these packages are to be left out. They are looked for, not imported: pyarrow, pandas, polars
 * and DuckDB take more than a second of processor time to come up, for each file that asks.
 */
export const lacksPython = (...packages: readonly string[]): boolean => {
  if (process.env['NO_SKIPS'] !== undefined) return false;
  const key = packages.join(' ');
  if (!lacking.has(key)) lacking.set(key, spawnSync('python3', ['-c', lookFor, ...packages]).status !== 0);
  return lacking.get(key)!;
};
const lookFor = 'import sys\nfrom importlib.util import find_spec\nsys.exit(None in map(find_spec, sys.argv[1:]))';

/**
 * What a script makes, by the first test that wants it: suites whose tests are skipped are gathered all the same, and
 * there is no Python then.
 */
export const pythonOnce = (script: string): (() => ReturnType<typeof python>) => {
  let made: ReturnType<typeof python> | undefined;
  return () => (made ??= python(script));
};

/** Runs a script in a directory of its own with these files in it: what it prints, and the files that it leaves. */
export const python = (
  script: string,
  files: Readonly<Record<string, Uint8Array>> = {},
): { readonly output: string; readonly file: (name: string) => Buffer; readonly close: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), 'python-'));
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
  const { status, stdout, stderr, error } = spawnSync('python3', ['-'], {
    input: script + quits,
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    rmSync(directory, { recursive: true });
    throw error ?? new Error(stderr);
  }
  return {
    output: stdout,
    file: (name) => readFileSync(join(directory, name)),
    close: () => rmSync(directory, { recursive: true }),
  };
};
