/** Ids and times that an import gives to what it makes. */
import { LakeDraws } from '../../lake/draws.ts';
import type { Draws, Id } from '../../lake/lake.types.ts';

const nsStep = 1000n;

export class GivenDraws implements Draws {
  private readonly own = new LakeDraws();
  private id: Id | undefined;
  private ns: bigint | undefined;
  private lastNs = 0n;

  /** For a pool: its times rise by themselves. */
  begin(): void {
    this.lastNs = 0n;
    this.ns = undefined;
  }
  /**
   * The next id that is drawn, and the time until it is given anew: the one that is wanted, unless that is not after
   * the last.
   */
  give(ns: bigint, id?: Id): void {
    this.id = id;
    this.ns = ns > this.lastNs ? ns : this.lastNs + nsStep;
    this.lastNs = this.ns;
  }

  newId(): Id {
    const id = this.id ?? this.own.newId();
    this.id = undefined;
    return id;
  }
  nowNs(): bigint {
    return this.ns ?? this.own.nowNs();
  }
}
