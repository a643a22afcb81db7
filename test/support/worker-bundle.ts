/**
 * Worker threads of services that run from their sources, the process that reads a lake's tables after a kill, and the
 * scripts that tests run in processes of their own: a thread or a process that loads and strips some 250 modules takes
 * about a second of processor time, one file a fifth of that. And what tests themselves load of the sources
 * (compiled-sources.ts). The files are made of the sources as they are when a run of the tests begins, and are gone with
 * it.
 */
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import type { TestProject } from 'vitest/node';
import { ascii } from '../../src/bundle/ascii.ts';
import { root, sourceFiles } from './compiled-sources.ts';

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
 * script.ts take the files from the environment, as compiled-sources.ts does. Vitest itself watches sources, if asked to.
 */
export const setup = async ({ config }: TestProject): Promise<() => Promise<void>> => {
  // Below node_modules, for the packages that it imports. A run that was killed leaves its folder behind.
  const cache = join(root, 'node_modules/.cache/lake-workers');
  const folder = join(cache, String(process.pid));
  const sources = join(folder, 'sources');
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(cache))
    if (!isRunning(Number(name))) await rm(join(cache, name), { recursive: true, force: true });
  await Promise.all([
    bundle(['src/workers/entry.ts'], folder, { format: 'cjs', plugins: [ascii()] }),
    bundle(['src/lake/tables/probe-entry.ts'], folder),
    bundle(scripts, folder, { codeSplitting: true, plugins: [asInPlace] }),
    config.watch ? undefined : bundle(sourceFiles(), sources, { isFileByFile: true, plugins: [asInPlace] }),
    copyFile(new URL('kept-entry.mjs', import.meta.url), join(folder, 'entry.mjs')),
  ]);
  process.env['LAKE_WORKER_ENTRY'] = join(folder, 'entry.mjs');
  process.env['LAKE_PROBE_ENTRY'] = join(folder, 'probe-entry.mjs');
  process.env['LAKE_TEST_SCRIPTS'] = folder;
  if (!config.watch) process.env['LAKE_TEST_SOURCES'] = sources;
  return () => rm(folder, { recursive: true, force: true });
};

/** Files beside a script are found where its source is. */
const asInPlace: Plugin = {
  name: 'as-in-place',
  enforce: 'pre',
  transform: (code, id) =>
    id.startsWith(root) && !id.includes('/node_modules/') && code.includes('import.meta.url')
      ? { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }
      : undefined,
};

interface BundleOptions {
  /** `cjs`: with the packages that it needs. */
  readonly format?: 'es' | 'cjs';
  /** What several have in common stands in files of its own. */
  readonly codeSplitting?: boolean;
  /** A file for each module that they load, too, in the same folders, and a map beside it. */
  readonly isFileByFile?: boolean;
  readonly plugins?: Plugin[];
}
/** A file for each source, named like it. */
const bundle = async (
  sources: readonly string[],
  folder: string,
  { format = 'es', codeSplitting = false, isFileByFile = false, plugins = [] }: BundleOptions = {},
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
      sourcemap: isFileByFile,
      rolldownOptions: {
        input: [...sources],
        treeshake: false,
        output: {
          format,
          entryFileNames: format === 'cjs' ? '[name].cjs' : '[name].mjs',
          chunkFileNames: '[name]-[hash].mjs',
          ...(isFileByFile ? { preserveModules: true, preserveModulesRoot: root } : { codeSplitting }),
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
