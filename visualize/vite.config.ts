/** Builds the browser pages into dist/visualize. A page is an HTML file here; its path in the service is in src/http/static-pages.ts. */
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { type HelpRow, aggregateRows, functionRows, windowRows } from '../src/commands/help.ts';
import { keywords, operatorTable } from '../src/query/operator-table.ts';
import { sqlTable } from '../src/query/sql-table.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the language has, for the console's editor: `virtual:language`, made of the tables when the pages are built. */
const language = (): Plugin => {
  const id = 'virtual:language', word = ({ name, syntax, text }: { readonly name: string; readonly syntax: string; readonly text: string }) => ({ name, syntax, text });
  const lists = { operators: operatorTable.map(word), functions: functionRows.map(word), aggregates: aggregateRows.map(word), windows: windowRows.map(word), keywords };
  return { name: 'language', resolveId: (source) => (source === id ? `\0${id}` : undefined), load: (source) => (source === `\0${id}` ? `export const language = ${JSON.stringify(lists)};` : undefined) };
};

/** The language with its examples, for the page of the API: `virtual:manual`. */
const manual = (): Plugin => {
  const id = 'virtual:manual', row = ({ name, syntax, text, examples }: HelpRow) => ({ name, syntax, text, examples: examples.map(({ query, input, output }) => ({ query, ...(input !== undefined && { input }), output })) });
  const chapters = [
    ...Object.entries(sqlTable).map(([title, forms]) => ({ title: `SQL: ${title.toLowerCase()}`, rows: forms.map(row) })),
    { title: 'Operators of pipes', rows: operatorTable.map((o) => row({ ...o, examples: [] })) },
    { title: 'Functions', rows: functionRows.map(row) }, { title: 'Aggregates', rows: aggregateRows.map(row) }, { title: 'Window functions', rows: windowRows.map(row) },
  ];
  return { name: 'manual', resolveId: (source) => (source === id ? `\0${id}` : undefined), load: (source) => (source === `\0${id}` ? `export const chapters = ${JSON.stringify(chapters)};` : undefined) };
};

export default defineConfig({
  plugins: [language(), manual()],
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
