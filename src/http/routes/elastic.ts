/** What shippers send to Elasticsearch, and what they look at before they do. */
import { Type } from 'typebox';
import type { ErrorCode } from '../../errors.ts';
import { bulkAnswer } from '../ingest/bulk-answer.ts';
import {
  elasticHealth,
  elasticLicense,
  elasticXpack,
  sendElastic,
  sendElasticError,
  sendWanted,
} from '../ingest/elastic.ts';
import { pathFilterOf } from '../ingest/filter-path.ts';
import { ingestPoolErrors } from '../ingest/pools.ts';
import { takeBody } from '../ingest/take.ts';
import { type Call, type Route, route } from '../route.ts';
import { commitErrors, dataErrors } from '../route-errors.ts';
import { array, nullable } from '../schemas.ts';

/** The answer to a bulk request of Elasticsearch's: an item by the name of its operation. */
const BulkAnswer = Type.Object(
  {
    errors: Type.Boolean({ description: 'Whether any item failed.' }),
    took: Type.Number({ description: 'Milliseconds.' }),
    items: array(
      Type.Record(
        Type.String(),
        Type.Object({
          _index: Type.String(),
          _id: nullable(Type.String()),
          status: Type.Number(),
          result: Type.Optional(Type.String()),
          error: Type.Optional(Type.Object({ type: Type.String(), reason: Type.String() })),
        }),
      ),
    ),
  },
  { $id: 'BulkAnswer' },
);
/** An error as Elasticsearch says it. */
const ElasticError = Type.Object(
  {
    error: Type.Object({
      root_cause: array(Type.Object({ type: Type.String(), reason: Type.String() })),
      type: Type.String(),
      reason: Type.String(),
    }),
    status: Type.Number(),
  },
  { $id: 'ElasticError' },
);

const refusing = { refuse: sendElasticError, refusal: { 'application/json': ElasticError } };
/** The field that is a document's time. */
const timeField = '@timestamp';
const indexParams = Type.Object({
  index: Type.String({ description: 'pool of items that name none', examples: ['logs'] }),
});
const ignored = Type.Optional(
  Type.String({ minLength: 1, description: 'taken and not looked at: it is about indices' }),
);
const filterPath = Type.Optional(
  Type.String({
    minLength: 1,
    description: 'parts of the answer that are wanted, such as errors,items.*.status',
    examples: ['errors,items.*.error'],
  }),
);
/** What clients add to say how Elasticsearch is to write. */
const bulkQuery = Type.Object({
  ...Object.fromEntries(
    [
      'pipeline',
      'refresh',
      'timeout',
      'wait_for_active_shards',
      'routing',
      'require_alias',
      'require_data_stream',
      'list_executed_pipelines',
      'include_source_on_error',
      'error_trace',
      'human',
      'pretty',
      'type',
    ].map((name) => [name, ignored]),
  ),
  filter_path: filterPath,
  time: Type.Optional(
    Type.String({
      description: 'field whose values become times, and by which new pools are ordered; default @timestamp',
    }),
  ),
});
export const ingestErrors: readonly ErrorCode[] = [
  ...commitErrors,
  ...dataErrors.filter((code) => code !== 'load-empty' && code !== 'format-detection' && code !== 'format-look-ahead'),
  ...ingestPoolErrors,
];

interface BulkQuery {
  readonly time?: string;
  readonly filter_path?: string;
}
const bulk = async (call: Call<{ readonly index?: string }, BulkQuery>): Promise<unknown> => {
  const since = performance.now();
  const { params, query, request, reply } = call;
  const filter = pathFilterOf(query.filter_path);
  const taken = await takeBody(call, {
    protocol: 'bulk',
    pool: params?.index,
    time: query.time ?? timeField,
    contentEncoding: request.headers['content-encoding'],
    isKnown: ({ isKnown }) => isKnown,
    byId: true,
  });
  return sendElastic(reply, bulkAnswer(taken, performance.now() - since, filter));
};

const bulkRow = (id: string, method: 'POST' | 'PUT', hasIndex: boolean): Route =>
  route({
    id,
    tag: 'Shippers',
    method,
    path: hasIndex ? '/:index/_bulk' : '/_bulk',
    summary: "Elasticsearch's bulk request",
    description:
      'An index is a pool. Items are answered one by one, and one that cannot be read fails alone; those of a pool are one commit. In a pool whose identity is one field at the top of records an `_id` is that field: `index` replaces, `create` adds what is not there, `update` merges `doc` (with `doc_as_upsert`, `upsert`, `detect_noop`), `delete` removes; each item is answered by what the pool had. In other pools `index` and `create` add a record, an `_id` is kept as a field, `update` and `delete` fail, and a body all of whose documents have an id or a time can be sent again (option -ingest.repeats).',
    need: 'known',
    writes: true,
    ...(hasIndex && { params: indexParams }),
    query: bulkQuery,
    body: 'data',
    mediaTypes: { 'application/x-ndjson': undefined, 'application/json': undefined },
    takes: ['SuperDB-Commit', 'Idempotency-Key'],
    ...refusing,
    answers: {
      200: {
        text: 'What became of each item.',
        content: { 'application/json': BulkAnswer },
        example: {
          errors: false,
          took: 3,
          items: [{ index: { _index: 'logs', _id: null, result: 'created', status: 201 } }],
        },
      },
    },
    errors: [
      ...ingestErrors,
      'bulk-operation',
      'bulk-retry',
      'upsert-large',
      'rewrite-overtaken',
      'body-pools',
      'shipment-again',
      'filter-path-long',
    ],
    handler: (call) => bulk(call as Parameters<typeof bulk>[0]),
  });

const look = (id: string, path: string, summary: string, body: string): Route =>
  route({
    id,
    tag: 'Shippers',
    method: 'GET',
    path,
    summary,
    need: 'known',
    query: Type.Object({ human: ignored, pretty: ignored, filter_path: filterPath, timeout: ignored, level: ignored }),
    ...refusing,
    answers: { 200: { text: 'As Elasticsearch says it.', content: { 'application/json': Type.Object({}) } } },
    errors: ['filter-path-long'],
    handler: async ({ reply, query }) =>
      sendWanted(reply, body, (query as { readonly filter_path?: string }).filter_path),
  });

export const elasticRoutes: readonly Route[] = [
  bulkRow('bulk', 'POST', false),
  bulkRow('bulkPut', 'PUT', false),
  bulkRow('bulkOf', 'POST', true),
  bulkRow('bulkOfPut', 'PUT', true),
  look('elasticLicense', '/_license', 'License, as Beats ask for it', elasticLicense),
  look('elasticXpack', '/_xpack', 'Features, as Logstash asks for them', elasticXpack),
  look('elasticCat', '/_cat/health', 'Health, as rsyslog asks for it', elasticHealth),
  look('elasticHealth', '/_cluster/health', 'Health, as Vector asks for it', elasticHealth),
];
