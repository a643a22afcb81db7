/**
 * Tests load the sources as `worker-bundle.ts` compiled them when their run began, a file each, by Node's own loader.
 * Left to vitest, each of its projects transforms all of them again (near 1,000 files), and what a module has of another
 * is read through a getter at every use. Both are the same code: the sources' maps lie beside it, for stacks.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const folders = ['src', 'machines'];

/** All of them, as paths. */
export const sourceFiles = (): readonly string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => join(root, folder, name)),
  );

/** Leads from what a test imports to what was compiled of it, in the folder that LAKE_TEST_SOURCES names. */
export const compiledSources = (): Plugin => ({
  name: 'compiled-sources',
  enforce: 'pre',
  resolveId: (source, importer) => {
    const compiled = process.env['LAKE_TEST_SOURCES'];
    if (compiled === undefined || importer === undefined || !/^\.{1,2}\/.*\.ts$/.test(source)) return undefined;
    const path = relative(root, join(dirname(importer), source));
    if (!folders.some((folder) => path.startsWith(`${folder}/`))) return undefined;
    const file = join(compiled, path.replace(/\.ts$/, '.mjs'));
    return existsSync(file) ? file : undefined;
  },
});
