/**
 * Keys and payloads of the tables' rows. Small rows are JSON; checkpoints, which hold thousands of objects, are packed.
 *
 * Invariants: every decoder takes what its encoder made; a payload reaches a decoder only after its checksum was
 * verified (tables.ts). What no encoder of ours makes (a malformed id, a row under another's key) is `table-corrupt`.
 */
import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { LakeError, messageOf } from '../../errors.ts';
import { idBuffer, idOfBytes, isId } from '../ksuid.ts';
import type {
  BranchRecord,
  CommitRecord,
  Id,
  KeyBound,
  LakeEvent,
  PoolConfig,
  TagRecord,
  ViewVersion,
} from '../lake.types.ts';
import type { ObjectEntry } from '../objects/list.ts';
import { id, ids, jsonRow, optional, plain, time } from './json-rows.ts';
import { rowFault, type TableName } from './table-rows.ts';

/** Key of a pool's name: 20 bytes that stand for one of any length. */
export const nameKey = (name: string): Buffer => createHash('sha256').update(name, 'utf8').digest().subarray(0, 20);
/** Key of a branch or a tag of a pool. */
export const branchKey = (pool: Id, name: string): Buffer => Buffer.concat([idBuffer(pool), nameKey(name)]);
/** Key of a commit, object or vacuumed object of a pool. */
export const pairKey = (pool: Id, id: Id): Buffer => {
  const key = Buffer.from(pool + id, 'hex');
  assert(key.length === pairBytes && id.length === pairBytes, `${pool} or ${id} is no id`);
  return key;
};
const idBytes = 20;
const pairBytes = 40;
/** The id in such a key. @throws table-corrupt when it is not one */
export const idOfPair = (table: TableName, key: Uint8Array): Id => {
  const text = Buffer.from(key).toString('hex');
  if (key.length !== pairBytes) throw rowFault(table, text, `a key of ${key.length} bytes, not ${pairBytes}`);
  return text.slice(pairBytes);
};
/** Key of a part of the checkpoint at a commit. */
export const checkpointKey = (pool: Id, commit: Id, part: number): Buffer => {
  const key = Buffer.allocUnsafe(44);
  assert(key.write(pool, 0, 'hex') === 20 && key.write(commit, 20, 'hex') === 20, `${pool} or ${commit} is no id`);
  key.writeUInt32BE(part, 40);
  return key;
};
/** Key of an event: its number, big-endian, so that events are in order. */
export const eventKey = (id: number): Buffer => {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(id / 2 ** 32), 0);
  key.writeUInt32BE(id % 2 ** 32, 4);
  return key;
};
/** The event id of a key that `eventKey` made. */
export const idOfEventKey = (key: Buffer): number => Number(key.readBigUInt64BE(0));

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value), 'utf8');
const parse = <T>(payload: Buffer): T => JSON.parse(payload.toString('utf8')) as T;

/** The key of a row, or the id in it. */
type RowKey = Uint8Array | string;
/** What a row says. @throws table-corrupt */
const decoded = <T>(table: TableName, key: RowKey, decode: () => T): T => {
  try {
    return decode();
  } catch (fault) {
    if (fault instanceof LakeError) throw fault;
    throw rowFault(table, typeof key === 'string' ? key : Buffer.from(key).toString('hex'), messageOf(fault), fault);
  }
};
const checkOwn = (found: Id, id: Id): void => {
  if (found !== id) throw new Error(`the row is of id ${found}`);
};

const poolRow = jsonRow<Omit<PoolConfig, 'layout'> & PoolConfig['layout']>({
  tsNs: time('ts'),
  name: plain('name'),
  id: id('id'),
  order: plain('order'),
  keys: plain('keys'),
  seekStride: plain('seekStride'),
  threshold: plain('threshold'),
  iceberg: optional(plain('iceberg')),
  icebergMapping: optional(plain('icebergMapping')),
  identity: optional(plain('identity')),
});
/** A row of `pools`. */
export const encodePool = ({ layout, ...pool }: PoolConfig): Buffer => poolRow.encode({ ...pool, ...layout });
/** The pool of a row of `pools`. @throws table-corrupt */
export const decodePool = (id: Id, payload: Buffer): PoolConfig =>
  decoded('pools', id, () => {
    const { tsNs, name, id: own, order, keys, ...rest } = poolRow.decode(payload, {});
    checkOwn(own, id);
    return { tsNs, name, id, layout: { order, keys }, ...rest };
  });

const nameRow = jsonRow<{ readonly name: string; readonly pool: Id }>({ name: plain('name'), pool: id('pool') });
/** A row of `names`: which pool has a name. The name comes along, as the key is only its digest. */
export const encodeName = (name: string, pool: Id): Buffer => nameRow.encode({ name, pool });

const branchRow = jsonRow<BranchRecord>({
  tsNs: time('ts'),
  name: plain('name'),
  commit: plain('commit'),
  protection: optional(plain('guard')),
});
/** A row of `branches`. */
export const encodeBranch = branchRow.encode;
/** The branch of a row of `branches`. @throws table-corrupt */
export const decodeBranch = (key: RowKey, payload: Buffer): BranchRecord =>
  decoded('branches', key, () => namedCommit('branch', payload));
const namedCommit = (what: 'branch' | 'tag', payload: Buffer): BranchRecord => {
  const row = branchRow.decode(payload, {});
  if (!isId(row.commit)) throw new Error(`${what} "${row.name}" is at ${JSON.stringify(row.commit)}, which is no id`);
  return row;
};

/** A row of `tags`: as one of `branches`. */
export const encodeTag: (tag: TagRecord) => Buffer = branchRow.encode;
/** The tag of a row of `tags`. @throws table-corrupt */
export const decodeTag = (key: RowKey, payload: Buffer): TagRecord =>
  decoded('tags', key, () => namedCommit('tag', payload));

/**
 * That a branch was reset, or deleted: until then it was at `from`, since `sinceNs` under this name. What commits did to
 * it they say themselves.
 */
export interface BranchMove {
  readonly name: string;
  readonly from: Id;
  readonly sinceNs: bigint;
}
/** Key of a move: those of one branch's name in order of their times. */
export const moveKey = (pool: Id, name: string, ns: bigint): Buffer => {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(ns);
  return Buffer.concat([branchKey(pool, name), time]);
};
/** The time of such a key. */
export const timeOfMove = (key: Buffer): bigint => key.readBigUInt64BE(pairBytes);
const moveRow = jsonRow<BranchMove>({ name: plain('n'), from: id('f'), sinceNs: time('s') });
/** A row of `moves`. */
export const encodeMove = moveRow.encode;

/**
 * A commit with what only the lake needs. `height` is one more than that of its higher parent. `rewrite`: whether it
 * made its objects of those that it deletes; numbers: how many of each, in their order. Earlier builds did not say.
 */
export interface StoredCommit extends CommitRecord {
  readonly height: number;
  readonly rewrite?: boolean | readonly number[];
  /** It put rows of these objects, which it does not delete, into its own, too: a merge by record. */
  readonly from?: readonly Id[];
  /** Rows of its objects are others than those of the objects that it deletes, though they may be as many. */
  readonly changed?: boolean;
}
const commitRow = jsonRow<Omit<StoredCommit, 'id'>>({
  parent: id('p'),
  secondParent: optional(id('q')),
  height: plain('h'),
  author: plain('a'),
  dateNs: time('d'),
  message: plain('m'),
  meta: plain('x'),
  adds: ids('add'),
  deletes: ids('del'),
  addVectors: optional(ids('addV')),
  deleteVectors: optional(ids('delV')),
  rewrite: optional(plain('w')),
  from: optional(ids('f')),
  changed: optional(plain('c')),
});
/** A row of `commits`. The commit's id is in the key only. */
export const encodeCommit: (commit: StoredCommit) => Buffer = commitRow.encode;
/** The commit of a row of `commits`. @throws table-corrupt */
export const decodeCommit = (id: Id, payload: Buffer): StoredCommit =>
  decoded('commits', id, () => {
    if (!isId(id)) throw new Error(`${JSON.stringify(id)} is no id`);
    const commit = commitRow.decode(payload, { id });
    if (!Number.isSafeInteger(commit.height) || commit.height < 1) throw new Error(`a height of ${commit.height}`);
    return commit;
  });
/** A commit is above those that it comes from, so that no way back is endless. @throws table-corrupt */
export const checkBelow = (parent: StoredCommit, child: { readonly id: Id; readonly height: number }): void => {
  if (parent.height < child.height) return;
  throw rowFault(
    'commits',
    child.id,
    `its height is ${child.height}, that of its parent ${parent.id} is ${parent.height}`,
  );
};

const viewRow = jsonRow<Omit<ViewVersion, 'id' | 'version'>>({
  name: plain('n'),
  tsNs: time('t'),
  author: plain('a'),
  query: plain('q'),
  columns: optional(plain('c')),
  indexBase: optional(plain('i')),
});
/** A row of `views`. The ids of view and version are in the key only. */
export const encodeView: (view: ViewVersion) => Buffer = viewRow.encode;
/** The version of a row of `views`. @throws table-corrupt */
export const decodeView = (key: Uint8Array, payload: Buffer): ViewVersion =>
  decoded('views', key, () => {
    const version = idOfPair('views', key);
    const view = viewRow.decode(payload, { id: idOfBytes(key.subarray(0, idBytes)), version });
    if (typeof view.name !== 'string' || typeof view.query !== 'string') throw new Error('it has no name or no query');
    return view;
  });

/** A row of `events`. */
export const encodeEvent = (event: LakeEvent): Buffer => json(event);
const eventOf = (payload: Buffer): LakeEvent => {
  const event = parse<LakeEvent>(payload);
  for (const id of [event.poolId, event.commitId])
    if (id !== undefined && !isId(id)) throw new Error(`${JSON.stringify(id)} is no id`);
  return event;
};

/** What must never be given twice: ids of events, sequence numbers of objects. */
export interface Counters {
  readonly event: number;
  readonly sequence: number;
}
/** Key of the counters in the table `about`. */
export const countersKey = Buffer.from('counters');
/** The row of the counters. */
export const encodeCounters = (counters: Counters): Buffer => json(counters);
/** The counters of that row; both 0 where there is none yet. */
export const decodeCounters = (payload: Buffer | undefined): Counters =>
  payload ? parse(payload) : { event: 0, sequence: 0 };

/** A row of `objects`: one entry as `encodeObjects` packs it. */
export const encodeObject = (entry: ObjectEntry): Buffer => encodeObjects([entry]);
/** The entry of a row of `objects`, or of another table that has one. @throws table-corrupt */
export const decodeObject = (id: Id, payload: Buffer, table: TableName = 'objects'): ObjectEntry =>
  decoded(table, id, () => {
    const [entry, ...more] = unpackObjects(payload);
    if (!entry || more.length > 0) throw new Error('it is not one object');
    checkOwn(entry.id, id);
    return entry;
  });

const fixed = 20 + 8 + 8 + 8 + 1;
const inTableFlag = 1;
const vectorFlag = 2;
const sameBoundFlag = 4;

/**
 * Packed: id, count, size, sequence (doubles), flags, then both bounds as text and sort key, each after its length; one
 * bound if both are the same.
 */
export const encodeObjects = (entries: readonly ObjectEntry[]): Buffer => {
  let bytes = 0;
  for (const e of entries) bytes += fixed + boundBytes(e.min) + boundBytes(e.max);
  const out = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const e of entries) {
    const same = e.min === e.max || (e.min.text === e.max.text && Buffer.compare(e.min.sort, e.max.sort) === 0);
    assert(out.write(e.id, at, 'hex') === 20, `${e.id} is no id`);
    out.writeDoubleLE(e.count, at + 20);
    out.writeDoubleLE(e.size, at + 28);
    out.writeDoubleLE(e.sequence, at + 36);
    out[at + 44] = (e.inTable ? inTableFlag : 0) | (e.vector ? vectorFlag : 0) | (same ? sameBoundFlag : 0);
    at = writeBound(out, at + fixed, e.min);
    if (!same) at = writeBound(out, at, e.max);
  }
  return out.subarray(0, at);
};

/** The entries of a part of a checkpoint. @throws table-corrupt */
export const decodeObjects = (key: RowKey, payload: Buffer): ObjectEntry[] =>
  decoded('checkpoints', key, () => unpackObjects(payload));
/** The entries that `encodeObjects` wrote; they keep nothing of the payload. */
const unpackObjects = (payload: Buffer): ObjectEntry[] => {
  // One copy that the entries' sort keys view: the payload itself may be a view of memory that lmdb uses again.
  const from = Buffer.from(payload);
  const entries: ObjectEntry[] = [];
  let at = 0;
  while (at < from.length) {
    const flags = from[at + 44];
    const min = readBound(from, at + fixed);
    const max = flags & sameBoundFlag ? min : readBound(from, min.end);
    entries.push({
      id: from.toString('hex', at, at + 20),
      count: from.readDoubleLE(at + 20),
      size: from.readDoubleLE(at + 28),
      sequence: from.readDoubleLE(at + 36),
      inTable: (flags & inTableFlag) !== 0,
      vector: (flags & vectorFlag) !== 0,
      min: min.bound,
      max: max.bound,
    });
    at = max.end;
  }
  assert(at === from.length);
  return entries;
};

const boundBytes = (bound: KeyBound): number => 8 + bound.text.length * 3 + bound.sort.length;
const writeBound = (out: Buffer, at: number, bound: KeyBound): number => {
  const text = out.write(bound.text, at + 4, 'utf8');
  out.writeUInt32LE(text, at);
  out.writeUInt32LE(bound.sort.length, at + 4 + text);
  out.set(bound.sort, at + 8 + text);
  return at + 8 + text + bound.sort.length;
};
const readBound = (from: Buffer, at: number): { readonly bound: KeyBound; readonly end: number } => {
  const text = from.readUInt32LE(at);
  const sortAt = at + 8 + text;
  const end = sortAt + from.readUInt32LE(sortAt - 4);
  return { bound: { text: from.toString('utf8', at + 4, at + 4 + text), sort: from.subarray(sortAt, end) }, end };
};

/** Ids of two kinds, `count` of the first: `count u32 | ids`. */
export const encodeIds = (count: number, ids: readonly Id[]): Buffer => {
  const out = Buffer.allocUnsafe(4 + ids.length * idBytes);
  out.writeUInt32LE(count);
  ids.forEach((id, i) => out.write(id, 4 + i * idBytes, 'hex'));
  return out;
};
/** What `encodeIds` made. */
export const decodeIds = (row: Buffer): { readonly count: number; readonly ids: readonly Id[] } => {
  const count = row.readUInt32LE(0);
  const all = (row.length - 4) / idBytes;
  if (!Number.isInteger(all) || count > all) throw new Error(`${count} of ${all} ids`);
  return {
    count,
    ids: Array.from({ length: all }, (_, i) => row.toString('hex', 4 + i * idBytes, 4 + (i + 1) * idBytes)),
  };
};
/** What a row of each table is: bytes of its key, where these alone say it, and what its payload says. */
const rules = {
  about: {},
  pools: { keyBytes: idBytes, decode: (key, payload) => decodePool(key.toString('hex'), payload) },
  names: { keyBytes: idBytes, decode: (_, payload) => nameRow.decode(payload, {}) },
  branches: { keyBytes: pairBytes, decode: decodeBranch },
  commits: { decode: (key, payload) => decodeCommit(idOfPair('commits', key), payload) },
  objects: { decode: (key, payload) => decodeObject(idOfPair('objects', key), payload) },
  bodies: { keyBytes: idBytes },
  files: { keyBytes: idBytes },
  vacuumed: { keyBytes: pairBytes },
  checkpoints: {
    keyBytes: pairBytes + 4,
    decode: (key, payload) => {
      const isFirst = key.readUInt32BE(pairBytes) === 0;
      if (isFirst) payload.readUInt32LE(0);
      decodeObjects(key, payload.subarray(isFirst ? 4 : 0));
    },
  },
  events: { keyBytes: 8, decode: (_, payload) => eventOf(payload) },
  purges: { keyBytes: idBytes },
  packs: { keyBytes: pairBytes },
  // The pool's own row, one of an object, one of a step.
  lineage: {
    decode: (key, payload) => {
      if (key.length === idBytes) return;
      if (key.length !== pairBytes + 1) checkBytes(key, pairBytes);
      decodeIds(payload);
    },
  },
  retries: {},
  views: { decode: decodeView },
  tags: { keyBytes: pairBytes, decode: decodeTag },
  moves: { keyBytes: pairBytes + 8, decode: (_, payload) => moveRow.decode(payload, {}) },
  // Behind the pool, what the rows are is the affair of who derives them.
  iceberg: {
    decode: (key) => {
      if (key.length <= idBytes) throw new Error(`a key of ${key.length} bytes`);
    },
  },
} as const satisfies Record<TableName, RowRule>;
interface RowRule {
  readonly keyBytes?: number;
  readonly decode?: (key: Buffer, payload: Buffer) => unknown;
}
/** What a row of a table says, where it is known here. */
export type RowOf<T extends TableName> = T extends unknown ? Said<(typeof rules)[T]> : never;
type Said<R> = R extends { readonly decode: (...row: never[]) => infer Row } ? Row : undefined;
const checkBytes = (key: Buffer, bytes: number): void => {
  if (key.length !== bytes) throw new Error(`a key of ${key.length} bytes, not ${bytes}`);
};
/** What a row says, if it is one that an encoder makes. What it names need not be there. @throws table-corrupt */
export const decodeRow = <T extends TableName>(table: T, key: Buffer, payload: Buffer): RowOf<T> =>
  decoded(table, key, () => {
    const { keyBytes, decode }: RowRule = rules[table];
    if (keyBytes !== undefined) checkBytes(key, keyBytes);
    return decode?.(key, payload) as RowOf<T>;
  });
