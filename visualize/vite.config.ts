/** Builds the browser pages into dist/visualize. A page is an HTML file here; its path in the service is in src/http/static-pages.ts. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  // Relative: pages work behind a path prefix.
  base: './',
  publicDir: false,
  build: {
    outDir: here('../dist/visualize'), emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, sourcemap: false,
    rolldownOptions: { input: { inspect: here('inspect.html') } },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
