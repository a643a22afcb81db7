/**
 * The shapes of requests and answers as JSON schemas. Those of bodies and parameters are what the routes read them by
 * (bodies/fields.ts, parameters.ts); those of answers say how records.ts writes its values in JSON. A schema with an
 * `$id` is a component of the document.
 *
 * `format`s of our own: `superql` (the text of a query), `superql-filter` (a filter expression), `sup` (text of SUP
 * values), `lake-id` (an id), `lake-object` (one of a data object).
 */
import { type TSchema, Type } from 'typebox';
import { objectIdFormat, pathsFormat } from './bodies/fields.ts';

/** Integers that a JSON number of JavaScript holds exactly. */
const integerMax = Number.MAX_SAFE_INTEGER;
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const array = <T extends TSchema>(schema: T, options: Record<string, unknown> = {}) => Type.Array(schema, options);
const count = (description: string): TSchema => Type.Integer({ minimum: 0, description });

/** An id as answers spell it. */
export const Id = Type.String({
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
const Time = Type.String({
  $id: 'Time',
  pattern: '^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$',
  description: 'A time in UTC, to the nanosecond.',
});

const keyPath = array(Type.String(), { description: 'Path of a field: names, outermost first.' });
const layout = Type.Object({
  order: Type.Enum(['asc', 'desc']),
  keys: array(keyPath, { description: 'What records are kept in order by.' }),
});
/** A pool in answers. */
export const Pool = Type.Object(
  {
    ts: Time,
    name: Type.String({ description: 'Unique in the lake.' }),
    id: Id,
    layout,
    seek_stride: Type.Integer({ description: 'Bytes.' }),
    threshold: Type.Integer({ description: 'Bytes: about where a load cuts its data objects.' }),
  },
  { $id: 'Pool', description: 'A pool: records of any shape, with branches.' },
);
/** A branch in answers. */
export const Branch = Type.Object(
  { ts: Time, name: Type.String(), commit: Id },
  { $id: 'Branch', description: 'A branch; `commit` is all zeros while it has none.' },
);
const whoMay = (what: string) =>
  Type.Union([Type.Literal('writer'), Type.Literal('admin'), Type.Literal('nobody')], {
    description: `Who may ${what}. Default \`writer\`.`,
  });
const protection = {
  load: whoMay('load into it'),
  delete: whoMay('delete its records'),
  merge: whoMay('merge another branch into it'),
  reset: whoMay('reset it, revert its commits or delete it'),
};
/** The answer of `GET /pool/:pool/branch/:branch/protection`. */
export const Protection = Type.Object(protection, {
  $id: 'Protection',
  description: 'Who may change a branch: whoever may write to the pool, its administrators alone, or nobody.',
});
/** The body of `PUT /pool/:pool/branch/:branch/protection`. */
export const NewProtection = Type.Partial(Type.Object(protection), {
  $id: 'NewProtection',
  description: 'What is not named is for whoever may write to the pool.',
});
/** A tag of a pool. */
export const Tag = Type.Object(
  { ts: Time, name: Type.String(), commit: Id },
  { $id: 'Tag', description: 'A name for a commit, given at `ts`, which never moves.' },
);
/** The answer of `GET /pool/:pool/tag`. */
export const TagList = Type.Object({ tags: array(Tag) }, { $id: 'TagList', description: 'The tags of a pool.' });
/** A view at one of its versions. */
export const View = Type.Object(
  {
    ts: Time,
    name: Type.String(),
    id: Id,
    version: Id,
    author: Type.String({ description: 'Who made the version; empty without access control.' }),
    columns: nullable(array(Type.String(), { description: 'Names that its first columns get.' })),
    query: Type.String({ description: 'As it was written.' }),
    index_base: nullable(Type.Integer({ description: 'From where its brackets count, if it was said.' })),
  },
  { $id: 'View', description: 'A query with a name, at a version that was made at `ts`.' },
);
/** The answer of `GET /view`. */
export const ViewList = Type.Object({ views: array(View) }, { $id: 'ViewList', description: 'The views of the lake.' });
/** The answer of `POST /pool`. */
export const CreatedPool = Type.Object(
  { pool: Pool, branch: Branch },
  { $id: 'CreatedPool', description: 'A new pool and its branch `main`.' },
);
/** The answer to a write that made a commit. */
export const CommitResult = Type.Object(
  {
    commit: Id,
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
    rejected: Type.Optional(Id),
  },
  { $id: 'CommitResult', description: 'A commit. `warnings` is an empty array after a load, else null.' },
);
/** The answer to a load with `stage=T`. */
export const Staged = Type.Object(
  {
    id: Type.String({ description: 'Names it in `load` of a transaction.' }),
    records: count('Records of it.'),
    until: Time,
  },
  { $id: 'Staged', description: 'A load that a transaction may commit, once.' },
);
/** What a load of a body would come to. */
export const LoadPreview = Type.Object(
  {
    format: Type.String({ description: 'Name of the format that it is read as.' }),
    why: Type.String({ description: 'What says so.' }),
    doubts: array(Type.String(), { description: 'Why that may be wrong, or the values others than meant.' }),
    type: nullable(Type.String({ description: 'Type of the records that were read, as SUP; a long one is cut.' })),
    records: count('Records that were read for this, 1,000 at most.'),
    complete: Type.Boolean({ description: 'Whether they are known to be all.' }),
    rows: array(Type.String(), { description: 'The first of them, as SUP; long ones are cut.' }),
    fields: array(Type.String(), { description: 'Names of their fields, the first 1,000.' }),
    layout,
    warnings: array(Type.String()),
    fault: nullable(
      Type.String({ description: 'With `cut=T`: what ended the reading, which may be that the body is cut.' }),
    ),
  },
  { $id: 'LoadPreview', description: 'What a load would come to. Nothing was loaded.' },
);
/** The answer of `POST /transaction`. */
export const TransactionResult = Type.Object(
  {
    transaction: Type.Unsafe<string>({
      ...Id,
      description: 'Also the id of its first commit in each pool: `p@ID` is what it made of any of them.',
    }),
    commits: array(Type.Object({ pool: Id, branch: Type.String(), commit: Id }), {
      description: 'In the order in which they were asked for.',
    }),
  },
  { $id: 'TransactionResult', description: 'What a transaction made.' },
);
/** The answer to a bulk request of Elasticsearch's: an item by the name of its operation. */
export const BulkAnswer = Type.Object(
  {
    errors: Type.Boolean({ description: 'Whether any item failed.' }),
    took: Type.Number({ description: 'Milliseconds.' }),
    items: array(
      Type.Record(
        Type.String(),
        Type.Object({
          _index: Type.String(),
          _id: nullable(Type.String()),
          status: Type.Number(),
          result: Type.Optional(Type.String()),
          error: Type.Optional(Type.Object({ type: Type.String(), reason: Type.String() })),
        }),
      ),
    ),
  },
  { $id: 'BulkAnswer' },
);
/** An error as Elasticsearch says it. */
export const ElasticError = Type.Object(
  {
    error: Type.Object({
      root_cause: array(Type.Object({ type: Type.String(), reason: Type.String() })),
      type: Type.String(),
      reason: Type.String(),
    }),
    status: Type.Number(),
  },
  { $id: 'ElasticError' },
);
/** What Splunk's HTTP Event Collector says; `detail` is the service's own. */
export const HecAnswer = Type.Object(
  {
    text: Type.String(),
    code: count("Splunk's number of the text."),
    'invalid-event-number': Type.Optional(count('The event that is wrong, from 0.')),
    detail: Type.Optional(Type.String()),
  },
  { $id: 'HecAnswer' },
);
/** The answer to a write with `dryrun`. */
export const Preview = Type.Object(
  {
    tip: Id,
    adds: array(Id),
    removes: array(Id),
    records_added: Type.Integer(),
    records_removed: Type.Integer(),
    records: Type.Integer({ description: 'By how many the branch would change.' }),
    conflicts: array(Id),
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
/** The answer of `POST /pool/:pool/revision/:revision/vacuum`. */
export const VacuumResult = Type.Object(
  { object_ids: array(Id) },
  { $id: 'VacuumResult', description: 'Data objects that were removed, or would be.' },
);
/** The answer of `GET /pool/:pool/stats`. */
export const PoolStats = Type.Object(
  {
    size: count('Bytes of all data objects of main.'),
    span: nullable(Type.Object({ ts: Time, dur: Type.Integer({ description: 'Nanoseconds.' }) })),
  },
  { $id: 'PoolStats', description: 'Size of main, and the time it spans if its key is a time.' },
);
/** The answer of `GET /pool/:pool/iceberg`. */
export const IcebergTable = Type.Object(
  {
    setting: Type.Enum(['off', 'lazy', 'eager']),
    mapping: Type.Enum(['typed', 'variant']),
    table: Type.String({ description: 'Name of its table in the catalogue, whether there is one or not.' }),
    columns: array(
      Type.Object({
        path: Type.String({ description: 'Of the field in the records; `[element]` and the like in lists and maps.' }),
        type: Type.String({ description: 'What kind of values of the field are there.' }),
        column: Type.String({ description: 'Where they are in the table.' }),
        iceberg: Type.String({ description: 'The type of that column.' }),
        note: Type.Optional(Type.String({ description: 'Why they are there, where that is not plain.' })),
      }),
    ),
  },
  { $id: 'IcebergTable', description: 'A pool as an Iceberg table: where the values of each field are.' },
);
/** The answer of `GET /pool/:pool/identity`. */
export const PoolIdentity = Type.Object(
  {
    identity: array(array(Type.String())),
    check: nullable(
      Type.Object({
        commit: Id,
        state: Type.Enum(['running', 'done', 'failed']),
        double: nullable(count('Identities that several records have.')),
        records: nullable(count('Records that have one of these.')),
        sample: array(
          Type.Object({
            key: Type.Object({}, { additionalProperties: true, description: 'The fields, by their paths.' }),
            count: count('Records with it.'),
          }),
        ),
        error: nullable(Type.String({ description: 'Why it could not be looked at.' })),
      }),
    ),
  },
  {
    $id: 'PoolIdentity',
    description: 'Which fields identify a record, and which records of a commit of `main` have the same ones.',
  },
);
/** The answer of `GET /query/status/:id`. */
export const QueryStatus = Type.Object(
  { error: Type.String({ description: 'Empty if all went well.' }) },
  { $id: 'QueryStatus', description: 'How a query ended.' },
);
/** The answer of `POST /query`. */
export const Rows = Type.Array(Type.Unknown(), { $id: 'Rows', description: 'The rows of a query, in their order.' });
/** The answer of `POST /query/describe`. */
export const QueryDescription = Type.Object(
  {
    sources: array(
      Type.Object({
        kind: Type.Enum(['Null', 'Pool', 'DBMeta', 'Path']),
        name: Type.Optional(Type.String()),
        id: Type.Optional(nullable(Id)),
        meta: Type.Optional(Type.String({ description: 'Of the lake: `pools`, `branches` or `tags`.' })),
        uri: Type.Optional(Type.String()),
      }),
    ),
    channels: array(
      Type.Object({
        name: Type.String(),
        aggregation_keys: nullable(array(keyPath)),
        sort: nullable(array(Type.Object({ order: Type.Enum(['asc', 'desc']), key: keyPath }))),
      }),
    ),
  },
  {
    $id: 'QueryDescription',
    description:
      'The sources that a query reads, and for each of its channels the grouping keys and the order of its rows.',
  },
);
/** The answer of `POST /compile`. */
export const SyntaxTree = Type.Unknown({
  $id: 'SyntaxTree',
  description: "The tree of a query. Its shape is this service's own and may change.",
});
/** The answer of `GET /query/:id`; its states are those of `QueryState` in runs.ts. */
export const QueryProgress = Type.Object(
  {
    request_id: Type.String(),
    state: Type.Enum(['waiting', 'compiling', 'running', 'streaming', 'done', 'failed', 'cancelled']),
    query: Type.String(),
    started: Time,
    elapsed_ms: count('Milliseconds.'),
    records_read: count('By the scans.'),
    bytes_read: count('By the scans.'),
    records_total: nullable(count('What the scans hold, if that is known.')),
    records_sent: count('Rows of the answer.'),
    bytes_sent: count('Bytes of the answer.'),
    records_per_second: count('Read, on average.'),
    bytes_per_second: count('Read, on average.'),
    error: nullable(Type.String()),
  },
  { $id: 'QueryProgress', description: 'How far a query is.' },
);
/** The answer of `GET /load/:id`; its states are those of `LoadState` in runs.ts. */
export const LoadProgress = Type.Object(
  {
    request_id: Type.String(),
    state: Type.Enum([
      'waiting',
      'receiving',
      'sorting',
      'writing',
      'committing',
      'committed',
      'rejected',
      'cancelled',
    ]),
    pool: Type.String(),
    branch: Type.String(),
    started: Time,
    elapsed_ms: count('Milliseconds.'),
    bytes_received: count('Of the body.'),
    bytes_total: nullable(count('Length of the body, if the client said it.')),
    records: count('Read from the body.'),
    records_per_second: count('On average.'),
    bytes_per_second: count('On average.'),
    commit: nullable(Id),
    error: nullable(Type.String()),
  },
  { $id: 'LoadProgress', description: 'How far a load is.' },
);
/** The answer of `GET /auth/method`. */
export const AuthMethod = Type.Object(
  {
    kind: Type.Enum(['', 'auth0', 'key']),
    auth0: nullable(Type.Object({ audience: Type.String(), client_id: Type.String(), domain: Type.String() })),
  },
  {
    $id: 'AuthMethod',
    description: 'How one says who one is: with a token of an issuer (`auth0`), with a key (`key`), or not at all.',
  },
);
/** The answer of `GET /auth/identity`. */
export const Identity = Type.Object(
  {
    tenant_id: Type.String(),
    user_id: Type.String(),
    roles: Type.Optional(array(Type.String(), { description: 'Such as `writer`, or `reader:POOL`.' })),
  },
  { $id: 'Identity', description: 'Who one is, and what one may do.' },
);
/** The answer of `GET /version`. */
export const Version = Type.Object({ version: Type.String() }, { $id: 'Version' });

const sums = {
  objects: count('Data objects.'),
  records: count('Records in them.'),
  bytes: count('Their size, encoded.'),
};
const GraphSums = Type.Object(sums, { $id: 'ObjectSums', description: 'Data objects in sum.' });
/** The answer of `GET /pool/:pool/revision/:revision/sums`. */
export const Sums = Type.Object(
  { commit: Id, ...sums },
  { $id: 'RevisionSums', description: 'What a branch or commit holds.' },
);
/** The answer of `GET /pool/:pool/graph`: a page of commits. */
export const Graph = Type.Object(
  {
    commits: array(
      Type.Object({
        id: Id,
        parents: array(Id, {
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
    next: array(Id, { description: 'Where to go on from; empty at the end.' }),
  },
  { $id: 'Graph', description: 'Commits, the newest first.' },
);

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

// Bodies of requests.

const poolName = (description: string) =>
  Type.String({
    minLength: 1,
    not: { enum: ['HEAD', '.', '..'] },
    description: `${description} At most 65,536 bytes (option \`-name.max\`). Not \`HEAD\`, \`.\` or \`..\`.`,
  });
/** Its key paths may be null, as the reference's clients send them. */
const keys = Type.Union([
  Type.Array(Type.Array(Type.String()), {
    description: 'Default `[["ts"]]`. The first key also leads the search for the objects that a query needs.',
  }),
  Type.Null(),
]);
const iceberg = Type.String({
  enum: ['off', 'lazy', 'eager'],
  description:
    'Whether the pool is an Iceberg table: `off` (default) not; `lazy`: its files are made when an engine asks for the table; `eager`: after each commit.',
});
const icebergMapping = Type.String({
  enum: ['typed', 'variant'],
  description:
    'Where a table has fields of several kinds of values: `typed` (default): each kind in a column of its own; `variant`: in one column of variants, for engines that read format version 3. Another mapping is another table, whose files are made then.',
});
const identity = Type.Union([
  Type.Array(Type.Array(Type.String()), {
    format: pathsFormat,
    maxItems: 16,
    description:
      'Paths of the fields that tell records apart, such as `[["id"]]`; empty: none, records are compared as whole values. Merges, reverts and picks then go by these fields. Loads do not look at it: what is double is reported.',
  }),
  Type.Null(),
]);
/** The body of `POST /pool`. */
export const NewPool = Type.Object(
  {
    name: poolName('Unique in the lake.'),
    layout: Type.Optional(
      Type.Object({
        order: Type.Optional(
          Type.String({ pattern: '^([aA][sS][cC]|[dD][eE][sS][cC])$', description: '`asc` (default) or `desc`.' }),
        ),
        keys: Type.Optional(keys),
      }),
    ),
    thresh: Type.Optional(
      Type.Integer({
        format: 'int64',
        minimum: 0,
        maximum: integerMax,
        description: 'Bytes: about where a load cuts its data objects. 0: the default, 524288000.',
      }),
    ),
    seek_stride: Type.Optional(
      Type.Integer({ minimum: 0, maximum: integerMax, description: 'Bytes. 0: the default, 65536.' }),
    ),
    iceberg: Type.Optional(iceberg),
    iceberg_mapping: Type.Optional(icebergMapping),
    identity: Type.Optional(identity),
  },
  { $id: 'NewPool' },
);
/** The body of a merge, a revert or a pick. */
export const Settlement = Type.Object(
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
/** The body of `PUT /pool/:pool`. */
export const PoolChange = Type.Object(
  {
    name: Type.Optional(poolName('Unique in the lake.')),
    iceberg: Type.Optional(iceberg),
    iceberg_mapping: Type.Optional(icebergMapping),
    identity: Type.Optional(identity),
  },
  { $id: 'PoolChange', minProperties: 1 },
);
/** The body of `POST /pool/:pool`. */
export const NewBranch = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      not: { enum: ['.', '..'] },
      description:
        'Unique among the branches and tags of the pool. At most 65,536 bytes (option `-name.max`). Not `.` or `..`.',
    }),
    commit: idText,
  },
  { $id: 'NewBranch', description: 'A branch at a commit; the zero id is where an empty `main` is.' },
);
/** The body of `PUT /pool/:pool/branch/:branch`. */
export const Reset = Type.Object(
  { commit: idText },
  { $id: 'Reset', description: 'Where a branch is to be; the zero id empties it.' },
);
/** The body of `POST /pool/:pool/tag`. */
export const NewTag = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      not: { enum: ['.', '..'] },
      description:
        'Unique among the branches and tags of the pool. At most 65,536 bytes (option `-name.max`). Not `.` or `..`.',
    }),
    commit: idText,
  },
  { $id: 'NewTag', description: 'A name for a commit.' },
);
const viewName = Type.String({
  minLength: 1,
  not: { enum: ['HEAD', '.', '..'] },
  description:
    'Unique among the pools and views of the lake. At most 65,536 bytes (option `-name.max`). Not `HEAD`, `.` or `..`.',
});
/** Of a text in SuperSQL or SQL. */
const indexBase = Type.Optional(
  nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1,
      description:
        'From where brackets count where the text has no `pragma index_base`. Default: option `-index.base`.',
    }),
  ),
);
const viewText = {
  query: Type.String({
    format: 'superql',
    minLength: 1,
    description: 'SuperSQL or SQL; it may read views, and not load.',
  }),
  columns: Type.Optional(nullable(array(Type.String(), { description: 'Names that its first columns get.' }))),
  index_base: indexBase,
};
/** The body of `POST /view`. */
export const NewView = Type.Object(
  { name: viewName, ...viewText },
  { $id: 'NewView', description: 'A query and its name.' },
);
/** The body of `PUT /view/:view`. */
export const ViewText = Type.Partial(Type.Object({ ...viewText, name: viewName }), {
  $id: 'ViewText',
  description: 'Another query, or another name.',
  oneOf: [{ required: ['query'] }, { required: ['name'] }],
});
/** Ids as the lake's own sources give them, too. */
const objectId = Type.String({
  pattern: `^${idPattern}$`,
  format: objectIdFormat,
  description:
    '`0x` and 40 hexadecimal digits, or 27 characters of base 62; or 20 bytes, in SUP `0x1785...` without quotes',
});
/** The body of `POST /pool/:pool/branch/:branch/delete`. */
export const Deletion = Type.Object(
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
export const Update = Type.Object(
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
/** One commit of a transaction. */
export const TransactionCommit = Type.Object(
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
export const Transaction = Type.Object(
  {
    commits: Type.Array(Type.Unsafe<string>(TransactionCommit), {
      minItems: 1,
      maxItems: 256,
      description: 'Each for another branch, of any pools.',
    }),
  },
  { $id: 'Transaction', description: 'Commits that are made all, or not at all.' },
);
/** The body of `POST /pool/:pool/branch/:branch/compact`. */
export const Compaction = Type.Object({ object_ids: Type.Array(objectId, { minItems: 2 }) }, { $id: 'Compaction' });
/** The body of `POST` and `DELETE` of `/pool/:pool/revision/:revision/vector`: objects whose marker comes or goes. */
export const ObjectIds = Type.Object(
  { object_ids: Type.Optional(nullable(Type.Array(objectId))) },
  { $id: 'ObjectIds' },
);
/** The body of `POST /query`, `/query/describe` and `/compile`. */
export const QueryRequest = Type.Object(
  {
    query: Type.Optional(
      Type.String({ format: 'superql', description: 'SuperSQL or SQL. Without it all data of `head` comes.' }),
    ),
    head: Type.Optional(
      nullable(
        Type.Object({
          pool: Type.Optional(
            nullable(Type.String({ description: 'Pool to query, by id or name, if the text names none.' })),
          ),
          branch: Type.Optional(
            nullable(
              Type.String({
                description:
                  'Default `main`. Of a pool that the text names without a branch too: of `pool`, or of any where there is no `pool`.',
              }),
            ),
          ),
        }),
      ),
    ),
    index_base: indexBase,
  },
  {
    $id: 'QueryRequest',
    description: 'A text, or a pool, or both.',
    anyOf: [
      { required: ['query'], properties: { query: { minLength: 1 } } },
      {
        required: ['head'],
        properties: {
          head: { type: 'object', required: ['pool'], properties: { pool: { type: 'string', minLength: 1 } } },
        },
      },
    ],
  },
);

// Data of events.

/** Data of events about a pool as a whole. */
const PoolEvent = Type.Object({ pool_id: Id }, { $id: 'PoolEvent' });
const BranchEvent = Type.Object({ pool_id: Id, branch: Type.String() }, { $id: 'BranchEvent' });
const ResetEvent = Type.Object({ commit_id: Id, pool_id: Id, branch: Type.String() }, { $id: 'ResetEvent' });
const CommitEvent = Type.Object(
  {
    commit_id: Id,
    pool_id: Id,
    branch: Type.String({ description: 'The branch that moved.' }),
    parent: Type.String({ description: 'After a merge the branch that was merged into, else empty.' }),
    child: Type.Optional(Type.String({ description: 'After a merge what was merged: a branch, a tag or a commit.' })),
    transaction_id: Type.Optional(Type.Unsafe<string>({ ...Id, description: 'The transaction that it is part of.' })),
  },
  { $id: 'CommitEvent' },
);
const TagEvent = Type.Object({ commit_id: Id, pool_id: Id, tag: Type.String() }, { $id: 'TagEvent' });
const TagDeleted = Type.Object({ pool_id: Id, tag: Type.String() }, { $id: 'TagDeleted' });
const ViewEvent = Type.Object({ version_id: Id, view_id: Id, view: Type.String() }, { $id: 'ViewEvent' });
const ViewDropped = Type.Object({ view_id: Id, view: Type.String() }, { $id: 'ViewDropped' });
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
