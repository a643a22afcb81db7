/**
 * Folders with Hive names: `year=2024/month=05/x.parquet` gives each record of the file the fields `year` and `month`.
 * The rows go through a query that adds them, and on as BSUP. A list of records counts as its records; where a value is
 * none, or has such a field with another value than the folder says, the file is refused.
 */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { LoadOptions } from '../../config/tables.ts';
import { inputOptions } from '../../config/tables.ts';
import { createWriter } from '../../formats/formats.ts';
import { quoteText } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { CommandIo } from '../io.ts';
import { queryCommand } from '../query.ts';
import type { LoadInput } from './inputs.ts';

/** What Hive writes for a null. */
const nullName = '__HIVE_DEFAULT_PARTITION__';

/** A field that a folder names; its value as SUP, and as the folder writes it. */
interface HiveField {
  readonly name: string;
  readonly value: string;
  readonly text: string;
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
      if (equals <= 0) return [];
      const text = unescaped(part.slice(equals + 1));
      return [{ name: unescaped(part.slice(0, equals)), value: valueOf(text), text }];
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
  { values, given }: LoadOptions,
  io: CommandIo,
): AsyncIterable<Uint8Array> => {
  const out = new PassThrough();
  const complaints: string[] = [];
  const named = inputOptions
    .filter(({ name }) => given.has(name))
    .flatMap(({ name }) => [`-${name}`, String(values[name])]);
  const work = async (): Promise<void> => {
    const { progress: _, stdinIsPipe: __, ...quiet } = io;
    const within: CommandIo = {
      ...quiet,
      stdoutIsTerminal: false,
      write: async (chunk) => {
        if (!out.write(Buffer.from(chunk)) && !out.destroyed)
          await Promise.race([once(out, 'drain'), once(out, 'close')]);
      },
      complain: (text) => complaints.push(text),
    };
    // Not by a sample of the types: whether a record has the field shows record by record.
    const argv = ['-dynamic', '-f', 'bsup', '-c', queryOf(fields), ...named, '--', path];
    const status = await queryCommand(argv, within, { host: (usual) => ({ ...usual, debug: refuse }) });
    if (status !== 0) throw new FileFault(complaints.join('').replace(`${path}: `, '').trimEnd());
    for (const text of complaints) io.complain(text);
    out.end();
  };
  work().catch((problem: unknown) => out.destroy(problem instanceof Error ? problem : new Error(String(problem))));
  return out;
};

/** What is sent to the channel debug is what is wrong with a record. */
const queryOf = (fields: readonly HiveField[]): string => {
  const faults = fields.map(({ name, value, text }) => {
    const field = `this[${quoteText(name)}]`;
    const asOneOfIts = `cast(${quoteText(text)}, typeof(${field}))`;
    const isSame =
      value === 'null'
        ? `${field} is null`
        : `coalesce(${field}==${value}, false) or coalesce(${field}==${asOneOfIts}, false)`;
    const fault = `its folder says that ${quoteText(name)} is ${value}, this record of the file says otherwise: `;
    return faultCase(`${isThere(field)} and not (${isSame})`, fault);
  });
  const puts = fields.map(({ name, value }) => {
    const field = `this[${quoteText(name)}]`;
    return `${field}:=(${isThere(field)} ? ${field} : ${value})`;
  });
  const cases = [
    faultCase('kind(this)!="record"', 'fields of folders go into records, and this is none: '),
    ...faults,
    `default ( put ${puts.join(', ')} )`,
  ];
  return `switch case kind(this)=="array" ( unnest this ) default ( pass ) | switch ${cases.join(' ')}`;
};
/** Also of a null, of which `missing` says null. */
const isThere = (field: string): string => `not coalesce(missing(${field}), false)`;
/** An error value has no text. */
const faultCase = (condition: string, fault: string): string => {
  const told = `coalesce(f"{this}", "an error value")`;
  return `case ${condition} ( debug concat(${quoteText(fault)}, ${told}) | where false )`;
};

/** Characters of a record that are told. */
const toldMax = 200;
const refuse = (batch: Vector): never => {
  const text = Buffer.concat([...createWriter('line').write(batch)]).toString();
  const [line = ''] = text.split('\n');
  throw new FileFault(line.length > toldMax ? `${line.slice(0, toldMax)}...` : line);
};
