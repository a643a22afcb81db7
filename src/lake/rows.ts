/**
 * Keys and payloads of the tables' rows. Small rows are JSON; checkpoints, which hold thousands of objects, are packed.
 *
 * Invariants: every decoder takes what its encoder made; a payload reaches a decoder only after its checksum was verified (tables.ts).
 */
import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { idBuffer } from './ksuid.ts';
import type { BranchRecord, CommitRecord, Id, KeyBound, LakeEvent, PoolConfig, SortOrder } from './lake.types.ts';
import type { ObjectEntry } from './object-list.ts';

/** 20 bytes that stand for a name of any length. */
const nameDigest = (name: string): Buffer => createHash('sha256').update(name, 'utf8').digest().subarray(0, 20);
/** Key of a pool's name. */
export const nameKey = (name: string): Buffer => nameDigest(name);
/** Key of a branch of a pool. */
export const branchKey = (pool: Id, name: string): Buffer => Buffer.concat([idBuffer(pool), nameDigest(name)]);
/** Key of a commit, object or vacuumed object of a pool. */
export const pairKey = (pool: Id, id: Id): Buffer => Buffer.from(pool + id, 'hex');
/** Key of a part of the checkpoint at a commit. */
export const checkpointKey = (pool: Id, commit: Id, part: number): Buffer => {
  const key = Buffer.allocUnsafe(44);
  key.write(pool, 0, 'hex');
  key.write(commit, 20, 'hex');
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

interface PoolRow { ts: string; name: string; id: Id; order: SortOrder; keys: string[][]; seekStride: number; threshold: number }
/** Rows of the tables `pools`, `names`, `branches`, `commits` and `events`: JSON, with times as texts of nanoseconds. */
export const encodePool = (pool: PoolConfig): Buffer => json({
  ts: String(pool.tsNs), name: pool.name, id: pool.id, order: pool.layout.order, keys: pool.layout.keys, seekStride: pool.seekStride, threshold: pool.threshold,
});
/** The pool of a row of `pools`. */
export const decodePool = (payload: Buffer): PoolConfig => {
  const row = parse<PoolRow>(payload);
  return { tsNs: BigInt(row.ts), name: row.name, id: row.id, layout: { order: row.order, keys: row.keys }, seekStride: row.seekStride, threshold: row.threshold };
};

/** A row of `names`: which pool has a name. The name comes along, as the key is only its digest. */
export const encodeName = (name: string, pool: Id): Buffer => json({ name, pool });
/** The name and pool of a row of `names`. */
export const decodeName = (payload: Buffer): { readonly name: string; readonly pool: Id } => parse(payload);

/** A row of `branches`. */
export const encodeBranch = (branch: BranchRecord): Buffer => json({ ts: String(branch.tsNs), name: branch.name, commit: branch.commit });
/** The branch of a row of `branches`. */
export const decodeBranch = (payload: Buffer): BranchRecord => {
  const row = parse<{ ts: string; name: string; commit: Id }>(payload);
  return { tsNs: BigInt(row.ts), name: row.name, commit: row.commit };
};

/**
 * A commit with what only the lake needs. `height` is one more than that of its higher parent. `rewrite`: whether it made its objects of those that it deletes; numbers: how
 * many of each, in their order. Earlier builds did not say.
 */
export interface StoredCommit extends CommitRecord { readonly height: number; readonly rewrite?: boolean | readonly number[] }
interface CommitRow {
  p: Id; q?: Id; h: number; a: string; d: string; m: string; x: string; add: Id[]; del: Id[]; addV?: Id[]; delV?: Id[];
  w?: boolean | number[];
}
/** A row of `commits`. The commit's id is in the key only. */
export const encodeCommit = (commit: StoredCommit): Buffer => json({
  p: commit.parent, q: commit.secondParent, h: commit.height, a: commit.author, d: String(commit.dateNs), m: commit.message, x: commit.meta,
  add: commit.adds, del: commit.deletes, addV: commit.addVectors, delV: commit.deleteVectors, w: commit.rewrite,
});
/** The commit of a row of `commits`. */
export const decodeCommit = (id: Id, payload: Buffer): StoredCommit => {
  const row = parse<CommitRow>(payload);
  return {
    id, parent: row.p, ...(row.q && { secondParent: row.q }), height: row.h, author: row.a, dateNs: BigInt(row.d), message: row.m, meta: row.x,
    adds: row.add, deletes: row.del, ...(row.addV && { addVectors: row.addV }), ...(row.delV && { deleteVectors: row.delV }),
    ...(row.w !== undefined && { rewrite: row.w }),
  };
};

/** A row of `events`. */
export const encodeEvent = (event: LakeEvent): Buffer => json(event);
/** The event of a row of `events`. */
export const decodeEvent = (payload: Buffer): LakeEvent => parse(payload);

/** What must never be given twice: ids of events, sequence numbers of objects. */
export interface Counters { readonly event: number; readonly sequence: number }
/** Key of the counters in the table `about`. */
export const countersKey = Buffer.from('counters');
/** The row of the counters. */
export const encodeCounters = (counters: Counters): Buffer => json(counters);
/** The counters of that row; both 0 where there is none yet. */
export const decodeCounters = (payload: Buffer | undefined): Counters => (payload ? parse(payload) : { event: 0, sequence: 0 });

/** A row of `objects`: one entry as `encodeObjects` packs it. */
export const encodeObject = (entry: ObjectEntry): Buffer => encodeObjects([entry]);
/** The entry of a row of `objects`. */
export const decodeObject = (payload: Buffer): ObjectEntry => decodeObjects(payload)[0]!;

const fixed = 20 + 8 + 8 + 8 + 1;
const inTableFlag = 1, vectorFlag = 2, sameBoundFlag = 4;

/** Packed: id, count, size, sequence (doubles), flags, then both bounds as text and sort key, each after its length; one bound if both are the same. */
export const encodeObjects = (entries: readonly ObjectEntry[]): Buffer => {
  let bytes = 0;
  for (const e of entries) bytes += fixed + boundBytes(e.min) + boundBytes(e.max);
  const out = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const e of entries) {
    const same = e.min === e.max || (e.min.text === e.max.text && Buffer.compare(e.min.sort, e.max.sort) === 0);
    out.write(e.id, at, 'hex');
    out.writeDoubleLE(e.count, at + 20);
    out.writeDoubleLE(e.size, at + 28);
    out.writeDoubleLE(e.sequence, at + 36);
    out[at + 44] = (e.inTable ? inTableFlag : 0) | (e.vector ? vectorFlag : 0) | (same ? sameBoundFlag : 0);
    at = writeBound(out, at + fixed, e.min);
    if (!same) at = writeBound(out, at, e.max);
  }
  return out.subarray(0, at);
};

/** The entries that `encodeObjects` wrote; they keep nothing of the payload. */
export const decodeObjects = (payload: Buffer): ObjectEntry[] => {
  // One copy that the entries' sort keys view: the payload itself may be a view of memory that lmdb uses again.
  const from = Buffer.from(payload), entries: ObjectEntry[] = [];
  let at = 0;
  while (at < from.length) {
    const flags = from[at + 44]!;
    const min = readBound(from, at + fixed);
    const max = flags & sameBoundFlag ? min : readBound(from, min.end);
    entries.push({
      id: from.toString('hex', at, at + 20), count: from.readDoubleLE(at + 20), size: from.readDoubleLE(at + 28), sequence: from.readDoubleLE(at + 36),
      inTable: (flags & inTableFlag) !== 0, vector: (flags & vectorFlag) !== 0, min: min.bound, max: max.bound,
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
  const text = from.readUInt32LE(at), sortAt = at + 8 + text, end = sortAt + from.readUInt32LE(sortAt - 4);
  return { bound: { text: from.toString('utf8', at + 4, at + 4 + text), sort: from.subarray(sortAt, end) }, end };
};
