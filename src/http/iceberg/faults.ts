/**
 * Errors as the clients of the catalogue and of its bucket read them: Iceberg's error model, OAuth's, and S3's XML.
 * Statuses and texts are those of the error table.
 */
import type { FastifyReply } from 'fastify';
import { type ErrorCode, LakeError } from '../../errors.ts';
import { errorText, sendText } from '../reply.ts';
import { xml } from './xml.ts';

/** Whose words an error is told in. */
export type Model = 'catalogue' | 'oauth' | 's3';

type Names = Partial<Readonly<Record<ErrorCode, string>>>;
type NamesByStatus = Readonly<Record<number, string>>;

const catalogueNames: Names = {
  'iceberg-warehouse-missing': 'NoSuchWarehouseException',
  'iceberg-namespace-missing': 'NoSuchNamespaceException',
  'iceberg-table-missing': 'NoSuchTableException',
  'pool-not-found': 'NoSuchTableException',
  'iceberg-view-missing': 'NoSuchViewException',
};
const catalogueStatuses: NamesByStatus = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  404: 'NotFoundException',
  405: 'MethodNotAllowedException',
  406: 'UnsupportedOperationException',
  408: 'RequestTimeoutException',
  410: 'NotFoundException',
  503: 'ServiceUnavailableException',
};
const oauthNames: Names = {
  'oauth-grant': 'unsupported_grant_type',
  'oauth-client': 'invalid_client',
  'oauth-scope': 'invalid_scope',
};
const oauthStatuses: NamesByStatus = {
  400: 'invalid_request',
  401: 'invalid_client',
  503: 'temporarily_unavailable',
};
const s3Names: Names = {
  's3-signature-malformed': 'AuthorizationHeaderMalformed',
  's3-signature-wrong': 'SignatureDoesNotMatch',
  's3-access-key-unknown': 'InvalidAccessKeyId',
  's3-token-invalid': 'InvalidToken',
  's3-token-expired': 'ExpiredToken',
  's3-skew': 'RequestTimeTooSkewed',
  's3-bucket-missing': 'NoSuchBucket',
  's3-key-missing': 'NoSuchKey',
  's3-argument': 'InvalidArgument',
  's3-condition': 'PreconditionFailed',
  's3-range': 'InvalidRange',
};
const s3Statuses: NamesByStatus = {
  400: 'InvalidRequest',
  401: 'AccessDenied',
  403: 'AccessDenied',
  404: 'NoSuchKey',
  405: 'MethodNotAllowed',
  503: 'SlowDown',
};

/** What a model calls an error. */
const nameOf = (
  error: unknown,
  status: number,
  { names, statuses, rest }: { readonly names: Names; readonly statuses: NamesByStatus; readonly rest: string },
): string => {
  const own = error instanceof LakeError ? names[error.code] : undefined;
  return own ?? statuses[status] ?? (status >= 500 ? rest : statuses[400]);
};

/** An error in the words of S3. */
export const s3Fault = (error: unknown, requestId: string): { readonly status: number; readonly text: string } => {
  const { status, text: Message } = errorText(error);
  const Code = nameOf(error, status, { names: s3Names, statuses: s3Statuses, rest: 'InternalError' });
  return { status, text: xml('Error', { Code, Message, RequestId: requestId }) };
};

/** Sends an error in the words of a model. */
export const sendFault = (reply: FastifyReply, error: unknown, model: Model): FastifyReply => {
  const { status, text: message } = errorText(error);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '1');
  reply.header('cache-control', 'no-store');
  switch (model) {
    case 'catalogue': {
      const type = nameOf(error, status, {
        names: catalogueNames,
        statuses: catalogueStatuses,
        rest: 'InternalServerError',
      });
      return sendJson(reply, status, { error: { message, type, code: status } });
    }
    case 'oauth': {
      const name = nameOf(error, status, { names: oauthNames, statuses: oauthStatuses, rest: 'server_error' });
      return sendJson(reply, status, { error: name, error_description: message });
    }
    case 's3':
      return sendText(reply, status, 'application/xml', s3Fault(error, reply.request.id).text);
  }
};

/** Sends a value as JSON. */
export const sendJson = (reply: FastifyReply, status: number, value: unknown): FastifyReply =>
  sendText(reply, status, 'application/json', JSON.stringify(value));
