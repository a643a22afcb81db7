/**
 * Request bodies on the main thread.
 *
 * - Loads are handed on as they come: but for their beginnings they are never held here, and paused while nobody reads.
 * - All other bodies are control bodies: one small record. They are read whole within `bodyBytesMax` and parsed here,
 *   since a message to a worker would cost more than parsing them; a second value is an error. Content codings are
 *   undone here too, in the threads of node:zlib; gzip that is not announced is not.
 */
import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LakeError } from '../../errors.ts';
import { decoded } from '../../formats/codings/encoding.ts';
import { type FormatName, formatTable } from '../../formats/formats.ts';
import type { Value } from '../../vectors/value.ts';
import { valueAt } from '../../vectors/vector.ts';
import { type BodyRecord, bodyRecord, checkUtf8, textRecord } from './decode.ts';
import type { LoadRequest } from '../../workers/pool.types.ts';
import { smallBodyBytesMax } from '../../workers/load/small.ts';
import { requestCodings } from './encoding.ts';
import { type HeldBodies, noRoom } from './held.ts';
import { wantBody } from '../connections/linger.ts';
import { isMediaType, requestFormat } from './negotiate.ts';
import type { Pace } from '../connections/pace.ts';

/**
 * On what terms a body is read: milliseconds for which it may pause while we wait for it, and how fast the client is
 * told to be. `sent`: gets its bytes as they come.
 */
interface BodyTerms {
  readonly idleMsMax: number;
  readonly pace: Pace;
  readonly sent?: Hash | undefined;
}
/**
 * Those of a control body: bytes of it, and what all of them may hold. `textField`: the field that a body is which is a
 * text by its type: SQL, or a plain one that does not begin as a record does.
 */
interface ControlTerms extends BodyTerms {
  readonly textField?: string | undefined;
  readonly bytesMax: number;
  readonly held: HeldBodies;
}

/**
 * A body that comes piece by piece; nothing is read of it but what is asked for. After a failure the connection stays
 * as it is, so that an error can still be answered.
 * @throws body-stalled, load-cancelled when the client goes away before the end
 */
export class IncomingBody {
  private readonly raw: IncomingMessage;
  private readonly terms: BodyTerms;
  private fail: ((error: LakeError) => void) | undefined;
  private failure: LakeError | undefined;
  /** What was read ahead. */
  private ahead: Uint8Array[] = [];

  constructor(raw: IncomingMessage, terms: BodyTerms) {
    this.raw = raw;
    this.terms = terms;
  }

  /** Who waits for it is told to wait no longer. */
  readonly give = (error: LakeError): void => {
    this.failure ??= error;
    this.fail?.(error);
  };

  /** Reads ahead to the body's end or so many bytes, as far as there is room for them. */
  async begin(bytesMax: number, held: HeldBodies, came: (bytes: number) => void): Promise<void> {
    const room = held.begin(this.terms.pace, this.give);
    const ahead: Uint8Array[] = [];
    let length = 0;
    try {
      while (length < bytesMax) {
        const chunk = await this.next();
        if (!chunk) break;
        ahead.push(chunk);
        length += chunk.length;
        came(length);
        if (!room.add(chunk.length)) break;
      }
      this.ahead = ahead;
    } finally {
      room.release();
    }
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (let chunk = this.ahead.shift(); chunk; chunk = this.ahead.shift()) yield chunk;
    for (let chunk = await this.next(); chunk; chunk = await this.next()) yield chunk;
  }

  /** Reads what nobody has read, and throws it away. */
  async discard(): Promise<void> {
    for (let chunk = await this.next(); chunk; chunk = await this.next());
  }

  /** Undefined at the end. */
  private async next(): Promise<Uint8Array | undefined> {
    const { pace, sent } = this.terms;
    wantBody(this.raw);
    for (;;) {
      if (this.failure) throw this.failure;
      const chunk = this.raw.read() as Uint8Array | null;
      if (chunk) {
        pace.went(chunk.length);
        sent?.update(chunk);
        return chunk;
      }
      if (this.raw.readableEnded) {
        pace.went(0);
        return undefined;
      }
      if (this.raw.destroyed) throw clientLeft();
      pace.waits();
      await this.change();
    }
  }

  /** Resolves when something came, the end too. */
  private async change(): Promise<void> {
    const raw = this.raw;
    let stop = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = stalling(this.terms.idleMsMax, reject);
        const go = (): void => {
          resolve();
        };
        this.fail = reject;
        for (const event of changes) raw.on(event, go);
        stop = () => {
          clearTimeout(timer);
          for (const event of changes) raw.off(event, go);
        };
      });
    } finally {
      stop();
      this.fail = undefined;
    }
  }
}
/** Events of a body that has more to tell. */
const changes = ['readable', 'end', 'error', 'close'] as const;
const stalling = (idleMsMax: number, fail: (error: LakeError) => void): NodeJS.Timeout =>
  setTimeout(() => {
    fail(new LakeError('body-stalled', { limit: idleMsMax / 1000 }));
  }, idleMsMax);
const clientLeft = (): LakeError => new LakeError('load-cancelled', { reason: 'the client went away' });

/** What a body of a load is read with. `told`: hears how many bytes have come. */
interface LoadTerms extends BodyTerms {
  readonly held: HeldBodies;
  readonly told: (bytes: number) => void;
  readonly run: BodyWaiter;
}
/** The body of a load. */
export const loadBody = (raw: IncomingMessage, terms: LoadTerms): LoadBody => new BodyOfLoad(raw, terms);
/**
 * `whole` reads one that is known to be small; others are begun before they take a place among the tasks. `discard`:
 * reads what nobody has read, and throws it away.
 */
export interface LoadBody extends Pick<LoadRequest, 'body' | 'whole' | 'begun'> {
  discard(): Promise<void>;
}
class BodyOfLoad implements LoadBody {
  readonly whole: LoadBody['whole'];
  readonly begun: LoadBody['begun'];
  private readonly raw: IncomingMessage;
  private readonly terms: LoadTerms;
  private incoming: IncomingBody | undefined;

  constructor(raw: IncomingMessage, terms: LoadTerms) {
    this.raw = raw;
    this.terms = terms;
    const isSmall = Number(raw.headers['content-length']) <= smallBodyBytesMax;
    this.whole = isSmall ? () => collected(raw, terms, { waiter: terms.run }) : undefined;
    this.begun = isSmall
      ? undefined
      : () => this.waiting((pieces) => pieces.begin(beginningBytes, terms.held, terms.told));
  }

  get body(): LoadBody['body'] {
    return this.pieces.chunks();
  }
  discard(): Promise<void> {
    return this.waiting((pieces) => pieces.discard());
  }
  private get pieces(): IncomingBody {
    return (this.incoming ??= new IncomingBody(this.raw, this.terms));
  }
  private async waiting(read: (pieces: IncomingBody) => Promise<void>): Promise<void> {
    const {
      pieces,
      terms: { run },
    } = this;
    run.unblock = pieces.give;
    try {
      await read(pieces);
    } finally {
      run.unblock = undefined;
    }
  }
}
/** Of a body that is long, or of unknown length, so much comes before it takes a place. */
const beginningBytes = 64 << 10;

/** Who waits for a small body may be told to wait no longer: `unblock` is set while there is something to end. */
interface BodyWaiter {
  unblock: ((reason: LakeError) => void) | undefined;
}
/**
 * All of a body whose length is known; the promise rejects with load-cancelled when the client goes away before the
 * end, with bodies-full where there is no room for it.
 */
const collected = (
  raw: IncomingMessage,
  terms: BodyTerms,
  { waiter, room }: { readonly waiter?: BodyWaiter; readonly room?: HeldBodies } = {},
): Promise<Uint8Array> => {
  // Most small bodies came with their heads: nothing is to be waited for, nor held.
  const there = room ? undefined : arrived(raw);
  if (!there) return awaited(raw, terms, { waiter, room });
  terms.sent?.update(there);
  terms.pace.went(there.length);
  return Promise.resolve(there);
};
/** All bytes of a body, where they have come; undefined for others, and for what is empty. */
const arrived = (raw: IncomingMessage): Uint8Array | undefined => {
  const { readableLength: length, headers } = raw;
  // Of HTTP/1 nothing follows behind its length.
  if (length === 0 || length !== Number(headers['content-length']) || raw.httpVersionMajor !== 1) return undefined;
  const bytes = raw.read(length) as Uint8Array | null;
  // What is left to come is its end.
  raw.resume();
  return bytes ?? undefined;
};
/** The same for a body that is still on its way, or empty. */
const awaited = (
  raw: IncomingMessage,
  { idleMsMax, pace, sent }: BodyTerms,
  { waiter, room }: { readonly waiter?: BodyWaiter | undefined; readonly room?: HeldBodies | undefined },
): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    // Most bodies that are short are here soon: a timer is for those that are not.
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearImmediate(late);
      clearTimeout(timer);
      pace.went(0);
      held?.release();
      // Who waited may be known for long: it is not to hold the body.
      if (waiter) waiter.unblock = undefined;
      raw.off('data', take);
    };
    const fail = (error: LakeError): void => {
      stop();
      reject(error);
    };
    const take = (chunk: Uint8Array): void => {
      if (held && !held.add(chunk.length)) return fail(noRoom());
      chunks.push(chunk);
      sent?.update(chunk);
      timer?.refresh();
      pace.went(chunk.length);
      if (timer) pace.waits();
    };
    const gone = (): void => {
      if (!raw.readableEnded) fail(clientLeft());
    };
    const held = room?.begin(pace, fail);
    const late = setImmediate(() => {
      timer = stalling(idleMsMax, fail);
      pace.waits();
    });
    if (waiter) waiter.unblock = fail;
    if (raw.destroyed) gone();
    wantBody(raw);
    raw.on('data', take);
    raw.on('end', () => {
      stop();
      resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    });
    raw.on('error', gone);
    raw.on('close', gone);
  });

/**
 * The whole body without its content codings. @throws body-too-long, bodies-full, format-broken, content-coding-unknown
 */
export const readBody = async (
  raw: IncomingMessage,
  { bytesMax, held, ...terms }: ControlTerms,
): Promise<Uint8Array> => {
  const codings = requestCodings(raw.headers['content-encoding']);
  const incoming = new IncomingBody(raw, terms);
  const room = held.begin(terms.pace, incoming.give);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of decoded(incoming.chunks(), { codings, bytesMax: Infinity })) {
      length += chunk.length;
      if (length > bytesMax) throw new LakeError('body-too-long', { limit: bytesMax });
      if (!room.add(chunk.length)) throw noRoom();
      chunks.push(chunk);
    }
  } finally {
    room.release();
  }
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
};

/**
 * The record that a control body holds; without a value all its fields are absent. @throws LakeError for a type or text
 * that cannot be read
 */
export const readControlBody = async (
  raw: IncomingMessage,
  contentType: string | undefined,
  terms: ControlTerms,
): Promise<BodyRecord> => {
  const isText = terms.textField !== undefined && isMediaType(contentType, 'application/sql', 'text/plain');
  const declared = isText ? 'auto' : requestFormat(contentType);
  const format = declared === 'auto' ? 'sup' : declared;
  const isPlain = raw.headers['content-encoding'] === undefined;
  // Said by the headers alone: nobody sends what is not read.
  if (isPlain && Number(raw.headers['content-length']) > terms.bytesMax)
    throw new LakeError('body-too-long', { limit: terms.bytesMax });
  const bytes =
    isPlain && raw.headers['content-length'] !== undefined
      ? await collected(raw, terms, { room: terms.held })
      : await readBody(raw, terms);
  if (isText || !formatTable[format].isBinary) checkUtf8(bytes, 'request body');
  if (isText && (isMediaType(contentType, 'application/sql') || !beginsRecord(bytes)))
    return textRecord(new Map([[terms.textField, Buffer.from(bytes).toString()]]));
  const texts = format === 'json' ? jsonTexts(bytes) : undefined;
  if (texts) return textRecord(texts);
  return bodyRecord(bytes.length === 0 && format !== 'json' ? undefined : await onlyValue(bytes, format), {
    hasCells: formatTable[format].hasCells === true,
  });
};

const beginsRecord = (bytes: Uint8Array): boolean => bytes[bytes.findIndex((byte) => byte > 0x20)] === 0x7b;

/**
 * The fields of a JSON record that holds strings alone, as most control bodies do; undefined for all else, faults too:
 * then the reader says what it is.
 */
const jsonTexts = (bytes: Uint8Array): ReadonlyMap<string, string> | undefined => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // Escapes are the reader's affair.
  if (!text.startsWith('{') || text.includes('\\u')) return undefined;
  try {
    const fields = Object.entries(JSON.parse(text) as Readonly<Record<string, unknown>>);
    if (!fields.every((f): f is [string, string] => typeof f[1] === 'string')) return undefined;
    // As the reader has them. Each by itself: in the whole text a mark could join the letter of an escape.
    return new Map(fields.map(([name, value]) => [name, value.normalize('NFC')]));
  } catch {
    return undefined;
  }
};

/** @throws body-second-value, so that nobody takes what was not looked at for done */
const onlyValue = async (bytes: Uint8Array, format: FormatName): Promise<Value | undefined> => {
  const { reader } = formatTable[format];
  if (!reader) throw new LakeError('format-not-read', { format });
  let first: Value | undefined;
  for await (const batch of reader(once(bytes), { batchRows: 2, strictQuotes: true })) {
    if (batch.length > (first === undefined ? 1 : 0)) throw new LakeError('body-second-value');
    if (batch.length > 0) first = valueAt(batch, 0);
  }
  return first;
};

const once = async function* (bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
};
