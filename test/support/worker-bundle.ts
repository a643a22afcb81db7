/**
 * Worker threads of services that run from their sources, and the process that reads a lake's tables after a kill: a
 * thread that loads and strips some 250 modules takes more than a second of processor time, one file a fifth of that.
 * The files are made of the sources as they are when a run of the tests begins, and are gone with it.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * For vitest's `globalSetup`; src/workers/entry-from-source.mjs and src/lake/tables/probe-entry-from-source.mjs take
 * the files from the environment.
 */
export const setup = async (): Promise<() => Promise<void>> => {
  // Below node_modules, for the packages that it imports. A run that was killed leaves its folder behind.
  const cache = join(root, 'node_modules/.cache/lake-workers');
  const folder = join(cache, String(process.pid));
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(cache))
    if (!isRunning(Number(name))) await rm(join(cache, name), { recursive: true, force: true });
  await bundle('src/workers/entry.ts', folder, 'entry.mjs');
  await bundle('src/lake/tables/probe-entry.ts', folder, 'probe-entry.mjs');
  process.env['LAKE_WORKER_ENTRY'] = join(folder, 'entry.mjs');
  process.env['LAKE_PROBE_ENTRY'] = join(folder, 'probe-entry.mjs');
  return () => rm(folder, { recursive: true, force: true });
};

const bundle = async (source: string, folder: string, name: string): Promise<void> => {
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    publicDir: false,
    build: {
      ssr: source,
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      sourcemap: false,
      rolldownOptions: { treeshake: false, output: { entryFileNames: name, codeSplitting: false } },
    },
  });
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
