/** The configuration of a service, with the file that its options may name. */
import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathlessMessageOf } from '../errors.ts';
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

const fileBytesMax = 1 << 20;
/** Reads no more than it may have: what is named may be a device, or have no end. */
const textOf = (path: string): string => {
  const bytes = Buffer.alloc(fileBytesMax + 1);
  let length = 0;
  try {
    const file = openSync(path, 'r');
    try {
      for (let count = 1; count > 0 && length < bytes.length; length += count)
        count = readSync(file, bytes, length, bytes.length - length, null);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ConfigError(`-config ${path}: ${pathlessMessageOf(error)}`, {
      cause: error,
    });
  }
  if (length > fileBytesMax) throw new ConfigError(`-config ${path}: longer than ${fileBytesMax} bytes`);
  return bytes.toString('utf8', 0, length);
};
