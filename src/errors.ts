/**
 * Every error that the service can answer, by code. A row has the HTTP status, the kind that the error body names and
 * the text; `{name}` in a text stands for a parameter. Texts that clients know from the reference are kept to the
 * letter.
 *
 * Bad values are no errors of this kind: they become error values in vectors. Our own mistakes end in an assert.
 */

/** What an error body names as its `kind`. */
type ErrorKind =
  | 'invalid operation'
  | 'item does not exist'
  | 'conflict with pending operation'
  | 'missing authentication credentials'
  | 'other error'
  | 'gone'
  | 'precondition failed'
  | 'payload too large'
  | 'overloaded'
  | 'storage full';

/**
 * `ours`: parameters whose text is the service's own, never a client's. Others are not logged. `traceless`: strangers
 * provoke it as often as they like, so that it is made without a stack, which takes as long as all else of it.
 */
interface ErrorRow {
  readonly status: number;
  readonly kind: ErrorKind;
  readonly text: string;
  readonly ours?: readonly string[];
  readonly traceless?: boolean;
}

const bad = (text: string, status = 400): ErrorRow => ({ status, kind: 'invalid operation', text });
const toStrangers = (text: string, status = 400): ErrorRow => ({ ...bad(text, status), traceless: true });
const absent = (text: string): ErrorRow => ({ status: 404, kind: 'item does not exist', text });
const conflict = (text: string): ErrorRow => ({ status: 409, kind: 'conflict with pending operation', text });
const unknownCaller = (text: string): ErrorRow => ({ status: 401, kind: 'missing authentication credentials', text });
const internal = (text: string, ...ours: readonly string[]): ErrorRow => ({
  status: 500,
  kind: 'other error',
  text,
  ours,
});

/** The errors by code. */
export const errorTable = {
  // lake
  'pool-not-found': absent('{pool}: pool not found'),
  'pool-exists': conflict('{pool}: pool already exists'),
  'shipment-again': { status: 503, kind: 'overloaded', text: 'not loaded, send it again: {fault}' },
  'pools-many': {
    status: 507,
    kind: 'storage full',
    text: '{pool}: not created on demand: the lake has {count} pools (option -ingest.pools.max is {limit})',
  },
  'view-exists': conflict('{view}: view already exists'),
  'view-not-found': absent('{view}: view not found'),
  'view-moved': {
    status: 412,
    kind: 'precondition failed',
    text: 'If-Match does not match: the view {view} is at version {version}',
  },
  'branch-not-found': absent('"{branch}": branch not found'),
  'branch-exists': conflict('{pool}/{branch}: branch already exists'),
  'asof-malformed': bad('{time}: expected an RFC 3339 time, e.g. 2026-11-01T00:00:00Z'),
  'asof-absent': absent('"{branch}": there was no such branch or tag at {time}'),
  'tag-not-found': absent('"{tag}": tag not found'),
  'tag-exists': conflict('{pool}/{tag}: tag already exists'),
  'branch-protected': bad(
    'branch "{branch}" is protected: it is for {who} to {verb} it{why} (PUT /pool/POOL/branch/BRANCH/protection)',
    403,
  ),
  'protection-invalid': bad('protection: {verb} is for "{who}": expected writer, admin or nobody'),
  'tag-fixed': conflict('"{tag}" is a tag, which never moves: make a branch at its commit and write to that'),
  'commit-not-found': absent('commit not found: {id}'),
  'commit-file-missing': absent('file does not exist'),
  'object-not-found': absent('{id}: commit object not found'),
  'diff-no-fork': bad(
    'branch "{branch}" has no fork, since the pool has no branch "main": name a base to compare with',
  ),
  'merge-empty': conflict('error merging "{child}" into "{target}": difference is empty'),
  'merge-conflict': conflict(
    'error merging "{child}" into "{target}": both changed the same data objects since their common ancestor: {objects}',
  ),
  'merge-records': conflict(
    'error merging "{child}" into "{target}": records in conflict, since both sides changed them: {count}',
  ),
  'records-vacuumed': conflict(
    '{fault}; their records cannot be compared, since data objects of the common state before were vacuumed: {objects}',
  ),
  'revert-records': conflict(
    'commit {id} cannot be reverted: records in conflict, since they were changed again: {count}',
  ),
  'pick-empty': conflict('nothing to pick: the branch has it all'),
  'pick-conflict': conflict(
    'commit {id} cannot be picked: it and the branch changed the same data objects in different ways: {objects}',
  ),
  'pick-records': conflict(
    'commit {id} cannot be picked: records in conflict, since the branch changed them too: {count}',
  ),
  'pick-vacuumed': conflict('commit {id} cannot be picked: data objects that it changed were vacuumed: {objects}'),
  'pick-range': bad('range {range}: expected the id of a commit of the pool, or two as in A..B'),
  'revert-empty': conflict('revert commit is empty'),
  'revert-conflict': conflict(
    'commit {id} cannot be reverted: the data objects it added were rewritten since or deleted: {objects}',
  ),
  'revert-rewritten': conflict(
    'commit {id} cannot be reverted: the branch has rows of the data objects it deleted, rewritten since: {objects}',
  ),
  'revert-vacuumed': conflict('commit {id} cannot be reverted: its data objects were vacuumed: {objects}'),
  'combine-overtaken': conflict(
    'branch "{branch}": gave up after {attempts} attempts: others wrote to it meanwhile; try again',
  ),
  'rewrite-overtaken': conflict(
    'branch "{branch}": gave up after {attempts} conflicts with concurrent writes: data objects {objects} were replaced',
  ),
  'transaction-overtaken': conflict(
    'transaction: gave up after {attempts} attempts: others wrote to its branches meanwhile; try again',
  ),
  'transaction-twice': bad('{pool}/{branch}: two commits of one transaction on the same branch'),
  'transaction-none': bad('commits is empty: expected at least one commit'),
  'transaction-large': {
    status: 413,
    kind: 'payload too large',
    text: 'commits: a transaction has at most {limit} commits, got {count}',
  },
  'transaction-commit': bad(
    'expected load, delete or update, load with one of the two, one staged upsert, or merge; got {given}',
  ),
  'stages-full': {
    status: 503,
    kind: 'overloaded',
    text: 'too much is staged: {count} {what}, of at most {limit}; commit it by a transaction, or drop it (DELETE /load/ID)',
  },
  'stage-unknown': absent(
    'staged load {id} not found: it was committed or dropped, its hour is over, its pool was deleted, or the service was started since',
  ),
  'stage-elsewhere': bad('staged load {id} is for {pool}/{branch}'),
  'stage-taken': conflict('staged load {id} is already part of this or another transaction'),
  'preview-terms': bad('{what} is not supported with dryrun=T, by which nothing is loaded'),
  'preview-cut': bad('cut=T is for a dry run (dryrun=T): a load takes a body as a whole'),
  'stage-terms': bad('{what} is not supported with stage=T: it goes with the transaction'),
  vacuumed: { status: 410, kind: 'gone', text: 'commit {id}: its data objects were vacuumed: {objects}' },
  'vector-exists': conflict('vector exists for {id}: vector add operation aborted'),
  'vector-missing': absent('vector {id} does not exist: vector delete operation aborted'),
  'vector-object-missing': absent('object {id}: file does not exist'),
  'tip-moved': { status: 412, kind: 'precondition failed', text: 'If-Match does not match: the branch is at {tip}' },
  'if-match-invalid': bad('invalid If-Match {value}: expected quoted commit ids or *'),
  'if-match-untaken': bad('If-Match is not supported by {method} {path}'),
  'retry-key-untaken': bad('Idempotency-Key is not supported by {method} {path}: a repeated request would run again'),
  'retry-key-invalid': bad('Idempotency-Key must be 1 to {limit} characters, got {length}'),
  'retry-key-reused': {
    status: 422,
    kind: 'invalid operation',
    text: 'Idempotency-Key {key} was already used for a different request',
  },
  'jobs-full': { status: 503, kind: 'overloaded', text: 'write queue is full: {fault}', ours: ['fault'] },
  'service-recovering': {
    status: 503,
    kind: 'overloaded',
    text: 'service is starting: the lake is being recovered; retry shortly',
  },
  'service-closing': { status: 503, kind: 'overloaded', text: 'service is shutting down' },
  'lake-closing': { status: 503, kind: 'overloaded', text: 'lake is closing' },
  'lake-failed': {
    status: 503,
    kind: 'other error',
    text: 'lake is read-only: storage failed: {fault}',
    ours: ['fault'],
  },
  'lake-locked': {
    status: 503,
    kind: 'other error',
    text: 'lake {directory} is in use by another server ({owner})',
    ours: ['directory', 'owner'],
  },
  'lake-newer': {
    status: 500,
    kind: 'other error',
    text: 'lake {directory} has format version {version}, this server reads up to {versionMax}',
    ours: ['directory'],
  },
  'lake-unreadable': internal('lake {directory} cannot be opened: {fault}', 'directory', 'fault'),
  'repair-forbidden': internal(
    'lake {directory}: nothing was repaired, since this user may not work on all of it: {fault}',
    'directory',
    'fault',
  ),
  'table-corrupt': internal('table {table}, key {key}: {fault}', 'table', 'key', 'fault'),
  'storage-full': { status: 507, kind: 'storage full', text: 'disk is full: {fault}', ours: ['fault'] },
  'store-unreachable': {
    status: 503,
    kind: 'other error',
    text: 'store {store}: {what} failed ({tries} tries): {fault}',
    ours: ['store', 'what', 'fault'],
  },
  'store-refused': {
    status: 503,
    kind: 'other error',
    text: 'store {store}: {what} was refused: {fault}',
    ours: ['store', 'what', 'fault'],
  },
  'store-corrupt': internal('store {store}: {key}: {fault}', 'store', 'key', 'fault'),
  'store-fenced': {
    status: 421,
    kind: 'conflict with pending operation',
    text: 'this service is no longer the writer of {store}: {who} is, since segment {segment}',
    ours: ['store', 'who', 'segment'],
  },
  'replica-write': {
    status: 421,
    kind: 'conflict with pending operation',
    text: 'this service is a replica of {store} and takes no writes: {who} is the writer',
    ours: ['store', 'who'],
  },
  'replica-late': internal(
    'replica of {store}: it is at segment {segment}, and the bucket has no longer the segments after it: restart it',
    'store',
    'segment',
  ),
  'replica-failed': internal(
    'standby of {store}: it put its fence and could not go on: {fault}; start it again, or another one',
    'store',
    'fault',
  ),
  'event-late': {
    status: 504,
    kind: 'overloaded',
    text: 'Lake-After {after}: the lake is at event {last} after {seconds} s (option -after.wait)',
    ours: ['after', 'last', 'seconds'],
  },
  'event-invalid': bad('invalid Lake-After {value}: expected the number of an event'),
  'store-held': internal(
    'store {store}: it has an active writer, {who}: stop that, start this service as its standby (-standby), or take over at once (-store.takeover)',
    'store',
    'who',
  ),
  'standby-none': conflict('this service is no standby: there is nothing to promote (option -standby)'),
  'store-strange': internal(
    'store {store} has lake {lake}, folder {directory} has lake {own}: each lake needs a bucket or prefix of its own (option -store)',
    'store',
    'directory',
    'lake',
    'own',
  ),
  'store-diverged': internal(
    'folder {directory} has records up to {record} that store {store} does not have: {who} has written there since, up to record {last}; move the folder away to go on from the store without them',
    'store',
    'directory',
    'who',
    'record',
    'last',
  ),
  'store-empty': absent('store {store}: there is no lake'),
  'store-unconditional': internal(
    'store {store} does not honor If-None-Match on puts, so two writers could both write: {fault}',
    'store',
    'fault',
  ),
  'spill-full': {
    status: 507,
    kind: 'storage full',
    text: 'disk is full, no room for temporary files: {fault}',
    ours: ['fault'],
  },
  'graph-limit': bad('invalid query param "limit": {value}: expected an integer from 1 to {limit}'),
  'meta-unknown': bad('unknown metadata type "{meta}"'),
  'meta-unknown-lake': bad('unknown database metadata type "{meta}" in from operator'),
  // query
  'query-invalid': bad('{text}'),
  'subquery-rows': bad(
    'query: scalar subquery returns more than one row: add a condition, an aggregate or limit 1, or write array(select ...) for all of them',
  ),
  'recursion-rounds': bad(
    'query: with recursive {name} did not finish within {limit} rounds (option -recursion.rounds.max); add a condition that ends it, or a limit',
  ),
  'recursion-rows': bad(
    'query: with recursive {name} gives more than {limit} rows (option -recursion.rows.max); add a condition that ends it, or a limit',
  ),
  'load-memory': {
    status: 413,
    kind: 'payload too large',
    text: 'load: {operator} needs more than {limit} bytes of memory (option -memory)',
  },
  'load-memory-busy': {
    status: 503,
    kind: 'overloaded',
    text: 'load: {operator} needs memory that others hold at the moment, of {limit} bytes for the loads of a worker (option -memory): send it again',
  },
  'query-cast': bad('query: {cast}: {value} cannot be cast to {type}{advice}'),
  'query-overflow': bad('query: {operation} overflows {type}; as float64 it has a value: write x::double'),
  'query-interval-overflow': bad(
    'query: {operation} overflows interval, whose months and days have 32 bits and whose nanoseconds 64',
  ),
  'query-time-overflow': bad(
    'query: {operation} overflows {type}, which is kept in nanoseconds: times are from 1677-09-21 to 2262-04-11, durations of 106,751 days at most',
  ),
  'query-division': bad('query: {operation}: division by zero; nullif(divisor, 0) and TRY(..) give null there'),
  'query-aggregate': bad(
    'query: {aggregate} takes {wanted}, got {value}; write {aggregate}(x::{type}), or TRY_CAST(x AS {type}) to leave out what is none',
  ),
  'query-interval-sum': bad(
    'query: {aggregate}: an interval with months has no sum: write {aggregate}(interval_length(i)), where a month is thirty days, or avg(i) * count(i)',
  ),
  'query-argument': bad('query: {fault}'),
  'query-memory': {
    status: 413,
    kind: 'payload too large',
    text: 'query: {operator} needs more than {limit} bytes of memory (option -memory)',
  },
  'query-memory-busy': {
    status: 503,
    kind: 'overloaded',
    text: 'query: {operator} needs memory that others hold at the moment, of {limit} bytes for a query (option -memory): send it again',
  },
  'query-string': {
    status: 413,
    kind: 'payload too large',
    text: 'query: {operator} makes a string of {length} characters, at most {limit}',
  },
  // formats
  'format-unknown': bad('no such format: "{format}"'),
  'format-not-read': bad('{format}: this format cannot be read'),
  'format-broken': bad('{format}: {fault}{place}'),
  'not-utf8': bad('{where}: byte {byte} (hex) is no UTF-8 text; without utf8=refuse such bytes are kept'),
  'format-detection': bad('format detection error\n{complaints}'),
  'format-look-ahead': bad('buffer exceeded max size trying to infer input format ({limit} bytes)'),
  'format-memory': {
    status: 413,
    kind: 'payload too large',
    text: '{format}: {what} needs more than {limit} bytes of memory (option -memory)',
  },
  'format-limit': { status: 413, kind: 'payload too large', text: '{format}: {what}: more than {limit} bytes{place}' },
  'write-type': bad('type {type}: type cannot be represented in {format} format'),
  'write-name': bad('field {name}: a name with a tab or a line end cannot be represented in {format} format'),
  'format-too-large': { status: 413, kind: 'payload too large', text: '{format}: {fault}{place}' },
  'write-not-record': bad('{writer} output encountered non-record value: {value}'),
  'write-columns-not-record': bad('{writer}: not a record: {value}'),
  'write-columns-types': bad("{writer}: encountered multiple types (consider 'fuse'): {first} and {other}"),
  'write-columns-unsupported': bad('{writer}: unsupported type: {fault}'),
  'write-columns-value': bad('{writer}: {fault}'),
  'write-not-uniform': bad("{writer} output requires uniform records but multiple types encountered (consider 'fuse')"),
  // data objects and workers
  'object-corrupt': internal('object {id}: {place}: {fault}', 'id'),
  'object-missing': internal('object {id}: file does not exist', 'id'),
  'spill-unwritten': internal('temporary files cannot be written: {fault}', 'fault'),
  'object-unread': internal('object {id}: {place}: read failed: {fault}', 'id', 'fault'),
  'object-unwritten': internal('object {id}: write failed: {fault}', 'id', 'fault'),
  'object-version': internal('object {id}: format version {version}, this server reads up to {versionMax}', 'id'),
  'worker-died': internal('worker thread exited while processing this: {reason}'),
  'worker-replaced': {
    status: 503,
    kind: 'overloaded',
    text: 'worker thread was replaced since another task in it could not be cancelled: retry',
  },
  'worker-tasks-full': {
    status: 503,
    kind: 'overloaded',
    text: 'too many concurrent {tasks}: limit {limit} (option -tasks.max {tasksMax})',
  },
  'workers-closed': { status: 503, kind: 'overloaded', text: 'service is shutting down' },
  'query-cancelled': bad('query was cancelled', 499),
  'load-cancelled': bad('load was cancelled: {reason}', 400),
  'body-pools': {
    status: 429,
    kind: 'overloaded',
    text: '{pool}: request body has records for more than {limit} pools; send the rest again',
  },
  'bulk-operation': bad(
    'bulk: {operation}: pool {pool} has no identity of one field; PUT /pool/{pool} with {"identity": [["id"]]} gives it one',
  ),
  'bulk-retry': bad(
    'Idempotency-Key: pool {pool} has an identity, and what became of items by _id is not kept; send them without it',
  ),
  'hec-event': bad('splunk: {fault} (event {event}, from 0)'),
  'hec-empty': bad('splunk: no events in request'),
  'hec-ack': bad('splunk: acknowledgements are off: an event is on disk when its request is answered'),
  'loki-empty': bad('loki: at least one stream with a line is required', 422),
  'rows-nesting': bad('rows have more than {limit} levels of values within values, which no pool takes'),
  'load-empty': bad('no records in request'),
  'load-all-faulty': bad('none of the {count} records can be read; the first one begins on line {line}: {error}'),
  'load-types': {
    status: 413,
    kind: 'payload too large',
    text: 'load: more than {limit} distinct shapes (option -types.max), reached between values {first} and {last}',
  },
  'load-columns': {
    status: 413,
    kind: 'payload too large',
    text: 'load: more than {limit} columns (option -columns.max), reached between values {first} and {last}',
  },
  'delete-where-invalid': bad('invalid delete where query: must be a single filter operation'),
  'update-incomplete': bad('update: both where and put must be set; where "true" selects every row'),
  'update-where-invalid': bad('invalid where of an update: must be a single filter operation'),
  'update-put-invalid': bad('invalid put of an update: must be assignments such as a:=1, b:=a+1'),
  'update-error': bad('update: {field} would become {value}; nothing was changed'),
  'upsert-identity': bad(
    'upsert: pool {pool} has no identity; PUT /pool/{pool} with {"identity": [["id"]]} says which fields identify a record',
  ),
  'upsert-identity-other': conflict(
    'upsert: its records were read by the identity {read}, and pool {pool} has {now} by now: nothing was changed, load or stage them again',
  ),
  'upsert-delete-none': bad(
    'upsert: nothing to be done: the field {field} is true in all records of the request, and none of them has a value in each field of the identity {identity}, by which it would take others away',
  ),
  'upsert-delete-alone': bad('query param "delete" goes with upsert=T'),
  'merge-into-twice': bad(
    'MERGE INTO: a row of the pool matches several rows of the other table; let the condition or GROUP BY leave one',
  ),
  'upsert-large': {
    status: 413,
    kind: 'payload too large',
    text: 'upsert: the body takes more than {limit} bytes in memory (a share of option -memory); send it in parts, or load it without upsert',
  },
  'transaction-empty': bad('empty transaction: the filter selects no row of the branch'),
  // files of the command line
  'source-glob-empty': bad('no file names match glob pattern'),
  'source-regexp-files': bad('cannot use regular expression with from operator on local file system'),
  'source-meta-files': bad('":{meta}" is lake metadata: files have none'),
  'source-directory': bad('{path}: is a directory'),
  'from-file-refused': bad('{path}: not in a folder that option -from.files allows'),
  'from-file-kind': bad('{path}: not a regular file'),
  'from-file-failed': bad('{path}: {fault}'),
  'from-file-many': bad('{pattern}: more than {limit} files match'),
  'from-http-refused': bad('{url}: not a URL that option -from.http allows'),
  'from-http-malformed': bad(
    '{url}: expected an http or https URL without user, password, backslash or control characters',
  ),
  'from-http-address': bad(
    '{url}: {host} has the address {address}, which is not public (option -from.http allows it if it names the host itself)',
  ),
  'from-http-redirects': bad('{url}: more than {limit} redirects'),
  'from-http-bytes': {
    status: 413,
    kind: 'payload too large',
    text: '{url}: longer than {limit} bytes (option -from.http.max)',
  },
  'from-http-time': bad('{url}: timed out after {limit} ms of waiting (option -from.http.time)'),
  'from-http-failed': bad('{url}: {fault}'),
  'recording-invalid': bad('{file}, line {line}: {fault}'),
  'replay-partial': bad('{file}: cannot be replayed against a lake: {fault}'),
  'scenario-invalid': bad('{file}: {fault}'),
  'load-without-lake': bad('load operator cannot be used without an attached database'),
  // http
  'accept-unknown': bad('could not find supported MIME type in Accept header'),
  'content-type-unknown': bad('unsupported MIME type: {type}'),
  'content-type-malformed': bad('mime: {fault}'),
  'parameter-unknown': bad('unknown query param "{name}": {instead}'),
  'parameter-empty': bad('invalid query param "{name}": empty'),
  'parameter-twice': bad('invalid query param "{name}": given more than once'),
  'parameter-malformed': bad(
    'invalid query param "{name}": {pair}: invalid percent encoding, or a semicolon (write %25, %3B)',
  ),
  'parameter-not-utf8': bad('invalid query param "{name}": 0x{byte} at byte {at} (from 0) is no UTF-8'),
  'parameter-bool': bad('invalid query param "{name}": {value}: expected T or F'),
  'filter-path-long': bad('invalid query param "filter_path": {names} names, more than {limit}'),
  'utf8-rule': bad('invalid query param "utf8": {value}: expected keep or refuse'),
  'errors-rule': bad('invalid query param "errors": {value}: expected refuse, skip or wrap'),
  'errors-format': bad(
    'errors={rule}: in {what} no next record can be found after a faulty one; load it without errors',
  ),
  'rejected-alone': bad('rejected={pool}: only with errors=skip'),
  'rejected-same': bad('rejected={pool}: expected a pool other than the one that is loaded into'),
  'csv-delimiter': bad('invalid query param "csv.delim": {fault}'),
  'csv-dialect': bad('invalid query param "{name}": {value}: {wanted}'),
  'path-id': bad('invalid path param "{name}": invalid ID: {id}'),
  'id-invalid': bad('invalid ID: {id}'),
  'commit-invalid': bad('invalid commit object: {id}'),
  'commit-header': bad('load endpoint encountered invalid JSON in SuperDB-Commit header: {fault}'),
  'commit-meta': bad('invalid commit metadata in request'),
  'body-field-type': bad('incompatible type translation: Super type {type}, Go type {wanted}, Go kind {wanted}'),
  'body-not-record': bad('cannot unmarshal value {value} into Go struct'),
  'body-not-array': bad('unmarshaling type "{type}": not an array'),
  'body-not-utf8': bad('{where}: 0x{byte} at byte {at} (from 0) is no UTF-8'),
  'body-second-value': bad('request body: expected one value, got more'),
  'body-field-twice': bad('request body: {name}: set twice, in a record and by its path'),
  'body-paths': bad(
    '{name}: expected a list of paths, each a list of names, such as [["id"]] or [["a","b"]], not a value of the type {type}',
  ),
  'body-cell': bad('request body: {name}: {fault}'),
  'body-too-long': {
    status: 413,
    kind: 'payload too large',
    text: 'request body: longer than {limit} bytes (option -body.max)',
  },
  'body-expanded': {
    status: 413,
    kind: 'payload too large',
    text: 'request body: {coding}: expands to more than {limit} bytes (option -expanded.max)',
  },
  'transfer-coding-unknown': bad('Transfer-Encoding: unknown coding {coding}, only chunked is supported', 501),
  'host-missing': bad('missing Host header'),
  'expectation-unknown': bad('Expect: unknown expectation {expectation}, only 100-continue is supported', 417),
  'header-twice': bad('{name}: header must not be repeated'),
  'content-coding-unknown': bad('unsupported content coding "{coding}" (supported: {known})'),
  'charset-unknown': bad('Content-Type: unknown charset "{charset}"'),
  'content-coding-count': bad('Content-Encoding: {count} codings, at most {limit}'),
  'order-unknown': bad('unknown order: {order}'),
  'pool-name-missing': bad('pool name is missing'),
  'name-reserved': bad('{what} cannot be named "{name}"'),
  'size-large': bad('{name}: more than 9007199254740991 bytes'),
  'size-negative': bad('{name}: {bytes}: expected a positive number of bytes (0 means the default)'),
  'branch-name-missing': bad('branch name is missing'),
  'tag-name-missing': bad('tag name is missing'),
  'view-name-missing': bad('view name is missing'),
  'view-query-missing': bad('view query is missing: send {"query":"from POOL"}, or {"name":"NAME"} to rename a view'),
  'view-change-both': bad('query and name of a view cannot both be set: it gets another query, or another name'),
  'delete-both': bad('object_ids and where cannot both be set'),
  'delete-preview': bad('dryrun is for deletes by where, not for object_ids'),
  'delete-neither': bad('either object_ids or where must be set'),
  'compact-few': bad('compact: two or more source objects required'),
  'compact-alone': bad('compact: object {object} {is}: two or more source objects required'),
  'window-offset': bad('window: frame offset must be a number that is not negative, got {value}'),
  'window-key': bad(
    'window: the ORDER BY key of RANGE with an offset must be a number, a duration or a time (beside an interval also a time of day such as 12:30:00), got {value}',
  ),
  'query-missing': bad(
    'query text is missing: send {"query":"from POOL"}, or {"head":{"pool":"POOL"}} for all its data',
  ),
  'query-index-base': bad('index_base must be 0 or 1, got {value}'),
  'answer-format-unknown': bad('unknown format {format}: known formats are {known}'),
  'answer-long': {
    status: 413,
    kind: 'payload too large',
    text: 'answer is too long for its length or ranges: more than {limit} bytes (option -answers.max); without Range it is streamed',
  },
  'answer-moved': {
    status: 412,
    kind: 'precondition failed',
    text: 'If-Match {value} does not match: the answer is another one now, or has no such tag',
  },
  'range-none': bad('range {range} is beyond the answer, which has {size} bytes', 416),
  'query-text-missing': bad(
    'parameter query is missing: the text of the query, or GET /pool/POOL/branch/BRANCH/data for all data',
  ),
  'parameter-limit': bad('parameter limit must be a whole number, got {value}'),
  'query-writes': bad('query: {what} changes the lake, which GET must not: send it with POST', 405),
  'query-unknown': bad('query not found'),
  'query-not-running': absent('no running query with id {id}'),
  'query-progress-unknown': absent('no running or recently finished query with id {id}'),
  'load-unknown': absent('no running or recently finished load with id {id}'),
  'load-committed': conflict('load {id} is already committed: {commit}'),
  'query-long': {
    status: 413,
    kind: 'payload too large',
    text: 'query text is too long: {length} characters, at most {limit} (option -query.text.max)',
  },
  'query-time': { status: 503, kind: 'overloaded', text: 'query timed out after {limit} s (option -query.time)' },
  'name-long': bad('{what} name is too long: {length} bytes, at most {limit} (option -name.max)'),
  'body-stalled': {
    status: 408,
    kind: 'other error',
    text: 'request body timed out: no data for {limit} s (option -body.idle)',
  },
  'body-slow': {
    status: 408,
    kind: 'other error',
    text: 'request body is too slow: {rate} bytes/s, at least {limit} while others wait (option -rate.min)',
  },
  'answer-slow': {
    status: 408,
    kind: 'other error',
    text: 'client reads too slowly: {rate} bytes/s, at least {limit} while others wait (option -rate.min)',
  },
  'bodies-full': { status: 503, kind: 'overloaded', text: 'too many unfinished request bodies: limit {limit} bytes' },
  'host-foreign': bad('host {host} is not a name of this machine (option -cors.origin allows others)', 403),
  'origin-foreign': bad(
    'origin {origin}: web pages of another origin are refused (option -cors.origin allows them)',
    403,
  ),
  'auth-missing': unknownCaller('no token present in request'),
  'auth-invalid': unknownCaller('invalid token'),
  'auth-role': bad('{name} lacks permission: requires role {role} on {where}', 403),
  'auth-off': absent('access control is off: there are no sessions'),
  'auth-keys-unavailable': {
    status: 503,
    kind: 'overloaded',
    text: 'signing keys of the token issuer are temporarily unavailable',
  },
  'method-not-allowed': bad('{method} {path}: method not allowed', 405),
  'subscribers-full': {
    status: 503,
    kind: 'overloaded',
    text: 'events: too many subscribers: limit {limit} (option -events.max)',
  },
  'events-gone': { status: 410, kind: 'gone', text: 'events after {id} are no longer available: the latest is {last}' },
  'event-names-unknown': bad('invalid query param "names": {names}: expected superdb'),
  'event-id-invalid': bad('invalid Last-Event-ID {id}'),
  'inspect-off': absent('inspector is disabled (option -inspect)'),
  'feed-not-upgraded': bad('inspector feed requires a WebSocket', 426),
  'watchers-full': {
    status: 503,
    kind: 'overloaded',
    text: 'inspector: too many watchers: limit {limit} (option -inspect.max)',
  },
  'page-missing': absent('{file}: page was not built (npm run build)'),
  // iceberg: the catalogue, its tokens, the bucket
  'iceberg-path-unknown': absent('{path}: not an endpoint of the catalogue'),
  'iceberg-method': bad('{method} {path}: method not allowed', 405),
  'iceberg-warehouse-missing': absent(
    'warehouse {warehouse} does not exist: expected lake, or lake@REF with a branch, tag, commit or time',
  ),
  'iceberg-namespace-missing': absent('namespace {namespace} does not exist: pools are tables of namespace lake'),
  'iceberg-table-missing': absent('table {table} does not exist'),
  'iceberg-view-missing': absent('view {view} does not exist: the catalogue has no views'),
  'iceberg-read-only': bad('{method} {path}: the catalogue is read-only; write to pools with the service itself', 403),
  'iceberg-unsupported': bad('{method} {path}: not supported by this catalogue', 406),
  'iceberg-parameter': bad('invalid query param "{name}": {value}: expected {wanted}'),
  'oauth-request': bad('invalid token request: {fault}'),
  'oauth-grant': bad('grant type {grant} is not supported: expected client_credentials or token-exchange'),
  'oauth-client': unknownCaller('invalid client credentials'),
  'oauth-scope': bad('scope {scope} is not known: expected catalog, PRINCIPAL_ROLE:ALL or pool:TABLE'),
  's3-unsigned': toStrangers('access denied: the request is not signed', 403),
  's3-signature-malformed': toStrangers('signature is malformed: {fault}'),
  's3-signature-wrong': toStrangers('signature does not match the request', 403),
  's3-access-key-unknown': toStrangers('access key is unknown: LoadTable gives credentials for one table', 403),
  's3-token-invalid': toStrangers('session token is invalid'),
  's3-token-expired': toStrangers('session token has expired: load the table again'),
  's3-skew': toStrangers('request time differs from the time of the service by {skew} s: at most 900', 403),
  's3-expired': toStrangers('presigned request has expired at {time}', 403),
  's3-denied': bad('access denied', 403),
  's3-read-only': bad('{method}: the bucket is read-only', 403),
  's3-unsupported': bad('{what} is not supported: the bucket answers GetObject, HeadObject and ListObjectsV2'),
  's3-bucket-missing': absent('bucket {bucket} does not exist: the bucket is lake'),
  's3-key-missing': absent('key {key} does not exist'),
  's3-argument': bad('invalid argument {name}: {value}: expected {wanted}'),
  's3-condition': { status: 412, kind: 'precondition failed', text: '{header} does not match' },
  's3-range': bad('range {range} is beyond the object, which has {size} bytes', 416),
  'settle-side': bad('resolve {value} is not known: ours or theirs'),
  'page-range': bad('invalid query param "{name}": {value}: expected {wanted}'),
  'page-untaken': bad('offset and limit page the conflicts of a dry run: they need dryrun=T'),
  'settle-malformed': bad(
    'settle: {value}: {what} is missing or wrong: expected {key, take} or {key, value}, take being ours, theirs or base',
  ),
  'settle-idle': bad('settle: {key} is not in conflict', 409),
  'identity-invalid': bad('identity {value}: expected a list of names of fields, each list once, such as ["id"]'),
  'identity-long': bad('identity has {length} {what}: at most {limit}'),
  'iceberg-unknown': bad('iceberg {value} is not known: off, lazy or eager'),
  'iceberg-mapping-unknown': bad('iceberg mapping {value} is not known: typed or variant'),
  'iceberg-not-ready': {
    status: 503,
    kind: 'overloaded',
    text: 'table {pool} is not ready: files of commit {commit} are still being made; retry shortly',
  },
  // anything that nobody foresaw
  internal: internal('{text}'),
} as const satisfies Record<string, ErrorRow>;

/** The name of a row. */
export type ErrorCode = keyof typeof errorTable;
/** What stands for `{name}` in a text, by name. */
export type ErrorParameters = Readonly<Record<string, string | number>>;

/** Most characters of a parameter: what an input holds may be in it. Texts of queries are bounded already. */
const parameterCharsMax = 16_384;
const shortened = (parameters: ErrorParameters): ErrorParameters =>
  Object.values(parameters).some((x) => typeof x === 'string' && x.length > parameterCharsMax)
    ? Object.fromEntries(
        Object.entries(parameters).map(([name, x]) => [
          name,
          typeof x === 'string' && x.length > parameterCharsMax ? `${x.slice(0, parameterCharsMax)}...` : x,
        ]),
      )
    : parameters;

/** How many frames a stack holds: V8's, and so not known to the types of browsers. */
const framesOption = 'stackTraceLimit';

/**
 * A request that cannot be done: a row of the table with its parameters filled in. `details` goes into the error body
 * as it is.
 */
export class LakeError extends Error {
  readonly code: ErrorCode;
  readonly parameters: ErrorParameters;
  readonly details: Readonly<Record<string, unknown>>;
  constructor(
    code: ErrorCode,
    given: ErrorParameters = {},
    options: {
      readonly cause?: unknown;
      readonly details?: Readonly<Record<string, unknown>>;
      /** The part of a request that it is about; begins the text. */
      readonly within?: string;
    } = {},
  ) {
    const parameters = code === 'query-invalid' ? given : shortened(given);
    const row: ErrorRow = errorTable[code];
    const text = row.text.replace(/\{(\w+)\}/g, (whole, name: string) =>
      name in parameters ? String(parameters[name]) : whole,
    );
    const frames: unknown = Reflect.get(Error, framesOption);
    if (row.traceless) Reflect.set(Error, framesOption, 0);
    super(options.within === undefined ? text : `${options.within}: ${text}`, { cause: options.cause });
    Reflect.set(Error, framesOption, frames);
    this.name = 'LakeError';
    this.code = code;
    this.parameters = parameters;
    this.details = options.details ?? {};
  }
  get status(): number {
    return errorTable[this.code].status;
  }
  get kind(): ErrorKind {
    return errorTable[this.code].kind;
  }
}

/** What the system refuses, and what to do about it. `{user}`: the one that this process runs as. */
const systemFaults: Readonly<Record<string, string>> = {
  EACCES: 'permission denied to {user}; check its owner and mode, and those of the folders above',
  EPERM: 'not permitted to {user}; check its owner, mode and attributes',
  EROFS: 'its file system is read-only',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many open files in this process; raise the limit (ulimit -n, LimitNOFILE)',
  ENFILE: 'too many open files on this machine; raise the limit (fs.file-max)',
  EIO: "the disk failed; see the kernel's log",
};

/** As Node throws it. This module is a browser's too. */
interface SystemFault extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly path?: string;
  readonly dest?: string;
}
/**
 * What the system refused for want of rights, room or descriptors, or since a disk failed: what is wrong, what to do, and
 * the system's own name for it; undefined for all else. Of sockets others tell.
 */
const systemFaultOf = ({ code, syscall }: SystemFault): string | undefined => {
  if (code === undefined || syscall === undefined || /^(listen|bind|connect)$/.test(syscall)) return undefined;
  const { process } = globalThis as { readonly process?: { readonly getuid?: () => number } };
  const user = process?.getuid ? `user ${process.getuid()}` : 'this user';
  return systemFaults[code] && `${systemFaults[code].replace('{user}', user)} (${code}, ${syscall})`;
};
/** The code of an error of Node or the system, such as ENOENT; undefined of what has none. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

/** Whether a fault of the system says that there is no room left: on the disk, or in the quota. */
export const isDiskFull = (thrown: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(thrown) ?? '');

/** What something thrown says, an error or not; a fault of the system by path and in words of ours. */
export const messageOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  const { path, dest }: SystemFault = thrown;
  const fault = systemFaultOf(thrown);
  if (fault === undefined || path === undefined) return fault ?? thrown.message;
  return `${path}${dest === undefined ? '' : ` to ${dest}`}: ${fault}`;
};
/** The same without its path, where that is named already, or is nobody's business. */
export const pathlessMessageOf = (thrown: unknown): string =>
  thrown instanceof Error && (thrown as SystemFault).path !== undefined
    ? (systemFaultOf(thrown) ?? thrown.message.replace(/ '.*$/s, ''))
    : messageOf(thrown);

/** Where an error was thrown: the lines of its stack behind its message. */
export const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
