/**
 * Worker threads of services that run from their sources: a thread that loads and strips some 250 modules takes more than a second of processor time, one
 * file a fifth of that. The file is made of the sources as they are when a run of the tests begins, and is gone with it.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** For vitest's `globalSetup`; src/workers/entry-from-source.mjs takes the file from the environment. */
export const setup = async (): Promise<() => Promise<void>> => {
  // Below node_modules, for the packages that it imports. A run that was killed leaves its folder behind.
  const cache = join(root, 'node_modules/.cache/lake-workers'), folder = join(cache, String(process.pid));
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(cache)) if (!isRunning(Number(name))) await rm(join(cache, name), { recursive: true, force: true });
  await build({
    configFile: false, root, logLevel: 'warn', publicDir: false,
    build: {
      ssr: 'src/workers/entry.ts', outDir: folder, target: 'node20', minify: false, sourcemap: false,
      rolldownOptions: { treeshake: false, output: { entryFileNames: 'entry.mjs', codeSplitting: false } },
    },
  });
  process.env['LAKE_WORKER_ENTRY'] = join(folder, 'entry.mjs');
  return () => rm(folder, { recursive: true, force: true });
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
