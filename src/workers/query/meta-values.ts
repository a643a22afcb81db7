/**
 * Rows of meta queries as values; types, names and fields are the reference's (reference/language/pools.md section 4).
 */
import type { CommitRecord, Id, MetaRow, ObjectMeta, PoolConfig, ViewVersion } from '../../lake/lake.types.ts';
import { arrayType, namedType, type Type, types } from '../../vectors/type.ts';
import { type Value, arrayValue, integer, nullValue, recordValue, stringValue } from '../../vectors/value.ts';
import { parseSup } from '../../vectors/sup/parse.ts';

const named = (name: string, value: Value): Value => ({ type: namedType(name, value.type), data: value.data });
const record = (fields: Readonly<Record<string, Value>>): Value =>
  recordValue(Object.entries(fields).map(([name, value]) => ({ name, value })));
const number = (type: Type, x: number | bigint): Value => ({ type, data: integer(x) });
const id = (text: Id, name = 'ksuid.KSUID'): Value =>
  named(name, { type: types.bytes, data: new Uint8Array(Buffer.from(text, 'hex')) });
/** A key, or the metadata of a commit, in SUP; absent: null. */
const parsed = (text: string): Value => (text === '' ? nullValue : (parseSup(text) ?? nullValue));

const pathType = namedType('field.Path', arrayType(types.string));

const pathsValue = (paths: PoolConfig['layout']['keys']): Value =>
  named('field.List', arrayValue(paths.map((path): Value => ({ type: pathType, data: [...path] }))));

/** Of each pool once: it stands in the row of each of its branches, and rows that are sent together share it. */
const poolValues = new WeakMap<PoolConfig, Value>();
const poolValue = (pool: PoolConfig): Value => {
  let value = poolValues.get(pool);
  if (!value) poolValues.set(pool, (value = poolValueOf(pool)));
  return value;
};
const poolValueOf = (pool: PoolConfig): Value => {
  const keys = pathsValue(pool.layout.keys);
  const layout = named('order.SortKey', record({ order: named('order.Which', stringValue(pool.layout.order)), keys }));
  return named(
    'pools.Config',
    record({
      ts: number(types.time, pool.tsNs),
      name: stringValue(pool.name),
      id: id(pool.id),
      layout,
      seek_stride: number(types.int64, pool.seekStride),
      threshold: number(types.int64, pool.threshold),
      ...(pool.identity && { identity: pathsValue(pool.identity) }),
    }),
  );
};
const viewValue = (view: ViewVersion): Value =>
  named(
    'views.Config',
    record({
      ts: number(types.time, view.tsNs),
      name: stringValue(view.name),
      id: id(view.id),
      version: id(view.version),
      author: stringValue(view.author),
      columns: view.columns ? { type: arrayType(types.string), data: [...view.columns] } : nullValue,
      query: stringValue(view.query),
    }),
  );
const objectValue = (object: ObjectMeta): Value =>
  named(
    'data.Object',
    record({
      id: id(object.id),
      min: parsed(object.min.text),
      max: parsed(object.max.text),
      count: number(types.uint64, object.count),
      size: number(types.int64, object.size),
    }),
  );
const commitFields = (commit: CommitRecord, idName: string): Value =>
  record({
    id: id(commit.id, idName),
    parent: id(commit.parent, idName),
    retries: number(types.uint8, 0),
    author: stringValue(commit.author),
    date: number(types.time, commit.dateNs),
    message: stringValue(commit.message),
    meta: parsed(commit.meta),
  });

const mapped = (texts: Readonly<Record<string, string>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, stringValue(text)]));

/** One row of a meta query. */
export const metaValue = (row: MetaRow): Value => {
  switch (row.kind) {
    case 'pool':
      return poolValue(row.pool);
    case 'branch': {
      const { tsNs, name, commit, protection } = row.branch;
      return named(
        'db.BranchMeta',
        record({
          pool: poolValue(row.pool),
          branch: named(
            'branches.Config',
            record({
              ts: number(types.time, tsNs),
              name: stringValue(name),
              commit: id(commit),
              ...(protection && { protection: record(mapped(protection)) }),
            }),
          ),
        }),
      );
    }
    case 'tag': {
      const { tsNs, name, commit } = row.tag;
      const tag = record({ ts: number(types.time, tsNs), name: stringValue(name), commit: id(commit) });
      return named('db.TagMeta', record({ pool: poolValue(row.pool), tag: named('tags.Config', tag) }));
    }
    case 'view':
      return viewValue(row.view);
    case 'object':
      return objectValue(row.object);
    case 'partition':
      return named(
        'meta.Partition',
        record({
          min: parsed(row.min.text),
          max: parsed(row.max.text),
          objects: arrayValue(row.objects.map(objectValue)),
        }),
      );
    case 'tip':
      return named('db.BranchTip', record({ Name: stringValue(row.name), Commit: id(row.commit) }));
    case 'commit':
      return named('Commit', commitFields(row.commit, 'KSUID'));
    case 'action-commit':
      return named('commits.Commit', commitFields(row.commit, 'ksuid.KSUID'));
    case 'action-add':
      return named('commits.Add', record({ commit: id(row.commit), object: objectValue(row.object) }));
    case 'action-delete':
      return named('commits.Delete', record({ commit: id(row.commit), id: id(row.id) }));
    case 'action-add-vector':
      return named('commits.AddVector', record({ commit: id(row.commit), id: id(row.id) }));
    case 'action-delete-vector':
      return named('commits.DeleteVector', record({ commit: id(row.commit), id: id(row.id) }));
  }
};
