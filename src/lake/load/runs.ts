/**
 * Sorted runs of a load: rows that did not fit in memory wait in scratch files, in frames that are the vectors as they
 * were, and are merged in the end.
 *
 * Invariants:
 * - Runs are given in the order in which their rows came; rows of equal keys keep that order.
 * - Of a run that is being merged, some frames are in memory, no more of all than a step takes.
 */
import { type PackedVectors, packVectors, unpackVectors } from '../../vectors/transfer.ts';
import { concat } from '../../vectors/concat.ts';
import { addedSize, fewParts, lean } from '../../vectors/shown-size.ts';
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, flatten, range, slice, take, valueAt } from '../../vectors/vector.ts';
import type { Id, SortOrder } from '../lake.types.ts';
import { newId } from '../ksuid.ts';
import { blockRowsMax } from '../objects/format.ts';
import type { ObjectSink, ObjectStore } from '../objects/objects.ts';
import { keyColumn, sortColumn, sortRows } from './sort-rows.ts';

/** Paths of the key fields, the first one first, and their order. */
interface MergeOrder {
  readonly keys: readonly (readonly string[])[];
  readonly order: SortOrder;
}
/** Rows in order, some at a time. */
export interface RunSource {
  next(): Promise<Vector | undefined>;
  /** What a row takes in memory, about, if that is known. */
  readonly bytesPerRow?: number;
}

/**
 * Rows that follow each other in a part are taken as a slice if such stretches are so long on average; else rows are
 * copied one by one.
 */
const stretchRowsMin = 32;

/** Rows that take more, on average, are put together some at a time: all of them once more would be too much. */
const costlyRowBytes = 512;
/** Bytes of rows that are put together at once then. */
const togetherBytes = 4 << 20;

/**
 * The rows of `parts`, numbered through, in this order: a block's worth at a time, or in slices. The list of the parts
 * is emptied once all of them were copied.
 */
export function* rowsInOrder(parts: Vector[], order: Uint32Array): Generator<Vector> {
  const starts = new Uint32Array(parts.length + 1);
  parts.forEach((part, i) => {
    starts[i + 1] = starts[i]! + part.length;
  });
  if (stretches(order) * stretchRowsMin > order.length) {
    const bytesPerRow = parts.reduce((n, part) => n + addedSize(part), 0) / starts[parts.length]!;
    if (bytesPerRow > costlyRowBytes) {
      const rows = Math.max(1, Math.min(blockRowsMax, Math.floor(togetherBytes / bytesPerRow)));
      for (let start = 0; start < order.length; start += rows)
        yield together(parts, starts, order.subarray(start, Math.min(order.length, start + rows)));
      return;
    }
    const all = concat(parts);
    parts.length = 0;
    for (let start = 0; start < order.length; start += blockRowsMax)
      yield take(all, order.subarray(start, Math.min(order.length, start + blockRowsMax)));
    return;
  }
  let part = 0;
  for (let i = 0; i < order.length; ) {
    const row = order[i]!;
    if (row < starts[part]! || row >= starts[part + 1]!) part = partOf(starts, row);
    const stop = Math.min(order.length, i + starts[part + 1]! - row);
    let end = i + 1;
    while (end < stop && order[end] === order[end - 1]! + 1) end++;
    yield slice(parts[part]!, row - starts[part]!, row - starts[part]! + end - i);
    i = end;
  }
}
/** Some rows of the parts, copied out. */
const together = (parts: readonly Vector[], starts: Uint32Array, order: Uint32Array): Vector => {
  const counts = new Uint32Array(parts.length);
  const firsts = new Uint32Array(parts.length);
  const places = new Uint32Array(order.length);
  const of = new Uint32Array(order.length);
  order.forEach((row, i) => {
    counts[(of[i] = partOf(starts, row))]!++;
  });
  for (let part = 1; part < parts.length; part++) firsts[part] = firsts[part - 1]! + counts[part - 1]!;
  const next = firsts.slice();
  const rows = new Uint32Array(order.length);
  order.forEach((row, i) => {
    const part = of[i]!;
    const at = next[part]!++;
    rows[at] = row - starts[part]!;
    places[i] = at;
  });
  const some = parts.flatMap((part, k) =>
    counts[k] === 0 ? [] : [flatten(take(part, rows.subarray(firsts[k]!, firsts[k]! + counts[k]!)))],
  );
  return take(concat(some), places);
};
/** How many slices the order takes. */
const stretches = (order: Uint32Array): number => {
  let count = 1;
  for (let i = 1; i < order.length; i++) if (order[i] !== order[i - 1]! + 1) count++;
  return count;
};
const partOf = (starts: Uint32Array, row: number): number => {
  let low = 0;
  let high = starts.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= row) low = middle;
    else high = middle;
  }
  return low;
};

const noKey = new Uint8Array(0);

/** Most bytes of a frame, of runs that are allowed so much memory: many runs are merged at once. */
const frameBytesOf = (memoryBytesMax: number): number => Math.max(32 << 10, Math.min(512 << 10, memoryBytesMax / 128));

/**
 * Rows in a file: `buffer` bytes of arrays, then `forms` bytes that tell what is in them. `first`: key of the first
 * row.
 */
interface Frame {
  readonly offset: number;
  readonly buffer: number;
  readonly forms: number;
  readonly rows: number;
  readonly first: Uint8Array;
}
/** What tells of the arrays becomes objects, of so many times its bytes. */
const formsFactor = 4;
/** Bytes that a frame takes in memory, about. */
const frameCost = ({ buffer, forms }: { readonly buffer: number; readonly forms: number }): number =>
  buffer + forms * formsFactor;
/**
 * Frames of a run that follow each other; of the first one `skip` rows are left out, of the last one all from
 * `lastRows` on.
 */
export interface RunPart {
  readonly id: Id;
  readonly frames: readonly Frame[];
  readonly skip: number;
  readonly lastRows?: number;
}

/** Writes a run. */
export class RunWriter {
  private readonly store: ObjectStore;
  private readonly id = newId();
  private readonly sink: ObjectSink;
  private readonly key: readonly string[] | undefined;
  private readonly frameBytes: number;
  private frameRows: number;
  private readonly frames: Frame[] = [];
  private closing = false;
  private at = 0;
  private held: Vector[] = [];
  private heldRows = 0;

  constructor(
    store: ObjectStore,
    options: {
      readonly keys: readonly (readonly string[])[];
      readonly bytesPerRow: number;
      readonly memoryBytesMax: number;
    },
  ) {
    this.store = store;
    this.key = options.keys[0];
    this.sink = store.create(this.id);
    this.frameBytes = frameBytesOf(options.memoryBytesMax);
    this.frameRows = this.rowsOf(options.bytesPerRow);
  }

  private rowsOf(bytesPerRow: number): number {
    return Math.max(1, Math.min(blockRowsMax, Math.floor(this.frameBytes / Math.max(1, bytesPerRow))));
  }

  add(rows: Vector): void {
    // What rows are picked from has many parts where they are of many shapes: it is halved again and again, each half
    // with its own parts.
    const piece = flatten(rows);
    if (piece.form === 'dynamic' && piece.parts.length > fewParts && piece.length > this.frameRows * 2) {
      const half = piece.length >> 1;
      this.add(slice(piece, 0, half));
      this.add(slice(piece, half, piece.length));
      return;
    }
    for (let start = 0; start < piece.length; ) {
      const end = Math.min(piece.length, start + Math.max(1, this.frameRows - this.heldRows));
      this.held.push(slice(piece, start, end));
      this.heldRows += end - start;
      if (this.heldRows >= this.frameRows) this.frame();
      start = end;
    }
  }

  async finish(): Promise<SpilledRun> {
    this.frame();
    this.closing = true;
    await this.sink.close();
    return new SpilledRun(this.store, { id: this.id, frames: this.frames, skip: 0 });
  }
  async abort(): Promise<void> {
    if (!this.closing) await this.sink.abort();
  }

  private frame(): void {
    if (this.heldRows === 0) return;
    const rows = lean(concat(this.held));
    this.held = [];
    this.heldRows = 0;
    const { forms, buffer } = packVectors([rows]);
    const text = Buffer.from(JSON.stringify(forms));
    this.sink.write(new Uint8Array(buffer));
    this.sink.write(text);
    const first = this.key ? sortKeyBytes(valueAt(keyColumn(rows, this.key), 0)) : noKey;
    const frame = { offset: this.at, buffer: buffer.byteLength, forms: text.length, rows: rows.length, first };
    this.frames.push(frame);
    // Rows in order may have more shapes among as many rows than they had as they came. What tells of one shape is the
    // same for few rows and for many: so many that it is half of the frame.
    const ofShape = (frame.forms * formsFactor) / (rows.form === 'dynamic' ? rows.parts.length : 1);
    this.frameRows = Math.max(
      this.rowsOf(frameCost(frame) / rows.length),
      Math.min(blockRowsMax, Math.ceil((ofShape * rows.length) / Math.max(1, frame.buffer))),
    );
    this.at += buffer.byteLength + text.length;
  }
}

/** A run, or part of one, from its file. */
export class SpilledRun implements RunSource {
  readonly part: RunPart;
  private readonly store: ObjectStore;
  private readonly keep: boolean;
  private at = 0;

  /** `keep`: the file stays when all is read. */
  constructor(store: ObjectStore, part: RunPart, keep = false) {
    this.store = store;
    this.part = part;
    this.keep = keep;
  }

  get bytesPerRow(): number {
    const { frames } = this.part;
    return (
      frames.reduce((n, frame) => n + frameCost(frame), 0) /
      Math.max(
        1,
        frames.reduce((n, { rows }) => n + rows, 0),
      )
    );
  }

  async next(): Promise<Vector | undefined> {
    const { id, frames, skip, lastRows } = this.part;
    const at = this.at++;
    if (at >= frames.length) {
      if (!this.keep) await this.store.delete(id);
      return undefined;
    }
    const rows = await this.read(frames[at]!);
    return slice(rows, at === 0 ? skip : 0, at === frames.length - 1 ? (lastRows ?? rows.length) : rows.length);
  }

  /** The rows before a key and those from it on; undefined where there are none. */
  async split(
    key: Uint8Array,
    path: readonly string[],
    sign: number,
  ): Promise<readonly [RunPart | undefined, RunPart | undefined]> {
    const { id, frames } = this.part;
    let before = 0;
    while (before < frames.length && compareBytes(frames[before]!.first, key) * sign < 0) before++;
    if (before === 0) return [undefined, this.part];
    const rows = await this.read(frames[before - 1]!);
    const column = keyColumn(rows, path);
    let low = 1;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(sortKeyBytes(valueAt(column, middle)), key) * sign < 0) low = middle + 1;
      else high = middle;
    }
    const rest = low < rows.length ? frames.slice(before - 1) : frames.slice(before);
    return [
      { id, frames: frames.slice(0, before), skip: 0, lastRows: low },
      rest.length > 0 ? { id, frames: rest, skip: low < rows.length ? low : 0 } : undefined,
    ];
  }

  private async read(frame: Frame): Promise<Vector> {
    const bytes = await this.store.readRange(this.part.id, frame.offset, frame.buffer + frame.forms);
    const forms = JSON.parse(Buffer.from(bytes.buffer, frame.buffer, frame.forms).toString()) as PackedVectors['forms'];
    return unpackVectors({ forms, buffer: bytes.buffer as ArrayBuffer })[0]!;
  }
}

/** Whole runs as two halves, about, that no key is in both of; undefined if there is no such key. */
export const halvesOf = async (
  runs: readonly SpilledRun[],
  { keys: [path], order }: MergeOrder,
): Promise<readonly [readonly RunPart[], readonly RunPart[]] | undefined> => {
  if (!path) return undefined;
  const sign = order === 'asc' ? 1 : -1;
  const firsts = runs
    .flatMap((run) => run.part.frames.map((frame) => frame.first))
    .sort((a, b) => compareBytes(a, b) * sign);
  const lower: RunPart[] = [];
  const upper: RunPart[] = [];
  for (const run of runs) {
    const [before, from] = await run.split(firsts[firsts.length >> 1]!, path, sign);
    if (before) lower.push(before);
    if (from) upper.push(from);
  }
  return lower.length > 0 && upper.length > 0 ? [lower, upper] : undefined;
};

/**
 * Rows, and bytes of them, that are looked at in one step of a merge, about; and rows of one run at least, unless these
 * are large.
 */
const stepRows = 32_768;
const stepBytes = 12 << 20;
const stepRowsMin = 64;

/** Rows of a run with their keys; those before `at` are given out. */
interface HeldRows {
  readonly rows: Vector;
  readonly columns: readonly Vector[];
  at: number;
}

/** A run with the rows that are read and not yet given out. */
class Cursor {
  /** Rows that are left of what was read. */
  left = 0;
  private held: HeldRows[] = [];
  private readonly source: RunSource;
  private readonly keys: readonly (readonly string[])[];
  private ended = false;
  /** Keys of the first row that is left and of the last one. */
  private firstKey: Uint8Array | undefined;
  private lastKey: Uint8Array | undefined;

  constructor(source: RunSource, keys: readonly (readonly string[])[]) {
    this.source = source;
    this.keys = keys;
  }

  get first(): Uint8Array {
    const [head] = this.held;
    return (this.firstKey ??= keyAt(head!, head!.at));
  }
  get last(): Uint8Array {
    const end = this.held.at(-1)!;
    return (this.lastKey ??= keyAt(end, end.rows.length - 1));
  }

  /** Reads on until so many rows are there; false when none are left. */
  async read(rows: number): Promise<boolean> {
    while (this.left < rows && !this.ended) {
      const next = await this.source.next();
      if (!next) this.ended = true;
      else {
        this.held.push({ rows: next, columns: this.keys.map((path) => keyValues(next, path)), at: 0 });
        this.left += next.length;
        this.lastKey = undefined;
      }
    }
    return this.left > 0;
  }
  /** What there is of the first `rows` rows, of a key or of all. */
  *parts(rows: number, key?: number): Generator<Vector> {
    for (const { rows: all, columns, at } of this.held) {
      if (rows <= 0) return;
      yield slice(key === undefined ? all : columns[key]!, at, Math.min(all.length, at + rows));
      rows -= all.length - at;
    }
  }
  /** Takes the next rows. */
  take(rows: number): void {
    this.left -= rows;
    this.firstKey = undefined;
    for (let [head] = this.held; head && rows > 0; [head] = this.held) {
      const some = Math.min(rows, head.rows.length - head.at);
      head.at += some;
      rows -= some;
      if (head.at === head.rows.length) this.held.shift();
    }
  }
}

const keyAt = ({ columns: [column] }: HeldRows, row: number): Uint8Array =>
  column ? sortKeyBytes(valueAt(column, row)) : noKey;
/** The values of a key, those of one type in one part. */
const keyValues = (rows: Vector, path: readonly string[]): Vector => {
  const column = keyColumn(rows, path);
  const half = column.length >> 1;
  return flatten(
    column.form === 'dynamic' && half > 0
      ? concat([slice(column, 0, half), slice(column, half, column.length)])
      : column,
  );
};

/** The rows of all runs in order. */
export async function* mergeRuns(sources: readonly RunSource[], { keys, order }: MergeOrder): AsyncGenerator<Vector> {
  const sign = order === 'asc' ? 1 : -1;
  const bytesPerRow = Math.max(1, ...sources.map((source) => source.bytesPerRow ?? 1));
  const rows = Math.min(stepRows, Math.ceil(stepBytes / bytesPerRow));
  let cursors = sources.map((source) => new Cursor(source, keys));
  for (;;) {
    const left: Cursor[] = [];
    for (const cursor of cursors) if (await cursor.read(1)) left.push(cursor);
    cursors = left;
    if (cursors.length <= 1) break;
    yield* await nextStep(cursors, rows, { keyCount: keys.length, sign });
  }
  for (const cursor of cursors) {
    while (await cursor.read(1)) {
      yield* cursor.parts(cursor.left);
      cursor.take(cursor.left);
    }
  }
}

/**
 * The rows that come before all that is not looked at. Some rows of each run are sorted together; those up to the first
 * row that is the last one of its run to be looked at are in their place then.
 */
const nextStep = async (
  cursors: readonly Cursor[],
  rows: number,
  by: { readonly keyCount: number; readonly sign: number },
): Promise<Generator<Vector>> => {
  const { keyCount, sign } = by;
  let some: readonly Cursor[] = [];
  for (let more = true; more; ) {
    const bound = cursors.reduce(
      (least, { last }) => (compareBytes(last, least) * sign < 0 ? last : least),
      cursors[0]!.last,
    );
    const near = keyCount === 0 ? [cursors[0]!] : cursors.filter(({ first }) => compareBytes(first, bound) * sign <= 0);
    more = near.length > some.length;
    some = near;
    // What is read may end later, and more runs begin before that.
    if (more) for (const cursor of some) await cursor.read(shareOf(some, rows));
  }
  return merged(some, shareOf(some, rows), by);
};
const shareOf = (cursors: readonly Cursor[], rows: number): number =>
  Math.max(Math.min(stepRowsMin, Math.ceil(rows / 8)), Math.floor(rows / cursors.length));

function* merged(
  cursors: readonly Cursor[],
  most: number,
  { keyCount, sign }: { readonly keyCount: number; readonly sign: number },
): Generator<Vector> {
  const counts = cursors.map((cursor) => Math.min(most, cursor.left));
  const total = counts.reduce((n, count) => n + count, 0);
  const columns: Vector[] = [];
  for (let key = 0; key < keyCount; key++)
    columns.push(concat(cursors.flatMap((cursor) => [...cursor.parts(most, key)])));
  const order = sortRows(columns.map(sortColumn), total, { descending: sign < 0 }) ?? range(0, total);
  const isLast = new Uint8Array(total);
  let end = 0;
  let length = 0;
  for (const count of counts) isLast[(end += count) - 1] = 1;
  while (isLast[order[length++]!] === 0);
  const done = order.subarray(0, length);
  const parts = cursors.flatMap((cursor) => [...cursor.parts(most)]);
  takeRows(cursors, counts, done);
  yield* rowsInOrder(parts, done);
}
/** Of each run its first rows are taken, for runs are in order. */
const takeRows = (cursors: readonly Cursor[], counts: readonly number[], order: Uint32Array): void => {
  const starts = new Uint32Array(counts.length + 1);
  const taken = new Uint32Array(counts.length);
  counts.forEach((count, i) => {
    starts[i + 1] = starts[i]! + count;
  });
  let part = 0;
  for (const row of order) {
    if (row < starts[part]! || row >= starts[part + 1]!) part = partOf(starts, row);
    taken[part]!++;
  }
  cursors.forEach((cursor, i) => {
    cursor.take(taken[i]!);
  });
};
