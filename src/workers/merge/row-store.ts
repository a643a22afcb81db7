/** Rows that wait: in memory while there is room, else in spill files. */
import type { Memory } from '../../exec/operators/build.ts';
import { compact, flatSize } from '../../exec/operators/compact.ts';
import { levelsMax, partitionsOf } from '../../exec/operators/rows/partitions.ts';
import type { SpillRun, SpillStore } from '../../exec/source.ts';
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { working } from '../../vectors/stop.ts';
import { type Vector, noRows, take } from '../../vectors/vector.ts';

/** What rows are kept with. */
export interface RowTools {
  readonly memory: Memory;
  readonly spill: SpillStore;
  readonly signal: AbortSignal;
}

/** A hash table takes so many times its rows, about, and copies of them. */
const tableCost = 6;

/** Rows in the order in which they came. `close` frees what they take. */
export class RowList {
  private readonly tools: RowTools;
  private held: Vector[] = [];
  private bytes = 0;
  private run: SpillRun | undefined;
  length = 0;
  constructor(tools: RowTools) {
    this.tools = tools;
  }
  /** There is room for a table of its rows as well. */
  get isFew(): boolean {
    return !this.run && this.bytes * tableCost <= this.tools.memory.max / 2;
  }
  async add(rows: Vector): Promise<void> {
    if (rows.length === 0) return;
    const own = compact(rows);
    this.length += own.length;
    if (this.run) {
      await this.run.append(own);
      return;
    }
    const bytes = flatSize(own);
    this.held.push(own);
    this.bytes += bytes;
    this.tools.memory.add(bytes);
    if (!this.tools.memory.isOverWith(this.bytes)) return;
    this.run = this.tools.spill.open();
    for (const waiting of this.held) await this.run.append(waiting);
    this.free();
  }
  /** Those of a list that has few. */
  all(): Vector {
    return this.held.length === 0 ? noRows : concat(this.held);
  }
  async *read(): AsyncGenerator<Vector> {
    if (this.run) yield* this.run.read();
    else yield* this.held;
  }
  close(): void {
    this.free();
    void this.run?.close();
  }
  private free(): void {
    this.tools.memory.add(-this.bytes);
    this.bytes = 0;
    this.held = [];
  }
}

/** Where rows of a change come from: the two sides of a merge, and what each took away and gave. */
export const sides = ['oursRemoved', 'oursAdded', 'theirsRemoved', 'theirsAdded'] as const;
export type Side = (typeof sides)[number];
/** Rows of all sides that are worked on together. */
export type SideRows = Readonly<Record<Side, Vector>>;

/**
 * Rows of the sides, by a key: those of one key come together. While all fit into memory they are one group, else
 * groups by a hash of the key, and groups of these where they are still too many.
 */
export class Groups {
  private readonly tools: RowTools;
  private readonly keyOf: (rows: Vector) => Vector;
  private readonly level: number;
  private waiting: { readonly side: Side; readonly rows: Vector }[] = [];
  private bytes = 0;
  private isSpilled = false;
  private readonly runs = new Map<number, Map<Side, SpillRun>>();
  constructor(tools: RowTools, keyOf: (rows: Vector) => Vector, level = 0) {
    this.tools = tools;
    this.keyOf = keyOf;
    this.level = level;
  }

  async add(side: Side, rows: Vector): Promise<void> {
    if (rows.length === 0) return;
    const own = compact(rows);
    const bytes = flatSize(own);
    this.waiting.push({ side, rows: own });
    this.bytes += bytes;
    this.tools.memory.add(bytes);
    const isMuch = this.tools.memory.isOverWith(this.bytes * tableCost);
    if (isMuch && this.level < levelsMax) this.isSpilled = true;
    if (this.isSpilled && (isMuch || this.waiting.length >= waitingMax)) await this.flush();
  }

  async *read(): AsyncGenerator<SideRows> {
    if (!this.isSpilled) {
      if (this.waiting.length > 0) yield this.together();
      return;
    }
    await this.flush();
    for (const [part, runs] of this.runs) {
      const inner = new Groups(this.tools, this.keyOf, this.level + 1);
      try {
        for (const [side, run] of runs) for await (const rows of run.read()) await inner.add(side, rows);
        yield* inner.read();
      } finally {
        inner.close();
        for (const run of runs.values()) void run.close();
        this.runs.delete(part);
      }
    }
  }
  close(): void {
    this.free();
    for (const runs of this.runs.values()) for (const run of runs.values()) void run.close();
    this.runs.clear();
  }

  private together(): SideRows {
    const of = (side: Side): Vector => {
      const parts = this.waiting.flatMap((one) => (one.side === side ? [one.rows] : []));
      return parts.length === 0 ? noRows : concat(parts);
    };
    return working(this.tools.signal, () => ({
      oursRemoved: of('oursRemoved'),
      oursAdded: of('oursAdded'),
      theirsRemoved: of('theirsRemoved'),
      theirsAdded: of('theirsAdded'),
    }));
  }
  private async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const all = this.together();
    this.free();
    for (const side of sides) {
      const rows = all[side];
      if (rows.length === 0) continue;
      const places = working(this.tools.signal, () => partitionsOf([this.keyOf(rows)], rows.length, this.level));
      const byPart = new Map<number, Uint32List>();
      for (let i = 0; i < rows.length; i++) {
        let list = byPart.get(places[i]!);
        if (!list) byPart.set(places[i]!, (list = new Uint32List()));
        list.push(i);
      }
      for (const [part, list] of byPart) await this.runOf(part, side).append(take(rows, list.done()));
    }
  }
  private runOf(part: number, side: Side): SpillRun {
    let runs = this.runs.get(part);
    if (!runs) this.runs.set(part, (runs = new Map()));
    let run = runs.get(side);
    if (!run) runs.set(side, (run = this.tools.spill.open()));
    return run;
  }
  private free(): void {
    this.tools.memory.add(-this.bytes);
    this.bytes = 0;
    this.waiting = [];
  }
}
/** Batches that are brought into the order of their partitions together, at most. */
const waitingMax = 256;
