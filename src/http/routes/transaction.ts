/** Commits in several pools, all or none. */
import { type Static, Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import type {
  CommitNote,
  Id,
  Pool,
  RecordRule,
  Retry,
  TransactionChange,
  TransactionResult,
} from '../../lake/lake.types.ts';
import { parseSup } from '../../vectors/sup/parse.ts';
import { checkNeed, poolNamed } from '../access/access.ts';
import { bodyRecord } from '../bodies/decode.ts';
import { fieldsOf } from '../bodies/fields.ts';
import { named, record, idValue } from '../bodies/records.ts';
import { warningHeader } from '../commit-answer.ts';
import { commitNote, withoutMeta } from '../commit-note.ts';
import { standing } from '../access/roles.ts';
import { tipsIn, transactOnce } from '../idempotency.ts';
import { sendValue } from '../reply.ts';
import { type Call, type Route, route } from '../route.ts';
import { combineErrors, commitErrors, readErrors, rewriteErrors } from '../route-errors.ts';
import { ShownId, array } from '../schemas.ts';
import type { TakenLoads } from '../staged.ts';
import { type Value, arrayValue, stringValue } from '../../vectors/value.ts';

/** What a transaction made. */
const transactionValue = ({ transaction, commits }: TransactionResult): Value =>
  named(
    'api.TransactionResponse',
    record({
      transaction: idValue(transaction),
      commits: arrayValue(
        commits.map(({ pool, branch, commit }) =>
          record({ pool: idValue(pool), branch: stringValue(branch), commit: idValue(commit) }),
        ),
      ),
    }),
  );

/** The answer of `POST /transaction`. */
const TransactionResult = Type.Object(
  {
    transaction: Type.Unsafe<string>({
      ...ShownId,
      description: 'Also the id of its first commit in each pool: `p@ID` is what it made of any of them.',
    }),
    commits: array(Type.Object({ pool: ShownId, branch: Type.String(), commit: ShownId }), {
      description: 'In the order in which they were asked for.',
    }),
  },
  { $id: 'TransactionResult', description: 'What a transaction made.' },
);
/** One commit of a transaction. */
const TransactionCommit = Type.Object(
  {
    pool: Type.String({ minLength: 1, description: 'Id or name of the pool.' }),
    branch: Type.Optional(Type.String({ minLength: 1, description: 'Default: `main`.' })),
    load: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, description: 'Staged loads of this branch; one, if it is an upsert.' }),
    ),
    delete: Type.Optional(
      Type.Object({
        where: Type.String({ minLength: 1, format: 'superql-filter', description: 'What it selects is deleted.' }),
      }),
    ),
    update: Type.Optional(
      Type.Object({
        where: Type.String({ minLength: 1, format: 'superql-filter', description: 'What it selects is changed.' }),
        put: Type.String({ minLength: 1, description: 'Assignments as of the operator `put`.' }),
      }),
    ),
    merge: Type.Optional(
      Type.String({ minLength: 1, description: 'Another branch or a tag, as it was before the transaction.' }),
    ),
    fields: Type.Optional(
      Type.Enum(['T', 'F'], {
        type: 'string',
        description: 'T: a merge puts records together whose fields the two sides changed apart.',
      }),
    ),
    resolve: Type.Optional(
      Type.Enum(['ours', 'theirs'], {
        type: 'string',
        description: 'The side that a merge takes of records in conflict.',
      }),
    ),
    if_match: Type.Optional(
      Type.String({ minLength: 1, description: 'Commits, at one of which the branch must be, as in `If-Match`.' }),
    ),
  },
  {
    $id: 'TransactionCommit',
    description: '`load`, `delete` or `update`, `load` with one of the two, or `merge`.',
  },
);
/** The body of `POST /transaction`. */
const Transaction = Type.Object(
  {
    commits: Type.Array(Type.Unsafe<string>(TransactionCommit), {
      minItems: 1,
      maxItems: 256,
      description: 'Each for another branch, of any pools.',
    }),
  },
  { $id: 'Transaction', description: 'Commits that are made all, or not at all.' },
);

const commitsMax = 256;

/** One commit as it was asked for, and where it goes. */
interface Wanted {
  readonly label: string;
  readonly pool: Pool;
  readonly branch: string;
  readonly fields: Static<typeof TransactionCommit>;
}
type Asking = Call<unknown, unknown, Static<typeof Transaction>>;

/** What `look` throws tells which of the commits it is about. */
const within = <T>(label: string, look: () => T): T => {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof LakeError)) throw error;
    const { code, parameters, details } = error;
    throw new LakeError(code, parameters, { cause: error, details, within: label });
  }
};

/** @throws transaction-none, transaction-large, and what is wrong with one of them or not for who asks */
const wantedOf = (call: Asking, commits: readonly string[]): readonly Wanted[] => {
  if (commits.length === 0) throw new LakeError('transaction-none');
  if (commits.length > commitsMax)
    throw new LakeError('transaction-large', { count: commits.length, limit: commitsMax });
  return commits.map((text, i) => {
    const label = `commits[${i}]`;
    return within(label, () => wanted(call, label, fieldsOf(bodyRecord(parseSup(text)), TransactionCommit)));
  });
};
const wanted = (
  { service: { lake, access }, who, audit }: Asking,
  label: string,
  given: Readonly<Record<string, unknown>>,
): Wanted => {
  const fields = given as Static<typeof TransactionCommit>;
  const { pool: reference = '', branch = 'main' } = fields;
  if (!reference) throw new LakeError('pool-name-missing');
  if (access && who)
    checkNeed('writer of pool', who, { reference, found: poolNamed(lake, reference) }, (refusal) => {
      audit?.refused(refusal);
    });
  const pool = lake.pool(reference);
  pool.branch(branch);
  checkKind(fields);
  return { label, pool, branch, fields };
};

/** @throws transaction-commit, settle-side, if-match-invalid */
const checkKind = (fields: Wanted['fields']): void => {
  const { load, delete: gone, update, merge, resolve, fields: apart } = fields;
  const given = Object.keys({
    ...(load && load.length > 0 && { load }),
    ...(gone?.where && { delete: gone }),
    ...(update?.where && update.put && { update }),
    ...(merge && { merge }),
  });
  const isKnown =
    given.length === 1 ||
    (given.length === 2 && given[0] === 'load' && (given[1] === 'delete' || given[1] === 'update'));
  if (!isKnown || ((resolve !== undefined || apart !== undefined) && given[0] !== 'merge'))
    throw new LakeError('transaction-commit', { given: given.join(', ') || 'none of them' });
  if (resolve !== undefined && resolve !== 'ours' && resolve !== 'theirs')
    throw new LakeError('settle-side', { value: resolve });
};

/** What the lake is asked for; `noted`: what all of its commits say. */
const changeOf = (
  call: Asking,
  { label, pool, branch, fields }: Wanted,
  {
    noted,
    retry,
    taken,
    warn,
  }: {
    readonly noted: CommitNote;
    readonly retry: Retry | undefined;
    readonly taken: TakenLoads;
    readonly warn: (texts: readonly string[]) => void;
  },
): TransactionChange => {
  const { service, who, visible } = call;
  const ifTip = tipsIn(spelledTips(fields.if_match));
  const terms = { ...(ifTip && { ifTip }), ...(retry && { retry }), ...standing(who, pool.config) };
  const change = { pool: `0x${pool.config.id}`, branch, label };
  const note = { ...noted, terms };
  const brings = taken.loads.flatMap(({ objects }) => objects);
  const upsert = taken.loads.find(({ identity }) => identity);
  if (fields.merge !== undefined) {
    const prepare = service.workers.prepareRecords(ruleOf(fields));
    return { ...change, note: withoutMeta(note), what: 'merge', child: fields.merge, prepare };
  }
  if (upsert?.identity) {
    if (taken.loads.length > 1 || fields.delete || fields.update)
      throw new LakeError('transaction-commit', { given: 'a staged upsert with others' }, { within: label });
    const prepare = service.workers.prepareUpsert([...upsert.objects, ...upsert.gone], upsert.identity);
    const { identity } = upsert;
    const told = { ...note, terms: { ...terms, identity } };
    return { ...change, note: told, what: 'rewrite', cause: 'upsert', brings, prepare };
  }
  if (fields.delete?.where) {
    const prepare = service.workers.prepareDelete(fields.delete.where, visible, warn);
    return { ...change, note, what: 'rewrite', cause: 'delete where', brings, prepare };
  }
  if (fields.update?.where) {
    const { where, put } = fields.update;
    const prepare = service.workers.prepareUpdate({ where, put }, visible, warn);
    return { ...change, note, what: 'rewrite', cause: 'update', brings, prepare };
  }
  return { ...change, note, what: 'load', objects: brings };
};
const ruleOf = ({ fields, resolve }: Wanted['fields']): RecordRule => ({
  ...(fields === 'T' && { fields: true }),
  ...(resolve && { resolve }),
});
/** A commit's id may stand without quotes. */
const spelledTips = (text: string | undefined): string | undefined =>
  text !== undefined && /^\w+$/.test(text) ? `"${text}"` : text;

/** Makes them with the staged loads that they name, which are as before where it comes to nothing. */
const transacted = async (
  call: Asking,
  all: readonly Wanted[],
  noted: CommitNote,
  retryOf: (index: number) => Retry | undefined,
): ReturnType<Call['service']['lake']['transact']> => {
  const { service, reply } = call;
  const warnings: string[] = [];
  const taken: TakenLoads[] = [];
  let made: Id | undefined;
  try {
    for (const { label, pool, branch, fields } of all)
      taken.push(within(label, () => service.staged.take(fields.load ?? [], pool.config, branch)));
    const warn = (texts: readonly string[]): void => {
      warnings.push(...texts);
      reply.header('warning', warningHeader([...new Set(warnings)]));
    };
    const changes = all.map((one, i) =>
      within(one.label, () => changeOf(call, one, { noted, retry: retryOf(i), taken: taken[i], warn })),
    );
    const result = await service.lake.transact(changes);
    made = result.transaction;
    return result;
  } finally {
    for (const one of taken) one.settle(made);
  }
};

export const transactionRoutes: readonly Route[] = [
  route({
    id: 'transact',
    tag: 'Data',
    method: 'POST',
    path: '/transaction',
    summary: 'Make commits in several pools, all or none',
    need: 'known',
    writes: true,
    description:
      'Loads that were staged (`POST /pool/{pool}/branch/{branch}?stage=T`), deletes, updates and merges, one commit for each of the branches that they name, each with its own condition; it takes the role writer on every pool. Either all of them are there, on disk, or none. Each pool has one event a commit, with the same `transaction_id`. A query that reads several pools sees all of a transaction or nothing, and `from p@ID` is what it made of pool p. Deletes, updates and merges see what was there before. Errors begin with the place of the commit that they are about: `commits[1]: ..`. Staged loads of a transaction that comes to nothing stay until their hour is over.',
    body: Transaction,
    takes: ['SuperDB-Commit', 'Idempotency-Key'],
    examples: {
      'Two pools': {
        commits: [
          { pool: 'orders', load: ['5b7d1c9e-3c53-4a5c-9d0b-5a3d1a0b7c11'] },
          { pool: 'stock', update: { where: 'id==7', put: 'left:=left-1' } },
        ],
      },
    },
    answers: {
      200: {
        text: 'The commits.',
        value: TransactionResult,
        example: {
          transaction: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066',
          commits: [
            {
              pool: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9000',
              branch: 'main',
              commit: '0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066',
            },
          ],
        },
      },
    },
    errors: [
      ...commitErrors,
      ...rewriteErrors,
      ...combineErrors,
      ...readErrors,
      'auth-role',
      'transaction-none',
      'transaction-large',
      'transaction-commit',
      'transaction-twice',
      'transaction-overtaken',
      'transaction-empty',
      'stage-unknown',
      'stage-elsewhere',
      'stage-taken',
      'delete-where-invalid',
      'update-where-invalid',
      'update-put-invalid',
      'update-error',
      'upsert-identity-other',
      'upsert-large',
      'query-invalid',
      'merge-empty',
      'merge-conflict',
      'merge-records',
      'records-vacuumed',
    ],
    handler: async (call) => {
      const { request, reply, response, audit } = call;
      const noted = commitNote(request.headers);
      const all = wantedOf(call, (await call.body()).commits ?? []);
      const result = await transactOnce(call, all.length, (retryOf) => transacted(call, all, noted, retryOf));
      const made =
        'before' in result
          ? {
              transaction: result.before[0],
              commits: all.map(({ pool, branch }, i) => ({ pool: pool.config.id, branch, commit: result.before[i] })),
            }
          : result;
      for (const change of made.commits) audit?.changed(change);
      return sendValue(reply, transactionValue(made), response);
    },
  }),
];
