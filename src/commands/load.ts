/** `lake load`: sends files to a branch of a running service, one commit a file. */
import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { Readable } from 'node:stream';
import { csvParameters } from '../config/csv.ts';
import { errorsParameter, rejectedParameter } from '../config/faults.ts';
import { utf8Parameter } from '../config/utf8.ts';
import { optionsText } from '../config/help.ts';
import { ConfigError, parseOptions } from '../config/options.ts';
import { loadOptions } from '../config/tables.ts';
import { LakeError } from '../errors.ts';
import { formatOfFile, isFormatName, requestMediaType } from '../formats/formats.ts';
import type { CommandIo } from './io.ts';
import { ProgressLine } from './progress.ts';
import { warningsOf } from './warnings.ts';

/** Runs the command; gives its exit status. @throws ConfigError, and what the service refuses */
export const loadCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const { values, rest, help } = parseOptions(loadOptions, argv, process.env);
  if (help) {
    await io.write(Buffer.from(optionsText('load', loadOptions)));
    return 0;
  }
  const target = (values['use'] as string).split('@');
  const pool = target[0]!;
  const branch = target[1] ?? 'main';
  if (pool === '') throw new ConfigError('lake load: -use POOL[@BRANCH] says where to load');
  if (rest.length === 0) throw new ConfigError('lake load: no files (- is standard input)');
  const missing = rest.find((path) => path !== '-' && !existsSync(resolvePath(io.cwd, path)));
  if (missing !== undefined) throw new Error(`${missing}: file does not exist`);
  const text = (name: string): string => values[name] as string;
  const token = text('token');
  const note = { author: text('user'), body: text('message'), meta: text('meta') };
  const url = new URL(`/pool/${encodeURIComponent(pool)}/branch/${encodeURIComponent(branch)}`, text('lake'));
  const parameters = [utf8Parameter, errorsParameter, rejectedParameter, ...csvParameters];
  for (const name of ['csv.delim', ...parameters.map((parameter) => parameter.name)])
    if (text(name) !== '') url.searchParams.set(name, text(name));
  for (const path of rest) {
    const { commit, warnings, told } = await send(url, path, mediaType(path, text('i')), { note, token }, io);
    for (const warning of warnings) io.complain(`${path}: warning: ${warning}\n`);
    const name = path === '-' ? 'standard input' : path;
    await io.write(Buffer.from(`${commit} ${name}${countsOf(told)}\n`));
    for (const { line, error } of told.faults ?? []) io.complain(`${name}: line ${line}: ${error}\n`);
  }
  return 0;
};

const mediaType = (path: string, format: string): string | undefined => {
  if (format !== 'auto') {
    if (!isFormatName(format)) throw new LakeError('format-unknown', { format });
    return requestMediaType(format);
  }
  const known = formatOfFile(path);
  return known && requestMediaType(known);
};

/** A commit that was made. */
interface Loaded {
  readonly commit: string;
  readonly warnings: readonly string[];
  readonly told: Told;
}
/** What the service tells of faulty records, where it was asked to go on behind them. */
interface Told {
  readonly records?: number;
  readonly faulty?: number;
  readonly faults?: readonly { readonly line: number; readonly error: string }[];
  readonly rejected?: string;
}
const countsOf = ({ records, faulty, rejected }: Told): string =>
  records === undefined
    ? ''
    : `: ${records} records, ${faulty ?? 0} faulty${rejected === undefined ? '' : `, in commit ${rejected}`}`;

/** Sends one body. */
const send = async (
  url: URL,
  path: string,
  type: string | undefined,
  { note, token }: { readonly note: Readonly<Record<string, string>>; readonly token: string },
  io: CommandIo,
): Promise<Loaded> => {
  const bytes = path === '-' ? io.stdin : createReadStream(resolvePath(io.cwd, path), { highWaterMark: 1 << 18 });
  const given = Object.fromEntries(Object.entries(note).filter(([, value]) => value !== ''));
  const id = randomUUID();
  const shown = watched({ url, id, token, path, io });
  const response = await fetch(url, {
    method: 'POST',
    body: Readable.toWeb(Readable.from(bytes)) as ReadableStream,
    duplex: 'half',
    headers: {
      accept: 'application/json',
      'x-request-id': id,
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(type && { 'content-type': type }),
      ...(Object.keys(given).length > 0 && { 'superdb-commit': asciiJson(given) }),
    },
  } as RequestInit)
    .catch((cause: unknown) => {
      throw new Error(`${url.origin}: no service answers there (${reason(cause)})`, { cause });
    })
    .finally(() => {
      shown.end();
    });
  const body = await response.text();
  if (!response.ok)
    throw new Error(`${path}: ${(parse(body) as { error?: string }).error ?? `${response.status} ${body}`}`);
  const told = parse(body) as Told & { readonly commit: string };
  return { commit: told.commit, warnings: warningsOf(response.headers.get('warning')), told };
};

/** How often the service is asked. */
const lookMs = 200;
/** Shows how far a load is, as long as it takes. */
const watched = ({
  url,
  id,
  token,
  path,
  io,
}: {
  readonly url: URL;
  readonly id: string;
  readonly token: string;
  readonly path: string;
  readonly io: CommandIo;
}): { readonly end: () => void } => {
  const line = new ProgressLine(io);
  const ending = new AbortController();
  const total = path === '-' ? undefined : sizeOf(resolvePath(io.cwd, path));
  const asked = new URL(`/load/${id}`, url);
  const look = async (): Promise<void> => {
    const response = await fetch(asked, {
      headers: { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) },
      signal: ending.signal,
    });
    const {
      state,
      bytes_received: bytes,
      records,
    } = (await response.json()) as {
      readonly state: string;
      readonly bytes_received: number;
      readonly records: number;
    };
    if (response.ok && !ending.signal.aborted)
      line.tell(() => ({
        what: path,
        bytes,
        ...(total !== undefined && { total }),
        records,
        ...(state !== 'receiving' && { state }),
      }));
  };
  // What an older service does not tell is not shown.
  const timer = line.isOn
    ? setInterval(() => {
        look().catch(() => undefined);
      }, lookMs)
    : undefined;
  return {
    end: () => {
      clearInterval(timer);
      ending.abort();
      line.hide();
    },
  };
};

/** Pipes have none. */
const sizeOf = (path: string): number | undefined => {
  const stat = statSync(path);
  return stat.isFile() ? stat.size : undefined;
};

/** Headers hold ASCII alone. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
};
const reason = (problem: unknown): string => {
  const cause = problem instanceof Error ? problem.cause : undefined;
  return cause instanceof Error ? cause.message : String(problem);
};
