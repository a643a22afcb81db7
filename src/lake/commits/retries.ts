/**
 * Which requests have made their commit: a request that is sent again under the same key gets the commit of the first
 * time. A row is written in the transaction of its commit, so that either both are there after a crash or neither. A
 * request that had nothing to change has a row too, with the commit that its branch was at.
 *
 * Two rows a key: `k` and the key, with what was asked and the commit; `t`, the time and the key, by which rows that
 * are too old are found, with the body's digest and the branch. Each commit with a key takes some that are too old
 * along. Earlier builds left the payload of `t` empty, and read none: rows of either build serve the other.
 *
 * A key goes with its branch: its row names the branch as it was made, so that the transaction that deletes the branch
 * ends its keys, however many there are. Their rows go when they are too old.
 *
 * Times are milliseconds since 1970 by the system's clock as it was when the lake had no key; from there on by a clock
 * that nobody sets, and from the newest row on after a start. So a key is known for its time at least, whatever the
 * clock does between a stop and the next start; the time in which no service ran does not count.
 */
import { idBuffer } from '../ksuid.ts';
import type { BranchRecord, Id, KnownRetry, Retry } from '../lake.types.ts';
import { decodeBranch } from '../tables/rows.ts';
import type { Change, Tables } from '../tables/tables.ts';

const oldAtOnce = 4;
const digestBytes = 32;
const timeBytes = 8;
/** A branch that a commit is made on, with the key of its row. */
interface RetryBranch {
  readonly key: Uint8Array;
  readonly branch: Pick<BranchRecord, 'tsNs'>;
}

const byKey = (key: string): Buffer => Buffer.concat([Buffer.from('k'), Buffer.from(key, 'hex')]);
const byTime = (ms: number, key: string): Buffer => {
  const time = Buffer.alloc(timeBytes);
  time.writeBigUInt64BE(BigInt(ms));
  return Buffer.concat([Buffer.from('t'), time, Buffer.from(key, 'hex')]);
};

/** The idempotency keys of a lake and the commits that were made under them. */
export class Retries {
  private readonly tables: Tables;
  private readonly keepMs: number;
  private readonly startMs: number;
  private readonly startedAt = performance.now();
  /** Until then no row is too old: new ones are never older than those that are there. */
  private soundUntilMs = 0;
  /** `keepMs`: how long a key is known. */
  constructor(tables: Tables, keepMs: number) {
    this.tables = tables;
    this.keepMs = keepMs;
    const newest = tables.keys('retries', { prefix: Buffer.from('t'), reverse: true, limit: 1 })[0];
    this.startMs = newest ? Number(newest.readBigUInt64BE(1)) : Math.floor(Date.now());
  }

  private now(): number {
    return this.startMs + Math.floor(performance.now() - this.startedAt);
  }

  /**
   * The commit that was made under a key, and what was asked then; undefined when its branch is gone too. `keepMs`:
   * where it is to be known for a shorter time.
   */
  find(key: string, keepMs = this.keepMs): KnownRetry | undefined {
    const row = this.tables.get('retries', byKey(key));
    if (!row) return undefined;
    const ms = Number(row.readBigUInt64BE(0));
    const more = this.tables.get('retries', byTime(ms, key));
    if (ms + Math.min(keepMs, this.keepMs) <= this.now()) return undefined;
    const known = {
      request: row.toString('hex', timeBytes, timeBytes + digestBytes),
      commit: row.toString('hex', timeBytes + digestBytes),
    };
    if (!more || more.length === 0) return known;
    return this.isThere(more) ? { ...known, body: more.toString('hex', 0, digestBytes) } : undefined;
  }
  /** Whether the branch of a row is still the one that it was: one that is made later is another, whatever its name. */
  private isThere(row: Buffer): boolean {
    const key = row.subarray(digestBytes + timeBytes);
    const payload = this.tables.get('branches', key);
    return payload !== undefined && decodeBranch(key, payload).tsNs === row.readBigInt64BE(digestBytes);
  }

  /** The rows that go along with a commit on a branch. */
  changes({ key, request, body }: Retry, commit: Id, { key: branchKey, branch }: RetryBranch): readonly Change[] {
    const now = this.now();
    const time = Buffer.alloc(timeBytes);
    const before = this.tables.get('retries', byKey(key));
    time.writeBigUInt64BE(BigInt(now));
    const madeNs = Buffer.alloc(timeBytes);
    madeNs.writeBigInt64BE(branch.tsNs);
    return [
      ...this.old(now).flatMap((row): Change[] => [
        { table: 'retries', key: row },
        { table: 'retries', key: Buffer.concat([Buffer.from('k'), row.subarray(1 + timeBytes)]) },
      ]),
      ...(before ? [{ table: 'retries' as const, key: byTime(Number(before.readBigUInt64BE(0)), key) }] : []),
      {
        table: 'retries',
        key: byKey(key),
        payload: Buffer.concat([time, Buffer.from(request, 'hex'), idBuffer(commit)]),
      },
      {
        table: 'retries',
        key: byTime(now, key),
        payload: Buffer.concat([Buffer.from(body, 'hex'), madeNs, branchKey]),
      },
    ];
  }
  /**
   * Some rows that are too old. It is not looked at each commit: with hundreds of rows that LMDB does not have yet, each
   * look goes through all of them (a tenth of the main thread with 64 shippers).
   */
  private old(now: number): readonly Buffer[] {
    if (now < this.soundUntilMs) return [];
    const first = this.tables.keys('retries', { prefix: Buffer.from('t'), limit: oldAtOnce });
    const old = first.filter((row) => Number(row.readBigUInt64BE(1)) + this.keepMs <= now);
    if (old.length === 0) this.soundUntilMs = (first[0] ? Number(first[0].readBigUInt64BE(1)) : now) + this.keepMs;
    return old;
  }
}
