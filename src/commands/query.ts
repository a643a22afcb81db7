/**
 * `lake query`: runs a query over files, URLs and standard input, without a lake and without a server. Flags, defaults and messages are those of the
 * `super` command; the engine is the service's own.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve as resolvePath } from 'node:path';
import { ConfigError, type ParsedOptions, optionsText, parseOptions, queryOptions } from '../config.ts';
import { LakeError } from '../errors.ts';
import { execute } from '../exec/compile.ts';
import { aggregateCatalog } from '../exec/aggregates/aggregates.ts';
import { evaluateConstant } from '../exec/expressions/compile.ts';
import { functionCatalog } from '../exec/functions/functions.ts';
import type { ExecutionContext } from '../exec/source.ts';
import { type FormatName, createWriter, isFormatName } from '../formats/formats.ts';
import { compile } from '../query/analyze.ts';
import { CompileError, type QuerySource, formatCompileErrors } from '../query/parse-error.ts';
import type { CompileEnvironment } from '../query/plan.ts';
import { TaskSpill } from '../workers/spill.ts';
import { FileMissing, FileSources, commandLineSource } from './files.ts';
import type { CommandIo } from './io.ts';
import { outputOf } from './output.ts';

const batchRows = 4096;

/** Runs the command; resolves to its exit status. */
export const queryCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  try {
    const options = parseOptions(queryOptions, argv);
    if (options.help) {
      await io.write(Buffer.from(optionsText('query', queryOptions)));
      return 0;
    }
    await run(options, io);
    return 0;
  } catch (problem) {
    io.complain(`${problem instanceof Error ? problem.message : String(problem)}\n`);
    return problem instanceof ConfigError ? problem.exitStatus : 1;
  }
};

const run = async (options: ParsedOptions, io: CommandIo): Promise<void> => {
  const output = outputOf(options, io);
  for (const name of ['sortmem', 'aggmem', 'fusemem']) if (options.values[name] === 0) throw new Error(`${name} value must be greater than zero`);
  const texts = textsOf(options, io.cwd);
  if (texts.length === 0 && options.rest.length === 0) throw new ConfigError('lake query: no query and no input (see lake query -h)');
  const sources = new FileSources({
    cwd: io.cwd, stdin: io.stdin, paths: options.rest, batchRows, complain: options.values['q'] === true ? () => undefined : io.complain,
    format: inputFormat(options), csvDelimiter: options.values['csv.delim'] as string, bsupFrameBytesMax: options.values['bsup.readmax'] as number,
    sampleRows: options.values['dynamic'] ? 0 : (options.values['samplesize'] as number), stopOnError: options.values['e'] as boolean,
  });
  const debug = createWriter('sup', { pretty: 0 }), spill = new TaskSpill(tmpdir());
  const context: ExecutionContext = {
    host: {
      scan: (source) => sources.scan(source),
      open: (name, format) => sources.open(name, format),
      load: () => Promise.reject(new LakeError('load-without-lake')),
      debug: (batch) => io.complain(textOf(debug.write(batch))),
      progress: { bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 },
      spill,
    },
    signal: new AbortController().signal, batchRows, memoryBytesMax: memoryOf(options), names: new Map(),
  };
  try {
    const plan = await compiled(texts, sources, options.rest.length > 0);
    for await (const { channel, batch } of execute(plan, context)) if (channel === 'main') await output.write(batch);
    await output.end();
  } finally {
    spill.dispose();
  }
  if (options.values['stats']) io.complain(`${JSON.stringify(context.host.progress)}\n`);
};

/** One budget for all operators: the largest of those given, else the default. */
const memoryOf = ({ values, given }: ParsedOptions): number => {
  const named = ['sortmem', 'aggmem', 'fusemem'].filter((name) => given.has(name)).map((name) => values[name] as number);
  return named.length > 0 ? Math.max(...named) : values['sortmem'] as number;
};

const compiled = async (texts: readonly QuerySource[], sources: FileSources, hasInput: boolean): ReturnType<typeof compile> => {
  const environment: CompileEnvironment = {
    mode: 'files', functions: functionCatalog, aggregates: aggregateCatalog, evaluate: evaluateConstant,
    resolve: (request) => sources.resolve(request),
    ...(hasInput && { defaultSource: { kind: 'name', name: commandLineSource } as const }),
  };
  try {
    return await compile(texts, environment);
  } catch (problem) {
    if (problem instanceof CompileError) throw new Error(formatCompileErrors(texts, problem.errors), { cause: problem });
    if (problem instanceof FileMissing) throw new Error(`${problem.file}: ${problem.message}`, { cause: problem });
    throw problem;
  }
};

/** The texts of -c and -I in the order in which they were given. */
const textsOf = (options: ParsedOptions, cwd: string): readonly QuerySource[] =>
  options.order.filter(({ name }) => name === 'c' || name === 'I').map(({ name, value }) => {
    if (name === 'c') return { text: value };
    try {
      return { text: readFileSync(resolvePath(cwd, value), 'utf8'), name: value };
    } catch (cause) {
      throw new Error(`${value}: file does not exist`, { cause });
    }
  });

const inputFormat = (options: ParsedOptions): FormatName | 'auto' => {
  const format = options.values['i'] as string;
  if (format === 'auto' || isFormatName(format)) return format;
  throw new LakeError('format-unknown', { format });
};

const textOf = (chunks: Iterable<Uint8Array>): string => Buffer.concat([...chunks]).toString();
