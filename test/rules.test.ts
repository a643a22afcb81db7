/**
 * The repo's own rules: who may import whom, what may not be written. They are read from the code itself, so that a
 * breach names its file.
 */
import { describe, expect, test } from 'vitest';
import { parseSync } from 'oxc-parser';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorTable } from '../src/errors.ts';
import { aggregateTable } from '../src/exec/aggregates/aggregates.ts';
import { functionTable } from '../src/exec/functions/functions.ts';
import { windowTable } from '../src/exec/windows/windows.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : path.endsWith('.ts') ? [path] : [];
  });

const sources = [...filesBelow('src'), ...filesBelow('machines')];
const everything = [...sources, ...filesBelow('test')];
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}
const isNode = (x: unknown): x is Node =>
  typeof x === 'object' && x !== null && typeof (x as { type?: unknown }).type === 'string';
const walk = (node: Node, visit: (node: Node) => void): void => {
  visit(node);
  for (const child of Object.values(node)) {
    if (isNode(child)) walk(child, visit);
    else if (Array.isArray(child)) for (const c of child) if (isNode(c)) walk(c, visit);
  }
};
const treeOf = (path: string): Node => {
  const parsed = parseSync(path, textOf(path));
  expect(parsed.errors, path).toEqual([]);
  return parsed.program as unknown as Node;
};
const known = new Map<string, readonly Node[]>();
/** All nodes of a file, each before those within it; a file is read and walked once. */
const nodesOf = (path: string): readonly Node[] => {
  let nodes = known.get(path);
  if (!nodes) {
    const found: Node[] = [];
    walk(treeOf(path), (node) => found.push(node));
    known.set(path, (nodes = found));
  }
  return nodes;
};

/** Whether an import or a re-export is gone when the types are. */
const isOfTypes = (node: Node): boolean => {
  const specifiers = node['specifiers'];
  const kindOf = (of: Node): unknown => of['importKind'] ?? of['exportKind'];
  return (
    kindOf(node) === 'type' ||
    (Array.isArray(specifiers) && specifiers.length > 0 && specifiers.every((each) => kindOf(each as Node) === 'type'))
  );
};
const importing = new Map<string, readonly Node[]>();
/** Specifiers of static and dynamic imports and re-exports; those of types too, unless only what runs is asked for. */
const importsOf = (path: string, { atRunTime = false } = {}): string[] => {
  let nodes = importing.get(path);
  if (!nodes)
    importing.set(
      path,
      (nodes = nodesOf(path).filter(({ type }) => /^(Import|Export(Named|All))(Declaration|Expression)$/.test(type))),
    );
  const found: string[] = [];
  for (const node of nodes) {
    const source = node['source'];
    if (isNode(source) && typeof source['value'] === 'string' && !(atRunTime && isOfTypes(node)))
      found.push(source['value']);
  }
  return found;
};

/** The folder whose rules a file follows: `lake` for src/lake/columns/plain.ts. */
const folderOf = (path: string): string => {
  const parts = path.split('/');
  if (parts[0] !== 'src') return parts[0]!;
  return parts.length === 2 ? parts[1]!.replace(/\.ts$/, '') : parts[1]!;
};

const all = [
  'vectors',
  'formats',
  'query',
  'exec',
  'lake',
  'workers',
  'recording',
  'http',
  'machines',
  'client',
  'commands',
  'config',
  'engine-flags',
  'errors',
  'format-names',
  'visualize',
  'version',
  'iceberg',
  'store',
];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  'format-names': [],
  version: [],
  config: ['format-names'],
  vectors: ['errors'],
  formats: ['vectors', 'errors', 'format-names'],
  query: ['vectors', 'errors'],
  exec: ['query', 'vectors', 'errors'],
  store: ['errors'],
  lake: ['vectors', 'formats', 'machines', 'store', 'errors'],
  workers: ['formats', 'query', 'exec', 'vectors', 'machines', 'lake', 'store', 'iceberg', 'errors', 'allocator'],
  iceberg: ['lake', 'formats', 'vectors', 'errors'],
  recording: ['machines', 'errors'],
  http: [
    'iceberg',
    'store',
    'query',
    'lake',
    'formats',
    'vectors',
    'workers',
    'machines',
    'recording',
    'visualize',
    'config',
    'errors',
    'format-names',
    'version',
  ],
  client: [],
  machines: [],
  visualize: ['machines', 'recording', 'client', 'format-names'],
  commands: all,
  program: all,
  allocator: [],
  main: ['program', 'allocator', 'engine-flags'],
  'engine-flags': [],
  bundle: ['config', 'version'],
};
/** Of `lake`, the workers see the reader and writer of objects alone, and the ids that objects have. */
const lakeFilesOfWorkers = /^src\/lake\/(objects\/(?!pack|purge|told)|scan\/|load\/sort|columns|lake\.types|ksuid)/;

test('options of the engine are set by the launcher alone, at the start', () => {
  const naming = (word: string): readonly string[] =>
    sources.filter((path) => path.startsWith('src/') && readFileSync(path, 'utf8').includes(word));
  expect(naming('setFlagsFromString')).toEqual(['src/main.ts']);
});

describe('imports', () => {
  for (const path of sources) {
    test(`${path} imports only what its folder may`, () => {
      const own = folderOf(path);
      const breaches: string[] = [];
      for (const specifier of importsOf(path)) {
        if (!specifier.startsWith('.')) continue;
        const target = relative(root, resolve(root, dirname(path), specifier));
        const folder = folderOf(target);
        if (folder === own) continue;
        if (own === 'package.json' || target.endsWith('.json')) continue;
        if (!mayImport[own]?.includes(folder)) breaches.push(`${specifier}: ${own} may not import ${folder}`);
        else if (own === 'workers' && folder === 'lake' && !lakeFilesOfWorkers.test(target))
          breaches.push(`${specifier}: of lake, workers see the object files alone`);
        else if (own === 'formats' && folder === 'formats') breaches.push(specifier);
      }
      expect(breaches).toEqual([]);
    });
  }

  /** Folders of formats that are none. */
  const sharedByFormats = new Set(['arrow-schema', 'codings', 'columns', 'faults']);
  test('a format never imports another format', () => {
    const breaches: string[] = [];
    for (const path of sources.filter((p) => /^src\/formats\/[^/]+\//.test(p))) {
      for (const specifier of importsOf(path).filter((s) => s.startsWith('.'))) {
        const target = relative(root, resolve(root, dirname(path), specifier));
        const format = /^src\/formats\/([^/]+)\//.exec(target)?.[1];
        if (format && !sharedByFormats.has(format) && format !== path.split('/')[2])
          breaches.push(`${path}: ${specifier}`);
      }
    }
    expect(breaches).toEqual([]);
  });

  const homes: readonly { readonly packages: RegExp; readonly home: RegExp }[] = [
    { packages: /^lmdb$/, home: /^src\/lake\/tables\/(environment|probe)[^/]*\.ts$/ },
    { packages: /^(fastify|@fastify\/.*)$/, home: /^src\/http\// },
    { packages: /^xstate(\/.*)?$/, home: /^(machines|src\/lake|src\/http|src\/workers|src\/recording)\// },
    // What a query makes the service connect to goes through from/http.ts alone.
    {
      packages: /^node:(http|https|dns|dns\/promises|tls)$/,
      home: /^src\/(http|commands|visualize|store)\/|^src\/workers\/from\/http\.ts$/,
    },
    { packages: /^node:worker_threads$/, home: /^src\/(workers|bundle)\// },
    {
      packages: /^node:fs(\/promises)?$/,
      home: /^src\/(store\/(s3|credentials)|lake\/(objects\/(objects|fetched|ranges)|store\/.*|lock|own-files|log\/.*|tables\/(environment|checkpoints|head|probe-entry)|repair\/(recovery|upgrade|fsck|repair|replay))|workers\/(query\/(spill|kept-answers)|from\/files)|recording\/.*|commands\/.*|bundle\/.*|main|allocator|http\/.*static.*|http\/(access\/issuer-keys|connections\/listeners))(\.|$|\/)/,
    },
    { packages: /^(vitest|fast-check|oxc-parser|vega-datasets)$/, home: /^test\// },
  ];
  for (const { packages, home } of homes) {
    test(`${packages.source} is imported only in ${home.source}`, () => {
      expect(sources.filter((path) => importsOf(path).some((s) => packages.test(s)) && !home.test(path))).toEqual([]);
    });
  }

  test('every source file can be reached from main, a worker entry, the build or a test of its own folder', () => {
    const seen = new Set<string>();
    const visit = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const specifier of importsOf(path).filter((s) => s.startsWith('.') && s.endsWith('.ts')))
        visit(relative(root, resolve(root, dirname(path), specifier)));
    };
    const entries = sources.filter(
      (p) =>
        p === 'src/main.ts' ||
        /^src\/client\/(client|arrow)\.ts$/.test(p) ||
        /^src\/bundle\/(load|vite\.config)\.ts$/.test(p) ||
        /^src\/workers\/entry\.ts$/.test(p) ||
        /^src\/lake\/tables\/probe[^/]*\.ts$/.test(p),
    );
    for (const entry of entries) visit(entry);
    expect(sources.filter((path) => !seen.has(path))).toEqual([]);
  });
});

/** Groups of files that import each other, directly or by way of others (Tarjan's strongly connected components). */
const circlesOf = (targets: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] => {
  const found: string[][] = [];
  const places = new Map<string, { readonly index: number; low: number; open: boolean }>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const place = { index: places.size, low: places.size, open: true };
    places.set(path, place);
    open.push(path);
    for (const target of targets.get(path) ?? []) {
      const known = places.get(target);
      if (!known) place.low = Math.min(place.low, visit(target));
      else if (known.open) place.low = Math.min(place.low, known.index);
    }
    if (place.low === place.index) {
      const circle = open.splice(open.indexOf(path));
      for (const each of circle) places.get(each)!.open = false;
      if (circle.length > 1) found.push(circle.sort());
    }
    return place.low;
  };
  for (const path of targets.keys()) if (!places.has(path)) visit(path);
  return found;
};

/** A file for each function, answer, sample or endpoint: their tables are the map. */
const listed = /^test\/cases(\/|$)/;
const filesMax = 30;
test(`a folder holds at most ${filesMax} files`, () => {
  const crowded = (folder: string): readonly string[] => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
    const below = entries
      .filter((entry) => entry.isDirectory() && !/^(node_modules|out)$/.test(entry.name))
      .flatMap((entry) => crowded(`${folder}/${entry.name}`));
    return files.length > filesMax && !listed.test(folder) ? [`${folder}: ${files.length}`, ...below] : below;
  };
  expect(['src', 'machines', 'visualize', 'test'].flatMap(crowded)).toEqual([]);
});

describe('circles of imports', () => {
  const targetsOf = (path: string, atRunTime: boolean): readonly string[] =>
    importsOf(path, { atRunTime })
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => relative(root, resolve(root, dirname(path), specifier)));
  const circles = (atRunTime: boolean): readonly (readonly string[])[] =>
    circlesOf(new Map(sources.map((path) => [path, targetsOf(path, atRunTime)])));

  /** Walks over a grammar that contains itself: queries stand in expressions, and these in queries. */
  const grammars = [/^src\/query\/parse\//, /^src\/query\/(analyze|sql)\//, /^src\/query\/types\//];
  test('there is none at run time but within one grammar', () => {
    expect(
      circles(true).filter((circle) => !grammars.some((grammar) => circle.every((path) => grammar.test(path)))),
    ).toEqual([]);
  });

  /** Falls only: a type that two files need of each other stands in a third one. */
  const withTypesMax = 100;
  test(`files of which each needs a type of the other are fewer than ${withTypesMax}`, () => {
    expect(circles(false).flat().length).toBeLessThan(withTypesMax);
  });
});

describe('code', () => {
  const breachesOf = (paths: readonly string[], find: (node: Node, text: string) => string | undefined): string[] =>
    paths.flatMap((path) => {
      const text = textOf(path);
      const found: string[] = [];
      for (const node of nodesOf(path)) {
        const breach = find(node, text);
        if (breach) found.push(`${path}:${text.slice(0, node.start).split('\n').length}: ${breach}`);
      }
      return found;
    });

  test('nothing has the type any', () => {
    expect(breachesOf(everything, (node) => (node.type === 'TSAnyKeyword' ? 'any' : undefined))).toEqual([]);
  });

  /** Falls only: the type of an element says nothing of whether it is there, so that `list[i]!` says no more. */
  const elementMarksMax = 345;
  const unmarked = /^src\/(exec|query|http|formats|lake|commands|config|recording)\//;
  test(`elements of lists are called present (!) less than ${elementMarksMax} times where they were taken away`, () => {
    const marks = breachesOf(
      sources.filter((path) => unmarked.test(path)),
      (node) => {
        const of = node['expression'];
        return node.type === 'TSNonNullExpression' && isNode(of) && of.type === 'MemberExpression' && of['computed']
          ? '!'
          : undefined;
      },
    );
    expect(marks.length).toBeLessThan(elementMarksMax);
  });

  test('no code is made from strings', () => {
    expect(
      breachesOf(everything, (node) => {
        const callee = node['callee'];
        const name = isNode(callee) && callee.type === 'Identifier' ? callee['name'] : undefined;
        return (node.type === 'CallExpression' || node.type === 'NewExpression') &&
          (name === 'eval' || name === 'Function')
          ? String(name)
          : undefined;
      }),
    ).toEqual([]);
  });

  test('there are no default exports, enums or namespaces in the sources', () => {
    // The build's configuration is what vite wants it to be.
    expect(
      breachesOf(
        sources.filter((path) => !path.endsWith('/vite.config.ts')),
        (node) =>
          /^(ExportDefaultDeclaration|TSEnumDeclaration|TSModuleDeclaration)$/.test(node.type) ? node.type : undefined,
      ),
    ).toEqual([]);
  });

  test('no vector keeps its values in a JavaScript array of rows', () => {
    // The forms are interfaces of vector.ts; what holds rows must be a typed array or a vector.
    const rowHolders = breachesOf(['src/vectors/vector.ts'], (node, text) => {
      if (node.type !== 'TSPropertySignature') return undefined;
      const key = node['key'];
      const annotation = node['typeAnnotation'];
      const name = isNode(key) && typeof key['name'] === 'string' ? key['name'] : '';
      if (
        !isNode(annotation) ||
        !/^(values|items|keys|offsets|codes|tags|slots|index|bytes|inner|base|present)$/.test(name)
      )
        return undefined;
      const type = text.slice(annotation.start + 1, annotation['end'] as number).trim();
      return /^(Vector|NumberArray|Uint8Array|Uint32Array)$/.test(type) ? undefined : `${name}: ${type}`;
    });
    expect(rowHolders).toEqual([]);
  });

  test('what a class keeps to itself is private by its word, not by #', () => {
    const isPage = (path: string): boolean => /\.tsx?$/.test(path);
    const pages = readdirSync(join(root, 'visualize'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isPage(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    expect(
      breachesOf([...everything, ...pages], (node) =>
        node.type === 'PrivateIdentifier' ? `#${String(node['name'])}` : undefined,
      ),
    ).toEqual([]);
  });

  test('tests imitate no module: they load sources that are compiled, which vitest cannot replace', () => {
    expect(everything.filter((path) => /\bvi\.(mock|doMock)\(/.test(textOf(path)))).toEqual([]);
  });

  test('no test is skipped, singled out or left for later', () => {
    expect(
      everything.filter(
        (path) => path !== 'test/rules.test.ts' && /\b(test|it|describe)\.(only|skip|todo)\(/.test(textOf(path)),
      ),
    ).toEqual([]);
  });
});

describe('tables', () => {
  const texts = (folder: string, ending: RegExp): string =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((e) => e.isFile() && ending.test(e.name) && !e.parentPath.includes(`${sep}out`))
      .map((e) => readFileSync(join(e.parentPath, e.name), 'utf8'))
      .join('\n');
  const tests = texts('test', /\.(ts|yaml)$/);
  const code = sources
    .filter((p) => p !== 'src/errors.ts')
    .map(textOf)
    .join('\n');

  test('every error is thrown somewhere', () => {
    expect(Object.keys(errorTable).filter((name) => !code.includes(`'${name}'`))).toEqual([]);
  });

  /** What a test cannot bring about on every machine, with what stands for it. */
  const unprovoked: Readonly<Record<string, string>> = {
    'storage-full': 'needs a full disk: a file system of its own, which takes rights that a test run may lack',
  };
  test('every error is provoked by a test, which names it by its code or its text', () => {
    const longest = (text: string): string =>
      text
        .split(/\{\w+\}/)
        .sort((a, b) => b.length - a.length)[0]!
        .trim();
    const missing = Object.entries(errorTable).filter(
      ([name, row]) =>
        !(name in unprovoked) &&
        !tests.includes(name) &&
        !tests.includes(longest(row.text)) &&
        !tests.includes(JSON.stringify(longest(row.text)).slice(1, -1)),
    );
    expect(missing.map(([name, row]) => `${name}: ${row.text}`)).toEqual([]);
  });

  test('every function, aggregate and window function has a case file', () => {
    const names = (folder: string): ReadonlySet<string> =>
      new Set(readdirSync(join(root, 'test/cases', folder)).map((f) => f.replace('.yaml', '')));
    expect(functionTable.map((r) => r.name).filter((name) => !names('functions').has(name))).toEqual([]);
    expect(aggregateTable.map((r) => r.signature.name).filter((name) => !names('aggregates').has(name))).toEqual([]);
    expect(windowTable.map((r) => r.signature.name).filter((name) => !names('windows').has(name))).toEqual([]);
  });
});

describe('machines', () => {
  test('every invoke has onDone and onError', () => {
    const breaches: string[] = [];
    for (const path of sources.filter((p) => p.endsWith('.machine.ts'))) {
      for (const node of nodesOf(path)) {
        const key = node['key'];
        const value = node['value'];
        if (node.type !== 'Property' || !isNode(key) || key['name'] !== 'invoke' || !isNode(value)) continue;
        const invokes = value.type === 'ArrayExpression' ? (value['elements'] as Node[]) : [value];
        for (const invoke of invokes) {
          const names = ((invoke['properties'] as Node[] | undefined) ?? []).map((p) =>
            isNode(p['key']) ? p['key']['name'] : undefined,
          );
          if (!names.includes('onDone') || !names.includes('onError'))
            breaches.push(`${path}: ${textOf(path).slice(0, invoke.start).split('\n').length}`);
        }
      }
    }
    expect(breaches).toEqual([]);
  });
});

test('the repo speaks of the product alone', () => {
  const tracked = ['README.md', 'package.json', 'package-lock.json', '.ci/run', ...everything].filter((p) =>
    statSync(join(root, p), { throwIfNoEntry: false }),
  );
  const named = new RegExp([String.raw`/wo${''}rk/`, 'registry\\.npm', 'farm-'].join('|'));
  expect(tracked.filter((path) => path !== 'test/rules.test.ts' && named.test(textOf(path)))).toEqual([]);
});
