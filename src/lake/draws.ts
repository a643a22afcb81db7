/**
 * What a lake draws from the clock: ids and times.
 *
 * Invariants:
 * - Ids rise strictly and times never fall over the lake's life, restarts included, whatever the clock does: a clock
 *   that is behind changes nothing but the times that are shown.
 * - A clock that is behind is reported once until it has caught up.
 */
import { IdDraws, zeroId } from './ksuid.ts';
import type { ClockNote, Draws, Id } from './lake.types.ts';
import { timeOfMove } from './tables/rows.ts';
import type { Tables } from './tables/tables.ts';

const nsPerMs = 1_000_000n;
const nsStep = 1000n;
/**
 * How far a millisecond has gone, in nanoseconds of whole microseconds: the wall clock itself has milliseconds alone.
 */
const microsecondsNs = (): bigint =>
  BigInt(Math.floor(((performance.timeOrigin + performance.now()) % 1) * 1000)) * nsStep;
/** Times end in 2262, where nanoseconds no longer fit into 64 bits; before, there must be room for steps. */
const clockMsMax = Date.UTC(2262, 0, 1);

/** Ids and times of one lake. */
export class LakeDraws implements Draws {
  private readonly now: () => number;
  private readonly ids: IdDraws;
  private readonly noted: ((note: ClockNote) => void) | undefined;
  private lastNs = 0n;
  private isBehind = false;

  /** `noted`: told when the clock falls behind, and when it has caught up. */
  constructor(noted?: (note: ClockNote) => void, now: () => number = () => Date.now()) {
    this.now = now;
    this.ids = new IdDraws(now);
    this.noted = noted;
  }

  newId(): Id {
    const before = this.ids.corrections;
    const id = this.ids.newId();
    const isBehind = this.ids.corrections > before;
    if (isBehind !== this.isBehind) {
      this.isBehind = isBehind;
      this.noted?.({ isBehind, clockMs: this.now(), idMs: this.ids.lastMs });
    }
    return id;
  }
  /**
   * Nanoseconds since 1970 by the microsecond, each time later than the one before. None is a whole millisecond: texts
   * of times leave zeros at the end out, and clients look for a fraction.
   */
  nowNs(): bigint {
    const now = BigInt(Math.min(this.now(), clockMsMax)) * nsPerMs + microsecondsNs();
    this.lastNs = now > this.lastNs ? now : this.lastNs + nsStep;
    if (this.lastNs % nsPerMs === 0n) this.lastNs += nsStep;
    return this.lastNs;
  }

  /** From here on ids are above this one and times after that one. */
  goOnFrom({ id, ns }: LastDrawn): void {
    if (id !== zeroId) this.ids.goOnFrom(id);
    if (ns > this.lastNs) this.lastNs = ns;
  }

  /** Ids that the clock had no time for, and by how many seconds ids are ahead of it. */
  get clock(): { readonly corrections: number; readonly aheadSeconds: number } {
    return { corrections: this.ids.corrections, aheadSeconds: Math.max(0, this.ids.aheadSeconds) };
  }
}

/** The newest id and time of a lake. */
interface LastDrawn {
  readonly id: Id;
  readonly ns: bigint;
}

/**
 * What a lake drew last, from the rows that tell of it: pools, the newest commit and object of each, views, tags and moves of
 * branches. Rows
 * that are damaged tell nothing.
 */
export const lastDrawn = (tables: Tables): LastDrawn => {
  let id = zeroId;
  let ns = 0n;
  const see = (other: Id, otherNs = 0n): void => {
    if (other > id) id = other;
    if (otherNs > ns) ns = otherNs;
  };
  for (const { key: prefix, row: pool } of tables.soundRows('pools')) {
    see(pool.id, pool.tsNs);
    for (const { row } of tables.soundRows('commits', { prefix, reverse: true })) {
      see(row.id, row.dateNs);
      break;
    }
    for (const { row } of tables.soundRows('objects', { prefix, reverse: true })) {
      see(row.id);
      break;
    }
  }
  for (const { row } of tables.soundRows('views')) see(row.version, row.tsNs);
  for (const { key } of tables.soundRows('moves')) see(zeroId, timeOfMove(key));
  for (const { row } of tables.soundRows('tags')) see(zeroId, row.tsNs);
  return { id, ns };
};
