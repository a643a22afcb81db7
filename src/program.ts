/**
 * The `lake` command. Each command is a file in commands/; this one picks it and turns what goes wrong into an exit
 * status.
 */
import { messageOf } from './errors.ts';
import { helpText } from './config/help.ts';
import { ConfigError } from './config/options.ts';
import { type CommandIo, isPipe } from './commands/io.ts';
import { serveConfig } from './commands/serve-config.ts';
import { version } from './version.ts';

const io: CommandIo = {
  get cwd() {
    try {
      return process.cwd();
    } catch (cause) {
      throw new Error('the current folder was removed: change to another one', { cause });
    }
  },
  stdin: process.stdin,
  stdinIsPipe: isPipe(0),
  stdoutIsTerminal: process.stdout.isTTY,
  stderrIsTerminal: process.stderr.isTTY,
  ...(process.stderr.isTTY &&
    process.env['TERM'] !== 'dumb' && {
      progress: {
        columns: () => process.stderr.columns,
        rows: () => process.stderr.rows,
        color: (process.env['NO_COLOR'] ?? '') === '',
      },
    }),
  write: (chunk) =>
    new Promise((resolve, reject) => {
      process.stdout.write(chunk, (problem) => (problem ? reject(problem) : resolve()));
    }),
  complain: (text) => {
    process.stderr.write(text);
  },
};

/**
 * Runs a command line; resolves to the exit status. Only what the command needs is loaded: the whole program takes its
 * time.
 */
const run = async (argv: readonly string[]): Promise<number> => {
  const [command = 'help', ...rest] = argv;
  const name = command.replace(/^--?(help|h|version)$/, '$1');
  switch (name) {
    case 'serve':
      // A mistake in the options is told before all of the service is loaded.
      await serveConfig(rest, io.cwd);
      return (await import('./commands/serve.ts')).serveCommand(rest, io);
    case 'query':
      return (await import('./commands/query.ts')).queryCommand(rest, io);
    case 'load':
      return (await import('./commands/load/load.ts')).loadCommand(rest, io);
    case 'log':
    case 'diff':
    case 'branch':
    case 'tag':
    case 'merge':
    case 'revert':
    case 'pick':
    case 'reset':
      return (await import('./commands/versions.ts')).versionCommand(name, rest, io);
    case 'transaction':
      return (await import('./commands/transaction.ts')).transactionCommand(rest, io);
    case 'import':
      return (await import('./commands/import/import.ts')).importCommand(rest, io);
    case 'shell':
      return (await import('./commands/shell/shell.ts')).shellCommand(
        rest,
        io,
        process.stdin.isTTY && process.stdout.isTTY ? { input: process.stdin, output: process.stdout } : undefined,
      );
    case 'key':
      return (await import('./commands/key.ts')).keyCommand(rest, io);
    case 'clone':
      return (await import('./commands/clone.ts')).cloneCommand(rest, io);
    case 'promote':
      return (await import('./commands/promote.ts')).promoteCommand(rest, io);
    case 'fsck':
      return (await import('./commands/fsck.ts')).fsckCommand(rest, io);
    case 'replay':
      return (await import('./commands/replay/replay.ts')).replayCommand(rest, io);
    case 'completion':
      await io.write(Buffer.from((await import('./commands/completion.ts')).completion(rest)));
      return 0;
    case 'help':
    case 'h':
      await io.write(
        Buffer.from(
          rest[0] === undefined ? helpText() : (await import('./commands/help-topics.ts')).helpOn(rest.join(' ')),
        ),
      );
      return 0;
    case 'version':
      await io.write(Buffer.from(`${version}\n`));
      return 0;
    default:
      throw new ConfigError(`unknown command: ${command} (lake help lists them)`);
  }
};

const argv = process.argv.slice(2);
process.stdout.on('error', (problem: NodeJS.ErrnoException) => {
  // A service serves, whether or not its welcome is read.
  if (argv[0] === 'serve') return;
  // A reader that went away (`lake query ... | head`) is no failure of ours.
  if (problem.code === 'EPIPE') process.exit(0);
  process.stderr.write(`standard output: ${messageOf(problem)}\n`);
  process.exit(1);
});
// Left alone, this signal has Node open its debugger, by which anybody on this machine could run code as this process.
process.on('SIGUSR1', () => undefined);

run(argv).then(
  (status) => {
    process.exitCode = status;
  },
  (problem: unknown) => {
    process.stderr.write(`${messageOf(problem)}\n`);
    process.exitCode = problem instanceof ConfigError ? problem.exitStatus : 1;
  },
);
