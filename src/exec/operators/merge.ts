/**
 * merge: several sorted streams as one. What lies before the last row at hand of every stream that goes on is sorted
 * together and given, since nothing that is still to come can go before it (equal rows keep the order of their
 * streams). How far that is in each stream is found by samples, in the order of the sort itself.
 */
import { type Vector, slice, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { type Item, type Stream, batches, isBatch, pause } from '../operator.ts';
import { flatSize } from './compact.ts';
import { type EvaluatedKey, keysOf, orderBy } from './sort/keys.ts';

/** Rows that are given are no more bytes at a time, unless a single one is. */
const batchBytes = 4 << 20;

/** Rows at hand of a stream, and their key columns. */
interface Cursor {
  readonly items: Iterator<Item>;
  rows: Vector | undefined;
  keys: readonly Vector[];
  ended: boolean;
}

/**
 * `rowsMin`: a stream is asked for more when fewer rows of it are at hand; all streams should end at about the same
 * place then.
 */
export function* mergeSorted(
  inputs: readonly Stream[],
  keys: readonly EvaluatedKey[],
  rowsMax: number,
  rowsMin = 1,
): Generator<Item> {
  const cursors: Cursor[] = inputs.map((s) => ({
    items: s[Symbol.iterator](),
    rows: undefined,
    keys: [],
    ended: false,
  }));
  try {
    for (;;) {
      for (const c of cursors) while (!c.ended && (c.rows?.length ?? 0) < rowsMin) yield* fill(c, cursors, keys);
      const held = cursors.filter((c) => c.rows !== undefined);
      if (held.length === 0) return;
      yield* giveSafe(held, keys, rowsMax);
    }
  } finally {
    for (const c of cursors) c.items.return?.();
  }
}

/**
 * Pulls a batch; while a shared upstream waits for the siblings, theirs are pulled too. If these wait as well, it is
 * for somebody's sibling further up.
 */
function* fill(c: Cursor, all: readonly Cursor[], keys: readonly EvaluatedKey[]): Generator<Item> {
  for (;;) {
    if (yield* pull(c, keys)) return;
    let moved = false;
    for (const other of all) if (other !== c && !other.ended && (yield* pull(other, keys))) moved = true;
    if (!moved) yield pause;
  }
}
/** False if the stream waits for its siblings. */
function* pull(c: Cursor, keys: readonly EvaluatedKey[]): Generator<Item, boolean> {
  const next = c.items.next();
  if (next.done) c.ended = true;
  else if (isBatch(next.value)) {
    const batch = next.value;
    const own = yield* keysOf(batch, keys);
    c.keys = c.rows ? own.map((k, i) => concat([c.keys[i], k])) : own;
    c.rows = c.rows ? concat([c.rows, batch]) : batch;
  } else if (next.value === pause) return false;
  else yield next.value;
  return true;
}

function* giveSafe(held: readonly Cursor[], keys: readonly EvaluatedKey[], rowsMax: number): Generator<Item> {
  if (held.length === 1) {
    const [only] = held;
    const rows = only!.rows!;
    only!.rows = undefined;
    yield* batches(rows, rowsMax);
    return;
  }
  const going = held.filter((c) => !c.ended);
  const first =
    going.length > 0
      ? going[
          least(
            going.map((c) => lastKeys(c)),
            keys,
          )
        ]
      : undefined;
  const bound = first && lastKeys(first);
  const rows: Vector[] = [];
  const columns: Vector[][] = keys.map(() => []);
  const firstAt = first ? held.indexOf(first) : 0;
  held.forEach((c, at) => {
    const count = !bound || c === first ? c.rows!.length : rowsBefore(c, bound, keys, at < firstAt);
    if (count === 0) return;
    rows.push(slice(c.rows!, 0, count));
    c.keys.forEach((k, i) => columns[i].push(slice(k, 0, count)));
    const { length } = c.rows!;
    c.keys = c.keys.map((k) => slice(k, count, length));
    c.rows = count < length ? slice(c.rows!, count, length) : undefined;
  });
  const order = orderBy(
    columns.map((c) => concat(c)),
    keys,
    rows.reduce((n, v) => n + v.length, 0),
  );
  columns.length = 0;
  const all = concat(rows);
  rows.length = 0;
  const most = Math.max(1, Math.min(rowsMax, Math.floor((batchBytes * all.length) / Math.max(1, flatSize(all)))));
  for (let at = 0; at < order.length; at += most) yield take(all, order.subarray(at, at + most));
}

const lastKeys = (c: Cursor): readonly Vector[] => c.keys.map((k) => slice(k, k.length - 1, k.length));
/** The first of the single rows in the order of the sort, of equal ones the first. */
const least = (rows: readonly (readonly Vector[])[], keys: readonly EvaluatedKey[]): number =>
  orderBy(
    keys.map((_, i) => concat(rows.map((r) => r[i]))),
    keys,
    rows.length,
  )[0];

const samplesMax = 64;
/** How many rows come before the bound; `equals`: and how many equal it. */
const rowsBefore = (c: Cursor, bound: readonly Vector[], keys: readonly EvaluatedKey[], equals: boolean): number => {
  // Row `start - 1` is known to come before the bound, row `end` not to.
  let start = 0;
  let end = c.rows!.length;
  while (start < end) {
    const step = Math.max(1, Math.ceil((end - start) / samplesMax));
    const rows = new Uint32Array(Math.ceil((end - start) / step));
    for (let i = 0; i < rows.length; i++) rows[i] = start + i * step;
    const columns = c.keys.map((k, i) => concat(equals ? [take(k, rows), bound[i]] : [bound[i], take(k, rows)]));
    const before = orderBy(columns, keys, rows.length + 1).indexOf(equals ? rows.length : 0);
    if (before < rows.length) end = rows[before];
    if (before > 0) start = rows[before - 1] + 1;
  }
  return start;
};
