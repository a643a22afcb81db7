/**
 * Worker threads of services that run from their sources, the process that reads a lake's tables after a kill, and the
 * scripts that tests run in processes of their own: a thread or a process that loads and strips some 250 modules takes
 * about a second of processor time, one file a fifth of that. The files are made of the sources as they are when a run
 * of the tests begins, and are gone with it.
 */
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { ascii } from '../../src/bundle/ascii.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** For `scriptArguments`. */
const scripts = [
  'test/bench/traffic.ts',
  'test/random/fuzz-child.ts',
  'test/random/queries/child.ts',
  'test/support/small-commits-writer.ts',
  'test/unit/lake/repair/crash-writer.ts',
  'test/unit/lake/repair/fault-writer.ts',
  'test/unit/lake/lake-opener.ts',
  'test/unit/lake/pack-writer.ts',
];

/**
 * For vitest's `globalSetup`; src/workers/entry-from-source.mjs, src/lake/tables/probe-entry-from-source.mjs and
 * script.ts take the files from the environment.
 */
export const setup = async (): Promise<() => Promise<void>> => {
  // Below node_modules, for the packages that it imports. A run that was killed leaves its folder behind.
  const cache = join(root, 'node_modules/.cache/lake-workers');
  const folder = join(cache, String(process.pid));
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(cache))
    if (!isRunning(Number(name))) await rm(join(cache, name), { recursive: true, force: true });
  await Promise.all([
    bundle(['src/workers/entry.ts'], folder, { format: 'cjs', plugins: [ascii()] }),
    bundle(['src/lake/tables/probe-entry.ts'], folder),
    bundle(scripts, folder, { codeSplitting: true, plugins: [asInPlace] }),
    copyFile(new URL('kept-entry.mjs', import.meta.url), join(folder, 'entry.mjs')),
  ]);
  process.env['LAKE_WORKER_ENTRY'] = join(folder, 'entry.mjs');
  process.env['LAKE_PROBE_ENTRY'] = join(folder, 'probe-entry.mjs');
  process.env['LAKE_TEST_SCRIPTS'] = folder;
  return () => rm(folder, { recursive: true, force: true });
};

/** Files beside a script are found where its source is. */
const asInPlace: Plugin = {
  name: 'as-in-place',
  enforce: 'pre',
  transform: (code, id) =>
    id.startsWith(root) && !id.includes('/node_modules/')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : undefined,
};

interface BundleOptions {
  /** `cjs`: with the packages that it needs. */
  readonly format?: 'es' | 'cjs';
  /** What several have in common stands in files of its own. */
  readonly codeSplitting?: boolean;
  readonly plugins?: Plugin[];
}
/** A file for each source, named like it. */
const bundle = async (
  sources: readonly string[],
  folder: string,
  { format = 'es', codeSplitting = false, plugins = [] }: BundleOptions = {},
): Promise<void> => {
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins,
    publicDir: false,
    ...(format === 'cjs' && { ssr: { noExternal: true as const, external: ['lmdb'] } }),
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      sourcemap: false,
      rolldownOptions: {
        input: [...sources],
        treeshake: false,
        output: {
          format,
          entryFileNames: format === 'cjs' ? '[name].cjs' : '[name].mjs',
          chunkFileNames: '[name]-[hash].mjs',
          codeSplitting,
        },
      },
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
