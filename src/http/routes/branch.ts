/** Branches: load, look, delete; commits that delete data, merge, revert and compact. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { CommitNote } from '../../lake/lake.types.ts';
import { smallBodyBytesMax } from '../../workers/small-load.ts';
import { bodyChunks, smallBody } from '../body.ts';
import { sendCommit } from '../commit-answer.ts';
import { commitNote } from '../commit-note.ts';
import { requestCodings } from '../encoding.ts';
import { requestFormat } from '../negotiate.ts';
import { boolParameter, delimiterParameter, idOf, pathId } from '../parameters.ts';
import { commitValue } from '../records.ts';
import { sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { controlBody } from './pool.ts';

const pool = Type.String({ description: 'id or name' });
const branch = Type.String({ description: 'name' });
const branchParams = Type.Object({ pool, branch });

export const branchRoutes: readonly Route[] = [
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch', summary: 'Load data', need: 'writer of pool', writes: true, params: branchParams,
    query: Type.Object({ 'csv.delim': Type.Optional(Type.String({ description: 'field delimiter of text/csv, one character' })) }),
    handler: async (call) => {
      const { service, request, reply, params, query, response, contentType } = call, format = requestFormat(contentType);
      const csvDelimiter = delimiterParameter(query['csv.delim']);
      const contentCodings = requestCodings(request.headers['content-encoding']);
      const note = commitNote(request.headers);
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      const whole = smallBody(request.raw, { bytesMax: smallBodyBytesMax, idleMsMax: service.config.bodyIdleMsMax });
      const outcome = await service.workers.load({
        pool: target.config, format, contentCodings, ...(csvDelimiter && format === 'csv' && { csvDelimiter }), body: bodyChunks(request.raw, service.config.bodyIdleMsMax), ...(whole && { whole }),
        get signal() { return call.signal; },
      });
      const { commit } = await outcome.settled(target.load(params.branch, outcome.objects, note));
      return sendCommit(reply, commit, response, outcome.warnings);
    },
  }),
  route({
    method: 'GET', path: '/pool/:pool/branch/:branch', summary: 'The commit that a branch points at', need: 'reader of pool', params: branchParams,
    handler: async ({ service, reply, params, response }) => sendValue(reply, commitValue(service.lake.pool(params.pool).branch(params.branch).commit), response),
  }),
  route({
    method: 'DELETE', path: '/pool/:pool/branch/:branch', summary: 'Delete a branch', need: 'writer of pool', writes: true, silent: true, params: branchParams,
    handler: async ({ service, reply, params }) => {
      await service.lake.pool(params.pool).deleteBranch(params.branch);
      return reply.code(204).send();
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/delete', summary: 'Delete objects, or rows by a filter', need: 'writer of pool', writes: true, params: branchParams,
    handler: async (call) => {
      const { service, request, reply, params, response } = call;
      const note = commitNote(request.headers);
      const body = await controlBody(call);
      const ids = body.texts('object_ids') ?? [], where = body.text('where') ?? '';
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      if (ids.length > 0 && where !== '') throw new LakeError('delete-both');
      if (ids.length === 0 && where === '') throw new LakeError('delete-neither');
      const { commit } = where === ''
        ? await target.deleteObjects(params.branch, ids.map(idOf), withoutMeta(note))
        : await target.deleteWhere(params.branch, service.workers.prepareDelete(where), note);
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/merge/:child', summary: 'Merge another branch into this one', need: 'writer of pool', writes: true,
    params: Type.Object({ pool, branch, child: branch }),
    handler: async ({ service, request, reply, params, response }) => {
      const note = commitNote(request.headers);
      const { commit } = await service.lake.pool(params.pool).merge(params.branch, params.child, withoutMeta(note));
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/revert/:commit', summary: 'Undo a commit by a new one', need: 'writer of pool', writes: true,
    params: Type.Object({ pool, branch, commit: Type.String({ description: 'commit id' }) }),
    handler: async ({ service, request, reply, params, response }) => {
      const note = commitNote(request.headers);
      const target = service.lake.pool(params.pool);
      const { commit } = await target.revert(params.branch, pathId('commit', params.commit), withoutMeta(note));
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/compact', summary: 'Merge objects into new ones', need: 'writer of pool', writes: true, params: branchParams,
    query: Type.Object({ vectors: Type.Optional(Type.String({ description: 'mark the new objects as columnar' })) }),
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const vectors = boolParameter(query.vectors);
      const note = commitNote(request.headers);
      const ids = (await controlBody(call)).ids('object_ids') ?? [];
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      if (ids.length < 2) throw new LakeError('compact-few');
      const { commit } = await target.compact(params.branch, ids, service.workers.prepareCompact(ids), note, { vectors });
      return sendCommit(reply, commit, response);
    },
  }),
];

/** The reference keeps `meta` on loads, deletes by filter and compactions alone; its clients rely on null elsewhere. */
const withoutMeta = ({ author, body }: CommitNote): CommitNote => ({ ...(author && { author }), ...(body && { body }) });
