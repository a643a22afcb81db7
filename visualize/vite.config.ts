/** Builds the browser pages into dist/visualize. A page is an HTML file here; its path in the service is in src/http/static-pages.ts. */
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { aggregateRows, functionRows, windowRows } from '../src/commands/help.ts';
import { keywords, operatorTable } from '../src/query/operator-table.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the language has, for the console's editor: `virtual:language`, made of the tables when the pages are built. */
const language = (): Plugin => {
  const id = 'virtual:language', word = ({ name, syntax, text }: { readonly name: string; readonly syntax: string; readonly text: string }) => ({ name, syntax, text });
  const lists = { operators: operatorTable.map(word), functions: functionRows.map(word), aggregates: aggregateRows.map(word), windows: windowRows.map(word), keywords };
  return { name: 'language', resolveId: (source) => (source === id ? `\0${id}` : undefined), load: (source) => (source === `\0${id}` ? `export const language = ${JSON.stringify(lists)};` : undefined) };
};

export default defineConfig({
  plugins: [language()],
  root: here('.'),
  // Relative: pages work behind a path prefix.
  base: './',
  publicDir: false,
  build: {
    outDir: here('../dist/visualize'), emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, sourcemap: false,
    rolldownOptions: { input: { docs: here('docs.html'), console: here('console.html'), inspect: here('inspect.html') } },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
