/**
 * Rows put aside by a hash of their keys, for operators whose state does not fit into memory: rows of equal keys come
 * into one partition, in the order in which they came, and each partition is worked on by itself afterwards.
 */
import { type DynamicVector, type Vector, flatten, take } from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { hashRows } from '../../aggregates/grouping/hash.ts';
import { mix } from '../../aggregates/pair-table.ts';
import { type Item, wait } from '../../operator.ts';
import type { SpillRun, SpillStore } from '../../source.ts';
import type { Build } from '../build.ts';
import { compact, flatSize } from '../compact.ts';

/** Partitions of one level: few of them have to be put aside another time. */
const partsMax = 64;
/** Partitions of partitions: beyond so many levels rows share their hash, or nearly so. */
export const levelsMax = 4;
/** Rows of a partition that are written together. */
const togetherMin = 1024;
/** What waits to be written, in all partitions: long rows go sooner, the partitions that have most of them first. */
const waitingBytesMax = 8 << 20;

/** The partition of each row by its keys; each level looks at other bits. `sql`: keys are equal as SQL has it. */
export const partitionsOf = (keys: readonly Vector[], length: number, level: number, sql = false): Uint8Array => {
  const hashes = new Uint32Array(length);
  const out = new Uint8Array(length);
  const salt = Math.imul(level + 1, 0x9e3779b1);
  for (const key of keys) stir(hashes, sql ? hashRows(key, undefined, sql).low : hashed(key));
  for (let i = 0; i < length; i++) out[i] = mix(hashes[i]! ^ salt) % partsMax;
  return out;
};
const stir = (hashes: Uint32Array, more: Uint32Array): void => {
  for (let i = 0; i < hashes.length; i++) hashes[i] = mix(Math.imul(hashes[i]!, 31) ^ more[i]!);
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
  for (let i = 0; i < length; i++) counts[tags[i]!]!++;
  parts.forEach((part, tag) => {
    if (counts[tag] === 0) return;
    const rows = new Uint32Array(counts[tag]!);
    const own = new Uint32Array(rows.length);
    for (let i = 0, n = 0; i < length; i++) {
      if (tags[i] !== tag) continue;
      rows[n] = i;
      own[n++] = slots[i]!;
    }
    const values = hashed(take(part, own));
    for (let n = 0; n < rows.length; n++) hashes[rows[n]!] = values[n]!;
  });
  return hashes;
};

/** Rows that may be read again and again. */
export type Rereadable = Pick<SpillRun, 'read'>;

interface Waiting {
  vectors: Vector[];
  rows: number;
  bytes: number;
}

/** Rows by partition: held until they are enough, then written to spill files. */
export class Partitions {
  /** Rows of each partition so far. */
  readonly rows = new Float64Array(partsMax);
  private readonly runs: (SpillRun | undefined)[] = [];
  private readonly waiting: readonly Waiting[] = Array.from({ length: partsMax }, () => ({
    vectors: [],
    rows: 0,
    bytes: 0,
  }));
  private waitingBytes = 0;
  private readonly spill: SpillStore;
  private readonly rowsTogether: number;
  constructor({ context }: Build) {
    this.spill = context.host.spill!;
    this.rowsTogether = Math.min(togetherMin, context.batchRows);
  }
  get total(): number {
    return this.rows.reduce((n, rows) => n + rows, 0);
  }

  /** Puts rows aside; `parts[i]` is the partition of row i. */
  *add(batch: Vector, parts: Uint8Array): Generator<Item, void> {
    const counts = new Uint32Array(partsMax);
    for (let i = 0; i < batch.length; i++) counts[parts[i]!]!++;
    const lists = Array.from(counts, (n) => new Uint32Array(n));
    counts.fill(0);
    for (let i = 0; i < batch.length; i++) {
      const p = parts[i]!;
      lists[p]![counts[p]!++] = i;
    }
    for (const [p, rows] of lists.entries()) {
      if (rows.length === 0) continue;
      const own = this.waiting[p]!;
      const taken = rows.length === batch.length ? batch : compact(take(batch, rows));
      const bytes = flatSize(taken);
      own.vectors.push(taken);
      own.rows += rows.length;
      own.bytes += bytes;
      this.waitingBytes += bytes;
      this.rows[p]! += rows.length;
      if (own.rows >= this.rowsTogether || own.bytes >= waitingBytesMax) yield* this.write(p);
    }
    while (this.waitingBytes > waitingBytesMax) yield* this.write(this.largest());
  }
  private largest(): number {
    let found = 0;
    this.waiting.forEach(({ bytes }, p) => {
      if (bytes > this.waiting[found]!.bytes) found = p;
    });
    return found;
  }
  /** Writes what waits: afterwards the partitions can be read. */
  *flush(): Generator<Item, void> {
    for (let p = 0; p < partsMax; p++) if (this.waiting[p]!.rows > 0) yield* this.write(p);
  }
  /** The partitions that have rows, each once. */
  *each(): Generator<number> {
    for (let p = 0; p < partsMax; p++) if (this.rows[p]! > 0) yield p;
  }
  run(p: number): SpillRun | undefined {
    return this.runs[p];
  }
  /** The rows of all partitions, one after the other. */
  whole(): Rereadable {
    const runs = this.runs.filter((run) => run !== undefined);
    return {
      read: async function* read() {
        for (const run of runs) yield* run.read();
      },
    };
  }
  close(): void {
    for (const run of this.runs) void run?.close();
  }

  private *write(p: number): Generator<Item, void> {
    const own = this.waiting[p]!;
    const rows = concat(own.vectors);
    this.waitingBytes -= own.bytes;
    own.vectors = [];
    own.rows = own.bytes = 0;
    yield* wait((this.runs[p] ??= this.spill.open()).append(rows));
  }
}
