/**
 * Content codings by the headers: which ones a request body has, which one an answer gets.
 *
 * - Streams of rows are encoded by the worker that writes them; answers of one value here, in the threads of node:zlib.
 *   Short ones go as they are.
 * - Who does not ask for a coding gets none. Event streams have none.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import { type ContentCoding, contentCodings } from '../../formats/codings/encoding.ts';
import { type AnswerCoding, answerCodings, createEncoder } from '../../formats/codings/encode.ts';

const codingsMax = 4;
const aliases: ReadonlyMap<string, ContentCoding> = new Map([
  ...contentCodings.map((c) => [c, c] as const),
  ['x-gzip', 'gzip'] as const,
]);

const noCodings: readonly ContentCoding[] = [];
/**
 * The codings of a request body in the order in which they were applied. @throws content-coding-unknown,
 * content-coding-count
 */
export const requestCodings = (header: string | undefined): readonly ContentCoding[] => {
  if (header === undefined) return noCodings;
  const names = header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > codingsMax)
    throw new LakeError('content-coding-count', { count: names.length, limit: codingsMax });
  return names.map((name) => {
    const coding = aliases.get(name);
    if (!coding)
      throw new LakeError('content-coding-unknown', {
        coding: name,
        known: [...contentCodings, 'identity'].join(', '),
      });
    return coding;
  });
};

/** The coding that the client likes best, ours among equals; undefined: none. */
export const answerCoding = (header: string | undefined): AnswerCoding | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const weights = new Map<string, number>();
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    weights.set(name === 'x-gzip' ? 'gzip' : name, weightOf(parameters));
  }
  const rest = weights.get('*') ?? 0;
  let best: AnswerCoding | undefined;
  let most = weights.get('identity') ?? 0;
  for (const coding of answerCodings) {
    const weight = weights.get(coding) ?? rest;
    if (weight > most || (weight > 0 && weight === most && best === undefined)) {
      best = coding;
      most = weight;
    }
  }
  return best;
};

/** Of `q=0.5`; 1 without one, 0 for what is no weight. */
const weightOf = (parameters: readonly string[]): number => {
  const q = parameters.find((p) => /^q\s*=/.test(p));
  if (q === undefined) return 1;
  const text = q.slice(q.indexOf('=') + 1).trim();
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
};

/** An answer whose coding depends on the client says so. */
export const varyOf = (reply: FastifyReply): string => {
  const before = reply.getHeader('vary');
  return before === undefined ? 'Accept-Encoding' : `${String(before)}, Accept-Encoding`;
};

/** Below this an encoded answer saves nothing. */
const answerBytesMin = 1024;

/**
 * Encodes a whole answer as the client asked; a hook of the framework, which runs before it counts the bytes. Short
 * answers go on at once.
 */
export const encodeAnswer = (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (fault: Error | null, payload?: unknown) => void,
): void => {
  if (!(payload instanceof Uint8Array) || payload.length < answerBytesMin || reply.hasHeader('content-encoding'))
    return done(null, payload);
  encoded(request, reply, payload).then(
    (bytes) => {
      done(null, bytes);
    },
    (fault: unknown) => {
      done(fault instanceof Error ? fault : new Error(String(fault)));
    },
  );
};

const encoded = async (request: FastifyRequest, reply: FastifyReply, payload: Uint8Array): Promise<Uint8Array> => {
  reply.header('vary', varyOf(reply));
  const coding = answerCoding(request.headers['accept-encoding']);
  if (!coding) return payload;
  const encoder = await createEncoder(coding);
  const bytes = await encoder.end(payload);
  reply.header('content-encoding', coding);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
};
