/**
 * Loads that were staged: read and on disk, for a transaction to come. Their objects are no commit's yet.
 *
 * - Each lives for an hour and is committed once; one that no transaction took goes, with its files, as does one whose
 *   pool is deleted. None survives a restart: its files are orphans, which the next start removes.
 * - While a transaction tries to commit it no other one can; where that comes to nothing it is there as before.
 */
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { LakeError } from '../errors.ts';
import type { Id, Identity, ObjectMeta, PoolConfig } from '../lake/lake.types.ts';

/** Staged loads at a time, and bytes of them that are in memory. */
const stagedMax = 1000;
const stagedBytesMax = 64 << 20;
const keepMs = 3_600_000;

/** What a load came to, for the transaction that commits it. `identity`: it is an upsert. */
interface StagedLoad {
  readonly pool: PoolConfig;
  readonly branch: string;
  readonly objects: readonly ObjectMeta[];
  /** Of an upsert: rows whose identities only go. */
  readonly gone: readonly ObjectMeta[];
  readonly identity?: Identity;
  /** Fires when nobody wants it any more. */
  readonly signal: AbortSignal;
}
/** How a staged load ends. */
interface StagedEnd {
  readonly committed: (commit: Id) => void;
  readonly dropped: (error: unknown) => void;
}
interface Entry extends StagedLoad, StagedEnd {
  readonly id: string;
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
  isTaken: boolean;
  /** Why it goes when the transaction that has it comes to nothing. */
  fault?: unknown;
}

/** Staged loads that a transaction has. */
export interface TakenLoads {
  readonly loads: readonly StagedLoad[];
  /** They are part of a commit, or as they were before. */
  readonly settle: (commit?: Id) => void;
}

/** The staged loads of a service. */
export class StagedLoads {
  private readonly entries = new Map<string, Entry>();
  private bytesHeld = 0;

  /**
   * Keeps one. `commit` ends with the transaction that it is part of, or fails when it was dropped.
   * @throws stages-full
   */
  add(load: StagedLoad): { readonly id: string; readonly untilMs: number; readonly commit: Promise<{ commit: Id }> } {
    const bytes = [...load.objects, ...load.gone].reduce((sum, { inline }) => sum + (inline?.length ?? 0), 0);
    if (this.entries.size >= stagedMax)
      throw new LakeError('stages-full', { what: 'loads', count: this.entries.size, limit: stagedMax });
    if (this.bytesHeld + bytes > stagedBytesMax)
      throw new LakeError('stages-full', { what: 'bytes', count: this.bytesHeld, limit: stagedBytesMax });
    const id = randomUUID();
    let end: StagedEnd | undefined;
    const commit = new Promise<{ commit: Id }>((resolve, reject) => {
      end = {
        committed: (made) => {
          resolve({ commit: made });
        },
        dropped: reject,
      };
    });
    assert(end);
    const timer = setTimeout(() => {
      this.drop(
        id,
        new LakeError('load-cancelled', { reason: 'it was staged, and no transaction took it for an hour' }),
      );
    }, keepMs).unref();
    this.bytesHeld += bytes;
    this.entries.set(id, { ...load, id, bytes, timer, isTaken: false, ...end });
    load.signal.addEventListener('abort', () => {
      this.drop(id, load.signal.reason);
    });
    return { id, untilMs: Date.now() + keepMs, commit };
  }

  /** For one transaction. @throws stage-unknown, stage-elsewhere, stage-taken */
  take(ids: readonly string[], pool: PoolConfig, branch: string): TakenLoads {
    const entries = ids.map((id) => this.entryOf(id, pool, branch));
    if (new Set(ids).size < ids.length)
      throw new LakeError('stage-taken', { id: ids.find((id, i) => ids.indexOf(id) < i)! });
    for (const entry of entries) entry.isTaken = true;
    return {
      loads: entries,
      settle: (commit) => {
        for (const entry of entries) {
          entry.isTaken = false;
          if (commit !== undefined) this.end(entry).committed(commit);
          else if (entry.fault !== undefined) this.drop(entry.id, entry.fault);
        }
      },
    };
  }
  private entryOf(id: string, pool: PoolConfig, branch: string): Entry {
    const entry = this.entries.get(id);
    if (!entry || entry.fault !== undefined) throw new LakeError('stage-unknown', { id });
    if (entry.pool.id !== pool.id || entry.branch !== branch)
      throw new LakeError('stage-elsewhere', { id, pool: entry.pool.name, branch: entry.branch });
    if (entry.isTaken) throw new LakeError('stage-taken', { id });
    return entry;
  }

  private drop(id: string, error: unknown): void {
    const entry = this.entries.get(id);
    if (!entry) return;
    if (entry.isTaken) entry.fault = error;
    else this.end(entry).dropped(error);
  }
  private end(entry: Entry): StagedEnd {
    clearTimeout(entry.timer);
    if (this.entries.delete(entry.id)) this.bytesHeld -= entry.bytes;
    return entry;
  }

  /** Those of a pool that is gone go with it; one of the same name is another one. */
  poolDeleted(poolId: Id): void {
    for (const { id, pool } of [...this.entries.values()])
      if (pool.id === poolId)
        this.drop(id, new LakeError('load-cancelled', { reason: 'it was staged, and its pool was deleted' }));
  }
  /** How many there are. */
  get size(): number {
    return this.entries.size;
  }
  /** What they take of memory. */
  get bytes(): number {
    return this.bytesHeld;
  }
  /** The service ends: all of them go. */
  close(): void {
    for (const id of [...this.entries.keys()])
      this.drop(id, new LakeError('load-cancelled', { reason: 'it was staged, and the service ends' }));
  }
}
