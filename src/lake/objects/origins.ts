/**
 * Where the rows of an object come from. The origin of a row is the object that it was first written into and its place
 * there; an object that was rewritten keeps the origins of the rows that it did not change. Two rows of one origin are
 * equal, so who compares objects need not read them.
 *
 * Invariants:
 * - Origins are a hint: without them the same rows are found equal by their values. They are left out where they would
 *   be long beside the rows, and what is damaged of them is not looked at.
 * - Rows of one source come in the order that they have there.
 * - Every row has one origin: rows of no run are the object's own.
 */
import { Uint32List } from '../../vectors/lists.ts';
import { ByteWriter } from '../../vectors/value.ts';
import { ByteReader } from '../columns/byte-reader.ts';
import { idBuffer, idBytes, idOfBytes } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';

/** Rows [at, at + rows) of an object are rows [from, from + rows) of `source`. */
export interface OriginRun {
  readonly source: Id;
  readonly at: number;
  readonly from: number;
  readonly rows: number;
}

/** Runs of an object, at most. */
const runsMax = 16_384;
/** Rows of a run, at least and on average. */
const rowsPerRun = 16;
/** Objects of fewer rows have none: they cost little to compare. */
const rowsMin = 1024;

/** Follows the rows of one object into those that it is rewritten as. */
export class OriginTrail {
  /** The origins of the rows of the source, all of them, in order. */
  private readonly known: readonly OriginRun[];
  /** Runs of kept rows: where they are among all that came, where they were, and how many. */
  private readonly at = new Uint32List();
  private readonly from = new Uint32List();
  private readonly rows = new Uint32List();
  private length = 0;
  /** The first run that may reach into the next object. */
  private next = 0;
  constructor(source: { readonly id: Id; readonly count: number; readonly origins: readonly OriginRun[] }) {
    this.known = withOwn(source);
  }

  /** The next rows are those of the source from `from` on. */
  kept(from: number, rows: number): void {
    if (rows === 0) return;
    const last = this.at.length - 1;
    const before = last < 0 ? 0 : this.rows.array[last]!;
    const goesOn =
      last >= 0 && this.at.array[last]! + before === this.length && this.from.array[last]! + before === from;
    if (goesOn) this.rows.array[last] = before + rows;
    else {
      this.at.push(this.length);
      this.from.push(from);
      this.rows.push(rows);
    }
    this.length += rows;
  }
  /** The next rows are not of the source. */
  fresh(rows: number): void {
    this.length += rows;
  }
  /** The next rows are a block of the source from `start` on, of which the rows at `changed` are others or gone. */
  block(start: number, rows: number, changed: Uint32Array, areGone: boolean): void {
    let next = 0;
    for (const row of changed) {
      this.kept(start + next, row - next);
      if (!areGone) this.fresh(1);
      next = row + 1;
    }
    this.kept(start + next, rows - next);
  }

  /**
   * The origins of the object that rows [start, end) are written into, as bytes; undefined: they do not pay. Objects are
   * asked for in order.
   */
  bytes(start: number, end: number): Uint8Array | undefined {
    if (end - start < rowsMin) return undefined;
    const found: OriginRun[] = [];
    const most = Math.min(runsMax, (end - start) / rowsPerRun);
    let k = 0;
    while (this.next < this.at.length && this.endOf(this.next) <= start) this.next++;
    for (let n = this.next; n < this.at.length && this.at.array[n]! < end; n++) {
      const at = this.at.array[n]!;
      const from = this.from.array[n]!;
      const first = Math.max(at, start);
      const last = Math.min(this.endOf(n), end);
      const to = from + last - at;
      let row = from + first - at;
      while (this.known[k]!.at + this.known[k]!.rows <= row) k++;
      for (let j = k; row < to; j++) {
        const run = this.known[j]!;
        const rows = Math.min(run.at + run.rows, to) - row;
        found.push({ source: run.source, at: at - start + row - from, from: run.from + row - run.at, rows });
        row += rows;
      }
      if (found.length > most) return undefined;
    }
    return found.length === 0 ? undefined : encoded(found);
  }
  private endOf(run: number): number {
    return this.at.array[run]! + this.rows.array[run]!;
  }
}

/** All rows of an object with their origins: those of no run are its own. */
export const withOwn = ({
  id,
  count,
  origins,
}: {
  readonly id: Id;
  readonly count: number;
  readonly origins: readonly OriginRun[];
}): readonly OriginRun[] => {
  const all: OriginRun[] = [];
  let next = 0;
  const own = (end: number): void => {
    if (end > next) all.push({ source: id, at: next, from: next, rows: end - next });
  };
  for (const run of origins) {
    own(run.at);
    all.push(run);
    next = run.at + run.rows;
  }
  own(count);
  return all;
};

/** n sources, and each of them; n runs, and of each n source, n rows behind the last run, n place in it, n rows. */
const encoded = (runs: readonly OriginRun[]): Uint8Array => {
  const sources = [...new Set(runs.map((run) => run.source))];
  const numbers = new Map(sources.map((id, n) => [id, n]));
  // A place is told from the end of the last run of its source, which it never is before.
  const ends = sources.map(() => 0);
  const out = new ByteWriter();
  out.uvarint(sources.length);
  for (const id of sources) out.raw(idBuffer(id));
  out.uvarint(runs.length);
  let next = 0;
  for (const { source, at, from, rows } of runs) {
    const number = numbers.get(source)!;
    out.uvarint(number);
    out.uvarint(at - next);
    out.uvarint(from - ends[number]!);
    out.uvarint(rows);
    next = at + rows;
    ends[number] = from + rows;
  }
  return out.done();
};

/** What `OriginTrail` wrote of an object of `count` rows; undefined for anything else. */
export const readOrigins = (bytes: Uint8Array, count: number): readonly OriginRun[] | undefined => {
  try {
    return decoded(bytes, count);
  } catch {
    // A hint that cannot be read is none.
    return undefined;
  }
};
const decoded = (bytes: Uint8Array, count: number): readonly OriginRun[] => {
  const input = new ByteReader(bytes);
  const sources = input.list(() => idOfBytes(input.raw(idBytes)));
  const ends = sources.map(() => 0);
  let next = 0;
  return input.list((): OriginRun => {
    const number = input.uvarint();
    const source = sources[number];
    if (source === undefined) throw new Error(`no source ${number}`);
    const at = next + input.uvarint();
    const from = ends[number]! + input.uvarint();
    const rows = input.uvarint();
    next = at + rows;
    ends[number] = from + rows;
    if (next > count) throw new Error(`origins of ${next} rows`);
    return { source, at, from, rows };
  });
};
