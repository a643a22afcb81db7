/** Branches: load, look, delete; commits that delete data, merge, revert and compact. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { CommitNote } from '../../lake/lake.types.ts';
import { smallBodyBytesMax } from '../../workers/small-load.ts';
import { bodyChunks, smallBody } from '../body.ts';
import { etagOf, sendCommit } from '../commit-answer.ts';
import { commitNote } from '../commit-note.ts';
import { requestCodings } from '../encoding.ts';
import { requestFormat } from '../negotiate.ts';
import { commitOnce } from '../once.ts';
import { boolParameter, delimiterParameter, idOf, pathId } from '../parameters.ts';
import { commitValue, previewValue } from '../records.ts';
import { sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { controlBody } from './pool.ts';

const pool = Type.String({ description: 'id or name' });
const branch = Type.String({ description: 'name' });
const branchParams = Type.Object({ pool, branch });
const dryRunQuery = Type.Object({ dryrun: Type.Optional(Type.String({ description: 'T: only tell what it would do' })) });

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
      const commit = await commitOnce(call, note, async (terms) => {
        const outcome = await service.workers.load({
          pool: target.config, format, contentCodings, ...(csvDelimiter && format === 'csv' && { csvDelimiter }), body: bodyChunks(request.raw, service.config.bodyIdleMsMax), ...(whole && { whole }),
          get signal() { return call.signal; },
        });
        return (await outcome.settled(target.load(params.branch, outcome.objects, terms))).commit;
      });
      return sendCommit(reply, commit, response, []);
    },
  }),
  route({
    method: 'GET', path: '/pool/:pool/branch/:branch', summary: 'The commit that a branch points at', need: 'reader of pool', params: branchParams,
    handler: async ({ service, reply, params, response }) => {
      const { commit } = service.lake.pool(params.pool).branch(params.branch);
      return sendValue(reply.header('etag', etagOf(commit)), commitValue(commit), response);
    },
  }),
  route({
    method: 'DELETE', path: '/pool/:pool/branch/:branch', summary: 'Delete a branch', need: 'writer of pool', writes: true, silent: true, params: branchParams,
    handler: async ({ service, reply, params }) => {
      await service.lake.pool(params.pool).deleteBranch(params.branch);
      return reply.code(204).send();
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/delete', summary: 'Delete objects, or rows by a filter', need: 'writer of pool', writes: true, params: branchParams, query: dryRunQuery,
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const dryRun = boolParameter(query.dryrun);
      const note = commitNote(request.headers);
      const body = await controlBody(call);
      const ids = body.texts('object_ids') ?? [], where = body.text('where') ?? '';
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      if (ids.length > 0 && where !== '') throw new LakeError('delete-both');
      if (ids.length === 0 && where === '') throw new LakeError('delete-neither');
      if (dryRun && where === '') throw new LakeError('delete-preview');
      if (dryRun) return sendValue(reply, previewValue(await target.previewDelete(params.branch, service.workers.prepareDelete(where))), response);
      const commit = await commitOnce(call, note, async (terms) => (where === ''
        ? await target.deleteObjects(params.branch, ids.map(idOf), withoutMeta(terms))
        : await target.deleteWhere(params.branch, service.workers.prepareDelete(where), terms)).commit);
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/merge/:child', summary: 'Merge another branch into this one', need: 'writer of pool', writes: true,
    params: Type.Object({ pool, branch, child: branch }), query: dryRunQuery,
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call, dryRun = boolParameter(query.dryrun);
      const note = commitNote(request.headers);
      const target = service.lake.pool(params.pool);
      if (dryRun) return sendValue(reply, previewValue(await target.previewMerge(params.branch, params.child)), response);
      const commit = await commitOnce(call, note, async (terms) => (await target.merge(params.branch, params.child, withoutMeta(terms))).commit);
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    method: 'POST', path: '/pool/:pool/branch/:branch/revert/:commit', summary: 'Undo a commit by a new one', need: 'writer of pool', writes: true,
    params: Type.Object({ pool, branch, commit: Type.String({ description: 'commit id' }) }), query: dryRunQuery,
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call, dryRun = boolParameter(query.dryrun);
      const note = commitNote(request.headers);
      const target = service.lake.pool(params.pool);
      if (dryRun) return sendValue(reply, previewValue(await target.previewRevert(params.branch, pathId('commit', params.commit))), response);
      const reverted = pathId('commit', params.commit), commit = await commitOnce(call, note, async (terms) => (await target.revert(params.branch, reverted, withoutMeta(terms))).commit);
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
      const commit = await commitOnce(call, note, async (terms) => (await target.compact(params.branch, ids, service.workers.prepareCompact(ids), terms, { vectors })).commit);
      return sendCommit(reply, commit, response);
    },
  }),
];

/** The reference keeps `meta` on loads, deletes by filter and compactions alone; its clients rely on null elsewhere. */
const withoutMeta = ({ author, body, terms }: CommitNote): CommitNote => ({ ...(author && { author }), ...(body && { body }), ...(terms && { terms }) });
