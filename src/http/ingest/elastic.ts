/** What Elasticsearch's clients are answered: in their words, with the header by which they know it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { LakeError } from '../../errors.ts';
import { type BulkResult, bulkOperations, bulkResults } from '../../workers/ingest/bulk-results.ts';
import { fromWire } from '../../workers/messages.ts';
import { errorAnswer } from '../reply.ts';
import type { Refuse } from '../route-config.ts';
import { shipperError } from './refusal.ts';
import type { PoolTaken, Taken } from './take.ts';

/** The version whose answers these are; clients look at it before they send. */
const elasticVersion = '8.17.0';
const compatibleType = /application\/vnd\.elasticsearch\+json(?:\s*;\s*compatible-with=\d+)?/i;

/** Whether a client of `GET /` wants what Elasticsearch says there: it takes JSON, and no page. */
export const wantsElastic = ({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean =>
  accept !== undefined && /application\/(json|vnd\.elasticsearch\+json)/i.test(accept) && !/text\/html/i.test(accept);

/** Sends JSON as Elasticsearch does. */
export const sendElastic = (reply: FastifyReply, body: string, status = 200): FastifyReply =>
  reply
    .code(status)
    .header('x-elastic-product', 'Elasticsearch')
    .header('content-type', compatibleType.exec(reply.request.headers.accept ?? '')?.[0] ?? 'application/json')
    .send(Buffer.from(body));

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
interface ElasticError {
  readonly type: string;
  readonly reason: string;
}
const elasticError = (error: unknown): { readonly status: number; readonly error: ElasticError } => {
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

const shards = '"_shards":{"total":1,"successful":1,"failed":0}';
const written = `"_version":1,"result":"created",${shards},"status":201}}`;
/** What is said of results by id that are no faults. */
const doneById: Readonly<Partial<Record<BulkResult, string>>> = {
  created: written,
  updated: `"result":"updated",${shards},"status":200}}`,
  noop: `"result":"noop",${shards},"status":200}}`,
  deleted: `"result":"deleted",${shards},"status":200}}`,
  // Elasticsearch does not count it among the errors.
  not_found: `"result":"not_found",${shards},"status":404}}`,
};
/** What is said of the others. */
const faultsById: Readonly<Partial<Record<BulkResult, ElasticError & { readonly status: number }>>> = {
  missing: { status: 404, type: 'document_missing_exception', reason: 'document missing' },
  exists: {
    status: 409,
    type: 'version_conflict_engine_exception',
    reason: 'version conflict, document already exists',
  },
  'other-id': {
    status: 400,
    type: 'document_parsing_exception',
    reason: "the field of the pool's identity is not this _id, as a string",
  },
  'no-object': { status: 400, type: 'document_parsing_exception', reason: 'doc and upsert of an update are objects' },
};

/** What became of the items of a bulk request, one by one in their order. */
export const bulkAnswer = ({ told, pools }: Taken<'bulk'>, tookMs: number): string => {
  const { operations, ids, names, failures } = told;
  const outcomes = names.map((name) => poolOutcome(pools.get(name)));
  const byId = outcomesById(told.ids, pools);
  const heads = names.map((name) =>
    bulkOperations.map((operation) => `{"${operation}":{"_index":${JSON.stringify(name)},"_id":`),
  );
  const items: string[] = [];
  let hasErrors = false;
  operations.forEach((operation, item) => {
    const place = told.pools[item];
    const id = ids.get(item);
    const failure = failures.get(item);
    const outcome = failure ? failed(fromWire(failure)) : (byId.get(item) ?? outcomes[place]);
    if (failure || isFault(outcome)) hasErrors = true;
    items.push(`${heads[place][operation]}${id === undefined ? 'null' : JSON.stringify(id)},${outcome}`);
  });
  return `{"errors":${hasErrors},"took":${Math.round(tookMs)},"items":[${items.join(',')}]}\n`;
};
/** What became of items that went by an id, by their places. */
const outcomesById = (
  ids: ReadonlyMap<number, string>,
  pools: ReadonlyMap<string, PoolTaken>,
): ReadonlyMap<number, string> => {
  const outcomes = new Map<number, string>();
  for (const taken of pools.values()) {
    if ('error' in taken || !taken.results) continue;
    const { items, results } = taken.results;
    items.forEach((item, k) => {
      const result = bulkResults[results[k]];
      const { status, type, reason } = faultsById[result] ?? { status: 0, type: '', reason: '' };
      const fault = { type, reason: `[${ids.get(item) ?? ''}]: ${reason}` };
      outcomes.set(item, doneById[result] ?? `"status":${status},"error":${JSON.stringify(fault)}}}`);
    });
  }
  return outcomes;
};
const isFault = (outcome: string): boolean => !outcome.startsWith('"_version"') && !outcome.startsWith('"result"');
/** Of a pool none of whose documents could be read nothing is asked. */
const poolOutcome = (taken: PoolTaken | undefined): string =>
  taken && 'error' in taken ? failed(taken.error) : written;
const failed = (fault: unknown): string => {
  const { status, error } = elasticError(fault);
  return `"status":${status},"error":${JSON.stringify(error)}}}`;
};
