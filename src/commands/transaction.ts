/**
 * `lake transaction`: commits in several pools, all or none. It reads what `POST /transaction` takes as a JSON document
 * whose commits may name files: each is staged first, in place of the ids of staged loads.
 *
 * Invariant: what was staged is part of the transaction, or dropped when that comes to nothing.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pathlessMessageOf } from '../errors.ts';
import { optionsText } from '../config/help.ts';
import { ConfigError, type ParsedOptions, parseOptions } from '../config/options.ts';
import { transactionOptions } from '../config/tables.ts';
import { type FormatName, requestMediaType } from '../formats/formats.ts';
import { inputFormatNamed } from './format-options.ts';
import type { CommandIo } from './io.ts';
import { formatOfInput, inputsOf, type LoadInput } from './load/inputs.ts';
import { bytesOf } from './load/send.ts';
import { ask, asciiJson, NoAnswer, Refused } from './load/service.ts';
import { serviceOf } from './load/address.ts';
import { warningsOf } from './warnings.ts';

/** One commit of the document. `rest`: what the service is told of it. */
interface Part {
  readonly label: string;
  readonly pool: string;
  readonly branch: string;
  readonly inputs: readonly LoadInput[];
  readonly format: FormatName | undefined;
  readonly upsert: Upsert | undefined;
  /** Ids of loads that others staged. */
  readonly load: readonly string[];
  readonly rest: Readonly<Record<string, unknown>>;
}
/** `field`: where it is true a record only takes others away. */
interface Upsert {
  readonly field?: string;
}
interface Service {
  readonly service: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Runs it; gives its exit status. @throws ConfigError, NoAnswer, and what the service refuses */
export const transactionCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const options = parseOptions(transactionOptions, argv, process.env);
  if (options.help) {
    await io.write(Buffer.from(optionsText('transaction', transactionOptions)));
    return 0;
  }
  const [name, ...more] = options.rest;
  if (name === undefined || more.length > 0)
    throw new ConfigError('lake transaction takes a JSON file, or - for standard input');
  const target = targetOf(options);
  const parts = partsOf(await documentOf(name, io), io.cwd);
  if (name === '-' && parts.some(({ inputs }) => inputs.some(({ kind }) => kind === 'stdin')))
    throw new ConfigError('lake transaction: standard input is the document and cannot be loaded as well');
  await transact(target, parts, io);
  return 0;
};

const targetOf = ({ values }: ParsedOptions<typeof transactionOptions>): Service => {
  const { token, user: author, message: body, lake } = values;
  const note = { ...(author && { author }), ...(body && { body }) };
  return {
    service: serviceOf(lake),
    headers: {
      accept: 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
      ...(Object.keys(note).length > 0 && { 'superdb-commit': asciiJson(note) }),
    },
  };
};

/** @throws Error with the name of what was read before what is wrong */
const documentOf = async (name: string, io: CommandIo): Promise<unknown> => {
  const what = name === '-' ? 'standard input' : name;
  try {
    return JSON.parse(await text(name === '-' ? Readable.from(io.stdin) : createReadStream(resolvePath(io.cwd, name))));
  } catch (cause) {
    const fault = cause as NodeJS.ErrnoException;
    throw new Error(`${what}: ${fault.code === 'ENOENT' ? 'file does not exist' : pathlessMessageOf(fault)}`, {
      cause,
    });
  }
};

/** The commits, as `{"commits": [..]}` or as a list. @throws ConfigError */
const partsOf = (document: unknown, cwd: string): readonly Part[] => {
  const commits = isObject(document) ? document['commits'] : document;
  if (!Array.isArray(commits)) throw new ConfigError('expected {"commits": [...]} or a list of commits');
  return (commits as readonly unknown[]).map((commit, i) => partOf(commit, `commits[${i}]`, cwd));
};
const partOf = (commit: unknown, label: string, cwd: string): Part => {
  if (!isObject(commit)) throw new ConfigError(`${label}: expected an object, got ${JSON.stringify(commit)}`);
  const fault = (name: string, expected: string): ConfigError =>
    new ConfigError(`${label}.${name}: expected ${expected}, got ${JSON.stringify(commit[name])}`);
  const strings = (name: string, expected: string): readonly string[] => {
    const { [name]: value = [] } = commit;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    return list.map((one) => {
      if (typeof one !== 'string' || one === '') throw fault(name, expected);
      return one;
    });
  };
  const one = (name: string, expected: string): string | undefined => {
    if (commit[name] !== undefined && typeof commit[name] !== 'string') throw fault(name, expected);
    return commit[name] as string | undefined;
  };
  const { files: _, format: __, upsert, ...rest } = commit;
  const inputs = inputsOf(strings('files', 'names of files'), cwd);
  if (inputs.length === 0 && (upsert !== undefined || commit['format'] !== undefined))
    throw new ConfigError(`${label}: upsert and format are of files, and it has none`);
  return {
    label,
    pool: one('pool', 'the name or id of a pool') ?? '',
    branch: one('branch', 'the name of a branch') ?? 'main',
    inputs,
    format: inputFormatNamed(one('format', 'the name of a format') ?? 'auto'),
    upsert: upsertOf(upsert, () => fault('upsert', 'true, false or {"delete": FIELD}')),
    load: strings('load', 'ids of staged loads'),
    rest,
  };
};
const upsertOf = (value: unknown, fault: () => ConfigError): Upsert | undefined => {
  if (value === undefined || value === false) return undefined;
  if (value === true) return {};
  if (!isObject(value) || typeof value['delete'] !== 'string' || Object.keys(value).length > 1) throw fault();
  return { field: value['delete'] };
};
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const transact = async (target: Service, parts: readonly Part[], io: CommandIo): Promise<void> => {
  const staged: string[] = [];
  try {
    const commits: unknown[] = [];
    for (const part of parts) {
      const load = [...part.load];
      for (const input of part.inputs) load.push(await stage(target, { part, input, staged }, io));
      commits.push({ ...part.rest, ...(load.length > 0 && { load }) });
    }
    const { headers, body } = await ask(target, '/transaction', {
      method: 'POST',
      headers: { ...target.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ commits }),
    });
    for (const warning of warningsOf(headers.get('warning'))) io.complain(`warning: ${warning}\n`);
    const { commits: made } = body as { readonly commits: readonly { readonly commit: string }[] };
    const lines = made.map(({ commit }, i) => `${commit} ${parts[i].pool}@${parts[i].branch}\n`);
    await io.write(Buffer.from(lines.join('')));
  } catch (problem) {
    // Where no answer came it may have been made.
    if (!(problem instanceof NoAnswer)) for (const request of staged) await drop(target, request);
    throw problem;
  }
};

/** Gives its id; `staged` gets the id of its request. @throws Error with the input's name before what the service says */
const stage = async (
  target: Service,
  { part, input, staged }: { readonly part: Part; readonly input: LoadInput; readonly staged: string[] },
  io: CommandIo,
): Promise<string> => {
  const { pool, branch, upsert, format = formatOfInput(input) } = part;
  const query = new URLSearchParams({ stage: 'T' });
  if (upsert) query.set('upsert', 'T');
  if (upsert?.field !== undefined) query.set('delete', upsert.field);
  const type = format === undefined ? undefined : requestMediaType(format);
  const request = randomUUID();
  staged.push(request);
  // The note goes with the transaction.
  const { 'superdb-commit': _, ...own } = target.headers;
  try {
    const { headers, body } = await ask(
      target,
      `/pool/${encodeURIComponent(pool)}/branch/${encodeURIComponent(branch)}?${query.toString()}`,
      {
        method: 'POST',
        body: Readable.toWeb(Readable.from(await bytesOf(input, io))) as ReadableStream,
        duplex: 'half',
        headers: { ...own, 'x-request-id': request, ...(type && { 'content-type': type }) },
      } as RequestInit,
    );
    for (const warning of warningsOf(headers.get('warning'))) io.complain(`${input.name}: warning: ${warning}\n`);
    return (body as { readonly id: string }).id;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    throw new Error(`${part.label}: ${input.name}: ${problem.message}`, { cause: problem });
  }
};

/** What is not there any more, or cannot be asked for, ends with its hour. */
const drop = async (target: Service, request: string): Promise<void> => {
  await ask(target, `/load/${request}`, { method: 'DELETE', headers: target.headers }).catch(() => undefined);
};
