/**
 * Where the branches of a pool were at a time.
 *
 * What commits do to a branch is in the commits themselves: each has its time and its parent. That a branch was reset or
 * deleted is in the table `moves`, one row each, with the commit that it was at until then; rows stay as long as the
 * pool. So the commit of a time is the newest one that is not after it, on the way back from where the branch was when
 * the next row, or nothing, had come.
 *
 * Invariant: times rise over the lake's life (draws.ts), so that a commit is older than all that a branch did with it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import { parseTime } from '../../vectors/literal.ts';
import { zeroId } from '../ksuid.ts';
import type { BranchRecord, Id, TagRecord } from '../lake.types.ts';
import {
  branchKey,
  checkBelow,
  decodeRow,
  encodeMove,
  moveKey,
  type BranchMove,
  type StoredCommit,
} from '../tables/rows.ts';
import { type Change, rowMissing, type Tables } from '../tables/tables.ts';
import { tagsVersion } from '../tables/versions.ts';
import type { Stores } from './store.ts';

const commitsPerTurn = 256;
/** A leap of the way back goes over about so many commits, and so many leaps are remembered. */
const leapBits = 8;
const leapsMax = 16_384;
const nsMax = 2n ** 63n - 1n;

/** Text of an RFC 3339 time, which may stand where a commit does. */
export const isTimeText = (text: string): boolean => parseTime(text) !== undefined;

interface MovesParts {
  readonly stores: Stores;
  readonly poolId: Id;
  readonly commit: (id: Id) => StoredCommit | undefined;
  readonly branch: (name: string) => BranchRecord | undefined;
  readonly tag: (name: string) => TagRecord | undefined;
}
type Period = Pick<BranchMove, 'from' | 'sinceNs'>;

/** The moves of the branches of one pool. */
export class Moves {
  private readonly parts: MovesParts;
  /** From a commit to an older one of its first parents. */
  private readonly leaps = new Map<Id, { readonly id: Id; readonly ns: bigint }>();

  constructor(parts: MovesParts) {
    this.parts = parts;
  }
  private get tables(): Tables {
    return this.parts.stores.tables;
  }

  /** The row that says where a branch was until now; the lake has a newer format from the first one on. */
  async leaving({ name, commit, tsNs }: BranchRecord): Promise<Change> {
    const { stores, poolId } = this.parts;
    const ns = stores.draws.nowNs();
    stores.drew?.(poolId, { what: 'move', name, commit, tsNs: String(ns) });
    await this.tables.raiseVersion(tagsVersion);
    const payload = encodeMove({ name, from: commit, sinceNs: tsNs });
    return { table: 'moves', key: moveKey(poolId, name, ns), payload };
  }

  /** @throws asof-malformed, asof-absent, branch-not-found */
  async asOf(name: string, time: string): Promise<Id> {
    const parsed = parseTime(time);
    if (parsed === undefined) throw new LakeError('asof-malformed', { time });
    const at = BigInt(parsed);
    const ns = at > nsMax ? nsMax : at;
    const period = ns < 0n ? undefined : this.periodOf(name, ns);
    if (!period || ns < period.sinceNs) throw new LakeError('asof-absent', { branch: name, time });
    return this.back(period.from, ns);
  }

  /** Until when the name was, and what it was at then. @throws branch-not-found when nothing ever had it */
  private periodOf(name: string, ns: bigint): Period | undefined {
    const { poolId, branch, tag } = this.parts;
    const prefix = branchKey(poolId, name);
    const [next] = this.tables.rows('moves', { prefix, start: moveKey(poolId, name, ns + 1n), limit: 1 });
    if (next) return decodeRow('moves', next.key, next.payload);
    const now = branch(name) ?? tag(name);
    if (now) return { from: now.commit, sinceNs: now.tsNs };
    if (this.tables.keys('moves', { prefix, limit: 1 }).length > 0) return undefined;
    throw new LakeError('branch-not-found', { branch: name });
  }

  /** The newest of a commit and its first parents that is not after the time. */
  private async back(from: Id, ns: bigint): Promise<Id> {
    let at = from;
    let child: StoredCommit | undefined;
    /** The last commit at which a leap may begin. */
    let begin: Id | undefined;
    for (let steps = 1; at !== zeroId; steps++) {
      const commit = this.parts.commit(at);
      if (!commit) throw rowMissing('commits', at);
      if (child) checkBelow(commit, child);
      if (commit.dateNs <= ns) return at;
      if (child && commit.height >> leapBits !== child.height >> leapBits) {
        if (begin !== undefined) this.remember(begin, commit);
        begin = at;
      }
      const leap = this.leaps.get(at);
      if (leap && leap.ns > ns) {
        at = leap.id;
        begin = at;
        child = undefined;
      } else {
        at = commit.parent;
        child = commit;
      }
      if (steps % commitsPerTurn === 0) await nextTurn();
    }
    return zeroId;
  }
  private remember(begin: Id, { id, dateNs: ns }: StoredCommit): void {
    if (this.leaps.size >= leapsMax) this.leaps.clear();
    this.leaps.set(begin, { id, ns });
  }
}
