/**
 * Rows of objects that overlap, merged in the pool's order. Rows of equal keys: those of small objects are ordered by
 * their bytes, others keep the order of the list.
 */
import { concat } from '../../vectors/concat.ts';
import { ByteWriter, compareBytes, writeBody } from '../../vectors/value.ts';
import { type Vector, dataAt, take, typeAt } from '../../vectors/vector.ts';
import type { ObjectMeta } from '../lake.types.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ScanInput } from './input.ts';
import { type TieBreak, sortColumn, sortRows } from '../load/sort-rows.ts';

/** Rows held back to order equal keys by their bytes, at most. */
export const tieRowsMax = 8192;

/**
 * Rows [start, end) of one block. `keys` are their columns of the pool's keys, empty where no other object overlaps;
 * `firstKey` and `lastKey` bound the whole block.
 */
export interface Piece {
  readonly cursor: { readonly meta: ObjectMeta; readonly reader: ObjectReader };
  readonly block: number;
  readonly start: number;
  readonly end: number;
  readonly rows: Vector;
  readonly keys: readonly Vector[];
  readonly firstKey: Uint8Array;
  readonly lastKey: Uint8Array;
}
type MergeOrder = Pick<ScanInput, 'source' | 'descending' | 'compare'>;

/**
 * The pieces' rows in order: pieces whose key ranges touch are sorted together, the others are put one behind the
 * other.
 */
export const mergePieces = (pieces: readonly Piece[], input: MergeOrder): Vector => {
  const ordered = pieces.every((p, i) => i === 0 || input.compare(pieces[i - 1].firstKey, p.firstKey) <= 0)
    ? pieces
    : [...pieces].sort((a, b) => input.compare(a.firstKey, b.firstKey));
  const out: Vector[] = [];
  for (let start = 0, end = 0; start < ordered.length; start = end) {
    let last = ordered[start].lastKey;
    for (end = start + 1; end < ordered.length && input.compare(ordered[end].firstKey, last) <= 0; end++) {
      if (input.compare(ordered[end].lastKey, last) > 0) last = ordered[end].lastKey;
    }
    out.push(end - start === 1 ? ordered[start].rows : sorted(ordered.slice(start, end), input));
  }
  return concat(out);
};

const sorted = (pieces: readonly Piece[], { source, descending }: MergeOrder): Vector => {
  const rows = concat(pieces.map((p) => p.rows));
  const columns = source.keys.map((_, k) => sortColumn(concat(pieces.map((p) => p.keys[k]))));
  const ties = rows.length <= tieRowsMax && pieces.every((p) => p.cursor.meta.inline) ? tieBreak(pieces) : undefined;
  const order = sortRows(columns, rows.length, { descending, ties });
  return order ? take(rows, order) : rows;
};

/** Order by the bytes of whole rows, also when only some columns are read: the objects are small and at hand. */
const tieBreak = (pieces: readonly Piece[]): TieBreak => {
  const owner: number[] = [];
  const rowOf: number[] = [];
  pieces.forEach((p, k) => {
    for (let i = p.start; i < p.end; i++) {
      owner.push(k);
      rowOf.push(i);
    }
  });
  const whole = new Map<number, Vector>();
  const bodies = new Map<number, Uint8Array>();
  const body = (i: number): Uint8Array => {
    const known = bodies.get(i);
    if (known) return known;
    const k = owner[i];
    const piece = pieces[k];
    let rows = whole.get(k);
    if (!rows) {
      const read = piece.cursor.reader.read(piece.block);
      if (read instanceof Promise) throw new Error('inline objects are read at once');
      whole.set(k, (rows = read));
    }
    const out = new ByteWriter();
    writeBody(out, typeAt(rows, rowOf[i]), dataAt(rows, rowOf[i]));
    const bytes = out.done();
    bodies.set(i, bytes);
    return bytes;
  };
  return (i, j) => compareBytes(body(i), body(j));
};
