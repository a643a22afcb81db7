/** What is done to a revision, that is a branch or a commit: vacuum, and the marker of columnar objects. */
import { Type } from 'typebox';
import { sendCommit } from '../commit-answer.ts';
import { commitNote } from '../commit-note.ts';
import { boolParameter } from '../parameters.ts';
import { vacuumValue } from '../records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import { controlBody } from './pool.ts';

const params = Type.Object({ pool: Type.String({ description: 'id or name' }), revision: Type.String({ description: 'branch name or commit id' }) });

const vectorHandler = (action: 'add' | 'delete') => async (call: Call<{ readonly pool: string; readonly revision: string }>): Promise<unknown> => {
  const { service, request, reply, response } = call;
  const note = commitNote(request.headers);
  const ids = (await controlBody(call)).ids('object_ids') ?? [];
  const { commit } = await service.lake.pool(call.params.pool).vectors(call.params.revision, action, ids, note);
  return sendCommit(reply, commit, response);
};

export const revisionRoutes: readonly Route[] = [
  route({
    method: 'POST', path: '/pool/:pool/revision/:revision/vacuum', summary: 'Remove objects that no branch holds any more', need: 'admin of pool', writes: true, params,
    query: Type.Object({ dryrun: Type.Optional(Type.String({ description: 'T: list only' })) }),
    handler: async ({ service, reply, params: { pool, revision }, query, response }) => {
      const dryRun = boolParameter(query.dryrun);
      return sendValue(reply, vacuumValue(await service.lake.pool(pool).vacuum(revision, { dryRun })), response);
    },
  }),
  route({ method: 'POST', path: '/pool/:pool/revision/:revision/vector', summary: 'Mark objects as columnar', need: 'writer of pool', writes: true, params, handler: vectorHandler('add') }),
  route({ method: 'DELETE', path: '/pool/:pool/revision/:revision/vector', summary: 'Take the marker away', need: 'writer of pool', writes: true, params, handler: vectorHandler('delete') }),
];
