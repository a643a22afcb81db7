/**
 * What OTLP/HTTP says of requests and answers: an answer is a message in the encoding that the request had.
 *
 * - A batch is taken whole or not at all, so that no answer has `partial_success`: a success is the empty message.
 * - An error is a `google.rpc.Status`; clients look at the HTTP status alone, and at Retry-After.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { OtlpForm } from '../../formats/otlp/reader.ts';
import { ByteWriter } from '../../vectors/value.ts';
import { isMediaType } from '../bodies/negotiate.ts';
import { errorAnswer } from '../reply.ts';

type Encoding = OtlpForm['encoding'];

/** Media types by encoding, the one of answers first. */
export const otlpTypes: Readonly<Record<Encoding, readonly string[]>> = {
  protobuf: ['application/x-protobuf', 'application/protobuf'],
  json: ['application/json'],
};

/** How the body is written. @throws content-type-unknown */
export const otlpEncoding = (contentType: string | undefined): Encoding => {
  const encoding = encodingOf(contentType);
  if (encoding === undefined) throw new LakeError('content-type-unknown', { type: contentType ?? '(none)' });
  return encoding;
};
const encodingOf = (contentType: string | undefined): Encoding | undefined => {
  if (isMediaType(contentType, ...otlpTypes.protobuf)) return 'protobuf';
  return isMediaType(contentType, ...otlpTypes.json) ? 'json' : undefined;
};

/** Sends that all of the batch was taken. */
export const sendTaken = (reply: FastifyReply, encoding: Encoding): FastifyReply =>
  reply
    .code(200)
    .header('content-type', otlpTypes[encoding][0])
    .send(encoding === 'json' ? Buffer.from('{}') : Buffer.alloc(0));

/** Codes of google.rpc by HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  404: 5,
  409: 10,
  413: 8,
  499: 1,
  500: 13,
  501: 12,
  503: 14,
  507: 8,
};
const invalidArgument = 3;

/** Sends an error in the encoding of the request; in JSON where that is none. */
export const refuseOtlp = (request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply => {
  const { status, body } = errorAnswer(error);
  const { error: message } = JSON.parse(body) as { readonly error: string };
  const encoding = encodingOf(request.headers['content-type']) ?? 'json';
  const code = rpcCodes[status] ?? invalidArgument;
  if (error instanceof LakeError) reply.header('link', `</docs#error-${error.code}>; rel="help"`);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503) reply.header('retry-after', '1');
  return reply
    .code(status)
    .header('content-type', otlpTypes[encoding][0])
    .send(encoding === 'json' ? Buffer.from(`${JSON.stringify({ code, message })}\n`) : statusBytes(code, message));
};

/** A `google.rpc.Status`: `code` is its field 1, `message` its field 2. */
const statusBytes = (code: number, message: string): Buffer => {
  const out = new ByteWriter();
  out.byte(0x08);
  out.uvarint(code);
  out.byte(0x12);
  out.text(message);
  return Buffer.from(out.done());
};
