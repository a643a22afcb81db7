/** Queries: run, ask how one ended, look at what a text means. */
import { type Static, Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { idBuffer } from '../../lake/ksuid.ts';
import type { Plan } from '../../query/plan/plan.ts';
import { describePlan, type Description, type DescribedSource } from '../describe.ts';
import { answerQuery, answerReading } from '../answer-query.ts';
import { boolParameter, boolSchema } from '../bodies/parameters.ts';
import { readAnswers, readErrors, readHeaders, readParameters, readTerms } from '../bodies/read-parameters.ts';
import { named, record, ksuidType, pathType, orderType } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Link, type Route, route } from '../route.ts';
import { queryRunErrors, queryTextErrors, rowErrors } from '../route-errors.ts';
import { array, nullable, ShownId, keyPath, indexBase } from '../schemas.ts';
import { askerOf } from './progress.ts';
import {
  type Value,
  stringValue,
  arrayValue,
  nullValue,
  boolValue,
  intValue,
  floatValue,
  recordValue,
} from '../../vectors/value.ts';
import type { Channel } from '../../query/plan/channels.ts';
import { arrayType, types } from '../../vectors/type.ts';

/** The error text of a query that ended. */
const queryStatusValue = (error: string): Value => named('api.QueryError', record({ error: stringValue(error) }));
/** What a query reads and gives. */
const descriptionValue = ({ sources, channels }: Description): Value =>
  named(
    'describe.Info',
    record({ sources: arrayValue(sources.map(sourceValue)), channels: arrayValue(channels.map(channelValue)) }),
  );
const sourceValue = (source: DescribedSource): Value =>
  named(
    `describe.${source.kind}`,
    record({
      kind: stringValue(source.kind),
      ...(source.kind === 'Pool' && {
        name: stringValue(source.name),
        id: source.id === undefined ? nullValue : { type: ksuidType, data: source.id },
      }),
      ...(source.kind === 'DBMeta' && { meta: stringValue(source.meta) }),
      ...(source.kind === 'Path' && { uri: stringValue(source.uri) }),
    }),
  );
const channelValue = ({ name, keys, sort }: Channel): Value =>
  named(
    'describe.Channel',
    record({
      name: stringValue(name),
      aggregation_keys: named(
        'field.List',
        keys === null ? nullValue : { type: arrayType(pathType), data: keys.map((path) => [...path]) },
      ),
      sort: named(
        'order.SortKeys',
        sort === null
          ? nullValue
          : arrayValue(
              sort.map(({ order, key }) =>
                named(
                  'order.SortKey',
                  record({ order: { type: orderType, data: order }, key: { type: pathType, data: [...key] } }),
                ),
              ),
            ),
      ),
    }),
  );
/** Any JSON-like data as a value: objects are records, whole numbers int64. */
const plainValue = (x: unknown): Value => {
  if (x === null || x === undefined) return nullValue;
  if (typeof x === 'string') return stringValue(x);
  if (typeof x === 'boolean') return boolValue(x);
  if (typeof x === 'bigint') return intValue(x);
  if (typeof x === 'number') return Number.isInteger(x) ? intValue(x) : floatValue(x);
  if (Array.isArray(x)) return arrayValue(x.map(plainValue));
  if (x instanceof Uint8Array) return { type: types.bytes, data: x };
  const fields = Object.entries(x as object).filter(([, value]) => value !== undefined && typeof value !== 'function');
  return recordValue(fields.map(([name, value]) => ({ name, value: plainValue(value) })));
};

/** The answer of `GET /query/status/:id`. */
const QueryStatus = Type.Object(
  { error: Type.String({ description: 'Empty if all went well.' }) },
  { $id: 'QueryStatus', description: 'How a query ended.' },
);
/** The answer of `POST /query/describe`. */
const QueryDescription = Type.Object(
  {
    sources: array(
      Type.Object({
        kind: Type.Enum(['Null', 'Pool', 'DBMeta', 'Path']),
        name: Type.Optional(Type.String()),
        id: Type.Optional(nullable(ShownId)),
        meta: Type.Optional(Type.String({ description: 'Of the lake: `pools`, `branches` or `tags`.' })),
        uri: Type.Optional(Type.String()),
      }),
    ),
    channels: array(
      Type.Object({
        name: Type.String(),
        aggregation_keys: nullable(array(keyPath)),
        sort: nullable(array(Type.Object({ order: Type.Enum(['asc', 'desc']), key: keyPath }))),
      }),
    ),
  },
  {
    $id: 'QueryDescription',
    description:
      'The sources that a query reads, and for each of its channels the grouping keys and the order of its rows.',
  },
);
/** The answer of `POST /compile`. */
const SyntaxTree = Type.Unknown({
  $id: 'SyntaxTree',
  description: "The tree of a query. Its shape is this service's own and may change.",
});
/** The body of `POST /query`, `/query/describe` and `/compile`. */
const QueryRequest = Type.Object(
  {
    query: Type.Optional(
      Type.String({ format: 'superql', description: 'SuperSQL or SQL. Without it all data of `head` comes.' }),
    ),
    head: Type.Optional(
      nullable(
        Type.Object({
          pool: Type.Optional(
            nullable(Type.String({ description: 'Pool to query, by id or name, if the text names none.' })),
          ),
          branch: Type.Optional(
            nullable(
              Type.String({
                description:
                  'Default `main`. Of a pool that the text names without a branch too: of `pool`, or of any where there is no `pool`.',
              }),
            ),
          ),
        }),
      ),
    ),
    index_base: indexBase,
  },
  {
    $id: 'QueryRequest',
    description: 'A text, or a pool, or both.',
    anyOf: [
      { required: ['query'], properties: { query: { minLength: 1 } } },
      {
        required: ['head'],
        properties: {
          head: { type: 'object', required: ['pool'], properties: { pool: { type: 'string', minLength: 1 } } },
        },
      },
    ],
  },
);

interface QueryBody {
  readonly text: string;
  readonly head?: { readonly pool?: string; readonly branch?: string };
  readonly indexBase?: 0 | 1;
}

/**
 * Text and default source of a query request, and from where its indexes count. @throws query-missing if there is
 * neither text nor source; query-index-base
 */
const queryBody = async (call: Call<unknown, unknown, Static<typeof QueryRequest>>): Promise<QueryBody> => {
  const { query: text = '', head, index_base: base } = await call.body();
  const { pool, branch } = head ?? {};
  if (text === '' && !pool) throw new LakeError('query-missing');
  if (typeof base === 'number' && base !== 0 && base !== 1) throw new LakeError('query-index-base', { value: base });
  return {
    text,
    ...(typeof base === 'number' && { indexBase: base === 1 ? 1 : 0 }),
    ...((pool || branch) && { head: { ...(pool && { pool }), ...(branch && { branch }) } }),
  };
};

const ofAnswer = (to: string): Link => ({ to, parameters: { id: '$response.header.X-Request-ID' } });
const ofQuery = Type.Object({ id: Type.String({ description: 'X-Request-ID of the query', examples: ['report-42'] }) });
const examples = {
  Pipes: { query: 'from movies | count() by genre:=this["Major Genre"] | sort count desc | head 3' },
  SQL: { query: 'select count(*) as films from movies' },
  'All data of a pool': { head: { pool: 'movies', branch: 'main' } },
} as const;

export const queryRoutes: readonly Route[] = [
  route({
    id: 'query',
    tag: 'Queries',
    method: 'POST',
    path: '/query',
    summary: 'Run a query',
    need: 'known',
    preflight: true,
    description:
      "Rows come as they are found. What goes wrong before the first of them is an error by its status; what goes wrong later ends the body without its last chunk, says so in a `QueryError` message with `ctrl`, and stands in the query's status.",
    query: Type.Object({
      ctrl: Type.Optional(boolSchema('T: control messages in BSUP and JSUP')),
      fuse: readParameters.fuse,
      limit: readParameters.limit,
    }),
    body: QueryRequest,
    textField: 'query',
    takes: ['Accept-Encoding'],
    examples,
    answers: {
      200: {
        text: 'The rows.',
        rows: true,
        example: [{ genre: 'Drama', count: 789 }],
        links: { status: ofAnswer('queryStatus'), progress: ofAnswer('queryProgress') },
      },
    },
    errors: [...queryRunErrors, ...rowErrors, 'merge-into-twice', 'update-error', 'parameter-bool', 'parameter-limit'],
    handler: async (call) => {
      const control = boolParameter('ctrl', call.query.ctrl);
      return answerQuery(call, { ...readTerms(call.query), ...(await queryBody(call)), control });
    },
  }),
  route({
    id: 'readQuery',
    tag: 'Queries',
    method: 'GET',
    path: '/query',
    summary: 'Answer of a query by its address',
    need: 'known',
    preflight: true,
    formatParameter: true,
    description:
      'For whatever takes an address: a spreadsheet, `pandas.read_csv`, a link. It only reads: what would change the lake is a 405. `ETag` names the commits that the answer depends on; with it in `If-None-Match` an answer that would be the same is a 304, and is not worked out. Answers that depend on more than commits (files, metadata, `now()`) have none.',
    query: Type.Object({
      query: Type.String({ format: 'superql', description: 'text of the query', examples: [examples.SQL.query] }),
      ...readParameters,
      pool: Type.Optional(Type.String({ description: 'what a text without a source reads', examples: ['movies'] })),
      branch: Type.Optional(
        Type.String({ description: 'branch at which pools are read that are named without one', examples: ['main'] }),
      ),
    }),
    takes: readHeaders,
    answers: readAnswers([{ genre: 'Drama', count: 789 }]),
    errors: [...queryRunErrors, ...rowErrors, ...readErrors, 'query-writes', 'query-text-missing'],
    handler: (call) => {
      const { query: text, pool, branch } = call.query;
      if (text === undefined) throw new LakeError('query-text-missing');
      return answerReading(call, {
        text,
        ...readTerms(call.query),
        ...((pool || branch) && { head: { ...(pool && { pool }), ...(branch && { branch }) } }),
      });
    },
  }),
  route({
    id: 'cancelQuery',
    tag: 'Queries',
    method: 'DELETE',
    path: '/query/:id',
    summary: 'End a query that runs',
    need: 'known',
    silent: true,
    params: ofQuery,
    answers: { 204: { text: 'It ends; its own answer is a 499, or a body that ends without its last chunk.' } },
    errors: ['query-not-running'],
    handler: async (call) => {
      const { service, params, reply } = call;
      if (!service.runs.cancelQueries(params.id, askerOf(call)))
        throw new LakeError('query-not-running', { id: params.id });
      return reply.code(204).send();
    },
  }),
  route({
    id: 'queryStatus',
    tag: 'Queries',
    method: 'GET',
    path: '/query/status/:id',
    summary: 'Error text of a query, once it has ended',
    need: 'known',
    params: ofQuery,
    description: 'It waits while the query runs, and knows of it for as long as option `-query.status` says.',
    answers: { 200: { text: 'How it ended.', value: QueryStatus, example: { error: '' } } },
    errors: ['query-unknown'],
    handler: async (call) => {
      const { service, params, reply, response } = call;
      const run = service.runs.query(params.id, askerOf(call));
      if (!run) throw new LakeError('query-unknown');
      await run.whenEnded();
      return sendValue(reply, queryStatusValue(run.errorText), response);
    },
  }),
  route({
    id: 'describeQuery',
    tag: 'Queries',
    method: 'POST',
    path: '/query/describe',
    summary: 'Sources, channels and order of a query',
    need: 'known',
    preflight: true,
    description: 'It is compiled, not run.',
    body: QueryRequest,
    textField: 'query',
    examples,
    answers: { 200: { text: 'What it reads and gives.', value: QueryDescription } },
    errors: queryTextErrors,
    handler: async (call) => {
      const { workers } = call.service;
      const lake = call.visible;
      const { text, indexBase } = await queryBody(call);
      const { plan } = await workers.compile(text, lake, indexBase);
      const description = describePlan(plan as Plan, (name) =>
        idBuffer(lake.view(name)?.id ?? lake.pool(name).config.id),
      );
      return sendValue(call.reply, descriptionValue(description), call.response);
    },
  }),
  route({
    id: 'compile',
    tag: 'Queries',
    method: 'POST',
    path: '/compile',
    summary: 'Syntax tree of a query',
    need: 'known',
    body: QueryRequest,
    textField: 'query',
    examples,
    answers: { 200: { text: 'The tree.', value: SyntaxTree } },
    errors: queryTextErrors,
    handler: async (call) =>
      sendValue(
        call.reply,
        plainValue((await call.service.workers.compile((await queryBody(call)).text, call.visible)).ast),
        call.response,
      ),
  }),
];
