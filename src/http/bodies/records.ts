/**
 * Answers of the API as values, with the type names that the reference's clients look for. Ids are 20 bytes of the type
 * `ksuid.KSUID` (`KSUID` in events); formats without such types write them as `0x` and 40 hexadecimal digits.
 */
import { messageOf } from '../../errors.ts';
import type { ProtectedVerb } from '../../../machines/pool.events.ts';
import type { AuthConfig } from '../../config/serve.ts';
import { grantText, type Principal } from '../access/roles.ts';
import type { IcebergDescription } from '../../iceberg/catalogue.types.ts';
import type { Channel } from '../../query/plan/channels.ts';
import type { DescribedSource, Description } from '../describe.ts';
import type { IdentityCheck } from '../identity-check.ts';
import type { LoadFaults, LoadStaged, PreviewTold } from './load.types.ts';
import type { LoadRun, QueryRun } from '../runs.ts';
import type {
  BranchRecord,
  GraphPage,
  Id,
  Identity,
  LakeEvent,
  ObjectSums,
  PoolConfig,
  PoolStats,
  Preview,
  TagRecord,
  TransactionResult,
  ViewVersion,
} from '../../lake/lake.types.ts';
import { arrayType, namedType, recordType, types } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  arrayValue,
  boolValue,
  floatValue,
  intValue,
  integer,
  nullValue,
  recordValue,
  stringValue,
} from '../../vectors/value.ts';
import { parseSupValues } from '../../vectors/sup/parse.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';
import { parseTime } from '../../vectors/literal.ts';

const ksuidType = namedType('ksuid.KSUID', types.bytes);
const eventIdType = namedType('KSUID', types.bytes);
const orderType = namedType('order.Which', types.string);
const pathType = namedType('field.Path', arrayType(types.string));
const pathsType = namedType('field.List', arrayType(pathType));
const warningsType = arrayType(types.string);

const named = (name: string, value: Value): Value => ({ type: namedType(name, value.type), data: value.data });
const record = (fields: Readonly<Record<string, Value>>): Value =>
  recordValue(Object.entries(fields).map(([name, value]) => ({ name, value })));

const idData = (id: Id): Data => new Uint8Array(Buffer.from(id, 'hex'));
const idValue = (id: Id): Value => ({ type: ksuidType, data: idData(id) });
const timeValue = (ns: bigint): Value => ({ type: types.time, data: integer(ns) });

const layoutValue = ({ order, keys }: PoolConfig['layout']): Value =>
  named(
    'order.SortKey',
    record({
      order: { type: orderType, data: order },
      keys: { type: pathsType, data: keys.map((path) => [...path]) },
    }),
  );
const poolValue = (pool: PoolConfig): Value =>
  named(
    'pools.Config',
    record({
      ts: timeValue(pool.tsNs),
      name: stringValue(pool.name),
      id: idValue(pool.id),
      layout: layoutValue(pool.layout),
      seek_stride: intValue(pool.seekStride),
      threshold: intValue(pool.threshold),
      ...(pool.identity && { identity: { type: pathsType, data: pool.identity.map((path) => [...path]) } }),
    }),
  );

/** A branch: answer of branch creation. */
export const branchValue = (branch: BranchRecord): Value =>
  named(
    'branches.Config',
    record({ ts: timeValue(branch.tsNs), name: stringValue(branch.name), commit: idValue(branch.commit) }),
  );

/** Who may change a branch, verb by verb. */
export const protectionValue = ({ protection = {} }: Pick<BranchRecord, 'protection'>): Value => {
  const who = (verb: ProtectedVerb): Value => stringValue(protection[verb] ?? 'writer');
  return named(
    'branches.Protection',
    record({ load: who('load'), delete: who('delete'), merge: who('merge'), reset: who('reset') }),
  );
};

const tagRecord = (tag: TagRecord): Value =>
  record({ ts: timeValue(tag.tsNs), name: stringValue(tag.name), commit: idValue(tag.commit) });
const tagType = tagRecord({ tsNs: 0n, name: '', commit: '00'.repeat(20) }).type;
/** A tag: answer of its creation. */
export const tagValue = (tag: TagRecord): Value => named('tags.Config', tagRecord(tag));
/** The tags of a pool. */
export const tagsValue = (tags: readonly TagRecord[]): Value =>
  named('api.Tags', record({ tags: { type: arrayType(tagType), data: tags.map((tag) => tagRecord(tag).data) } }));

const viewRecord = (view: ViewVersion): Value =>
  record({
    ts: timeValue(view.tsNs),
    name: stringValue(view.name),
    id: idValue(view.id),
    version: idValue(view.version),
    author: stringValue(view.author),
    columns: view.columns ? { type: arrayType(types.string), data: [...view.columns] } : nullValue,
    query: stringValue(view.query),
    index_base: view.indexBase === undefined ? nullValue : intValue(view.indexBase),
  });
/** A view at one of its versions. */
export const viewValue = (view: ViewVersion): Value => named('views.Config', viewRecord(view));
/** Views at their newest versions. */
export const viewsValue = (views: readonly ViewVersion[]): Value =>
  named('api.Views', record({ views: arrayValue(views.map(viewRecord)) }));

/** A pool and its `main` branch: answer of pool creation. */
export const createdValue = (pool: PoolConfig, branch: BranchRecord): Value =>
  named('db.BranchMeta', record({ pool: poolValue(pool), branch: branchValue(branch) }));

/** A commit; `warnings` is null on all operations but load. */
export const commitValue = (
  commit: Id,
  warnings?: readonly string[],
  { hint, faults }: { readonly hint?: string | undefined; readonly faults?: LoadFaults | undefined } = {},
): Value =>
  named(
    'api.CommitResponse',
    record({
      commit: idValue(commit),
      warnings: warnings ? { type: warningsType, data: [...warnings] } : nullValue,
      ...(hint !== undefined && { hint: stringValue(hint) }),
      ...(faults && faultFields(faults)),
    }),
  );
const faultFields = ({ records, count, first, rejected }: LoadFaults): Readonly<Record<string, Value>> => ({
  records: intValue(records),
  faulty: intValue(count),
  faults: arrayValue(
    first.map(({ line, column, error, raw, bytes }) =>
      record({
        line: intValue(line),
        column: intValue(column),
        error: stringValue(error),
        raw: stringValue(bytesToText(raw)),
        bytes: intValue(bytes),
      }),
    ),
  ),
  ...(rejected !== undefined && { rejected: idValue(rejected) }),
});

/** A load that waits for a transaction. */
export const stagedValue = ({ id, untilMs, outcome: { records } }: LoadStaged): Value =>
  named(
    'api.StagedResponse',
    record({ id: stringValue(id), records: intValue(records), until: timeValue(BigInt(untilMs) * 1_000_000n) }),
  );
/** What a load would come to. */
export const loadPreviewValue = ({
  format,
  why,
  doubts,
  type,
  records,
  isAll,
  rows,
  fields,
  layout,
  warnings,
  fault,
}: PreviewTold): Value =>
  named(
    'api.LoadPreview',
    record({
      format: stringValue(format),
      why: stringValue(why),
      doubts: textsValue(doubts),
      type: type === undefined ? nullValue : stringValue(type),
      records: intValue(records),
      complete: boolValue(isAll),
      rows: textsValue(rows),
      fields: textsValue(fields),
      layout: layoutValue(layout),
      warnings: textsValue(warnings),
      fault: fault === undefined ? nullValue : stringValue(fault),
    }),
  );
const textsValue = (texts: readonly string[]): Value => ({ type: arrayType(types.string), data: [...texts] });
/** What a transaction made. */
export const transactionValue = ({ transaction, commits }: TransactionResult): Value =>
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

/** Objects that a vacuum removed or would remove. */
export const vacuumValue = (ids: readonly Id[]): Value =>
  named('api.VacuumResponse', record({ object_ids: { type: arrayType(ksuidType), data: ids.map(idData) } }));

/** What a write would do; `records` is by how many it would change the branch, `error` why it would be refused. */
export const previewValue = (
  { tip, adds, removes, recordsAdded, recordsRemoved, conflicts, refusal, records }: Preview,
  offset = 0,
): Value =>
  named(
    'api.Preview',
    record({
      tip: idValue(tip),
      adds: idsValue(adds),
      removes: idsValue(removes),
      records_added: intValue(recordsAdded),
      records_removed: intValue(recordsRemoved),
      records: intValue(recordsAdded - recordsRemoved),
      conflicts: idsValue(conflicts),
      error: refusal === undefined ? nullValue : stringValue(refusal),
      ...(records && {
        record_conflicts: record({
          count: intValue(records.conflicts),
          offset: intValue(offset),
          conflicts: arrayValue(parseSupValues(records.told)),
        }),
      }),
    }),
  );
const idsValue = (ids: readonly Id[]): Value => ({ type: arrayType(ksuidType), data: ids.map(idData) });

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
export const graphValue = ({ commits, next }: GraphPage): Value =>
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
export const sumsValue = (sums: ObjectSums & { readonly commit: Id }): Value =>
  named('api.Sums', record({ commit: idValue(sums.commit), ...sumsRecord(sums) }));

/** The error text of a query that ended. */
export const queryStatusValue = (error: string): Value =>
  named('api.QueryError', record({ error: stringValue(error) }));

/** What a query reads and gives. */
export const descriptionValue = ({ sources, channels }: Description): Value =>
  named(
    'describe.Info',
    record({ sources: arrayValue(sources.map(sourceValue)), channels: arrayValue(channels.map(channelValue)) }),
  );
const sourceValue = (source: DescribedSource): Value =>
  named(
    `describe.${source.kind}`,
    record({
      kind: stringValue(source.kind),
      ...(source.kind === 'Pool' && {
        name: stringValue(source.name),
        id: source.id === undefined ? nullValue : { type: ksuidType, data: source.id },
      }),
      ...(source.kind === 'DBMeta' && { meta: stringValue(source.meta) }),
      ...(source.kind === 'Path' && { uri: stringValue(source.uri) }),
    }),
  );
const channelValue = ({ name, keys, sort }: Channel): Value =>
  named(
    'describe.Channel',
    record({
      name: stringValue(name),
      aggregation_keys: named(
        'field.List',
        keys === null ? nullValue : { type: arrayType(pathType), data: keys.map((path) => [...path]) },
      ),
      sort: named(
        'order.SortKeys',
        sort === null
          ? nullValue
          : arrayValue(
              sort.map(({ order, key }) =>
                named(
                  'order.SortKey',
                  record({ order: { type: orderType, data: order }, key: { type: pathType, data: [...key] } }),
                ),
              ),
            ),
      ),
    }),
  );

/** How far a query is. Rates are over the time since its start, whole numbers a second. */
export const queryProgressValue = (run: QueryRun, recordsTotal: number | undefined): Value => {
  const { watch, elapsedMs } = run;
  const { recordsRead, bytesRead, recordsSent } = watch.counts();
  return named(
    'api.QueryProgress',
    record({
      request_id: stringValue(run.id),
      state: stringValue(run.state),
      query: stringValue(run.text),
      started: timeValue(BigInt(run.startedMs) * 1_000_000n),
      elapsed_ms: intValue(Math.round(elapsedMs)),
      records_read: intValue(recordsRead),
      bytes_read: intValue(bytesRead),
      records_total: recordsTotal === undefined ? nullValue : intValue(recordsTotal),
      records_sent: intValue(recordsSent),
      bytes_sent: intValue(watch.bytesSent),
      records_per_second: perSecond(recordsRead, elapsedMs),
      bytes_per_second: perSecond(bytesRead, elapsedMs),
      error: errorValue(run.failure),
    }),
  );
};

/** How far a load is: `bytes_received` of its body, `records` that were read of it. */
export const loadProgressValue = (run: LoadRun): Value => {
  const { watch, elapsedMs, bytesTotal, commitId } = run;
  const { bodyBytes } = watch;
  const records = Math.max(watch.records, watch.counts().recordsRead);
  return named(
    'api.LoadProgress',
    record({
      request_id: stringValue(run.id),
      state: stringValue(run.state),
      pool: stringValue(run.pool),
      branch: stringValue(run.branch),
      started: timeValue(BigInt(run.startedMs) * 1_000_000n),
      elapsed_ms: intValue(Math.round(elapsedMs)),
      bytes_received: intValue(bodyBytes),
      bytes_total: bytesTotal === undefined ? nullValue : intValue(bytesTotal),
      records: intValue(records),
      records_per_second: perSecond(records, elapsedMs),
      bytes_per_second: perSecond(bodyBytes, elapsedMs),
      commit: commitId === undefined ? nullValue : idValue(commitId),
      error: errorValue(run.failure),
    }),
  );
};
const perSecond = (count: number, elapsedMs: number): Value =>
  intValue(Math.round((count * 1000) / Math.max(1, elapsedMs)));
const errorValue = (failure: unknown): Value => (failure === undefined ? nullValue : stringValue(messageOf(failure)));

/** Size of `main` and the time it spans, if its key is a time. */
export const statsValue = (stats: PoolStats): Value => {
  const start = stats.span && parseTime(stats.span.min.text);
  const end = stats.span && parseTime(stats.span.max.text);
  const span =
    start === undefined || end === undefined
      ? nullValue
      : named(
          'nano.Span',
          record({
            ts: { type: types.time, data: start },
            // The reference counts the last nanosecond too.
            dur: named('nano.Duration', intValue(BigInt(end) - BigInt(start) + 1n)),
          }),
        );
  return named('exec.PoolStats', record({ size: intValue(stats.size), span }));
};

const icebergColumnType = recordType([
  ...['path', 'type', 'column', 'iceberg'].map((name) => ({ name, type: types.string })),
  { name: 'note', type: types.string, optional: true },
]);
/** A pool as an Iceberg table. `table`: its name in the catalogue. */
export const icebergValue = ({ setting, mapping, columns }: IcebergDescription, table: string): Value =>
  record({
    setting: stringValue(setting),
    mapping: stringValue(mapping),
    table: stringValue(table),
    columns: {
      type: arrayType(icebergColumnType),
      data: columns.map(({ path, type, column, iceberg, note }) => [path, type, column, iceberg, note]),
    },
  });

/** The identity of a pool, and what is known of double ones. */
export const identityValue = (identity: Identity, check: IdentityCheck | undefined): Value => {
  const done = check?.state === 'done' ? check : undefined;
  return record({
    identity: { type: arrayType(arrayType(types.string)), data: identity.map((path) => [...path]) },
    check: check
      ? record({
          commit: idValue(check.commit),
          state: stringValue(check.state),
          double: done ? intValue(done.double) : nullValue,
          records: done ? intValue(done.records) : nullValue,
          sample: arrayValue([...(done?.sample ?? [])]),
          error: check.state === 'failed' ? stringValue(check.error) : nullValue,
        })
      : nullValue,
  });
};

/** How one logs in: with a token of an issuer (`auth0`), with a key (`key`), or not at all. */
export const authMethodValue = ({ domain, keys, audience, clientId }: AuthConfig): Value =>
  named(
    'api.AuthMethodResponse',
    record({
      kind: named('api.AuthMethod', stringValue(domain !== '' ? 'auth0' : keys ? 'key' : '')),
      auth0:
        domain === ''
          ? nullValue
          : named(
              'api.AuthMethodAuth0Details',
              record({
                audience: stringValue(audience),
                client_id: stringValue(clientId),
                domain: stringValue(domain),
              }),
            ),
    }),
  );

/** Who one is; without access control everybody is the same. */
export const authIdentityValue = (who: Principal | undefined): Value =>
  named(
    'api.AuthIdentityResponse',
    record({
      tenant_id: stringValue('tenant_000000000000000000000000001'),
      user_id: stringValue(who?.name ?? 'user_000000000000000000000000001'),
      ...(who && { roles: { type: arrayType(types.string), data: who.grants.map(grantText) } }),
    }),
  );

/** The data of an event: ids first, in the order that the reference's clients read. */
export const eventValue = (event: LakeEvent): Value => {
  const id = (hex: Id): Value => ({ type: eventIdType, data: idData(hex) });
  if (event.kind === 'pool-commit') {
    return named(
      'EventBranchCommit',
      record({
        commit_id: id(event.commitId!),
        pool_id: id(event.poolId),
        branch: stringValue(event.branch ?? ''),
        parent: stringValue(event.parent ?? ''),
        ...(event.child !== undefined && { child: stringValue(event.child) }),
        ...(event.transactionId !== undefined && { transaction_id: id(event.transactionId) }),
      }),
    );
  }
  if (event.kind === 'view-new' || event.kind === 'view-update' || event.kind === 'view-delete') {
    const version = event.commitId !== undefined && { version_id: id(event.commitId) };
    return named(
      'EventView',
      record({ ...version, view_id: id(event.poolId), view: stringValue(event.poolName ?? '') }),
    );
  }
  if (event.kind === 'tag-new' || event.kind === 'tag-delete') {
    const commit = event.commitId !== undefined && { commit_id: id(event.commitId) };
    return named('EventTag', record({ ...commit, pool_id: id(event.poolId), tag: stringValue(event.tag ?? '') }));
  }
  if (event.kind === 'branch-reset')
    return named(
      'EventBranchReset',
      record({ commit_id: id(event.commitId!), pool_id: id(event.poolId), branch: stringValue(event.branch ?? '') }),
    );
  if (event.kind === 'branch-update' || event.kind === 'branch-delete')
    return named('EventBranch', record({ pool_id: id(event.poolId), branch: stringValue(event.branch ?? '') }));
  return named('EventPool', record({ pool_id: id(event.poolId) }));
};

/** Any JSON-like data as a value: objects are records, whole numbers int64. */
export const plainValue = (x: unknown): Value => {
  if (x === null || x === undefined) return nullValue;
  if (typeof x === 'string') return stringValue(x);
  if (typeof x === 'boolean') return boolValue(x);
  if (typeof x === 'bigint') return intValue(x);
  if (typeof x === 'number') return Number.isInteger(x) ? intValue(x) : floatValue(x);
  if (Array.isArray(x)) return arrayValue(x.map(plainValue));
  if (x instanceof Uint8Array) return { type: types.bytes, data: x };
  const fields = Object.entries(x as object).filter(([, value]) => value !== undefined && typeof value !== 'function');
  return recordValue(fields.map(([name, value]) => ({ name, value: plainValue(value) })));
};
