#!/usr/bin/env node
/** The `lake` command. Each command is a file in commands/; this one picks it and turns what goes wrong into an exit status. */
import { ConfigError, helpText } from './config.ts';
import { fsckCommand } from './commands/fsck.ts';
import { loadCommand } from './commands/load.ts';
import { queryCommand } from './commands/query.ts';
import { serveCommand } from './commands/serve.ts';
import { functionsText } from './commands/help.ts';
import { type CommandIo } from './commands/io.ts';
import { version } from './version.ts';

const io: CommandIo = {
  cwd: process.cwd(),
  stdin: process.stdin,
  stdoutIsTerminal: process.stdout.isTTY,
  write: (chunk) => new Promise((resolve, reject) => { process.stdout.write(chunk, (problem) => (problem ? reject(problem) : resolve())); }),
  complain: (text) => { process.stderr.write(text); },
};

/** Runs a command line; resolves to the exit status. */
const run = async (argv: readonly string[]): Promise<number> => {
  const [command = 'help', ...rest] = argv;
  switch (command.replace(/^--?(help|h|version)$/, '$1')) {
    case 'serve': return serveCommand(rest, io);
    case 'query': return queryCommand(rest, io);
    case 'load': return loadCommand(rest, io);
    case 'fsck': return fsckCommand(rest, io);
    case 'help': case 'h':
      await io.write(Buffer.from(rest[0] === 'functions' ? functionsText() : helpText()));
      return 0;
    case 'version':
      await io.write(Buffer.from(`${version}\n`));
      return 0;
    default: throw new ConfigError(`unknown command: ${command} (lake help lists them)`);
  }
};

// A reader that went away (`lake query ... | head`) is no failure of ours.
process.stdout.on('error', (problem: NodeJS.ErrnoException) => process.exit(problem.code === 'EPIPE' ? 0 : 1));

run(process.argv.slice(2)).then(
  (status) => { process.exitCode = status; },
  (problem: unknown) => {
    process.stderr.write(`${problem instanceof Error ? problem.message : String(problem)}\n`);
    process.exitCode = problem instanceof ConfigError ? problem.exitStatus : 1;
  },
);
