/** What is done to a revision, that is a branch, a tag or a commit: vacuum, and the marker of columnar objects. */
import { type Static, Type } from 'typebox';
import { sendCommit } from '../commit-answer.ts';
import { commitNote } from '../commit-note.ts';
import { tipTerms } from '../idempotency.ts';
import { boolParameter, boolSchema, idOf, poolParameter, revisionParameter } from '../bodies/parameters.ts';
import { named, record, ksuidType, idData } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import { commitErrors, changeErrors, tipErrors } from '../route-errors.ts';
import { CommitResult, array, ShownId, nullable, objectId } from '../schemas.ts';
import type { Id } from '../../lake/lake.types.ts';
import type { Value } from '../../vectors/value.ts';
import { arrayType } from '../../vectors/type.ts';

/** Objects that a vacuum removed or would remove. */
const vacuumValue = (ids: readonly Id[]): Value =>
  named('api.VacuumResponse', record({ object_ids: { type: arrayType(ksuidType), data: ids.map(idData) } }));

/** The answer of `POST /pool/:pool/revision/:revision/vacuum`. */
const VacuumResult = Type.Object(
  { object_ids: array(ShownId) },
  { $id: 'VacuumResult', description: 'Data objects that were removed, or would be.' },
);
/** The body of `POST` and `DELETE` of `/pool/:pool/revision/:revision/vector`: objects whose marker comes or goes. */
const ObjectIds = Type.Object({ object_ids: Type.Optional(nullable(Type.Array(objectId))) }, { $id: 'ObjectIds' });

const params = Type.Object({ pool: poolParameter, revision: revisionParameter });

const vectorHandler =
  (action: 'add' | 'delete') =>
  async (
    call: Call<{ readonly pool: string; readonly revision: string }, unknown, Static<typeof ObjectIds>>,
  ): Promise<unknown> => {
    const { service, request, reply, response } = call;
    const note = { ...commitNote(request.headers), terms: tipTerms(request.headers) };
    const ids = ((await call.body()).object_ids ?? []).map(idOf);
    const { commit } = await service.lake.pool(call.params.pool).vectors(call.params.revision, action, ids, note);
    return sendCommit(reply, commit, response);
  };

const vectorRow = {
  tag: 'Data',
  path: '/pool/:pool/revision/:revision/vector',
  need: 'writer of pool',
  writes: true,
  params,
  body: ObjectIds,
  takes: ['SuperDB-Commit', 'If-Match'],
  description: 'Data objects are columnar here already: it keeps the list that `:vectors` gives.',
  answers: { 200: { text: 'The commit.', value: CommitResult, headers: ['ETag'] } },
  examples: { 'A data object': { object_ids: ['0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066'] } },
} as const;

export const revisionRoutes: readonly Route[] = [
  route({
    id: 'vacuum',
    tag: 'Data',
    method: 'POST',
    path: '/pool/:pool/revision/:revision/vacuum',
    summary: 'Remove objects that no branch or tag holds any more',
    need: 'admin of pool',
    writes: true,
    params,
    takes: ['If-Match'],
    description:
      'Of the commits before the revision. What a branch, a tag or a running query holds stays. This cannot be undone: a query of a commit whose objects are gone is a 410.',
    query: Type.Object({ dryrun: Type.Optional(boolSchema('T: list only')) }),
    answers: { 200: { text: 'What was removed.', value: VacuumResult, example: { object_ids: [] } } },
    errors: [
      ...changeErrors,
      ...tipErrors,
      'pool-not-found',
      'branch-not-found',
      'asof-absent',
      'commit-file-missing',
      'commit-not-found',
      'parameter-bool',
    ],
    handler: async ({ service, request, reply, params: { pool, revision }, query, response }) => {
      const dryRun = boolParameter('dryrun', query.dryrun);
      return sendValue(
        reply,
        vacuumValue(await service.lake.pool(pool).vacuum(revision, { dryRun, ...tipTerms(request.headers) })),
        response,
      );
    },
  }),
  route({
    ...vectorRow,
    id: 'addVectors',
    method: 'POST',
    summary: 'Mark objects as columnar',
    errors: [...commitErrors, 'id-invalid', 'vector-exists', 'vector-object-missing', 'commit-file-missing'],
    handler: vectorHandler('add'),
  }),
  route({
    ...vectorRow,
    id: 'deleteVectors',
    method: 'DELETE',
    summary: 'Take the marker away',
    errors: [...commitErrors, 'id-invalid', 'vector-missing', 'vector-object-missing', 'commit-file-missing'],
    handler: vectorHandler('delete'),
  }),
];
