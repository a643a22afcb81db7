/**
 * Shapes of requests and answers as JSON schemas: those that several resources share; others stand with their routes.
 * Those of bodies and parameters are what the routes read them by (bodies/fields.ts, parameters.ts); those of answers
 * say how the values of `bodies/records.ts` are written in JSON. A schema with an `$id` is a component of the document.
 *
 * `format`s of our own: `superql` (the text of a query), `superql-filter` (a filter expression), `sup` (text of SUP
 * values), `lake-id` (an id), `lake-object` (one of a data object).
 */
import { type TSchema, Type } from 'typebox';
import { objectIdFormat } from './bodies/fields.ts';

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const array = <T extends TSchema>(schema: T, options: Record<string, unknown> = {}) =>
  Type.Array(schema, options);
export const count = (description: string): TSchema => Type.Integer({ minimum: 0, description });

/** An id as answers spell it. */
export const ShownId = Type.String({
  $id: 'Id',
  pattern: '^0x[0-9a-f]{40}$',
  description: 'Id of a pool, commit or data object: `0x` and 40 hexadecimal digits.',
});
/**
 * An id as requests may spell it. The first digit of 27 in base 62 cannot be a small letter: that would be more than 20
 * bytes.
 */
export const idPattern = '(0x[0-9a-fA-F]{40}|[0-9A-Z][0-9A-Za-z]{26})';
/** The same as a schema. */
export const idText = Type.String({
  pattern: `^${idPattern}$`,
  format: 'lake-id',
  description: '`0x` and 40 hexadecimal digits, or 27 characters of base 62',
});
/** The name that a new branch or tag gets. */
export const newName = Type.String({
  minLength: 1,
  not: { enum: ['.', '..'] },
  description:
    'Unique among the branches and tags of the pool. At most 65,536 bytes (option `-name.max`). Not `.` or `..`.',
});

export const Time = Type.String({
  $id: 'Time',
  pattern: '^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$',
  description: 'A time in UTC, to the nanosecond.',
});

export const keyPath = array(Type.String(), { description: 'Path of a field: names, outermost first.' });
export const layout = Type.Object({
  order: Type.Enum(['asc', 'desc']),
  keys: array(keyPath, { description: 'What records are kept in order by.' }),
});
/** The answer to a write that made a commit. */
export const CommitResult = Type.Object(
  {
    commit: ShownId,
    warnings: nullable(array(Type.String())),
    hint: Type.Optional(Type.String({ description: 'Of a load: what was perhaps meant.' })),
    records: Type.Optional(count('Of a load with `errors`: records that were loaded.')),
    faulty: Type.Optional(count('Of a load with `errors`: records that could not be read.')),
    faults: Type.Optional(
      array(
        Type.Object({
          line: count('Line on which it begins.'),
          column: count('Byte of that line at which it begins, from 1.'),
          error: Type.String({ description: 'What the load would have been refused with.' }),
          raw: Type.String({ description: 'Its text, of at most 4,096 bytes.' }),
          bytes: count('Bytes of all of it.'),
        }),
        { description: 'Of a load with `errors`: the first 100 faulty records.' },
      ),
    ),
    rejected: Type.Optional(ShownId),
  },
  { $id: 'CommitResult', description: 'A commit. `warnings` is an empty array after a load, else null.' },
);
/** The answer of `POST /query`. */
export const Rows = Type.Array(Type.Unknown(), { $id: 'Rows', description: 'The rows of a query, in their order.' });

/** The error body; `kind` is narrowed where it is used. */
export const ErrorBody = Type.Object(
  {
    type: Type.Literal('Error'),
    kind: Type.String(),
    error: Type.String({ description: 'What is wrong, for people.' }),
    compilation_errors: Type.Optional(
      array(
        Type.Object({
          Msg: Type.String(),
          Pos: Type.Integer({ description: 'Byte of the query text.' }),
          End: Type.Integer({ description: 'Last byte, or -1.' }),
        }),
        { description: 'Of a query text.' },
      ),
    ),
    hint: Type.Optional(Type.String({ description: 'What to write instead.' })),
    commit: Type.Optional(
      Type.String({
        pattern: '^0x[0-9a-f]{40}$',
        description: 'Where the branch is, when it is not where If-Match said.',
      }),
    ),
    version: Type.Optional(
      Type.String({
        pattern: '^0x[0-9a-f]{40}$',
        description: 'The version of the view, when it is not one that If-Match said.',
      }),
    ),
  },
  { $id: 'Error', description: 'Why a request was not done. It is JSON whatever the client accepts.' },
);

/** The same for clients that accept `application/problem+json` (RFC 9457). */
export const ProblemBody = Type.Object(
  {
    type: Type.String({ description: 'Where the manual describes it, or about:blank.' }),
    title: Type.String({ description: 'What `kind` says in the other form.' }),
    status: Type.Integer(),
    detail: Type.String({ description: 'What is wrong, for people.' }),
    instance: Type.String({ description: 'The X-Request-ID as a URN.' }),
  },
  { $id: 'Problem', description: 'An error, with what it has besides: for who asks for it by `Accept`.' },
);

/** What a commit says of itself. Letter case of the names does not matter; others are not looked at. */
export const CommitMessage = Type.Union(
  [
    Type.Object({
      author: Type.Optional(nullable(Type.String())),
      body: Type.Optional(nullable(Type.String({ description: 'The message; without one the service writes one.' }))),
      meta: Type.Optional(
        nullable(
          Type.String({
            format: 'sup',
            description: 'One SUP value, kept with the commits of loads, deletes by filter and compactions.',
          }),
        ),
      ),
    }),
    Type.Null(),
  ],
  { $id: 'CommitMessage' },
);
/** A `SuperDB-Commit` header, for the document. */
export const commitMessageExample = { author: 'ann', body: 'the films of 2026', meta: '{run:17}' };
/** Its key paths may be null, as the reference's clients send them. */
export const keys = Type.Union([
  Type.Array(Type.Array(Type.String()), {
    description: 'Default `[["ts"]]`. The first key also leads the search for the objects that a query needs.',
  }),
  Type.Null(),
]);
/** Of a text in SuperSQL or SQL. */
export const indexBase = Type.Optional(
  nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1,
      description:
        'From where brackets count where the text has no `pragma index_base`. Default: option `-index.base`.',
    }),
  ),
);
/** Ids as the lake's own sources give them, too. */
export const objectId = Type.String({
  pattern: `^${idPattern}$`,
  format: objectIdFormat,
  description:
    '`0x` and 40 hexadecimal digits, or 27 characters of base 62; or 20 bytes, in SUP `0x1785...` without quotes',
});

// Data of events.

/** Data of events about a pool as a whole. */
const PoolEvent = Type.Object({ pool_id: ShownId }, { $id: 'PoolEvent' });
const BranchEvent = Type.Object({ pool_id: ShownId, branch: Type.String() }, { $id: 'BranchEvent' });
const ResetEvent = Type.Object({ commit_id: ShownId, pool_id: ShownId, branch: Type.String() }, { $id: 'ResetEvent' });
const CommitEvent = Type.Object(
  {
    commit_id: ShownId,
    pool_id: ShownId,
    branch: Type.String({ description: 'The branch that moved.' }),
    parent: Type.String({ description: 'After a merge the branch that was merged into, else empty.' }),
    child: Type.Optional(Type.String({ description: 'After a merge what was merged: a branch, a tag or a commit.' })),
    transaction_id: Type.Optional(
      Type.Unsafe<string>({ ...ShownId, description: 'The transaction that it is part of.' }),
    ),
  },
  { $id: 'CommitEvent' },
);
const TagEvent = Type.Object({ commit_id: ShownId, pool_id: ShownId, tag: Type.String() }, { $id: 'TagEvent' });
const TagDeleted = Type.Object({ pool_id: ShownId, tag: Type.String() }, { $id: 'TagDeleted' });
const ViewEvent = Type.Object({ version_id: ShownId, view_id: ShownId, view: Type.String() }, { $id: 'ViewEvent' });
const ViewDropped = Type.Object({ view_id: ShownId, view: Type.String() }, { $id: 'ViewDropped' });
/** By name: the interface's, and what SuperDB v0.2.0 calls it. */
export const eventTable = {
  'pool-new': { data: PoolEvent, superdb: 'pool-new', when: 'a pool was made' },
  'pool-update': { data: PoolEvent, superdb: 'pool-update', when: 'a pool has a new name or setting' },
  'pool-delete': { data: PoolEvent, superdb: 'pool-delete', when: 'a pool was deleted' },
  'pool-commit': {
    data: CommitEvent,
    superdb: 'branch-commit',
    when: 'a branch has a new commit: load, delete, merge, revert, compact',
  },
  'branch-update': {
    data: BranchEvent,
    superdb: 'branch-update',
    when: 'a branch was made, or its protection was changed',
  },
  'branch-delete': { data: BranchEvent, superdb: 'branch-delete', when: 'a branch was deleted' },
  'branch-reset': { data: ResetEvent, superdb: 'branch-reset', when: 'a branch was moved to another commit' },
  'tag-new': { data: TagEvent, superdb: 'tag-new', when: 'a tag was made' },
  'tag-delete': { data: TagDeleted, superdb: 'tag-delete', when: 'a tag was deleted' },
  'view-new': { data: ViewEvent, superdb: 'view-new', when: 'a view was made' },
  'view-update': { data: ViewEvent, superdb: 'view-update', when: 'a view has a new version' },
  'view-delete': { data: ViewDropped, superdb: 'view-delete', when: 'a view was dropped' },
} as const;
