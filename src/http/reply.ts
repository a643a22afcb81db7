/**
 * Answers: one value in the format asked for, an error as JSON, a stream of chunks.
 *
 * Bodies are sent as bytes, so that nobody adds a charset to the media type: three clients compare it literally.
 */
import type { FastifyReply } from 'fastify';
import { LakeError, messageOf } from '../errors.ts';
import { type FormatName, createWriter } from '../formats/formats.ts';
import type { Value } from '../vectors/value.ts';
import { vectorOf } from '../vectors/builder.ts';
import { formOf, problemType, type ResponseFormat, wantsProblem } from './bodies/negotiate.ts';
import type { Pace } from './connections/pace.ts';

/**
 * The bytes of one of the service's own values in a format; Zeek has text for what it has no type for. @throws
 * LakeError, what the writer says of a value that it cannot hold
 */
export const valueBytes = (value: Value, format: FormatName, form: ReturnType<typeof formOf> = {}): Uint8Array => {
  const writer = createWriter(format, { ...form, othersAsText: true });
  return Buffer.concat([...writer.write(vectorOf([value])), ...writer.end()]);
};

/** Sends one value. */
export const sendValue = (reply: FastifyReply, value: Value, response: ResponseFormat): FastifyReply =>
  sendBytes(reply, valueBytes(value, response.format, formOf(response)), response);

/** Sends the bytes of a value. */
export const sendBytes = (reply: FastifyReply, bytes: Uint8Array, response: ResponseFormat): FastifyReply =>
  reply.code(200).header('content-type', response.mediaType).send(bytes);

/** Sends text. */
export const sendText = (reply: FastifyReply, status: number, mediaType: string, text: string): FastifyReply =>
  reply.code(status).header('content-type', mediaType).send(Buffer.from(text));

/** Status and text of an error; what nobody foresaw is a 500 with its message. */
export const errorText = (error: unknown): { readonly status: number; readonly text: string } => {
  if (error instanceof LakeError) return { status: error.status, text: error.message };
  const status = (error as { readonly statusCode?: number } | null)?.statusCode;
  const text = messageOf(error);
  return { status: status !== undefined && status >= 400 && status < 500 ? status : 500, text };
};
/** Status and body of an error. */
export const errorAnswer = (error: unknown): { readonly status: number; readonly body: string } => {
  const { status, text } = errorText(error);
  if (error instanceof LakeError) return { status, body: errorBody(error.kind, text, error.details) };
  return { status, body: errorBody(status < 500 ? 'invalid operation' : 'other error', text) };
};

const errorBody = (kind: string, error: string, details: Readonly<Record<string, unknown>> = {}): string =>
  `${JSON.stringify({ type: 'Error', kind, error, ...details })}\n`;

/** Sends an error; the body is JSON whatever the client accepts. A header leads to its place in the manual. */
export const sendError = (reply: FastifyReply, error: unknown): FastifyReply => {
  const { status, body } = errorAnswer(error);
  const isProblem = wantsProblem(reply.request.headers.accept);
  if (error instanceof LakeError) reply.header('link', `</docs#error-${error.code}>; rel="help"`);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503) reply.header('retry-after', '1');
  return reply
    .code(status)
    .header('content-type', isProblem ? problemType : 'application/json')
    .send(Buffer.from(isProblem ? problemBody(error, status, body, reply.request.id) : body));
};

/** RFC 9457, for clients that ask for it. */
const problemBody = (error: unknown, status: number, body: string, id: string): string => {
  const { type: _, kind, error: detail, ...details } = JSON.parse(body) as Record<string, unknown>;
  const type = error instanceof LakeError ? `/docs#error-${error.code}` : 'about:blank';
  return `${JSON.stringify({ type, title: kind, status, detail, instance: `urn:request:${encodeURIComponent(id)}`, ...details })}\n`;
};

/**
 * `sent`: told of chunks whose bytes are not needed any more; `whenFailed`: calls when no more of them will come;
 * `pace`: how fast the client takes them.
 */
interface Chunks {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly sent?: (chunk: Uint8Array) => void;
  readonly whenFailed?: (failed: () => void) => void;
  readonly pace: Pace;
}

/**
 * The same chunks, when the first of them is there: what fails before it can be answered with its reason, in place of an
 * answer that is cut off.
 */
export const begun = async (chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> => {
  const iterator = chunks[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await iterator.next();
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const held = first;
    first = undefined;
    return held ?? (await iterator.next());
  };
  const done: IteratorResult<Uint8Array> = { done: true, value: undefined };
  return { [Symbol.asyncIterator]: () => ({ next, return: async () => (await iterator.return?.()) ?? done }) };
};

/**
 * Sends chunks as they come, no faster than the client takes them. A failure after the first byte ends the connection
 * without the last chunk, so that no client takes the body for whole; what came before it is still delivered to a
 * client that reads. Resolves when the answer has ended, however it did.
 */
export const sendChunks = async (
  reply: FastifyReply,
  { chunks, sent, whenFailed, pace }: Chunks,
  mediaType: string,
  onFault: (fault: unknown) => void,
): Promise<void> => {
  const { raw } = reply.header('content-type', mediaType);
  reply.hijack();
  // Headers that hooks have set are the framework's until it sends them: take them over.
  raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>);
  let flushed = Promise.resolve();
  let isFull = false;
  // Nobody knows whether a client that does not read ever will.
  whenFailed?.(() => {
    if (isFull) raw.destroy();
  });
  try {
    for await (const chunk of chunks) {
      if (raw.destroyed) return;
      flushed = new Promise<void>((resolve) => {
        isFull = !raw.write(chunk, () => resolve());
      });
      if (!isFull) continue;
      pace.waits();
      await drained(raw);
      isFull = false;
      pace.went(chunk.length);
      // What is still on its way when the connection ends is let go of at some later time.
      if (!raw.destroyed) sent?.(chunk);
    }
    raw.end();
  } catch (fault) {
    onFault(fault);
    if (raw.destroyed) return;
    raw.flushHeaders();
    const late = setTimeout(() => {
      raw.destroy();
    }, flushMsMax).unref();
    await Promise.race([flushed, closed(raw)]);
    clearTimeout(late);
    if (raw.req.httpVersionMajor === 1) raw.socket?.destroySoon();
    else raw.destroy();
  }
};
/** How long a client may take for the rest of an answer that failed. */
const flushMsMax = 5_000;

const closed = (raw: FastifyReply['raw']): Promise<void> =>
  new Promise((resolve) => (raw.destroyed ? resolve() : raw.once('close', () => resolve())));
const drained = (raw: FastifyReply['raw']): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      raw.off('drain', done);
      raw.off('close', done);
      resolve();
    };
    raw.on('drain', done);
    raw.on('close', done);
    if (raw.destroyed) done();
  });
