/** How far queries and loads are, while they run and a while longer; and the end of a load before its time. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { mayOnLake } from '../access/roles.ts';
import { loadProgressValue, queryProgressValue } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import type { Asker, LoadRun } from '../runs.ts';
import { LoadProgress, QueryProgress } from '../schemas.ts';

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
