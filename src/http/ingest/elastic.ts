/** What Elasticsearch's clients are answered: in their words, with the header by which they know it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { LakeError } from '../../errors.ts';
import { errorAnswer } from '../reply.ts';
import type { Refuse } from '../route-config.ts';
import { shipperError } from './refusal.ts';
import { pathFilterOf } from './filter-path.ts';

/** The version whose answers these are; clients look at it before they send. */
const elasticVersion = '8.17.0';
const compatibleType = /application\/vnd\.elasticsearch\+json(?:\s*;\s*compatible-with=\d+)?/i;

/** Whether a client of `GET /` wants what Elasticsearch says there: it takes JSON, and no page. */
export const wantsElastic = ({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean =>
  accept !== undefined && /application\/(json|vnd\.elasticsearch\+json)/i.test(accept) && !/text\/html/i.test(accept);

/** Sends JSON as Elasticsearch does. */
export const sendElastic = (reply: FastifyReply, body: string | Buffer, status = 200): FastifyReply =>
  reply
    .code(status)
    .header('x-elastic-product', 'Elasticsearch')
    .header('content-type', compatibleType.exec(reply.request.headers.accept ?? '')?.[0] ?? 'application/json')
    .send(typeof body === 'string' ? Buffer.from(body) : body);

/** Sends what a client wants of a JSON answer. @throws filter-path-long */
export const sendWanted = (reply: FastifyReply, body: string, filterPath: string | undefined): FastifyReply => {
  const filter = pathFilterOf(filterPath);
  return sendElastic(reply, filter ? `${JSON.stringify(filter.of(JSON.parse(body)) ?? {})}\n` : body);
};

/** What `GET /` says; `version`: the service's own. */
export const elasticInfo = (version: string): string =>
  `${JSON.stringify({
    name: 'lake',
    cluster_name: 'lake',
    cluster_uuid: '_na_',
    version: {
      number: elasticVersion,
      build_flavor: 'default',
      build_type: 'lake',
      build_hash: version,
      build_date: '1970-01-01T00:00:00.000Z',
      build_snapshot: false,
      lucene_version: '9.12.0',
      minimum_wire_compatibility_version: '7.17.0',
      minimum_index_compatibility_version: '7.0.0',
    },
    tagline: 'You Know, for Search',
  })}\n`;
/** What `GET /_license` says: Beats and Logstash send to nobody without one. */
export const elasticLicense = `${JSON.stringify({
  license: { status: 'active', uid: '_na_', type: 'basic', issue_date_in_millis: 0, issued_to: 'lake', issuer: 'lake' },
})}\n`;
/** What `GET /_xpack` says. */
export const elasticXpack = `${JSON.stringify({
  license: { uid: '_na_', type: 'basic', mode: 'basic', status: 'active' },
  features: {},
})}\n`;
/** What `GET /_cluster/health` says of a service that takes work. */
export const elasticHealth = `${JSON.stringify({
  cluster_name: 'lake',
  status: 'green',
  timed_out: false,
  number_of_nodes: 1,
  number_of_data_nodes: 1,
  active_primary_shards: 0,
  active_shards: 0,
  unassigned_shards: 0,
})}\n`;

/** Names of kinds of errors by status; those of a missing pool and of documents have names of their own. */
const errorTypes: Readonly<Record<number, string>> = {
  401: 'security_exception',
  403: 'security_exception',
  404: 'index_not_found_exception',
  409: 'version_conflict_engine_exception',
  413: 'content_too_long_exception',
  429: 'es_rejected_execution_exception',
  503: 'es_rejected_execution_exception',
};
/** What is wrong, as Elasticsearch says it. */
export interface ElasticError {
  readonly type: string;
  readonly reason: string;
}
/** An error as Elasticsearch has it. */
export const elasticError = (error: unknown): { readonly status: number; readonly error: ElasticError } => {
  const { status, body } = errorAnswer(shipperError(error));
  const { error: reason } = JSON.parse(body) as { readonly error: string };
  const isDocument = error instanceof LakeError && error.code === 'format-broken';
  const type = isDocument
    ? 'document_parsing_exception'
    : (errorTypes[status] ?? (status < 500 ? 'illegal_argument_exception' : 'exception'));
  return { status, error: { type, reason } };
};

/** Sends an error as Elasticsearch does. */
export const sendElasticError: Refuse = (_request, reply, fault) => {
  const { status, error } = elasticError(fault);
  const { type } = error;
  const told = type === 'document_parsing_exception' ? { ...error, type: 'illegal_argument_exception' } : error;
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 503 || status === 429) reply.header('retry-after', '1');
  return sendElastic(reply, `${JSON.stringify({ error: { root_cause: [told], ...told }, status })}\n`, status);
};
