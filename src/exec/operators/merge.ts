/**
 * merge: several sorted streams as one. Batches at hand are sorted together; what lies before the last row at hand of every stream that goes on is given,
 * since nothing that is still to come can go before it (equal rows keep the order of their streams).
 */
import { type Vector, take } from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { type Item, type Stream, batches, isBatch, pause } from '../operator.ts';
import { type EvaluatedKey, keysOf, orderBy } from './sort-keys.ts';

interface Cursor { readonly items: Iterator<Item>; rows: Vector[]; ended: boolean }

export function* mergeSorted(inputs: readonly Stream[], keys: readonly EvaluatedKey[], rowsMax: number): Generator<Item> {
  const cursors: Cursor[] = inputs.map((s) => ({ items: s[Symbol.iterator](), rows: [], ended: false }));
  try {
    for (;;) {
      for (const c of cursors) if (!c.ended && c.rows.length === 0) yield* fill(c, cursors);
      const held = cursors.filter((c) => c.rows.length > 0);
      if (held.length === 0) return;
      yield* giveSafe(held, keys, rowsMax);
    }
  } finally {
    for (const c of cursors) c.items.return?.();
  }
}

/** Pulls a batch; while a shared upstream waits for the siblings, theirs are pulled too. If these wait as well, it is for somebody's sibling further up. */
function* fill(c: Cursor, all: readonly Cursor[]): Generator<Item> {
  while (!c.ended && c.rows.length === 0) {
    if (yield* pull(c)) continue;
    let moved = false;
    for (const other of all) if (other !== c && !other.ended && (yield* pull(other))) moved = true;
    if (!moved) yield pause;
  }
}
/** False if the stream waits for its siblings. */
function* pull(c: Cursor): Generator<Item, boolean> {
  const next = c.items.next();
  if (next.done) c.ended = true;
  else if (isBatch(next.value)) c.rows.push(next.value);
  else if (next.value === pause) return false;
  else yield next.value;
  return true;
}

function* giveSafe(held: readonly Cursor[], keys: readonly EvaluatedKey[], rowsMax: number): Generator<Item> {
  const parts = held.map((c) => concat(c.rows));
  if (held.length === 1 && held[0]!.ended) {
    held[0]!.rows = [];
    yield* batches(parts[0]!, rowsMax);
    return;
  }
  const columns: Vector[][] = keys.map(() => []);
  for (const part of parts) (yield* keysOf(part, keys)).forEach((v, k) => columns[k]!.push(v));
  const all = concat(parts), order = orderBy(columns.map((c) => concat(c)), keys, all.length);
  const ends: number[] = [];
  let end = 0;
  for (const part of parts) ends.push((end += part.length));
  const lasts = new Set(ends.filter((_, k) => !held[k]!.ended).map((e) => e - 1));
  let safe = lasts.size === 0 ? order.length : 0;
  while (lasts.size > 0 && !lasts.has(order[safe++]!));
  const rest = order.slice(safe).sort();
  held.forEach((c, k) => {
    const own = rest.filter((row) => row >= (ends[k - 1] ?? 0) && row < ends[k]!);
    c.rows = own.length > 0 ? [take(all, own)] : [];
  });
  yield* batches(take(all, order.subarray(0, safe)), rowsMax);
}
