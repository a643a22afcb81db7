/**
 * Folders with Hive names: `year=2024/month=05/x.parquet` gives each record of the file the fields `year` and `month`.
 * The rows go through a query that adds them, and on as BSUP.
 */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ParsedOptions } from '../../config/options.ts';
import { inputOptions } from '../../config/tables.ts';
import { quoteText } from '../../vectors/type.ts';
import type { CommandIo } from '../io.ts';
import { queryCommand } from '../query.ts';
import type { LoadInput } from './inputs.ts';

/** What Hive writes for a null. */
const nullName = '__HIVE_DEFAULT_PARTITION__';

/** A field that a folder names; its value as SUP. */
interface HiveField {
  readonly name: string;
  readonly value: string;
}
/** What is wrong with a file that is made into rows here. */
export class FileFault extends Error {}
/** That for which a request failed that was sending a file's rows: `fetch` tells of it as of a lost connection. */
export const fileFaultOf = (problem: unknown): FileFault | undefined =>
  problem instanceof FileFault ? problem : problem instanceof Error ? fileFaultOf(problem.cause) : undefined;

/** The fields that an input's name gives, those of outer folders first. @throws FileFault, where two have one name */
export const hiveFields = (input: LoadInput): readonly HiveField[] => {
  if (input.kind !== 'file') return [];
  const fields = input.name
    .split('/')
    .slice(0, -1)
    .flatMap((part) => {
      const equals = part.indexOf('=');
      return equals > 0
        ? [{ name: unescaped(part.slice(0, equals)), value: valueOf(unescaped(part.slice(equals + 1))) }]
        : [];
    });
  const seen = new Set<string>();
  for (const { name } of fields) {
    if (seen.has(name)) throw new FileFault(`two of its folders give the field ${quoteText(name)}`);
    seen.add(name);
  }
  return fields;
};

/** Whole numbers of up to 15 digits are int64, and so is `05`, as months and days are written; all else is a text. */
const valueOf = (text: string): string => {
  if (text === nullName) return 'null';
  return /^(?:0|-?[1-9]\d{0,14}|0\d)$/.test(text) ? String(Number(text)) : quoteText(text);
};
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The rows of a file with those fields, as BSUP. Reading throws what is wrong with the file: a FileFault. */
export const withFields = (
  path: string,
  fields: readonly HiveField[],
  { values, given }: ParsedOptions,
  io: CommandIo,
): AsyncIterable<Uint8Array> => {
  const puts = fields.map(({ name, value }) => `this[${quoteText(name)}]:=${value}`).join(', ');
  const out = new PassThrough();
  const complaints: string[] = [];
  const named = inputOptions
    .filter(({ name }) => given.has(name))
    .flatMap(({ name }) => [`-${name}`, String(values[name])]);
  const work = async (): Promise<void> => {
    const { progress: _, stdinIsPipe: __, ...quiet } = io;
    const status = await queryCommand(['-f', 'bsup', '-c', `put ${puts}`, ...named, '--', path], {
      ...quiet,
      stdoutIsTerminal: false,
      write: async (chunk) => {
        if (!out.write(Buffer.from(chunk)) && !out.destroyed)
          await Promise.race([once(out, 'drain'), once(out, 'close')]);
      },
      complain: (text) => complaints.push(text),
    });
    if (status !== 0) throw new FileFault(complaints.join('').replace(`${path}: `, '').trimEnd());
    for (const text of complaints) io.complain(text);
    out.end();
  };
  work().catch((problem: unknown) => out.destroy(problem instanceof Error ? problem : new Error(String(problem))));
  return out;
};
