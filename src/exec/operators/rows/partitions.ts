/**
 * Rows spilled by a hash of their keys, for operators whose state does not fit into memory: rows of equal keys come
 * into one partition, in the order in which they came, and each partition is worked on by itself afterwards.
 */
import { type DynamicVector, type Vector, flatten, slice, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { hashRows } from '../../aggregates/grouping/hash.ts';
import { mix } from '../../aggregates/grouping/pair-table.ts';
import { type Item, wait } from '../../operator.ts';
import type { SpillRun, SpillStore } from '../../source.ts';
import type { Build, Memory } from '../build.ts';
import { compact, flatSize, ordered } from '../compact.ts';
import { PlainRows, plainBatch } from './plain-rows.ts';

/** Partitions of one level: few of them have to be spilled another time. */
const partsMax = 64;
/** Partitions of partitions: beyond so many levels rows share their hash, or nearly so. */
export const levelsMax = 4;
/**
 * Rows that are brought into the order of their partitions together, and about so many bytes of them: few arrays are
 * made for many rows, and each partition's are written in one piece.
 */
const togetherMax = 1 << 16;
const bytesTogetherMax = 4 << 20;
/** Of plain rows, which take less beside what they are, so many times more of them. */
const plainTimes = 4;

/** A hash of each row's keys; equal for equal ones. `sql`: keys are equal as SQL has it. */
export const hashesOf = (keys: readonly Vector[], length: number, sql = false): Uint32Array => {
  const hashes = new Uint32Array(length);
  for (const key of keys) stir(hashes, sql ? hashRows(key, undefined, sql).low : hashed(key));
  return hashes;
};
/** The partition of each hash; each level looks at other bits. */
export const partitionsOfHashes = (hashes: Uint32Array, level: number): Uint8Array => {
  const out = new Uint8Array(hashes.length);
  const salt = Math.imul(level + 1, 0x9e3779b1);
  for (let i = 0; i < hashes.length; i++) out[i] = mix(hashes[i] ^ salt) % partsMax;
  return out;
};
/** The partition of each row by its keys. */
export const partitionsOf = (keys: readonly Vector[], length: number, level: number, sql = false): Uint8Array =>
  partitionsOfHashes(hashesOf(keys, length, sql), level);
const stir = (hashes: Uint32Array, more: Uint32Array): void => {
  for (let i = 0; i < hashes.length; i++) hashes[i] = mix(Math.imul(hashes[i], 31) ^ more[i]);
};

/** A hash of each row, records by their fields: equal for equal type and value. */
const hashed = (v: Vector): Uint32Array => {
  const flat = v.form === 'selected' || v.form === 'dictionary' || v.form === 'constant' ? flatten(v) : v;
  switch (flat.form) {
    case 'record': {
      const hashes = new Uint32Array(flat.length);
      for (const f of flat.fields) {
        const own = hashed(f.values);
        if (f.present) for (let i = 0; i < own.length; i++) if (f.present[i] === 0) own[i] = 0;
        stir(hashes, own);
      }
      return hashes;
    }
    case 'error':
    case 'named':
      return hashed(flat.inner);
    case 'dynamic':
      return hashedParts(flat);
    default:
      return hashRows(flat).low;
  }
};

/** Parts are looked at where rows refer to them: slices share the parts of the whole. */
const hashedParts = ({ tags, slots, parts, length }: DynamicVector): Uint32Array => {
  const hashes = new Uint32Array(length);
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]]++;
  parts.forEach((part, tag) => {
    if (counts[tag] === 0) return;
    const rows = new Uint32Array(counts[tag]);
    const own = new Uint32Array(rows.length);
    for (let i = 0, n = 0; i < length; i++) {
      if (tags[i] !== tag) continue;
      rows[n] = i;
      own[n++] = slots[i];
    }
    const values = hashed(take(part, own));
    for (let n = 0; n < rows.length; n++) hashes[rows[n]] = values[n];
  });
  return hashes;
};

/** Rows that may be read again and again. */
export type Rereadable = Pick<SpillRun, 'read'>;
type SpilledRows = Pick<SpillRun, 'read' | 'close'>;

/** Rows that wait to be written, and the partition of each. */
interface Waiting {
  readonly rows: Vector;
  readonly parts: Uint8Array;
}

/**
 * Rows by partition: held until they are enough, then written to spill files, those of each partition one after the
 * other.
 */
export class Partitions {
  /** Rows of each partition so far. */
  readonly rows = new Float64Array(partsMax);
  private readonly runs: (SpillRun | undefined)[] = [];
  private waiting: Waiting[] = [];
  private waitingRows = 0;
  private waitingBytes = 0;
  private readonly spill: SpillStore;
  private readonly rowsTogether: number;
  private readonly memory: Memory;
  /** The first rows, as long as all of them are of plain columns. */
  private plain: PlainRows | undefined;
  private arePlain = true;
  constructor({ context, memory }: Build) {
    this.memory = memory;
    this.spill = context.host.spill!;
    this.rowsTogether = Math.min(togetherMax, context.batchRows * partsMax);
  }
  get total(): number {
    return this.rows.reduce((n, rows) => n + rows, 0);
  }

  /** Spills rows; `parts[i]` is the partition of row i. */
  *add(batch: Vector, parts: Uint8Array): Generator<Item, void> {
    if (batch.length === 0) return;
    if (this.arePlain && this.addPlain(batch, parts)) return;
    // No more than that many: rows of columns that may be null share what says that none is.
    if (this.waitingRows + batch.length > this.rowsTogether) yield* this.flush();
    const rows = compact(batch);
    countParts(this.rows, parts, batch.length);
    this.waiting.push({ rows, parts });
    this.waitingRows += batch.length;
    this.waitingBytes += flatSize(rows);
    if (this.waitingRows >= this.rowsTogether || this.waitingBytes >= bytesTogetherMax) yield* this.flush();
  }
  private addPlain(batch: Vector, parts: Uint8Array): boolean {
    const own = plainBatch(batch);
    this.arePlain = own !== undefined;
    if (!own) return false;
    this.plain ??= new PlainRows({
      parts: partsMax,
      rowsMax: this.rowsTogether * plainTimes,
      memory: this.memory,
      open: () => this.spill.bytes(),
    });
    this.plain.add(own, parts);
    countParts(this.rows, parts, batch.length);
    return true;
  }
  /** Writes what waits: afterwards the partitions can be read. */
  *flush(): Generator<Item, void> {
    this.plain?.settle();
    const { waiting } = this;
    if (waiting.length === 0) return;
    const { order, ends } = byPartition(waiting);
    const rows = ordered(concat(waiting.map((w) => w.rows)), order);
    this.waiting = [];
    this.waitingRows = this.waitingBytes = 0;
    for (let p = 0, start = 0; p < partsMax; start = ends[p++])
      if (ends[p] > start) yield* wait((this.runs[p] ??= this.spill.open()).append(slice(rows, start, ends[p])));
  }
  /** The partitions that have rows, each once. */
  *each(): Generator<number> {
    for (let p = 0; p < partsMax; p++) if (this.rows[p] > 0) yield p;
  }
  run(p: number): SpilledRows | undefined {
    if (this.rows[p] === 0) return undefined;
    const { plain } = this;
    const run = this.runs[p];
    return {
      read: async function* read() {
        yield* plain?.read(p) ?? [];
        if (run) yield* run.read();
      },
      close: async () => run?.close(),
    };
  }
  /** The rows of all partitions, one after the other. */
  whole(): Rereadable {
    const runs = [...this.each()].map((p) => this.run(p)!);
    return {
      read: async function* read() {
        for (const run of runs) yield* run.read();
      },
    };
  }
  close(): void {
    this.plain?.close();
    for (const run of this.runs) void run?.close();
  }
}

const countParts = (counts: Float64Array, parts: Uint8Array, length: number): void => {
  for (let i = 0; i < length; i++) counts[parts[i]]++;
};
/** The rows of all batches in the order of their partitions, of one partition as they came, and where each ends. */
const byPartition = (batches: readonly Waiting[]): { readonly order: Uint32Array; readonly ends: Uint32Array } => {
  const counts = new Float64Array(partsMax);
  for (const { rows, parts } of batches) countParts(counts, parts, rows.length);
  const ends = new Uint32Array(partsMax);
  for (let p = 1; p < partsMax; p++) ends[p] = ends[p - 1] + counts[p - 1];
  const order = new Uint32Array(ends[partsMax - 1] + counts[partsMax - 1]);
  let base = 0;
  for (const { rows, parts } of batches) {
    placeRows(order, ends, parts, base, rows.length);
    base += rows.length;
  }
  return { order, ends };
};
const placeRows = (order: Uint32Array, next: Uint32Array, parts: Uint8Array, base: number, length: number): void => {
  for (let i = 0; i < length; i++) order[next[parts[i]]++] = base + i;
};
