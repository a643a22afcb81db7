/**
 * Makes the code of loads warm: lines as clients send them are read in blocks, sorted and made into objects that nobody
 * keeps, as a long load does it, but by one thread.
 *
 * Invariants: nothing is written to the disk; between two batches others have their turn.
 */
import { type BlockHelper, lineCut, readBlocks } from '../formats/blocks.ts';
import type { ReadOptions } from '../formats/formats.ts';
import { jsonBlocks } from '../formats/json/reader.ts';
import { sortIntoObjects } from '../lake/load/sort.ts';
import type { ObjectStore } from '../lake/objects/objects.ts';
import { shapeLimitsOf } from './load/task.ts';

/**
 * A load in order, which goes straight into objects, and one whose pieces are not, which is sorted in runs that are
 * merged.
 */
export type WarmLoadKind = 'in order' | 'shuffled';
/** What is loaded, and into which objects. */
interface WarmLoadOptions {
  readonly readLimits: ReadOptions;
  /** Lines of a piece, which begin as `linesOf` says. */
  readonly lines: Uint8Array;
  readonly rows: number;
  /** Where in a line two digits stand that say which piece it is of: the later ones come behind the others. */
  readonly digitsAt: number;
  readonly keys: readonly (readonly string[])[];
  readonly objects: ObjectStore;
  /** Called between pieces of work of some milliseconds. */
  readonly breathe: () => Promise<void>;
}

const pieces = 5;
/** Coprime to the pieces: each comes once. */
const stride = 2;
/** In order: so much that some rows go on early. Shuffled: so little that there are several runs. */
const memoryBytes: Readonly<Record<WarmLoadKind, number>> = { 'in order': 64 << 20, shuffled: 6 << 20 };
const threshold = 1 << 30;
/** Rows are taken for so much shorter than they are that blocks are as small as can be. */
const smallBlocks = 8;

/** Loads once, but for the last rows, which are in no whole block; the number of rows. */
export const warmLoad = async (
  kind: WarmLoadKind,
  { readLimits, lines, rows, digitsAt, keys, objects, breathe }: WarmLoadOptions,
): Promise<number> => {
  const batches = readBlocks(
    bodyOf(lines, digitsAt, kind),
    { values: rows * smallBlocks, lines: rows, offset: lines.length, lineStart: lines.length },
    { parser: jsonBlocks(readLimits), cut: lineCut },
    alone,
  );
  const { records } = await sortIntoObjects(batchesOf(batches, breathe), {
    keys,
    order: 'asc',
    threshold,
    objects,
    spill: () => objects,
    shapeLimits: shapeLimitsOf(readLimits),
    memoryBytesMax: memoryBytes[kind],
    breathe,
  });
  return records;
};

/** No other thread. */
const alone: BlockHelper = {
  free: 0,
  parse: () => {
    throw new Error('there is no other thread');
  },
  close: () => undefined,
};

async function* bodyOf(lines: Uint8Array, digitsAt: number, kind: WarmLoadKind): AsyncGenerator<Uint8Array> {
  for (let k = 0; k < pieces; k++) {
    const piece = lines.slice();
    const number = 1 + (kind === 'in order' ? k : (k * stride) % pieces);
    for (let at = 0; at < piece.length; at = piece.indexOf(0x0a, at) + 1) {
      piece[at + digitsAt] = 0x30 + Math.floor(number / 10);
      piece[at + digitsAt + 1] = 0x30 + (number % 10);
    }
    yield piece;
  }
}

async function* batchesOf<T>(batches: AsyncIterable<T>, breathe: () => Promise<void>): AsyncGenerator<T> {
  for await (const batch of batches) {
    yield batch;
    await breathe();
  }
}
