/**
 * Which requests have made their commit: a request that is sent again under the same key gets the commit of the first time. A row is written in the transaction
 * of its commit, so that either both are there after a crash or neither.
 *
 * Two rows a key: `k` and the key, with what was asked and the commit; `t`, the time and the key, by which rows that are too old are found. Each commit with a key
 * takes some of these along.
 *
 * Times are milliseconds since 1970 by the system's clock as it was when the lake had no key; from there on by a clock that nobody sets, and from the newest row on after a start. So a key is known for its
 * time at least, whatever the clock does between a stop and the next start; the time in which no service ran does not count.
 */
import { idBuffer } from './ksuid.ts';
import type { Id, Retry } from './lake.types.ts';
import type { Change, Tables } from './tables.ts';

const oldAtOnce = 4, digestBytes = 32, timeBytes = 8;
const byKey = (key: string): Buffer => Buffer.concat([Buffer.from('k'), Buffer.from(key, 'hex')]);
const byTime = (ms: number, key: string): Buffer => {
  const time = Buffer.alloc(timeBytes);
  time.writeBigUInt64BE(BigInt(ms));
  return Buffer.concat([Buffer.from('t'), time, Buffer.from(key, 'hex')]);
};

/** The idempotency keys of a lake and the commits that were made under them. */
export class Retries {
  readonly #tables: Tables;
  readonly #keepMs: number;
  readonly #startMs: number;
  readonly #startedAt = performance.now();
  /** `keepMs`: how long a key is known. */
  constructor(tables: Tables, keepMs: number) {
    this.#tables = tables;
    this.#keepMs = keepMs;
    const newest = tables.keys('retries', { prefix: Buffer.from('t'), reverse: true, limit: 1 })[0];
    this.#startMs = newest ? Number(newest.readBigUInt64BE(1)) : Math.floor(Date.now());
  }

  #now(): number { return this.#startMs + Math.floor(performance.now() - this.#startedAt); }

  /** The commit that was made under a key, and digest of what was asked then. */
  find(key: string): { readonly commit: Id; readonly request: string } | undefined {
    const row = this.#tables.get('retries', byKey(key));
    if (!row || Number(row.readBigUInt64BE(0)) + this.#keepMs <= this.#now()) return undefined;
    return { request: row.toString('hex', timeBytes, timeBytes + digestBytes), commit: row.toString('hex', timeBytes + digestBytes) };
  }

  /** The rows that go along with a commit. */
  changes({ key, request }: Retry, commit: Id): readonly Change[] {
    const now = this.#now(), time = Buffer.alloc(timeBytes), before = this.#tables.get('retries', byKey(key));
    time.writeBigUInt64BE(BigInt(now));
    const old = this.#tables.keys('retries', { prefix: Buffer.from('t'), limit: oldAtOnce }).filter((row) => Number(row.readBigUInt64BE(1)) + this.#keepMs <= now);
    return [
      ...old.flatMap((row): Change[] => [{ table: 'retries', key: row }, { table: 'retries', key: Buffer.concat([Buffer.from('k'), row.subarray(1 + timeBytes)]) }]),
      ...(before ? [{ table: 'retries' as const, key: byTime(Number(before.readBigUInt64BE(0)), key) }] : []),
      { table: 'retries', key: byKey(key), payload: Buffer.concat([time, Buffer.from(request, 'hex'), idBuffer(commit)]) },
      { table: 'retries', key: byTime(now, key), payload: Buffer.alloc(0) },
    ];
  }
}
