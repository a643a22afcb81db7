/** What clients of Splunk's HTTP Event Collector are answered: a text of Splunk's with its number. */
import type { FastifyReply } from 'fastify';
import { LakeError } from '../../errors.ts';
import { errorAnswer } from '../reply.ts';
import type { Refuse } from '../route-config.ts';
import { shipperError } from './refusal.ts';

/** Splunk's texts by their numbers. */
const texts = {
  0: 'Success',
  2: 'Token is required',
  3: 'Invalid authorization',
  4: 'Invalid token',
  5: 'No data',
  6: 'Invalid data format',
  7: 'Incorrect index',
  8: 'Internal server error',
  9: 'Server is busy',
  12: 'Event field is required',
  13: 'Event field cannot be blank',
  14: 'ACK is disabled',
  15: 'Error in handling indexed fields',
  17: 'HEC is healthy',
  18: 'HEC is unhealthy, queues are full',
} as const;
type Code = keyof typeof texts;

/** Sends a number with its text. */
export const sendHec = (
  reply: FastifyReply,
  code: Code,
  { status = 200, more = {} }: { readonly status?: number; readonly more?: Readonly<Record<string, unknown>> } = {},
): FastifyReply =>
  reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify({ text: texts[code], code, ...more })));

/** Sends an error as Splunk does; `detail` is ours, and says which value and which limit. */
export const sendHecError: Refuse = (request, reply, fault) => {
  const error = shipperError(fault);
  const answer = errorAnswer(error);
  const { error: detail } = JSON.parse(answer.body) as { readonly error: string };
  const code = codeOf(error, answer.status, request.headers.authorization);
  // A token that is there and is none is refused, one that is missing is asked for; a pool is part of the request.
  const status = code === 4 ? 403 : code === 7 ? 400 : answer.status;
  if (status === 401) reply.header('www-authenticate', 'Splunk');
  if (status === 503 || status === 429) reply.header('retry-after', '1');
  const event = error instanceof LakeError ? error.parameters['event'] : undefined;
  return sendHec(reply, code, {
    status,
    more: { ...(event !== undefined && { 'invalid-event-number': event }), detail },
  });
};

const codeOf = (error: unknown, status: number, authorization: string | undefined): Code => {
  if (status >= 500) return status === 503 || status === 507 ? 9 : 8;
  if (status === 429) return 9;
  if (!(error instanceof LakeError)) return 6;
  switch (error.code) {
    case 'hec-event':
      return error.parameters['code'] as Code;
    case 'hec-empty':
      return 5;
    case 'hec-ack':
      return 14;
    case 'auth-missing':
      return 2;
    case 'auth-invalid':
      return /^Splunk +\S+$/i.test(authorization ?? '') ? 4 : 3;
    case 'auth-role':
    case 'pool-not-found':
    case 'pool-name-missing':
    case 'name-long':
    case 'name-reserved':
    case 'view-exists':
      return 7;
    default:
      return 6;
  }
};
