/** Commits that bring branches and commits together: merge, revert, pick. By records where objects do not decide it. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type { Combination, Pool, RecordRule } from '../../lake/lake.types.ts';
import { sendCommit } from '../commit-answer.ts';
import { commitNote, withoutMeta } from '../commit-note.ts';
import { commitOnce, tipTerms } from '../idempotency.ts';
import { made } from '../load.ts';
import {
  boolParameter,
  boolSchema,
  branchParameter,
  commitParameter,
  pathId,
  poolParameter,
} from '../bodies/parameters.ts';
import { previewValue } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import { combineErrors } from '../route-errors.ts';
import { idPattern } from '../schemas.ts';
import { commitHeaders, committedOrTold, dryRunParameter } from './branch.ts';

/** The body of a merge, a revert or a pick. */
const Settlement = Type.Object(
  {
    settle: Type.Optional(
      Type.Array(
        Type.Unsafe<string>(
          Type.Object(
            {
              key: Type.Object({}, { additionalProperties: true, description: 'The fields of the identity.' }),
              take: Type.Optional(Type.Enum(['ours', 'theirs', 'base'])),
              value: Type.Optional(Type.Unknown({ description: 'The record as it is to be; null: it goes.' })),
            },
            { description: 'A record in conflict, and which side or value is taken.' },
          ),
        ),
      ),
    ),
  },
  { $id: 'Settlement', description: 'How records in conflict are settled.' },
);

/** Conflicts on a page. */
const pageMax = 1000;
const pageDefault = 100;

const combineQuery = Type.Object({
  dryrun: dryRunParameter,
  fields: Type.Optional(boolSchema('T: records whose fields the two sides changed apart are put together')),
  resolve: Type.Optional(
    Type.Enum(['ours', 'theirs'], { description: 'the side that is taken of records in conflict' }),
  ),
  offset: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}$',
      description: 'with `dryrun`: conflicts before the first one that is returned',
    }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]{0,2}|1000)$',
      description: `with \`dryrun\`: conflicts in the answer, at most ${pageMax}; default ${pageDefault}`,
    }),
  ),
});
const rules =
  'Where data objects decide it, records are not looked at. Else it goes by records: in a pool without an identity all that either side added and removed since is done, and nothing is in conflict; by an identity a record becomes what the side made of it that changed it, and one that both changed to different things is in conflict, unless `fields`, `resolve` or the body settles it. With `dryrun=T` conflicts are told page by page.';

interface Asked {
  readonly dryrun?: string | undefined;
  readonly fields?: string | undefined;
  readonly resolve?: string | undefined;
  readonly offset?: string | undefined;
  readonly limit?: string | undefined;
}
interface Place {
  readonly pool: string;
  readonly branch: string;
}
interface Settled {
  readonly settle?: readonly string[] | undefined;
}

/** Does it, or tells what it would do. */
const combined = async (call: Call<Place, Asked, Settled>, pool: Pool, combination: Combination): Promise<unknown> => {
  const { service, request, reply, query, response } = call;
  const dryRun = boolParameter('dryrun', query.dryrun);
  const page = pageOf(query, dryRun);
  const note = commitNote(request.headers);
  const prepare = service.workers.prepareRecords(await ruleOf(call));
  if (dryRun) {
    const preview = await pool.previewCombined(combination, { ...tipTerms(request.headers), ...page, prepare });
    return sendValue(reply, previewValue(preview, page.offset), response);
  }
  const commit = await commitOnce(call, { pool, branch: call.params.branch }, note, async (terms) =>
    made(call, await pool.combine(combination, withoutMeta(await terms()), prepare)),
  );
  return sendCommit(reply, commit, response);
};

const ruleOf = async (call: Call<Place, Asked, Settled>): Promise<RecordRule> => {
  const { query, request } = call;
  const { resolve } = query;
  const fields = boolParameter('fields', query.fields);
  if (resolve !== undefined && resolve !== 'ours' && resolve !== 'theirs')
    throw new LakeError('settle-side', { value: resolve });
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  const settle = length !== '0' || coding !== undefined ? (await call.body()).settle : undefined;
  return {
    ...(fields && { fields }),
    ...(resolve && { resolve }),
    ...(settle && settle.length > 0 && { settled: settle.join('\n') }),
  };
};
/** @throws page-range */
const pageOf = ({ offset, limit }: Asked, dryRun: boolean): { readonly offset: number; readonly limit: number } => {
  const asked = [offset, limit].find((text) => text !== undefined);
  if (asked !== undefined && !dryRun) throw new LakeError('page-untaken');
  const first = Number(offset ?? 0);
  const rows = Number(limit ?? pageDefault);
  if (!/^\d{1,15}$/.test(offset ?? '0'))
    throw new LakeError('page-range', { name: 'offset', value: offset!, wanted: 'a number' });
  if (!/^\d{1,4}$/.test(limit ?? '1') || rows < 1 || rows > pageMax)
    throw new LakeError('page-range', { name: 'limit', value: limit!, wanted: `1 to ${pageMax}` });
  return { offset: first, limit: rows };
};

const settleExample = {
  'Two records settled': {
    settle: [
      { key: { id: 7 }, take: 'theirs' },
      { key: { id: 8 }, value: { id: 8, name: 'ann' } },
    ],
  },
};
const branchParams = { pool: poolParameter, branch: branchParameter };

export const combineRoutes: readonly Route[] = [
  route({
    id: 'merge',
    tag: 'Branches',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/merge/:child',
    summary: 'Merge another branch into this one',
    need: 'writer of pool',
    writes: true,
    description: `A new commit with what the other branch changed since the two parted, up to a tag where one is named. The other branch stays where it is. ${rules}`,
    params: Type.Object({
      ...branchParams,
      child: Type.String({ description: 'name of the other branch, or of a tag', examples: ['trial'] }),
    }),
    query: combineQuery,
    body: Settlement,
    examples: settleExample,
    takes: commitHeaders,
    answers: { 200: committedOrTold('The commit.') },
    errors: [...combineErrors, 'merge-empty', 'merge-conflict', 'merge-records', 'records-vacuumed'],
    handler: (call) => {
      const { pool, branch, child } = call.params;
      return combined(call, call.service.lake.pool(pool), { kind: 'merge', target: branch, child });
    },
  }),
  route({
    id: 'revert',
    tag: 'Branches',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/revert/:commit',
    summary: 'Undo a commit by a new one',
    need: 'writer of pool',
    writes: true,
    description: `What the commit added goes, and what it deleted comes back. A revert can be reverted. It is a merge of the state before the commit, with the commit as the base. ${rules}`,
    params: Type.Object({ ...branchParams, commit: commitParameter }),
    query: combineQuery,
    body: Settlement,
    examples: settleExample,
    takes: commitHeaders,
    answers: { 200: committedOrTold('The commit.') },
    errors: [
      ...combineErrors,
      'path-id',
      'object-not-found',
      'revert-empty',
      'revert-conflict',
      'revert-rewritten',
      'revert-vacuumed',
      'revert-records',
      'records-vacuumed',
    ],
    handler: (call) => {
      const { pool: name, branch, commit } = call.params;
      const pool = call.service.lake.pool(name);
      return combined(call, pool, { kind: 'revert', branch, commit: pathId('commit', commit) });
    },
  }),
  route({
    id: 'pick',
    tag: 'Branches',
    method: 'POST',
    path: '/pool/:pool/branch/:branch/pick/:commit',
    summary: 'Do to a branch what a commit did, or all between two',
    need: 'writer of pool',
    writes: true,
    description: `A new commit with what the commit of the pool, be it of any branch, changed against its (first) parent; of \`A..B\` with what B has otherwise than A. It is a merge whose base is the commit before. ${rules}`,
    params: Type.Object({
      ...branchParams,
      commit: Type.String({
        pattern: `^${idPattern}(\\.\\.${idPattern})?$`,
        description: 'id of a commit, or two as `A..B`',
        examples: ['0x178f59edf229d07129141a81303201975db3d24b'],
      }),
    }),
    query: combineQuery,
    body: Settlement,
    examples: settleExample,
    takes: commitHeaders,
    answers: { 200: committedOrTold('The commit.') },
    errors: [
      ...combineErrors,
      'pick-range',
      'pick-empty',
      'pick-conflict',
      'pick-vacuumed',
      'pick-records',
      'records-vacuumed',
    ],
    handler: (call) => {
      const { pool: name, branch, commit } = call.params;
      const pool = call.service.lake.pool(name);
      pool.branch(branch);
      return combined(call, pool, { kind: 'pick', branch, ...pool.picked(commit) });
    },
  }),
];
