/** Branches: look, reset, delete; commits that delete data and compact. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { answerReading } from '../answer-query.ts';
import { etagOf, sendCommit, sendTip, warningHeader } from '../commit-answer.ts';
import { commitNote, withoutMeta } from '../commit-note.ts';
import { standing } from '../access/roles.ts';
import { commitOnce, tipTerms } from '../idempotency.ts';
import { made } from '../load.ts';
import { commitOf, boolParameter, boolSchema, branchParameter, idOf, poolParameter } from '../bodies/parameters.ts';
import { previewValue } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { readAnswers, readErrors, readHeaders, readParameters, readTerms } from '../bodies/read-parameters.ts';
import { matchesTag } from '../bodies/tags.ts';
import { type Answer, type Link, type Route, route } from '../route.ts';
import { changeErrors, queryRunErrors, rewriteErrors, rowErrors, tipErrors } from '../route-errors.ts';
import { CommitResult, ShownId, array, nullable, count, idText, objectId } from '../schemas.ts';

/** The answer to a write with `dryrun`. */
const Preview = Type.Object(
  {
    tip: ShownId,
    adds: array(ShownId),
    removes: array(ShownId),
    records_added: Type.Integer(),
    records_removed: Type.Integer(),
    records: Type.Integer({ description: 'By how many the branch would change.' }),
    conflicts: array(ShownId),
    error: nullable(Type.String({ description: 'Why the write would be refused.' })),
    record_conflicts: Type.Optional(
      Type.Object(
        {
          count: count('Records in conflict.'),
          offset: count('How many of them are before the first one that is returned.'),
          conflicts: array(
            Type.Object({
              key: Type.Object({}, { additionalProperties: true, description: 'The fields of the identity.' }),
              base: Type.Unknown({
                description: 'The record in the common base; null if there was none, a list if there were several.',
              }),
              ours: Type.Unknown({ description: 'The same on the branch.' }),
              theirs: Type.Unknown({ description: 'The same on the other side.' }),
            }),
          ),
        },
        { description: 'Where the merge goes by records.' },
      ),
    ),
  },
  { $id: 'Preview', description: 'What a write would do.' },
);
/** The body of `PUT /pool/:pool/branch/:branch`. */
const Reset = Type.Object(
  { commit: idText },
  { $id: 'Reset', description: 'Where a branch is to be; the zero id empties it.' },
);
/** The body of `POST /pool/:pool/branch/:branch/delete`. */
const Deletion = Type.Object(
  {
    object_ids: Type.Optional(nullable(array(objectId))),
    where: Type.Optional(
      Type.String({ format: 'superql-filter', description: 'A filter expression: what it selects is deleted.' }),
    ),
  },
  {
    $id: 'Deletion',
    description: 'Either `object_ids` or `where`.',
    oneOf: [
      {
        required: ['object_ids'],
        properties: { object_ids: { type: 'array', items: {}, minItems: 1 }, where: { const: '' } },
      },
      {
        required: ['where'],
        properties: {
          where: { minLength: 1 },
          object_ids: { anyOf: [{ type: 'null' }, { type: 'array', items: {}, maxItems: 0 }] },
        },
      },
    ],
  },
);
/** The body of `POST /pool/:pool/branch/:branch/update`. */
const Update = Type.Object(
  {
    where: Type.String({
      minLength: 1,
      format: 'superql-filter',
      description: 'A filter expression: what it selects is changed; `true` selects every row.',
    }),
    put: Type.String({
      minLength: 1,
      description: 'Assignments as of the operator `put`; all right sides see the row as it was.',
    }),
  },
  { $id: 'Update', description: 'Which rows are changed, and how.' },
);
/** The body of `POST /pool/:pool/branch/:branch/compact`. */
const Compaction = Type.Object({ object_ids: Type.Array(objectId, { minItems: 2 }) }, { $id: 'Compaction' });

/** What names a branch in a path. */
export const branchParams = Type.Object({ pool: poolParameter, branch: branchParameter });
/** Of what can be looked at before it is done. */
export const dryRunParameter = Type.Optional(boolSchema('T: dry run, only report what it would change'));
const dryRunQuery = Type.Object({ dryrun: dryRunParameter });

/** Those of the request, for links. */
export const here = { pool: '$request.path.pool', branch: '$request.path.branch' };
/** How a commit is undone. */
export const revert: Link = { to: 'revert', parameters: { ...here, commit: '$response.body#/commit' } };
/** A commit that was made. */
export const committed = (text: string): Answer => ({
  text,
  value: CommitResult,
  headers: ['ETag'],
  example: { commit: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066', warnings: null },
  links: { revert, tip: { to: 'getBranch', parameters: here } },
});
/** With `dryrun`, what a commit would be. */
export const committedOrTold = (text: string): Answer => ({
  ...committed(`${text} With \`dryrun=T\` what it would do, and no \`ETag\`.`),
  value: Type.Union([CommitResult, Preview]),
  headers: [],
  links: {},
});
/** Headers of a request that makes a commit. */
export const commitHeaders = ['SuperDB-Commit', 'If-Match', 'Idempotency-Key'] as const;

export const branchRoutes: readonly Route[] = [
  route({
    id: 'getBranch',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/branch/:branch',
    summary: 'The commit that a branch or tag points at',
    need: 'reader of pool',
    params: branchParams,
    takes: ['If-None-Match'],
    answers: {
      200: { ...committed('The commit; all zeros while there is none.'), links: { revert } },
      304: { text: 'It is still that commit.', headers: ['ETag'] },
    },
    errors: ['pool-not-found', 'branch-not-found'],
    handler: async ({ service, request, reply, params, response }) => {
      const commit = service.lake.pool(params.pool).tip(params.branch);
      return matchesTag(request.headers['if-none-match'], `0x${commit}`)
        ? reply.code(304).header('etag', etagOf(commit)).send()
        : sendTip(reply, commit, response);
    },
  }),
  route({
    id: 'branchData',
    tag: 'Data',
    method: 'GET',
    path: '/pool/:pool/branch/:branch/data',
    summary: 'All data of a branch, tag or commit by its address',
    need: 'reader of pool',
    preflight: true,
    formatParameter: true,
    params: branchParams,
    description:
      'In any format, in the order of the pool key. As with `GET /query`, `ETag` and `If-None-Match` save what has not changed, and lengths and ranges can be had.',
    query: Type.Object(readParameters),
    takes: readHeaders,
    answers: readAnswers([{ Title: 'Jaws', 'US Gross': 260000000 }]),
    errors: [...queryRunErrors, ...rowErrors, ...readErrors],
    handler: (call) =>
      answerReading(call, {
        text: '',
        head: { pool: call.params.pool, branch: call.params.branch },
        ...readTerms(call.query),
      }),
  }),
  route({
    id: 'resetBranch',
    tag: 'Branches',
    method: 'PUT',
    path: '/pool/:pool/branch/:branch',
    summary: 'Move a branch to another commit',
    need: 'writer of pool',
    writes: true,
    params: branchParams,
    body: Reset,
    takes: ['If-Match'],
    description:
      'To any commit of the pool, older, newer or of another branch; no commit is made. Commits that the branch then no longer has stay readable by their ids, and their data is kept until a vacuum of such an id. With `If-Match` it is done only while the branch is at that commit.',
    examples: { 'To nothing': { commit: '0x0000000000000000000000000000000000000000' } },
    answers: { 200: committed('Where it is now.') },
    errors: [
      ...changeErrors,
      ...tipErrors,
      'pool-not-found',
      'branch-not-found',
      'tag-fixed',
      'branch-protected',
      'commit-invalid',
      'commit-not-found',
      'vacuumed',
    ],
    handler: async (call) => {
      const { service, request, reply, params, response, who } = call;
      const { commit: text = '' } = await call.body();
      const pool = service.lake.pool(params.pool);
      const commit = commitOf(text);
      return sendCommit(
        reply,
        await pool.reset(params.branch, commit, { ...tipTerms(request.headers), ...standing(who, pool.config) }),
        response,
      );
    },
  }),
  route({
    id: 'deleteBranch',
    tag: 'Branches',
    method: 'DELETE',
    path: '/pool/:pool/branch/:branch',
    summary: 'Delete a branch',
    need: 'writer of pool',
    writes: true,
    silent: true,
    params: branchParams,
    takes: ['If-Match'],
    description: 'Its commits stay readable by their ids.',
    answers: { 204: { text: 'It is gone.' } },
    errors: [...changeErrors, ...tipErrors, 'pool-not-found', 'branch-not-found', 'tag-fixed', 'branch-protected'],
    handler: async ({ service, request, reply, params, who }) => {
      const pool = service.lake.pool(params.pool);
      await pool.deleteBranch(params.branch, { ...tipTerms(request.headers), ...standing(who, pool.config) });
      return reply.code(204).send();
    },
  }),
  route({
    id: 'deleteData',
    tag: 'Data',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/delete',
    summary: 'Delete objects, or rows by a filter',
    need: 'writer of pool',
    writes: true,
    params: branchParams,
    query: dryRunQuery,
    description:
      'A new commit: earlier ones keep what they had. Rows for which the filter is null or an error stay. Subqueries of the filter (`id in (from gone | values id)`) only read. A header `Warning` names columns that no row has, as for queries.',
    body: Deletion,
    takes: commitHeaders,
    examples: {
      'Rows by a filter': { where: 'level=="debug"' },
      'Data objects': { object_ids: ['0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066'] },
    },
    answers: { 200: committedOrTold('The commit.') },
    errors: [
      ...rewriteErrors,
      'parameter-bool',
      'id-invalid',
      'delete-both',
      'delete-neither',
      'delete-preview',
      'delete-where-invalid',
      'transaction-empty',
      'query-invalid',
    ],
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const dryRun = boolParameter('dryrun', query.dryrun);
      const note = commitNote(request.headers);
      const { object_ids: objectIds, where = '' } = await call.body();
      const ids = objectIds ?? [];
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      if (ids.length > 0 && where !== '') throw new LakeError('delete-both');
      if (ids.length === 0 && where === '') throw new LakeError('delete-neither');
      if (dryRun && where === '') throw new LakeError('delete-preview');
      const prepared = service.workers.prepareDelete(where, call.visible, (texts) => {
        reply.header('warning', warningHeader(texts));
      });
      if (dryRun)
        return sendValue(
          reply,
          previewValue(await target.previewRewrite(params.branch, prepared, tipTerms(request.headers))),
          response,
        );
      const commit = await commitOnce(call, { pool: target, branch: params.branch }, note, async (terms) =>
        made(
          call,
          where === ''
            ? await target.deleteObjects(params.branch, ids.map(idOf), withoutMeta(await terms()))
            : await target.deleteWhere(params.branch, prepared, await terms()),
        ),
      );
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    id: 'updateData',
    tag: 'Data',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/update',
    summary: 'Change rows by a filter',
    need: 'writer of pool',
    writes: true,
    params: branchParams,
    query: dryRunQuery,
    description:
      'A new commit, with the data objects that hold such rows made again and no other touched. Rows for which the filter is null or an error stay as they are; a row that would become an error, or a field that would, refuses the whole update. A field whose value is `quiet` is left out. An update of a sort key moves the row. A header `Warning` names columns that no row has, as for queries.',
    body: Update,
    takes: commitHeaders,
    examples: { 'A price and a mark': { where: 'kind=="book"', put: 'price:=price*2, seen:=true' } },
    answers: { 200: committedOrTold('The commit.') },
    errors: [
      ...rewriteErrors,
      'parameter-bool',
      'update-incomplete',
      'update-where-invalid',
      'update-put-invalid',
      'update-error',
      'transaction-empty',
      'query-invalid',
    ],
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const dryRun = boolParameter('dryrun', query.dryrun);
      const note = commitNote(request.headers);
      const { where = '', put = '' } = await call.body();
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      if (where === '' || put === '') throw new LakeError('update-incomplete');
      const prepared = service.workers.prepareUpdate({ where, put }, call.visible, (texts) => {
        reply.header('warning', warningHeader(texts));
      });
      if (dryRun)
        return sendValue(
          reply,
          previewValue(await target.previewRewrite(params.branch, prepared, tipTerms(request.headers))),
          response,
        );
      const commit = await commitOnce(call, { pool: target, branch: params.branch }, note, async (terms) =>
        made(call, await target.update(params.branch, prepared, await terms())),
      );
      return sendCommit(reply, commit, response);
    },
  }),
  route({
    id: 'compact',
    tag: 'Data',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/compact',
    summary: 'Merge objects into new ones',
    need: 'writer of pool',
    writes: true,
    params: branchParams,
    description:
      'The rows stay the same; there is a commit all the same. One object alone is rewritten if it has 1 MiB or more and is not compressed: it is then.',
    query: Type.Object({ vectors: Type.Optional(boolSchema('T: mark the new objects as columnar')) }),
    body: Compaction,
    takes: commitHeaders,
    examples: {
      'Two data objects': {
        object_ids: ['0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066', '0x178f59edf229d07129141a81303201975db3d24b'],
      },
    },
    answers: { 200: committed('The commit.') },
    errors: [...rewriteErrors, 'parameter-bool', 'id-invalid', 'compact-few', 'compact-alone'],
    handler: async (call) => {
      const { service, request, reply, params, query, response } = call;
      const vectors = boolParameter('vectors', query.vectors);
      const note = commitNote(request.headers);
      const ids = ((await call.body()).object_ids ?? []).map(idOf);
      const target = service.lake.pool(params.pool);
      target.branch(params.branch);
      const commit = await commitOnce(call, { pool: target, branch: params.branch }, note, async (terms) =>
        made(
          call,
          await target.compact(params.branch, ids, service.workers.prepareCompact(ids), await terms(), { vectors }),
        ),
      );
      return sendCommit(reply, commit, response);
    },
  }),
];
