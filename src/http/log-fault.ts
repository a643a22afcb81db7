/**
 * What the log says of faults: what is ours. Values that clients chose - records, names, texts of queries, URLs - are
 * in the messages and parameters of errors, so that neither is logged: an error's code, the parameters that its row of
 * the error table calls ours, numbers, and where it was thrown.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { errorTable, framesOf, LakeError } from '../errors.ts';

/** An error as it is logged. */
type LoggedFault = Readonly<Record<string, unknown>>;

/** An error without what clients chose. */
export const loggedFault = (error: unknown): LoggedFault => {
  if (error instanceof LakeError) {
    const { code, parameters, cause, status } = error;
    const row = errorTable[code];
    const ours: readonly string[] = 'ours' in row ? (row.ours ?? []) : [];
    const told = Object.entries(parameters).filter(([name, value]) => typeof value === 'number' || ours.includes(name));
    const why = cause === undefined ? {} : { cause: loggedFault(cause) };
    return { code, ...Object.fromEntries(told), ...why, ...(status === 500 && { at: framesOf(error) }) };
  }
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, code, syscall } = error as NodeJS.ErrnoException;
  return { name, ...(code !== undefined && { code }), ...(syscall !== undefined && { syscall }), at: framesOf(error) };
};

const idCharactersMax = 128;
/** The request's id: the client may have chosen it, for the log; no more of it than a line takes. */
export const logId = ({ id }: Pick<FastifyRequest, 'id'>): string => id.slice(0, idCharactersMax);

/** Codes of what a connection that was closed makes of a request. */
const goneCodes: ReadonlySet<unknown> = new Set([
  'query-cancelled',
  'load-cancelled',
  'ABORT_ERR',
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);
const isGone = (error: unknown, { raw }: FastifyReply): boolean => {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
  return raw.destroyed && (name === 'AbortError' || goneCodes.has(code));
};

/**
 * A request that ended by an error: a line where the service is at fault, a warning where it has too much to do, and a
 * short one for a client that went away.
 */
export const logFailure = (
  log: FastifyBaseLogger,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void => {
  if (isGone(error, reply)) log.debug({ id: logId(request) }, 'client went away');
  else if (error instanceof LakeError && error.kind === 'overloaded')
    log.warn({ id: logId(request), fault: loggedFault(error) }, 'request refused');
  else if (!(error instanceof LakeError) || error.status >= 500)
    log.error({ id: logId(request), fault: loggedFault(error) }, 'request failed');
};

/** The same of an answer that had begun. */
export const logCutAnswer = (
  log: FastifyBaseLogger,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void => {
  if (isGone(error, reply)) log.debug({ id: logId(request) }, 'client went away');
  else log.info({ id: logId(request), fault: loggedFault(error) }, 'query failed while it streamed');
};
