/**
 * `lake query`: runs a query over files, URLs and standard input, without a lake and without a server. Flags, defaults
 * and messages are those of the `super` command; the engine is the service's own.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve as resolvePath } from 'node:path';
import { optionsText } from '../config/help.ts';
import { formatLimits, indexBaseOf, recursionLimits } from '../config/limits.ts';
import { ConfigError, parseOptions } from '../config/options.ts';
import { queryOptions, type QueryOptions } from '../config/tables.ts';
import { LakeError, messageOf } from '../errors.ts';
import { execute } from '../exec/compile.ts';
import { aggregateCatalog } from '../exec/aggregates/aggregates.ts';
import { windowCatalog } from '../exec/windows/windows.ts';
import { evaluateConstant } from '../exec/expressions/compile.ts';
import { functionCatalog } from '../exec/functions/functions.ts';
import type { ExecutionContext } from '../exec/context.ts';
import type { ExecutionHost } from '../exec/source.ts';
import { createWriter, formatTable } from '../formats/formats.ts';
import type { SelectFusing } from '../formats/format.types.ts';
import { inputFormatNamed, inputFormOf } from './format-options.ts';
import { type CompileOptions, compile } from '../query/analyze.ts';
import { CompileError, type QuerySource } from '../query/parse/error.ts';
import type { CompileEnvironment } from '../query/plan/plan.ts';
import { linkTask, working } from '../vectors/stop.ts';
import { taskBytesMin, ThreadMemory } from '../vectors/thread-memory.ts';
import { bytesInUse, collectAll } from '../workers/collector.ts';
import { TaskSpill } from '../workers/query/spill.ts';
import { compileErrorText } from './compile-error.ts';
import { FileMissing, FileSources, commandLineSource } from './files.ts';
import { httpRules } from './from-options.ts';
import type { CommandIo } from './io.ts';
import { formatOf, outputOf } from './output.ts';
import { ProgressLines, type ProgressState } from './progress.ts';

/** Told where something is piped in and nothing asks for it. */
const stdinUnread = 'warning: standard input is not read: name it as an input, "-"\n';

/** How the engine goes about its work; the answer depends on none of it. */
export interface EngineSettings extends CompileOptions, Pick<ExecutionContext, 'reshape'> {
  readonly batchRows?: number;
  /** In place of what the options allow. */
  readonly memoryBytesMax?: number;
  /** Surroundings made from the usual ones. */
  readonly host?: (usual: ExecutionHost) => ExecutionHost;
}

/** Runs the command; resolves to its exit status. */
export const queryCommand = async (
  argv: readonly string[],
  io: CommandIo,
  engine: EngineSettings = {},
): Promise<number> => {
  try {
    const options = parseOptions(queryOptions, argv);
    if (options.help) {
      await io.write(Buffer.from(optionsText('query', queryOptions)));
      return 0;
    }
    await run(options, io, engine);
    return 0;
  } catch (problem) {
    io.complain(`${messageOf(problem)}\n`);
    return problem instanceof ConfigError ? problem.exitStatus : 1;
  }
};

const run = async (options: QueryOptions, given: CommandIo, engine: EngineSettings): Promise<void> => {
  const lines = new ProgressLines(given);
  const line = lines.begin();
  const io = lines.aside();
  const memoryBytesMax = engine.memoryBytesMax ?? memoryOf(options);
  const { signal } = watched(memoryBytesMax);
  const output = outputOf(options, io, (work) => working(signal, work));
  const { batchRows = 4096, reshape } = engine;
  for (const name of budgets)
    if (options.values[name] === 0) throw new Error(`${name} value must be greater than zero`);
  const texts = textsOf(options, io.cwd);
  if (texts.length === 0 && options.rest.length === 0)
    throw new ConfigError('lake query: no query and no input (see lake query -h)');
  const spill = new TaskSpill(tmpdir());
  const sources = new FileSources({
    cwd: io.cwd,
    stdin: io.stdin,
    paths: options.rest,
    batchRows,
    complain: options.values['q'] ? () => undefined : io.complain,
    format: inputFormatNamed(options.values['i']) ?? 'auto',
    form: inputFormOf(options.values),
    readLimits: formatLimits(options.values),
    memoryBytesMax: Math.max(memoryBytesMax, taskBytesMin),
    scratch: () => spill.scratchBytes(),
    ...(line.isOn && {
      came: () => {
        line.tell(state);
      },
    }),
    sampleRows: options.values['dynamic'] ? 0 : options.values['samplesize'],
    stopOnError: options.values['e'],
    http: {
      rules: options.given.has('from.http') ? httpRules(options.values['from.http']) : 'all',
      bytesMax: Infinity,
      waitMsMax: Infinity,
    },
  });
  const debug = createWriter('sup', { pretty: 0 });
  const host: ExecutionHost = {
    scan: (source) => sources.scan(source),
    open: (name, format) => sources.open(name, format),
    load: () => Promise.reject(new LakeError('load-without-lake')),
    debug: (batch) => io.complain(textOf(debug.write(batch))),
    progress: { bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 },
    spill,
  };
  const context: ExecutionContext = {
    host: engine.host?.(host) ?? host,
    signal,
    batchRows,
    memoryBytesMax,
    recursion: recursionLimits(options.values),
    names: new Map(),
    ...(reshape && { reshape }),
  };
  const state = (): ProgressState => ({ what: '', ...sources.progress(), records: context.host.progress.recordsRead });
  // Behind the last byte there may be much to do yet.
  const drawing = line.isOn
    ? setInterval(() => {
        line.tell(state);
      }, 100)
    : undefined;
  try {
    const plan = await compiled(texts, sources, {
      hasInput: options.rest.length > 0,
      advice: io.stderrIsTerminal === true,
      engine,
      signal,
      indexBase: indexBaseOf(options.values),
      fuseSelect: formatTable[formatOf(options, io)].fusesSelect,
    });
    for (const warning of plan.warnings ?? []) io.complain(`warning: ${warning}\n`);
    for await (const { channel, batch } of execute(plan, context)) if (channel === 'main') await output.write(batch);
    await output.end(plan.rowType);
  } finally {
    clearInterval(drawing);
    line.hide();
    spill.dispose();
    const isNamed = sources.namesStdin || options.rest.includes('-');
    if (io.stdinIsPipe && !isNamed && !options.values['q']) io.complain(stdinUnread);
  }
  if (options.values['stats']) io.complain(`${JSON.stringify(context.host.progress)}\n`);
};

const budgets = ['memory', 'sortmem', 'aggmem', 'fusemem'] as const;
/** One budget for all operators: the largest of those given, else the default. */
const memoryOf = ({ values, given }: QueryOptions): number => {
  const named = budgets.filter((name) => given.has(name)).map((name) => values[name]);
  return named.length > 0 ? Math.max(...named) : values['memory'];
};

/** The signal of a query whose memory is watched; what the process has in use before it is not the query's. */
const watched = (bytesMax: number): AbortController => {
  const before = bytesInUse();
  const query = new AbortController();
  const memory = new ThreadMemory(bytesMax, { bytes: bytesInUse, collect: collectAll, kept: () => before });
  linkTask(query.signal, { account: memory.open() });
  return query;
};

interface CompiledOptions {
  readonly hasInput: boolean;
  readonly advice: boolean;
  readonly engine: EngineSettings;
  readonly signal: AbortSignal;
  readonly indexBase: 0 | 1 | undefined;
  readonly fuseSelect: SelectFusing | undefined;
}

const compiled = async (
  texts: readonly QuerySource[],
  sources: FileSources,
  { hasInput, advice, engine, signal, indexBase, fuseSelect }: CompiledOptions,
): ReturnType<typeof compile> => {
  const environment: CompileEnvironment = {
    mode: 'files',
    functions: functionCatalog,
    aggregates: aggregateCatalog,
    windows: windowCatalog,
    evaluate: (expr, functions) => working(signal, () => evaluateConstant(expr, functions)),
    resolve: (request) => sources.resolve(request),
    ...(indexBase !== undefined && { indexBase }),
    ...(hasInput && { defaultSource: { kind: 'name', name: commandLineSource } as const }),
  };
  try {
    return await compile(texts, environment, {
      ...engine,
      rowType: true,
      ...(fuseSelect && { ending: { fuseSelect } }),
    });
  } catch (problem) {
    if (problem instanceof CompileError) throw new Error(compileErrorText(texts, problem, advice), { cause: problem });
    if (problem instanceof FileMissing) throw new Error(`${problem.file}: ${problem.message}`, { cause: problem });
    throw problem;
  }
};

/** The texts of -c and -I in the order in which they were given. */
const textsOf = (options: QueryOptions, cwd: string): readonly QuerySource[] =>
  options.order
    .filter(({ name }) => name === 'c' || name === 'I')
    .map(({ name, value }) => {
      if (name === 'c') return { text: value };
      try {
        return { text: readFileSync(resolvePath(cwd, value), 'utf8'), name: value };
      } catch (cause) {
        throw new Error(`${value}: file does not exist`, { cause });
      }
    });

const textOf = (chunks: Iterable<Uint8Array>): string => Buffer.concat([...chunks]).toString();
