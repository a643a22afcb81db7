/** The configuration of a service, with the file that its options may name. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type HelpRequest } from '../config/options.ts';
import { configFileOf, parseServe, type ServeConfig } from '../config/serve.ts';
import { serveOptions } from '../config/tables.ts';

/** Reads flags, environment and file. @throws ConfigError */
export const serveConfig = async (argv: readonly string[], cwd: string): Promise<ServeConfig | HelpRequest> => {
  const name = configFileOf(argv, process.env);
  if (name === '') return parseServe(argv, process.env);
  // Its parser is loaded only where there is something to parse.
  const { fileOptions } = await import('../config/file.ts');
  return parseServe(argv, process.env, fileOptions(name, textOf(resolve(cwd, name)), serveOptions));
};

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`-config ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};
