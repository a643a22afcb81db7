/**
 * What answers of the API are made of as values, with the type names that the reference's clients look for; the answers
 * of one resource stand with its routes. Ids are 20 bytes of the type `ksuid.KSUID` (`KSUID` in events); formats without
 * such types write them as `0x` and 40 hexadecimal digits.
 */
import type { LoadFaults } from './load.types.ts';
import type { Id, LakeEvent, PoolConfig, Preview } from '../../lake/lake.types.ts';
import { arrayType, namedType, types } from '../../vectors/type.ts';
import {
  type Data,
  type Value,
  arrayValue,
  intValue,
  integer,
  nullValue,
  recordValue,
  stringValue,
} from '../../vectors/value.ts';
import { parseSupValues } from '../../vectors/sup/parse.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';

export const ksuidType = namedType('ksuid.KSUID', types.bytes);
const eventIdType = namedType('KSUID', types.bytes);
export const orderType = namedType('order.Which', types.string);
export const pathType = namedType('field.Path', arrayType(types.string));
export const pathsType = namedType('field.List', arrayType(pathType));
const warningsType = arrayType(types.string);

export const named = (name: string, value: Value): Value => ({ type: namedType(name, value.type), data: value.data });
export const record = (fields: Readonly<Record<string, Value>>): Value =>
  recordValue(Object.entries(fields).map(([name, value]) => ({ name, value })));

export const idData = (id: Id): Data => new Uint8Array(Buffer.from(id, 'hex'));
export const idValue = (id: Id): Value => ({ type: ksuidType, data: idData(id) });
export const timeValue = (ns: bigint): Value => ({ type: types.time, data: integer(ns) });

export const layoutValue = ({ order, keys }: PoolConfig['layout']): Value =>
  named(
    'order.SortKey',
    record({
      order: { type: orderType, data: order },
      keys: { type: pathsType, data: keys.map((path) => [...path]) },
    }),
  );

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
export const idsValue = (ids: readonly Id[]): Value => ({ type: arrayType(ksuidType), data: ids.map(idData) });

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
