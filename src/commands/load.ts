/** `lake load`: sends files to a branch of a running service, one commit a file. */
import { createReadStream, existsSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { Readable } from 'node:stream';
import { ConfigError, loadOptions, optionsText, parseOptions } from '../config.ts';
import { LakeError } from '../errors.ts';
import { formatOfFile, isFormatName, requestMediaType } from '../formats/formats.ts';
import type { CommandIo } from './io.ts';

export const loadCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const { values, rest, help } = parseOptions(loadOptions, argv, process.env);
  if (help) {
    await io.write(Buffer.from(optionsText('load', loadOptions)));
    return 0;
  }
  const target = (values['use'] as string).split('@');
  const pool = target[0]!, branch = target[1] ?? 'main';
  if (pool === '') throw new ConfigError('lake load: -use POOL[@BRANCH] says where to load');
  if (rest.length === 0) throw new ConfigError('lake load: no files (- is standard input)');
  const missing = rest.find((path) => path !== '-' && !existsSync(resolvePath(io.cwd, path)));
  if (missing !== undefined) throw new Error(`${missing}: file does not exist`);
  const text = (name: string): string => values[name] as string;
  const token = text('token'), note = { author: text('user'), body: text('message'), meta: text('meta') };
  const url = new URL(`/pool/${encodeURIComponent(pool)}/branch/${encodeURIComponent(branch)}`, text('lake'));
  if (text('csv.delim') !== ',') url.searchParams.set('csv.delim', text('csv.delim'));
  for (const path of rest) {
    const commit = await send(url, path, mediaType(path, text('i')), { note, token }, io);
    await io.write(Buffer.from(`${commit} ${path === '-' ? 'standard input' : path}\n`));
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

/** Sends one body; resolves to the commit's id. */
const send = async (url: URL, path: string, type: string | undefined, { note, token }: { readonly note: Readonly<Record<string, string>>; readonly token: string }, io: CommandIo): Promise<string> => {
  const bytes = path === '-' ? io.stdin : createReadStream(resolvePath(io.cwd, path), { highWaterMark: 1 << 18 });
  const given = Object.fromEntries(Object.entries(note).filter(([, value]) => value !== ''));
  const response = await fetch(url, {
    method: 'POST', body: Readable.toWeb(Readable.from(bytes)) as ReadableStream, duplex: 'half',
    headers: {
      accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }), ...(type && { 'content-type': type }), ...(Object.keys(given).length > 0 && { 'superdb-commit': asciiJson(given) }),
    },
  } as RequestInit).catch((cause: unknown) => { throw new Error(`${url.origin}: no service answers there (${reason(cause)})`, { cause }); });
  const body = await response.text();
  if (!response.ok) throw new Error(`${path}: ${(parse(body) as { error?: string }).error ?? `${response.status} ${body}`}`);
  return (parse(body) as { commit: string }).commit;
};
/** Headers hold ASCII alone. */
const asciiJson = (value: unknown): string => JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

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
