/** What one revision has otherwise than another, as records. */
import { Type } from 'typebox';
import type { Pool } from '../../lake/lake.types.ts';
import { answerReading } from '../answer-query.ts';
import { boolParameter, boolSchema, poolParameter, revisionParameter } from '../bodies/parameters.ts';
import { readAnswers, readErrors, readHeaders, readParameters, readTerms } from '../bodies/read-parameters.ts';
import { formatTable } from '../../formats/formats.ts';
import { type Route, route } from '../route.ts';
import { queryRunErrors, rowErrors } from '../route-errors.ts';

/** The comparison as a query of two commits: ids need no quotes of any kind. */
const textOf = ({ config }: Pool, base: string, commit: string, isSummary: boolean): string => {
  const source = `from 0x${config.id}@0x${commit}:diff (base 0x${base})`;
  if (!isSummary) return source;
  return `${source} | ${config.identity?.length ? summaryByIdentity : summary}`;
};
const countOf = (change: string): string => `count() filter (change=="${change}")`;
const summary = `aggregate added:=${countOf('added')}, removed:=${countOf('removed')}`;
const sumOf = (change: string): string => `sum(n) filter (change=="${change}")`;
const summaryByIdentity = [
  // Few sets of fields change together.
  'aggregate n:=count() by change, fields',
  `aggregate added:=${sumOf('added')}, removed:=${sumOf('removed')}, changed:=${sumOf('changed')}, sets:=collect({n,fields}) filter (change=="changed")`,
  'values {added:coalesce(added,0),removed:coalesce(removed,0),changed:coalesce(changed,0),fields:coalesce([unnest sets | unnest {n,fields} | aggregate count:=sum(n) by path:=fields | sort path],[])}',
].join(' | ');

export const diffRoutes: readonly Route[] = [
  route({
    id: 'diff',
    tag: 'Branches',
    method: 'GET',
    path: '/pool/:pool/revision/:revision/diff/:other',
    summary: 'Records that one revision has otherwise than another',
    need: 'reader of pool',
    preflight: true,
    formatParameter: true,
    params: Type.Object({
      pool: poolParameter,
      revision: revisionParameter,
      other: Type.String({
        description: 'name of a branch or tag, or commit id: what is compared with it',
        examples: ['trial'],
      }),
    }),
    description:
      'What has to be taken from the first and given to it to have the second: `{change, key, before, after}`, `change` being `added` or `removed`, in the order of the pool key. In a pool with an identity, what was removed and added of one record at one pool key is one `{change: "changed", key, before, after, fields}`, `fields` being the paths of the fields that differ. Data objects that both have are not read. In CSV, TSV, Arrow and Parquet rows are of one record type, as with `fuse=T`. Two commits never change, so `ETag` holds as long as the branches stay where they are.',
    query: Type.Object({
      summary: Type.Optional(
        boolSchema(
          'T: how many records were added and removed, and nothing of them; in a pool with an identity also how many changed, and each field in how many',
        ),
      ),
      ...readParameters,
    }),
    takes: readHeaders,
    answers: readAnswers([
      { change: 'added', key: { Title: 'Jaws' }, before: null, after: { Title: 'Jaws', 'US Gross': 260000000 } },
      {
        change: 'changed',
        key: { Title: 'Alien' },
        before: { Title: 'Alien', Year: 1978 },
        after: { Title: 'Alien', Year: 1979 },
        fields: [['Year']],
      },
    ]),
    errors: [...queryRunErrors, ...rowErrors, ...readErrors],
    handler: (call) => {
      const { params, query, service } = call;
      const isSummary = boolParameter('summary', query.summary);
      const pool = service.lake.pool(params.pool);
      const [base, commit] = [params.revision, params.other].map((revision) => pool.resolve(revision));
      // What was added and what was removed are two types of records.
      const fuse = query.fuse ?? (formatTable[call.response.format].hasOneType ? 'T' : undefined);
      return answerReading(call, {
        text: textOf(pool, base, commit, isSummary),
        ...readTerms({ limit: query.limit, fuse }),
      });
    },
  }),
];
