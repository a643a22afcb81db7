/**
 * Wrong signatures are refused before the framework has the request: behind it they cost twice as much, and anybody can
 * send ten thousand a second.
 *
 * - What is answered here, in which words, and what audit log and metrics say of it, are as they would be behind it.
 * - Whatever is unusual about a request (a body, a proxy, HTTP/2, traces, a head that is refused anyway) goes on, and so
 *   does all that is not refused; what was found of its signature goes along.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LakeError } from '../../errors.ts';
import { entryOf, refusalOf } from '../access/audit.ts';
import { checkSource } from '../admission.ts';
import { checkHead } from '../bodies/head.ts';
import { noteAnswered } from '../answered.ts';
import { requestIdOf } from '../request-id.ts';
import type { Service } from '../route.ts';
import type { IcebergService } from './callers.ts';
import { s3Fault } from './faults.ts';
import { type Asked, noteSigner, signerOf } from './signers.ts';
import { bucketParameters, filesRoot, isOfBucket, splitTarget } from './targets.ts';

/** Whether a request was refused; else it goes on. */
export type SignatureGate = (request: IncomingMessage, response: ServerResponse) => boolean;

export const signatureGate =
  (service: Service, iceberg: IcebergService): SignatureGate =>
  (request, response) => {
    const asked = usualOf(service, request);
    if (!asked) return false;
    const startedMs = performance.now();
    try {
      noteSigner(request, signerOf(service, iceberg, asked));
      return false;
    } catch (error) {
      if (!(error instanceof LakeError)) return false;
      refuse(service, { request, response, error, asked, startedMs });
      return true;
    }
  };

/** What a request asks for; undefined where another has to look. */
const usualOf = (service: Service, request: IncomingMessage): Asked | undefined => {
  const { method = '', url = '', headers } = request;
  if (!isOfBucket(url) || (method !== 'GET' && method !== 'HEAD') || request.httpVersionMajor !== 1) return undefined;
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return undefined;
  if (headers.expect !== undefined || request.socket.remoteAddress === undefined) return undefined;
  if (service.tracing || service.config.proxiesTrusted.length > 0 || service.closing()) return undefined;
  try {
    checkHead(request);
    checkSource(service.originRules, { need: 'known' }, headers);
    const target = splitTarget(url);
    return { method, target, query: bucketParameters(target.query), headers };
  } catch {
    return undefined;
  }
};

const refuse = (
  service: Service,
  {
    request,
    response,
    error,
    asked: { method, target },
    startedMs,
  }: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly error: LakeError;
    readonly asked: Asked;
    readonly startedMs: number;
  },
): void => {
  const id = requestIdOf(request.headers);
  const { status, text } = s3Fault(error, id);
  const body = Buffer.from(text);
  response.writeHead(status, {
    'x-request-id': id,
    'cache-control': 'no-store',
    'content-type': 'application/xml',
    'content-length': body.length,
  });
  response.end(body);
  noteAnswered(service, { id, method, route: filesRoot, status, ms: performance.now() - startedMs });
  const refused = refusalOf(error);
  if (!service.audit || refused === undefined) return;
  const from = request.socket.remoteAddress ?? '';
  service.audit({ ...entryOf({ id, from, method, path: target.path, status }), refused });
};
