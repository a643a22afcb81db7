/** What the console draws: the commits of a pool as a graph, and what a revision holds. */
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { graphCommitsMax } from '../../lake/commits/graph.ts';
import { idListPattern, idOf } from '../bodies/parameters.ts';
import { record, idValue, idsValue, timeValue, named } from '../bodies/records.ts';
import { sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { count, ShownId, array, Time } from '../schemas.ts';
import type { ObjectSums, GraphPage, Id } from '../../lake/lake.types.ts';
import { type Value, intValue, stringValue } from '../../vectors/value.ts';
import { arrayType } from '../../vectors/type.ts';

const sumsRecord = ({ objects, records, bytes }: ObjectSums): Readonly<Record<string, Value>> => ({
  objects: intValue(objects),
  records: intValue(records),
  bytes: intValue(bytes),
});
const sumsType = record(sumsRecord({ objects: 0, records: 0, bytes: 0 })).type;
const commitType = record({
  id: idValue('00'.repeat(20)),
  parents: idsValue([]),
  author: stringValue(''),
  date: timeValue(0n),
  message: stringValue(''),
  added: { type: sumsType, data: null },
  removed: { type: sumsType, data: null },
}).type;
/** A page of commits, and where to go on from. */
const graphValue = ({ commits, next }: GraphPage): Value =>
  named(
    'api.Graph',
    record({
      commits: {
        type: arrayType(commitType),
        data: commits.map(
          ({ id, parents, author, dateNs, message, added, removed }) =>
            record({
              id: idValue(id),
              parents: idsValue(parents),
              author: stringValue(author),
              date: timeValue(dateNs),
              message: stringValue(message),
              added: record(sumsRecord(added)),
              removed: record(sumsRecord(removed)),
            }).data,
        ),
      },
      next: idsValue(next),
    }),
  );
/** What a revision holds. */
const sumsValue = (sums: ObjectSums & { readonly commit: Id }): Value =>
  named('api.Sums', record({ commit: idValue(sums.commit), ...sumsRecord(sums) }));

const sums = {
  objects: count('Data objects.'),
  records: count('Records in them.'),
  bytes: count('Their size, encoded.'),
};
const GraphSums = Type.Object(sums, { $id: 'ObjectSums', description: 'Data objects in sum.' });
/** The answer of `GET /pool/:pool/revision/:revision/sums`. */
const Sums = Type.Object(
  { commit: ShownId, ...sums },
  { $id: 'RevisionSums', description: 'What a branch or commit holds.' },
);
/** The answer of `GET /pool/:pool/graph`: a page of commits. */
const Graph = Type.Object(
  {
    commits: array(
      Type.Object({
        id: ShownId,
        parents: array(ShownId, {
          description:
            'None of a first commit, two of a merge: the branch that it was made on, and the one that was merged.',
        }),
        author: Type.String(),
        date: Time,
        message: Type.String(),
        added: GraphSums,
        removed: GraphSums,
      }),
    ),
    next: array(ShownId, { description: 'Where to go on from; empty at the end.' }),
  },
  { $id: 'Graph', description: 'Commits, the newest first.' },
);

const pool = Type.String({ description: 'id or name' });

export const graphRoutes: readonly Route[] = [
  route({
    id: 'graph',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/graph',
    summary: 'Commits of all branches and tags, the newest first',
    need: 'reader of pool',
    params: Type.Object({ pool }),
    description:
      'With the parents of each and what it added and removed. `next` lists the commits that come after those of the answer: send them back as `from`, joined by commas. It is empty at the end.',
    query: Type.Object({
      limit: Type.Optional(
        Type.String({
          pattern: '^([1-9][0-9]{0,2}|1000)$',
          description: `commits in the answer, at most ${graphCommitsMax}; default 200`,
        }),
      ),
      from: Type.Optional(
        Type.String({
          pattern: idListPattern,
          description: 'ids of commits to go on from; default: those of all branches and tags',
        }),
      ),
    }),
    answers: { 200: { text: 'A page of commits. `Link` with `rel="next"` leads to the next one.', value: Graph } },
    errors: ['pool-not-found', 'graph-limit', 'id-invalid', 'commit-not-found'],
    handler: async ({ service, request, params, query, reply, response }) => {
      const limit = query.limit === undefined ? 200 : /^[1-9]\d{0,3}$/.test(query.limit) ? Number(query.limit) : NaN;
      const target = service.lake.pool(params.pool);
      if (!Number.isInteger(limit) || limit < 1 || limit > graphCommitsMax)
        throw new LakeError('graph-limit', { value: query.limit!, limit: graphCommitsMax });
      const from = query.from === undefined ? undefined : query.from.split(',').map(idOf);
      const page = await target.graph({ limit, ...(from && { from }) });
      if (page.next.length > 0) {
        const more = new URLSearchParams({ limit: String(limit), from: page.next.map((id) => `0x${id}`).join(',') });
        reply.header('link', `<${request.originalUrl.split('?', 1)[0]}?${more.toString()}>; rel="next"`);
      }
      return sendValue(reply, graphValue(page), response);
    },
  }),
  route({
    id: 'sums',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/revision/:revision/sums',
    summary: 'Records, bytes and data objects of a branch, tag or commit',
    need: 'reader of pool',
    params: Type.Object({
      pool,
      revision: Type.String({ description: 'name of a branch or tag, id of a commit, or a time: then where main was' }),
    }),
    answers: { 200: { text: 'What it holds.', value: Sums } },
    errors: ['pool-not-found', 'branch-not-found', 'asof-absent', 'commit-file-missing'],
    handler: async ({ service, params, reply, response }) =>
      sendValue(reply, sumsValue(await service.lake.pool(params.pool).sums(params.revision)), response),
  }),
];
