/** How far queries and loads are, while they run and a while longer; and the end of a load before its time. */
import { Type } from 'typebox';
import { LakeError, messageOf } from '../../errors.ts';
import { mayOnLake } from '../access/roles.ts';
import { named, record, timeValue, idValue } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import type { Asker, LoadRun, QueryRun } from '../runs.ts';
import { Time, count, nullable, ShownId } from '../schemas.ts';
import { type Value, stringValue, intValue, nullValue } from '../../vectors/value.ts';

/** How far a query is. Rates are over the time since its start, whole numbers a second. */
const queryProgressValue = (run: QueryRun, recordsTotal: number | undefined): Value => {
  const { watch, elapsedMs } = run;
  const { recordsRead, bytesRead, recordsSent } = watch.counts();
  return named(
    'api.QueryProgress',
    record({
      request_id: stringValue(run.id),
      state: stringValue(run.state),
      query: stringValue(run.text),
      started: timeValue(BigInt(run.startedMs) * 1_000_000n),
      elapsed_ms: intValue(Math.round(elapsedMs)),
      records_read: intValue(recordsRead),
      bytes_read: intValue(bytesRead),
      records_total: recordsTotal === undefined ? nullValue : intValue(recordsTotal),
      records_sent: intValue(recordsSent),
      bytes_sent: intValue(watch.bytesSent),
      records_per_second: perSecond(recordsRead, elapsedMs),
      bytes_per_second: perSecond(bytesRead, elapsedMs),
      error: errorValue(run.failure),
    }),
  );
};
/** How far a load is: `bytes_received` of its body, `records` that were read of it. */
const loadProgressValue = (run: LoadRun): Value => {
  const { watch, elapsedMs, bytesTotal, commitId } = run;
  const { bodyBytes } = watch;
  const records = Math.max(watch.records, watch.counts().recordsRead);
  return named(
    'api.LoadProgress',
    record({
      request_id: stringValue(run.id),
      state: stringValue(run.state),
      pool: stringValue(run.pool),
      branch: stringValue(run.branch),
      started: timeValue(BigInt(run.startedMs) * 1_000_000n),
      elapsed_ms: intValue(Math.round(elapsedMs)),
      bytes_received: intValue(bodyBytes),
      bytes_total: bytesTotal === undefined ? nullValue : intValue(bytesTotal),
      records: intValue(records),
      records_per_second: perSecond(records, elapsedMs),
      bytes_per_second: perSecond(bodyBytes, elapsedMs),
      commit: commitId === undefined ? nullValue : idValue(commitId),
      error: errorValue(run.failure),
    }),
  );
};
const perSecond = (count: number, elapsedMs: number): Value =>
  intValue(Math.round((count * 1000) / Math.max(1, elapsedMs)));
const errorValue = (failure: unknown): Value => (failure === undefined ? nullValue : stringValue(messageOf(failure)));

/** The answer of `GET /query/:id`; its states are those of `QueryState` in runs.ts. */
const QueryProgress = Type.Object(
  {
    request_id: Type.String(),
    state: Type.Enum(['waiting', 'compiling', 'running', 'streaming', 'done', 'failed', 'cancelled']),
    query: Type.String(),
    started: Time,
    elapsed_ms: count('Milliseconds.'),
    records_read: count('By the scans.'),
    bytes_read: count('By the scans.'),
    records_total: nullable(count('What the scans hold, if that is known.')),
    records_sent: count('Rows of the answer.'),
    bytes_sent: count('Bytes of the answer.'),
    records_per_second: count('Read, on average.'),
    bytes_per_second: count('Read, on average.'),
    error: nullable(Type.String()),
  },
  { $id: 'QueryProgress', description: 'How far a query is.' },
);
/** The answer of `GET /load/:id`; its states are those of `LoadState` in runs.ts. */
const LoadProgress = Type.Object(
  {
    request_id: Type.String(),
    state: Type.Enum([
      'waiting',
      'receiving',
      'sorting',
      'writing',
      'committing',
      'committed',
      'rejected',
      'cancelled',
    ]),
    pool: Type.String(),
    branch: Type.String(),
    started: Time,
    elapsed_ms: count('Milliseconds.'),
    bytes_received: count('Of the body.'),
    bytes_total: nullable(count('Length of the body, if the client said it.')),
    records: count('Read from the body.'),
    records_per_second: count('On average.'),
    bytes_per_second: count('On average.'),
    commit: nullable(ShownId),
    error: nullable(Type.String()),
  },
  { $id: 'LoadProgress', description: 'How far a load is.' },
);

/** Who asks for a run: their own come first, and others' are for those alone who administer the lake. */
export const askerOf = ({ who }: Pick<Call, 'who'>): Asker => ({
  name: who?.name,
  seesAll: !who || mayOnLake(who, 'admin'),
});

const ofQuery = Type.Object({ id: Type.String({ description: 'X-Request-ID of the query', examples: ['report-42'] }) });
const ofLoad = Type.Object({ id: Type.String({ description: 'X-Request-ID of the load', examples: ['report-42'] }) });

/** The load that a request names, if it is one's own. @throws load-unknown */
const loadOf = (call: Call<{ readonly id: string }>): LoadRun => {
  const { service, params } = call;
  const run = service.runs.load(params.id, askerOf(call));
  if (!run) throw new LakeError('load-unknown', { id: params.id });
  return run;
};

/** How far a query or load is, and the end of a load. */
export const progressRoutes: readonly Route[] = [
  route({
    id: 'queryProgress',
    tag: 'Queries',
    method: 'GET',
    path: '/query/:id',
    summary: 'How far a query is',
    need: 'known',
    params: ofQuery,
    description: 'While it runs, and for as long afterwards as option `-query.status` says.',
    answers: { 200: { text: 'Its state and its figures.', value: QueryProgress } },
    errors: ['query-progress-unknown'],
    handler: async (call) => {
      const { service, params, reply, response } = call;
      const run = service.runs.query(params.id, askerOf(call));
      if (!run) throw new LakeError('query-progress-unknown', { id: params.id });
      return sendValue(reply, queryProgressValue(run, await run.watch.rowsTotal()), response);
    },
  }),
  route({
    id: 'loadProgress',
    tag: 'Data',
    method: 'GET',
    path: '/load/:id',
    summary: 'How far a load is',
    need: 'known',
    params: ofLoad,
    description: 'While it runs, and for as long afterwards as option `-query.status` says.',
    answers: { 200: { text: 'Its state and its figures.', value: LoadProgress } },
    errors: ['load-unknown'],
    handler: async (call) => {
      const { reply, response } = call;
      return sendValue(reply, loadProgressValue(loadOf(call)), response);
    },
  }),
  route({
    id: 'cancelLoad',
    tag: 'Data',
    method: 'DELETE',
    path: '/load/:id',
    summary: 'End a load before it is committed',
    need: 'known',
    writes: true,
    silent: true,
    params: ofLoad,
    answers: { 204: { text: 'It ends; nothing of it is committed.' } },
    errors: ['load-unknown', 'load-committed'],
    handler: async (call) => {
      const { params, reply } = call;
      const run = loadOf(call);
      // Its commit is being made: what becomes of it is known soon.
      if (run.isCommitting) await run.whenEnded();
      if (run.commitId !== undefined)
        throw new LakeError('load-committed', { id: params.id, commit: `0x${run.commitId}` });
      if (run.endedAt === 0) run.cancel();
      return reply.code(204).send();
    },
  }),
];
