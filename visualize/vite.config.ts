/**
 * Builds the browser pages into dist/visualize. A page is an HTML file here; its path in the service is in
 * src/http/static-pages.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { billOfMaterials } from '../src/bundle/bill-of-materials.ts';
import { aggregateRows, functionRows, windowRows } from '../src/commands/help.ts';
import { keywords, operatorTable } from '../src/query/reference/operators.ts';
import { contentsOf, manualOf } from './docs/markdown.ts';
import { recipesOf } from './docs/recipes.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the language has, for the console's editor: `virtual:language`, made of the tables when the pages are built. */
const language = (): Plugin => {
  const id = 'virtual:language';
  const word = ({ name, syntax, text }: { readonly name: string; readonly syntax: string; readonly text: string }) => ({
    name,
    syntax,
    text,
  });
  const lists = {
    operators: operatorTable.map(word),
    functions: functionRows.map(word),
    aggregates: aggregateRows.map(word),
    windows: windowRows.map(word),
    keywords,
  };
  return {
    name: 'language',
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load: (source) => (source === `\0${id}` ? `export const language = ${JSON.stringify(lists)};` : undefined),
  };
};

/** The pages of the manual: `virtual:manual`. Their pictures become assets. */
const manual = (): Plugin => {
  const id = 'virtual:manual';
  const folder = here('docs/manual/');
  const read = (file: string): string => readFileSync(`${folder}${file}`, 'utf8');
  const load = (source: string): string | undefined => {
    if (source !== `\0${id}`) return undefined;
    const pictures = new Map<string, string>();
    const picture = (path: string): string => {
      const name = pictures.get(path) ?? `picture:${pictures.size}`;
      pictures.set(path, name);
      return name;
    };
    const pages = JSON.stringify(manualOf(contentsOf(read('README.md')), read, picture));
    const names = [...pictures];
    const imports = names
      .map(([path], k) => `import picture${k} from ${JSON.stringify(join(folder, path))};`)
      .join('\n');
    return `${imports}\nconst pictures = [${names.map((_, k) => `picture${k}`).join(', ')}];\nexport const pages = ${pages}.map((page) => ({ ...page, html: page.html.replaceAll(/picture:(\\d+)/g, (_, k) => pictures[k]) }));`;
  };
  return { name: 'manual', resolveId: (source) => (source === id ? `\0${id}` : undefined), load };
};

/** Configurations to copy, from two pages of the manual: `virtual:recipes`. */
const recipes = (): Plugin => {
  const id = 'virtual:recipes';
  const all = ['shippers.md', 'elasticsearch.md'].flatMap((file) =>
    recipesOf(readFileSync(here(`docs/manual/${file}`), 'utf8')),
  );
  return {
    name: 'recipes',
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load: (source) => (source === `\0${id}` ? `export const recipes = ${JSON.stringify(all)};` : undefined),
  };
};

export default defineConfig({
  plugins: [language(), manual(), recipes(), billOfMaterials()],
  root: here('.'),
  // Relative: pages work behind a path prefix.
  base: './',
  publicDir: false,
  build: {
    outDir: here('../dist/visualize'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    license: { fileName: 'THIRD-PARTY.md' },
    rolldownOptions: {
      input: { docs: here('docs.html'), console: here('console.html'), inspect: here('inspect.html') },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
