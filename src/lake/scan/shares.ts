/**
 * A scan in shares: runs of blocks, and of small objects, that threads read side by side.
 *
 * Invariants:
 * - The rows of the shares, one behind the other, are those of the scan; in the pool's order if it asks for that.
 * - A block is always in a share of the same number, whatever is asked for: a thread that prefers the shares of some
 *   numbers finds their columns in its cache.
 */
import { compareBytes } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ObjectMeta } from '../lake.types.ts';
import { blockRowsMax } from '../objects/format.ts';
import { scanObjects } from './scan.ts';
import { countOthers, openReader } from './input.ts';
import type { ScanOptions, ScanSource } from './scan.types.ts';
import { isInRange, keyRange } from './range.ts';

/** Blocks of an object. */
interface SharePart {
  readonly object: ObjectMeta;
  readonly blocks: readonly number[];
}
/** `home` says which threads prefer it. */
export interface Share {
  readonly home: number;
  readonly rows: number;
  readonly parts: readonly SharePart[];
}

/** When a scan is shared, and how large its shares are. */
export interface ShareSizes {
  /** Rows of a share, about, doubled from the least on: more the more there are. A block is never cut. */
  readonly shareRowsMin: number;
  readonly shareRowsMax: number;
  /** Scans of fewer rows are not shared. */
  readonly rowsMin: number;
  /** The first block is a share by itself, which tells soon what the others cost. */
  readonly hasProbe?: boolean;
}
/**
 * The same of queries. Whether a scan is shared depends on the rows and the plan alone, so that sums of floats are the
 * same from run to run.
 */
export interface QueryShares extends ShareSizes {
  /** Plans of less work, in milliseconds by estimate (`nsOfRow`), are not shared. */
  readonly estimatedMsMin: number;
  /**
   * Other threads are asked for help once so much work seems to be left, in milliseconds: cold code in a second thread
   * and its garbage cost more than short scans take.
   */
  readonly workMsMin: number;
}
/** Shares of queries; from how many rows on there are any is an option of the service. */
export const shareSizes: QueryShares = {
  shareRowsMin: blockRowsMax,
  shareRowsMax: 8 * blockRowsMax,
  rowsMin: Infinity,
  hasProbe: true,
  estimatedMsMin: 150,
  workMsMin: 50,
};

/** More objects than this are not listed and opened ahead. */
const objectsMax = 256;
/**
 * Answers of as many rows are written by all threads that have nothing else to do. Shares are small, so that at the end
 * none waits long for another.
 */
export const outputShares: ShareSizes = {
  shareRowsMin: blockRowsMax,
  shareRowsMax: blockRowsMax,
  rowsMin: 100_000,
};

/** Shares of the scan in order; undefined if it is better done by one thread. */
export const sharesOf = async (
  source: ScanSource,
  { columns, pruner, filter, ordered, signal, read, counts }: ScanOptions,
  sizes: ShareSizes,
): Promise<readonly Share[] | undefined> => {
  // What the list of objects tells is not read.
  if (columns?.length === 0 && !pruner && !filter) return undefined;
  const range = pruner && keyRange(pruner, source.keys[0] ?? []);
  const descending = source.order === 'desc';
  const page = await source.page({ limit: objectsMax, ...(range && { range }) });
  const { objects } = page;
  const rows = objects.reduce((n, o) => n + o.count, 0);
  if (page.next !== undefined || rows < sizes.rowsMin) return undefined;
  if (ordered && !isApart(objects, descending)) return undefined;
  let skipped = 0;
  const list = new ShareList(shareRowsOf(rows / sharesWanted, sizes), sizes.hasProbe === true);
  for (const object of objects) {
    signal?.throwIfAborted();
    const reader = await openReader(source, object, read);
    let end = 0;
    reader.blocks.forEach((block, k) => {
      end += block.rows;
      if ((!range || isInRange(block, range, descending)) && (!pruner || reader.mayMatch(k, pruner))) {
        list.add(object, k, { rows: block.rows, middle: end - block.rows / 2 });
      } else skipped++;
    });
  }
  if (list.rows < sizes.rowsMin || list.shares.length < 2) return undefined;
  counts?.skipped(skipped);
  await countOthers(source, range, counts);
  return list.shares;
};

/**
 * So many at least, if that does not make them too small: a thread that gets less time than others then takes less. The
 * number of threads makes no difference, so that sums of floats are the same on all machines.
 */
const sharesWanted = 12;
const shareRowsOf = (wanted: number, { shareRowsMin, shareRowsMax }: ShareSizes): number => {
  let rows = shareRowsMin;
  while (rows * 2 <= Math.min(wanted, shareRowsMax)) rows *= 2;
  return rows;
};

/** Gives the rows of one share after the other. */
export type ShareScanner = (share: Share, options: ScanOptions) => AsyncIterable<Vector>;

/** What reads shares in one thread: all of them are one scan for the cache, which keeps a part of a large one. */
export const shareScanner = (source: ScanSource): ShareScanner => {
  let goesOn = false;
  return (share, options) => {
    const rows = scanShare(source, share, { ...options, goesOn });
    goesOn = true;
    return rows;
  };
};
const scanShare = (source: ScanSource, { parts }: Share, options: ScanOptions): AsyncIterable<Vector> => {
  const objects = parts.map((p) => p.object);
  const blocks = new Map(parts.map((p) => [p.object.id, p.blocks]));
  return scanObjects({ ...source, page: () => ({ objects }) }, { ...options, blocks: (id) => blocks.get(id) ?? [] });
};

/** No object holds keys of another. */
const isApart = (objects: readonly ObjectMeta[], descending: boolean): boolean =>
  objects.every((object, i) => {
    const before = objects[i - 1];
    return (
      !before ||
      (descending
        ? compareBytes(before.min.sort, object.max.sort) > 0
        : compareBytes(before.max.sort, object.min.sort) < 0)
    );
  });

/** Large objects begin anywhere. */
const homeOf = (object: ObjectMeta): number => Number.parseInt(object.id.slice(-6), 16) || 0;

class ShareList {
  readonly shares: { home: number; rows: number; parts: { object: ObjectMeta; blocks: number[] }[] }[] = [];
  rows = 0;
  private readonly shareRows: number;
  private readonly hasProbe: boolean;
  private heldRows = 0;
  private number = -1;
  constructor(shareRows: number, hasProbe: boolean) {
    this.shareRows = shareRows;
    this.hasProbe = hasProbe;
  }

  /** `middle`: the row of the object that is in the block's middle, which tells its share. */
  add(object: ObjectMeta, block: number, { rows, middle }: { readonly rows: number; readonly middle: number }): void {
    this.rows += rows;
    const number = Math.floor(middle / this.shareRows);
    const share = this.shares.at(-1);
    const part = share?.parts.at(-1);
    const isProbe = this.hasProbe && this.shares.length === 1;
    if (!isProbe && part?.object === object && number === this.number) {
      part.blocks.push(block);
      share!.rows += rows;
      this.heldRows += rows;
      // Several objects are one share only as long as they are small, all of them.
    } else if (!isProbe && share && part?.object !== object && number === 0 && this.isSmallWith(object)) {
      share.parts.push({ object, blocks: [block] });
      share.rows += rows;
      this.heldRows += rows;
    } else {
      this.shares.push({ home: homeOf(object) + number, rows, parts: [{ object, blocks: [block] }] });
      this.heldRows = rows;
    }
    this.number = number;
  }
  private isSmallWith(object: ObjectMeta): boolean {
    return this.heldRows + object.count <= this.shareRows / 2;
  }
}
