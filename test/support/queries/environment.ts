/**
 * What the compiler is given in tests: the engine's own catalogs, and two pools `p` (key ts, desc) and `q` (key id,
 * asc), of which nobody knows how many rows they have, and three of which that is known; or files by name.
 */
import { aggregateCatalog } from '../../../src/exec/aggregates/aggregates.ts';
import { windowCatalog } from '../../../src/exec/windows/windows.ts';
import { evaluateConstant } from '../../../src/exec/expressions/compile.ts';
import { functionCatalog } from '../../../src/exec/functions/functions.ts';
import type { CompileEnvironment, ResolvedSource, SourceRequest } from '../../../src/query/plan/plan.ts';
import type { Type } from '../../../src/vectors/type.ts';

const counted = (name: string, rowCount: number): ResolvedSource => ({
  kind: 'pool',
  name,
  handle: name,
  sortKeys: [],
  order: 'asc',
  content: { rowCount, fields: undefined },
});
const pools: Readonly<Record<string, ResolvedSource>> = {
  p: { kind: 'pool', name: 'p', handle: 'p', sortKeys: [['ts']], order: 'desc' },
  q: { kind: 'pool', name: 'q', handle: 'q', sortKeys: [['id']], order: 'asc' },
  few: counted('few', 1000),
  many: counted('many', 1_000_000),
  more: counted('more', 1_500_000),
};

export const lakeEnvironment = (defaultSource?: SourceRequest): CompileEnvironment => ({
  mode: 'lake',
  functions: functionCatalog,
  aggregates: aggregateCatalog,
  windows: windowCatalog,
  evaluate: evaluateConstant,
  resolve: (request) => {
    if (request.kind === 'lakeMeta') return Promise.resolve([{ kind: 'lakeMeta', name: request.meta, handle: '' }]);
    const found = request.kind === 'name' ? pools[request.name] : undefined;
    return found
      ? Promise.resolve([found])
      : Promise.reject(new Error(`${request.kind === 'name' ? request.name : ''}: pool not found`));
  },
  ...(defaultSource ? { defaultSource } : {}),
});

/** Files by name, with the types of their rows where these are known. */
export const fileEnvironment = (
  files: Readonly<Record<string, Type | undefined>> = {},
  defaultSource?: SourceRequest,
): CompileEnvironment => ({
  mode: 'files',
  functions: functionCatalog,
  aggregates: aggregateCatalog,
  windows: windowCatalog,
  evaluate: evaluateConstant,
  resolve: (request) => {
    if (request.kind !== 'name' || !(request.name in files)) return Promise.reject(new Error('file does not exist'));
    const type = files[request.name];
    return Promise.resolve([{ kind: 'file', name: request.name, handle: request.name, ...(type ? { type } : {}) }]);
  },
  ...(defaultSource ? { defaultSource } : {}),
});

/** The same, where each file is read through a view that gives all of it. */
export const viewEnvironment = (files: Readonly<Record<string, Type | undefined>> = {}): CompileEnvironment => {
  const environment = fileEnvironment(files);
  return {
    ...environment,
    resolve: (request) =>
      request.kind === 'name' && !request.inView && request.name in files
        ? Promise.resolve([
            {
              kind: 'view',
              name: request.name,
              handle: request.name,
              query: `select * from ${request.name}`,
              isNewest: true,
            },
          ])
        : environment.resolve(request),
  };
};
