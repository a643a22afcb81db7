/**
 * `lake shell`: questions to a running service, or to a lake that it opens itself. At a terminal it is a line editor,
 * else it reads statements from standard input. Exit status 0; 1 when a statement failed that did not come from a
 * person; 130 when it was interrupted.
 */
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { optionsText } from '../../config/help.ts';
import { fromConfig, indexBaseOf } from '../../config/limits.ts';
import { ConfigError, parseOptions } from '../../config/options.ts';
import { shellOptions, type ShellOptions } from '../../config/tables.ts';
import { makeFolder } from '../../lake/lock.ts';
import { fromPolicyOf } from '../from-options.ts';
import type { CommandIo } from '../io.ts';
import { lakeFolder } from '../lake-folder.ts';
import { History, historyFile } from './history.ts';
import { type Statement, StatementReader, isCommand } from './input.ts';
import type { ShellLake } from './lake.ts';
import { connectLake } from './remote.ts';
import { ShellSession } from './session.ts';
import { commandsText, keysText, knownHead, parseHead } from './commands.ts';
import { ProgressLine, type Terminal, runTerminal } from './terminal.ts';
import { colorsFor } from './text.ts';

const defaultUrl = 'http://127.0.0.1:9867';
/** How long a pipe is waited for, to see whether the next line goes on with the statement. */
const nextLineMs = 50;

/** Options, commands and keys. */
export const shellHelp = (): string =>
  `${optionsText('shell', shellOptions)}\nCommands:\n${commandsText()}\n${keysText}`;

/** Runs the command; resolves to its exit status. `terminal` is absent unless standard input and output are one. */
export const shellCommand = async (argv: readonly string[], io: CommandIo, terminal?: Terminal): Promise<number> => {
  const options = parseOptions(shellOptions, argv, process.env);
  if (options.help) {
    await io.write(Buffer.from(shellHelp()));
    return 0;
  }
  if (options.rest.length > 0)
    throw new ConfigError(`lake shell takes options only: ${JSON.stringify(options.rest[0])} is none`);
  const lake = await openedLake(options, io);
  const stop = new AbortController();
  const ended = (): void => {
    stop.abort();
  };
  const signals = terminal ? (['SIGTERM', 'SIGHUP'] as const) : (['SIGTERM', 'SIGHUP', 'SIGINT'] as const);
  for (const signal of signals) process.once(signal, ended);
  try {
    return await converse(lake, options, io, terminal, stop.signal);
  } finally {
    for (const signal of signals) process.off(signal, ended);
    await lake.close();
  }
};

const openedLake = async (options: ShellOptions, io: CommandIo): Promise<ShellLake> => {
  const directory = options.values['lake'];
  const indexBase = indexBaseOf(options.values);
  if (directory === '')
    return connectLake(
      options.values['s'] === '' ? defaultUrl : options.values['s'],
      options.values['token'],
      indexBase,
    );
  if (options.values['s'] !== '') throw new ConfigError('lake shell: -s and -lake exclude each other');
  const path = lakeFolder(io.cwd, directory);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    makeFolder(path);
    io.complain(`${directory}: a new lake\n`);
  }
  // Storage and workers are loaded only if they are needed.
  const { openLocalLake } = await import('./local.ts');
  return openLocalLake({
    directory: path,
    workers: options.values['workers'],
    memoryBytesMax: options.values['memory'],
    from: fromPolicyOf(fromConfig(options.values), io.cwd),
    ...(indexBase !== undefined && { indexBase }),
  });
};

const converse = async (
  lake: ShellLake,
  options: ShellOptions,
  io: CommandIo,
  terminal: Terminal | undefined,
  signal: AbortSignal,
): Promise<number> => {
  const { values } = options;
  const texts = values['c'];
  const isInteractive = terminal !== undefined && texts.length === 0;
  const progress = new ProgressLine((text) => {
    io.complain(text);
  });
  const colors = colorsFor(terminal !== undefined, process.env);
  const mode = values['mode'];
  const session = new ShellSession({
    lake,
    colors,
    mode: mode === 'auto' ? (terminal ? 'table' : 'sup') : mode,
    timing: isInteractive && !values['q'],
    isTerminal: terminal !== undefined,
    output: {
      width: () => terminal?.output.columns ?? Infinity,
      progress: (rows) => {
        progress.at(rows);
      },
      write: async (text) => {
        progress.clear();
        await io.write(Buffer.from(text));
      },
      complain: (text) => {
        progress.clear();
        io.complain(text);
      },
    },
  });
  if (values['use'] !== '') session.head = await knownHead(session, parseHead(values['use']), signal);
  if (!isInteractive)
    return runAll(session, texts.length > 0 ? givenStatements(texts) : pipedStatements(io.stdin), values['e'], signal);
  if (!values['q']) await io.write(Buffer.from(`${lake.title} (.help lists commands, Ctrl-D ends)\n`));
  const history = new History(historyFile(values['history'], process.env, homedir()));
  await runTerminal({ session, history, progress, terminal, signal });
  return 0;
};

/** Statements that nobody types: the first that fails ends it, unless it is told to go on. */
const runAll = async (
  session: ShellSession,
  statements: AsyncIterable<Statement>,
  stopAtError: boolean,
  signal: AbortSignal,
): Promise<number> => {
  let status = 0;
  for await (const statement of statements) {
    const outcome = await session.run(statement, signal);
    if (outcome === 'cancelled') return 130;
    if (outcome === 'quit') break;
    if (outcome !== 'failed') continue;
    status = 1;
    if (stopAtError) break;
  }
  return status;
};

async function* givenStatements(texts: readonly string[]): AsyncGenerator<Statement> {
  for (const text of texts) yield { text: isCommand(text) ? text.trim() : text, line: 1 };
}

/** Statements of a stream of text, each as soon as it is whole. */
async function* pipedStatements(input: AsyncIterable<Uint8Array>): AsyncGenerator<Statement> {
  const reader = new StatementReader();
  const decoder = new TextDecoder();
  const chunks = input[Symbol.asyncIterator]();
  const lines: string[] = [];
  let rest = '';
  let ended = false;
  let next: Promise<void> | undefined;
  const take = (): Promise<void> =>
    (next ??= chunks.next().then(({ done, value }) => {
      next = undefined;
      ended = done === true;
      const parts = (rest + (ended ? decoder.decode() : decoder.decode(value as Uint8Array, { stream: true }))).split(
        /\r?\n/,
      );
      rest = ended ? '' : parts.pop()!;
      if (ended && parts.at(-1) === '') parts.pop();
      lines.push(...parts);
    }));
  while (!ended || lines.length > 0) {
    if (lines.length === 0) await take();
    const line = lines.shift();
    if (line === undefined) continue;
    if (lines.length === 0 && !ended)
      await Promise.race([
        take(),
        new Promise((resolve) => {
          setTimeout(resolve, nextLineMs);
        }),
      ]);
    yield* reader.add(line, lines[0]);
  }
  yield* reader.end();
}
