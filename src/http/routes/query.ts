/** Queries: run, ask how one ended, look at what a text means. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { idBuffer } from '../../lake/ksuid.ts';
import type { Plan } from '../../query/plan.ts';
import { describePlan } from '../describe.ts';
import { answerCoding, varyOf } from '../encoding.ts';
import { isForeign } from '../origin.ts';
import { boolParameter } from '../parameters.ts';
import { plainValue, queryStatusValue } from '../records.ts';
import { sendChunks, sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import { controlBody } from './pool.ts';

interface QueryBody { readonly text: string; readonly head?: { readonly pool: string; readonly branch?: string } }

/** Text and default source of a query request. @throws query-missing if there is neither */
const queryBody = async (call: Call): Promise<QueryBody> => {
  const body = await controlBody(call);
  const text = body.text('query') ?? '';
  const head = body.record('head');
  const pool = head?.text('pool'), branch = head?.text('branch');
  if (text === '' && !pool) throw new LakeError('query-missing');
  return { text, ...(pool && { head: { pool, ...(branch && { branch }) } }) };
};

export const queryRoutes: readonly Route[] = [
  route({
    method: 'POST', path: '/query', summary: 'Run a query', need: 'known', preflight: true,
    query: Type.Object({ ctrl: Type.Optional(Type.String({ description: 'T: control messages in BSUP and JSUP' })) }),
    handler: async (call) => {
      const { service, request, reply, query, response, id, signal } = call;
      const control = boolParameter(query.ctrl);
      const { text, head } = await queryBody(call);
      if (text.length > service.config.queryTextMax) throw new LakeError('query-long', { length: text.length, limit: service.config.queryTextMax });
      const readOnly = isForeign({ origins: service.config.corsOrigins, listen: service.config.listen }, request.headers);
      const coding = answerCoding(request.headers['accept-encoding']);
      const channelIds = response.mediaType === 'application/x-zjson';
      if (call.who) service.access!.owns(id, call.who);
      const running = service.running.begin(id, signal);
      try {
        const answer = await service.workers.query({
          id, text, format: response.format, control, signal: running.signal, ...(channelIds && { channelIds }), ...(coding && { coding }), ...(head && { head }), ...(readOnly && { readOnly }), ...(call.visible !== service.lake && { lake: call.visible }),
        });
        reply.header('vary', varyOf(reply));
        if (coding && !answer.empty) reply.header('content-encoding', coding);
        await sendChunks(reply, answer, response.mediaType, (fault) => service.log.info({ id, err: fault }, 'query failed while it streamed'));
        return reply;
      } finally {
        running.ended();
      }
    },
  }),
  route({
    method: 'DELETE', path: '/query/:id', summary: 'End a query that runs', need: 'known', silent: true, params: Type.Object({ id: Type.String({ description: 'X-Request-Id of the query' }) }),
    handler: async ({ service, params, reply, who }) => {
      if ((who && !service.access!.mayAsk(params.id, who)) || !service.running.cancel(params.id)) throw new LakeError('query-not-running', { id: params.id });
      return reply.code(204).send();
    },
  }),
  route({
    method: 'GET', path: '/query/status/:id', summary: 'Error text of a query, once it has ended', need: 'known', params: Type.Object({ id: Type.String({ description: 'X-Request-Id of the query' }) }),
    handler: async ({ service, params, reply, response, who }) => {
      if (who && !service.access!.mayAsk(params.id, who)) throw new LakeError('query-unknown');
      const error = await service.workers.queryStatus(params.id);
      if (error === undefined) throw new LakeError('query-unknown');
      return sendValue(reply, queryStatusValue(error), response);
    },
  }),
  route({
    method: 'POST', path: '/query/describe', summary: 'Sources, channels and order of a query', need: 'known', preflight: true,
    handler: async (call) => {
      const { workers } = call.service, lake = call.visible;
      const { plan } = await workers.compile((await queryBody(call)).text, lake);
      const description = describePlan(plan as Plan, (name) => idBuffer(lake.pool(name).config.id));
      return sendValue(call.reply, plainValue(description), call.response);
    },
  }),
  route({
    method: 'POST', path: '/compile', summary: 'Syntax tree of a query', need: 'known',
    handler: async (call) => sendValue(call.reply, plainValue((await call.service.workers.compile((await queryBody(call)).text, call.visible)).ast), call.response),
  }),
];
