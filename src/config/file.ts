/** Options of a service out of a file: YAML, whose keys are the names of options, nested or with dots as one likes. */
import { parse } from 'yaml';
import { ConfigError, type FileOptions, type OptionRow } from './options.ts';

/** Reads the text of a file. @throws ConfigError for what is no option, or none that can stand in a file */
export const fileOptions = (file: string, text: string, rows: readonly OptionRow[]): FileOptions => {
  const texts = new Map<string, string>();
  const known = new Map(rows.filter((row) => row.environment).map((row) => [row.name, row]));
  const add = (name: string, value: unknown): void => {
    const row = known.get(name);
    const fault = (what: string): ConfigError => new ConfigError(`${file}: ${name}: ${what}`);
    if (row && !isMap(value)) {
      if (name === 'config') throw fault('a file names no other file');
      if (Array.isArray(value) && row.type !== 'list') throw fault('one value is wanted, not a list');
      texts.set(name, Array.isArray(value) ? value.map(String).join(',') : String(value));
    } else if (isMap(value)) for (const [key, inner] of Object.entries(value)) add(joined(name, key), inner);
    else throw fault('no such option (lake serve -h lists them)');
  };
  const content = parsed(file, text);
  // An empty file says nothing.
  if (content === null) return { file, texts };
  if (!isMap(content)) throw new ConfigError(`${file}: options by name are wanted, such as memory: 512MiB`);
  add('', content);
  return { file, texts };
};

/** `query: {time: 30s}` is `query.time`. */
const joined = (name: string, key: string): string => (name === '' ? key : `${name}.${key}`);
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const parsed = (file: string, text: string): unknown => {
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw new ConfigError(`${file}: ${(error instanceof Error ? error.message : String(error)).split('\n', 1)[0]}`);
  }
};
