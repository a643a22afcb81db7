/**
 * Puts the program into few files, `dist/bundle`: one for what every thread has, one for each thing that is loaded when
 * it is needed, packages and all. A thread that loads some 400 files takes twice as long. What the program is started
 * with stays `dist/src/main.js`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { manPage } from '../config/man.ts';
import { version } from '../version.ts';
import { ascii } from './ascii.ts';
import { billOfMaterials } from './bill-of-materials.ts';
import { keepCode } from './keep-code.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Packages with files of their own, and those that Fastify would load for what the service does not ask of it. */
const outside = ['lmdb', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'];

/**
 * Runs the new program for a moment, and lets it keep the code that the engine made of it. Where it cannot be run it is
 * whole all the same, and only starts more slowly.
 */
const kept = (): Plugin => ({
  name: 'keep-code',
  writeBundle: {
    order: 'post',
    sequential: true,
    async handler({ dir }) {
      await keepCode(join(dir!, '../src/main.js')).catch((fault: unknown) => {
        this.warn(
          `starts will take longer, no compiled code was kept: ${fault instanceof Error ? fault.message : String(fault)}`,
        );
      });
    },
  },
});

/** What a package has besides: the manual page, and what changed from version to version. */
const pages = (): Plugin => ({
  name: 'pages',
  generateBundle() {
    const changes = readFileSync(here('../../visualize/docs/manual/releases.md'), 'utf8');
    this.emitFile({ type: 'asset', fileName: 'lake.1', source: manPage(version) });
    this.emitFile({ type: 'asset', fileName: 'CHANGELOG.md', source: changes });
  },
});

export default defineConfig({
  plugins: [ascii(), pages(), billOfMaterials(), kept()],
  root: here('../..'),
  publicDir: false,
  ssr: { noExternal: true, external: outside },
  build: {
    ssr: true,
    outDir: here('../../dist/bundle'),
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    sourcemap: true,
    license: { fileName: 'THIRD-PARTY.md' },
    rolldownOptions: {
      input: {
        load: here('load.ts'),
        program: here('../program.ts'),
        entry: here('../workers/entry.ts'),
        'probe-entry': here('../lake/tables/probe-entry.ts'),
      },
      output: {
        format: 'cjs',
        sourcemapExcludeSources: true,
        // Of packages; their licences are in THIRD-PARTY.md.
        comments: false,
        entryFileNames: '[name].cjs',
        chunkFileNames: '[name].cjs',
      },
    },
  },
});
