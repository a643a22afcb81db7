/**
 * Request bodies on the main thread.
 *
 * - Loads are handed on as they come (`bodyChunks`): never held here, paused while nobody reads.
 * - All other bodies are control bodies: one small record. They are read whole within `bodyBytesMax` and their first value is parsed here, since
 *   a message to a worker would cost more than parsing them; what follows the first value is not looked at. Content codings are undone
 *   here too, in the threads of node:zlib; gzip that is not announced is not.
 */
import type { IncomingMessage } from 'node:http';
import { LakeError } from '../errors.ts';
import { decoded } from '../formats/encoding.ts';
import { type FormatName, formatTable } from '../formats/formats.ts';
import type { Value } from '../vectors/value.ts';
import { valueAt } from '../vectors/vector.ts';
import { type BodyRecord, bodyRecord, textRecord } from './decode.ts';
import { requestCodings } from './encoding.ts';
import { requestFormat } from './negotiate.ts';

/** What a body may be: bytes of one that is read whole, milliseconds for which any may pause while we wait for it. */
interface BodyLimits { readonly bytesMax: number; readonly idleMsMax: number }

/** The chunks of a body as they come. Ending early leaves the connection as it is, so that an error can still be answered. @throws body-stalled */
export async function* bodyChunks(raw: IncomingMessage, idleMsMax: number): AsyncGenerator<Uint8Array> {
  const chunks = (raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), new Promise<never>((_resolve, reject) => { timer = stalling(idleMsMax, reject); })]);
      clearTimeout(timer);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    void chunks.return?.();
  }
}
const stalling = (idleMsMax: number, fail: (error: LakeError) => void): NodeJS.Timeout => setTimeout(() => { fail(new LakeError('body-stalled', { limit: idleMsMax / 1000 })); }, idleMsMax);

/**
 * The whole body of a load whose Content-Length says that it is at most `bytesMax` long; undefined for others. Bytes as they came, content codings and all.
 * The promise rejects with load-cancelled when the client goes away before the end.
 */
export const smallBody = (raw: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits, waiter?: BodyWaiter): (() => Promise<Uint8Array>) | undefined => {
  const length = Number(raw.headers['content-length'] ?? NaN);
  return length <= bytesMax ? () => collected(raw, idleMsMax, waiter) : undefined;
};
/** Who waits for a small body may be told to wait no longer: `unblock` is set while there is something to end. */
interface BodyWaiter { unblock: ((reason: LakeError) => void) | undefined }
const collected = (raw: IncomingMessage, idleMsMax: number, waiter?: BodyWaiter): Promise<Uint8Array> => new Promise((resolve, reject) => {
  // Most bodies are here with their heads: a timer is for those that are not.
  let timer: NodeJS.Timeout | undefined;
  const late = setImmediate(() => { timer = stalling(idleMsMax, reject); });
  const stop = (): void => {
    clearImmediate(late);
    clearTimeout(timer);
  };
  if (waiter) waiter.unblock = reject;
  const chunks: Uint8Array[] = [];
  const gone = (): void => {
    stop();
    if (!raw.readableEnded) reject(new LakeError('load-cancelled', { reason: 'the client went away' }));
  };
  if (raw.destroyed) gone();
  raw.on('data', (chunk: Uint8Array) => {
    chunks.push(chunk);
    timer?.refresh();
  });
  raw.on('end', () => {
    stop();
    resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
  });
  raw.on('error', gone);
  raw.on('close', gone);
});

/** The whole body without its content codings. @throws body-too-long, format-broken, content-coding-unknown */
const readBody = async (raw: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits): Promise<Uint8Array> => {
  const codings = requestCodings(raw.headers['content-encoding']);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of decoded(bodyChunks(raw, idleMsMax), { codings, bytesMax: Infinity })) {
    length += chunk.length;
    if (length > bytesMax) throw new LakeError('body-too-long', { limit: bytesMax });
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
};

/** The record that a control body holds; without a value all its fields are absent. @throws LakeError for a type or text that cannot be read */
export const readControlBody = async (raw: IncomingMessage, contentType: string | undefined, limits: BodyLimits): Promise<BodyRecord> => {
  const declared = requestFormat(contentType);
  const format = declared === 'auto' ? 'sup' : declared;
  if (format === 'csup') throw new LakeError('body-not-seekable', { name: 'Super Columnar requires a' });
  if (format === 'parquet') throw new LakeError('body-not-seekable', { name: 'Parquet format requires' });
  const whole = raw.headers['content-encoding'] === undefined ? smallBody(raw, limits) : undefined, bytes = whole ? await whole() : await readBody(raw, limits);
  const texts = format === 'json' ? jsonTexts(bytes) : undefined;
  if (texts) return textRecord(texts);
  return bodyRecord(bytes.length === 0 && format !== 'json' ? undefined : await firstValue(bytes, format));
};

/** The fields of a JSON record that holds strings alone, as most control bodies do; undefined for all else, faults too: then the reader says what it is. */
const jsonTexts = (bytes: Uint8Array): ReadonlyMap<string, string> | undefined => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  // Escapes and broken bytes are the reader's affair.
  if (!text.startsWith('{') || text.includes('\\u') || text.includes('\uFFFD')) return undefined;
  try {
    const fields = Object.entries(JSON.parse(text) as Readonly<Record<string, unknown>>);
    return fields.every((f): f is [string, string] => typeof f[1] === 'string') ? new Map(fields) : undefined;
  } catch {
    return undefined;
  }
};

const firstValue = async (bytes: Uint8Array, format: FormatName): Promise<Value | undefined> => {
  const { reader } = formatTable[format];
  if (!reader) throw new LakeError('format-not-read', { format });
  for await (const batch of reader(once(bytes), { batchRows: 1 })) if (batch.length > 0) return valueAt(batch, 0);
  return undefined;
};

const once = async function* (bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
};
