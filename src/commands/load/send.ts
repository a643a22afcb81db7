/** One input on its way into a branch: a commit, with a line that tells how far it is. */
import { randomUUID } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { LoadOptions } from '../../config/tables.ts';
import { decoded } from '../../formats/codings/encoding.ts';
import { requestMediaType } from '../../formats/formats.ts';
import { openUrl } from '../../workers/from/http.ts';
import type { CommandIo } from '../io.ts';
import type { ProgressLine } from '../progress.ts';
import { warningsOf } from '../warnings.ts';
import { fileFaultOf, hiveFields, withFields } from './hive.ts';
import { formatOfInput, type LoadInput } from './inputs.ts';
import { ask, type Target } from './service.ts';

/** A commit that was made. */
export interface Loaded {
  readonly commit: string;
  readonly warnings: readonly string[];
  readonly told: Told;
}
/** What the service tells of faulty records, where it was asked to go on behind them. */
export interface Told {
  readonly records?: number;
  readonly faulty?: number;
  readonly faults?: readonly { readonly line: number; readonly error: string }[];
  readonly rejected?: string;
}

/** @throws Error with the name of the input before what the service says */
export const send = async (
  target: Target,
  input: LoadInput,
  options: LoadOptions,
  { io, line }: { readonly io: CommandIo; readonly line: ProgressLine },
): Promise<Loaded> => {
  const id = randomUUID();
  const fields = options.values['hive'] ? hiveFields(input) : [];
  const isPut = input.kind === 'file' && fields.length > 0;
  const format = isPut ? 'bsup' : (target.format ?? formatOfInput(input));
  const type = format && requestMediaType(format);
  const bytes = isPut ? withFields(input.path, fields, options, io) : await bytesOf(input, io);
  const shown = watched(target, input, id, line);
  try {
    const answer = await ask(target, target.path, {
      method: 'POST',
      body: Readable.toWeb(Readable.from(bytes)) as ReadableStream,
      duplex: 'half',
      headers: { ...target.headers, 'x-request-id': id, ...(type && { 'content-type': type }) },
    } as RequestInit);
    return loadedOf(answer);
  } catch (problem) {
    throw fileFaultOf(problem) ?? problem;
  } finally {
    shown.end();
  }
};

/** What the answer to a load says. */
export const loadedOf = ({ headers, body }: Awaited<ReturnType<typeof ask>>): Loaded => {
  const told = body as Told & { readonly commit: string };
  return { commit: told.commit, warnings: warningsOf(headers.get('warning')), told };
};

/** The bytes of an input, without the codings that an answer over HTTP has. */
export const bytesOf = async (input: LoadInput, io: CommandIo): Promise<AsyncIterable<Uint8Array>> => {
  switch (input.kind) {
    case 'stdin':
      return io.stdin;
    case 'file':
      return createReadStream(input.path, { highWaterMark: 1 << 18 });
    case 'url': {
      const policy = { rules: 'all', bytesMax: Infinity, waitMsMax: Infinity } as const;
      const { codings, bytes } = await openUrl({ url: input.name }, { policy });
      return decoded(bytes, { codings, bytesMax: Infinity });
    }
  }
};

/** How often the service is asked. */
const lookMs = 200;
/** Shows how far a load is, as long as it takes. */
const watched = (target: Target, input: LoadInput, id: string, line: ProgressLine): { readonly end: () => void } => {
  const ending = new AbortController();
  const total = input.kind === 'file' ? sizeOf(input.path) : undefined;
  const look = async (): Promise<void> => {
    const { body } = await ask(target, `/load/${id}`, { headers: target.headers, signal: ending.signal });
    const { state, bytes_received: bytes, records } = body as Progress;
    if (!ending.signal.aborted)
      line.tell(() => ({
        what: input.kind === 'stdin' ? '-' : input.name,
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
interface Progress {
  readonly state: string;
  readonly bytes_received: number;
  readonly records: number;
}

/** Pipes have none. */
const sizeOf = (path: string): number | undefined => {
  const stat = statSync(path);
  return stat.isFile() ? stat.size : undefined;
};
