/**
 * What a bucket has of a lake's log: segments, numbered, `log/N`, and bases, `base/N`: all rows as of
 * segment N.
 *
 * - Segment: magic (8, another one if it skips numbers), length of the head u32, head (JSON), then of each record: length u32, changes (log/changes.ts);
 *   SHA-256 of all that. Numbers are little-endian.
 * - `base/newest`: the number of a base, in decimal digits.
 * - Base: magic (8), length of the head u32, head, then gzip of: length u32 and changes of each part, at the end a
 *   length of 2^32 - 1.
 *
 * Invariants:
 * - A segment is put only where there is none, and its head has the digest of the one before: whoever's segment N is
 *   there, and counts, wrote N, knowing all before it.
 * - A writer puts `segmentsAhead` of them side by side. They count in their order: one counts when all before it are
 *   there, so that what follows a gap at the end is nobody's yet.
 * - Behind a fence the numbers that the writer before may have begun to put under are skipped: what is there was never
 *   acknowledged, comes whenever it comes, and is not read.
 * - Records have their numbers in the lake's own log, without a gap over all segments; their bytes there are salted
 *   anew by each folder, so that only the changes are kept here.
 */
import { createHash } from 'node:crypto';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import { changesLength, readChanges, writeChanges } from '../log/changes.ts';
import type { Id } from '../lake.types.ts';
import type { Change } from '../tables/table-rows.ts';

/** What a segment's head says. Digests, ids of lakes and writers are in hexadecimal digits. */
export interface SegmentHead {
  readonly lake: string;
  readonly segment: number;
  /** Of the segment before; empty for the first one. */
  readonly before: string;
  /** Who put it: an id of the process, and where it listens. */
  readonly writer: string;
  readonly address: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** Numbers of its records; a fence has none: `last` is one less than `first` then. */
  readonly first: number;
  readonly last: number;
  /** Of record `last` in the writer's own log. */
  readonly digest: string;
  /** The bucket's log begins behind this record, whose rows are in a base. */
  readonly begins?: number;
  /** The last one that its writer knew to be there when it put this one; absent: the one before. */
  readonly known?: number;
  /** Of a fence: so many numbers behind it are skipped. */
  readonly skips?: number;
}
export interface Segment {
  readonly head: SegmentHead;
  /** Of its bytes: what the next one has as `before`. */
  readonly sum: string;
  readonly records: readonly (readonly Change[])[];
}
/** `gone`: objects that are to be removed from the bucket, with the time at which their removal was logged. */
export interface BaseHead {
  readonly lake: string;
  readonly segment: number;
  /** Of that segment. */
  readonly sum: string;
  readonly last: number;
  readonly digest: string;
  readonly gone: readonly (readonly [Id, number])[];
}

/**
 * So many segments of a writer are on their way at once, at most: part of the format. With half of that, 64 clients of a
 * bucket that takes 20 ms a put do 0.92 of the commits: more of them wait for the next put, and come back in bursts.
 */
export const segmentsAhead = 8;
/** The last number that a segment takes: behind it the next one is. */
export const lastNumber = ({ segment, skips = 0 }: Pick<SegmentHead, 'segment' | 'skips'>): number => segment + skips;

const digits = 16;
export const segmentKey = (segment: number): string => `log/${String(segment).padStart(digits, '0')}`;
export const baseKey = (segment: number): string => `base/${String(segment).padStart(digits, '0')}`;
/** Has the number of the newest base, as text: what is asked for by its key is never as old as a listing may be. */
export const newestBaseKey = 'base/newest';
/** The number in such a key; 0: it is none, such as one of another lake whose prefix is below this one's. */
export const numberOf = (key: string): number => {
  const text = /^(?:log|base)\/(\d{16})$/.exec(key)?.[1];
  return text === undefined ? 0 : Number(text);
};

const segmentMagic = Buffer.from('LAKESEG1');
/** Of one that skips numbers: an earlier build would put its own there, and refuses it. */
const skippingMagic = Buffer.from('LAKESEG2');
export const baseMagic = Buffer.from('LAKEROW1');
const magicBytes = 8;
const sumBytes = 32;
export const headBytesMax = 64 << 20;

export const encodeSegment = (
  head: SegmentHead,
  records: readonly (readonly Change[])[],
): { readonly bytes: Buffer; readonly sum: string } => {
  const headBytes = Buffer.from(JSON.stringify(head));
  const lengths = records.map(changesLength);
  const bytes = Buffer.allocUnsafe(
    magicBytes + 4 + headBytes.length + lengths.reduce((sum, length) => sum + 4 + length, 0) + sumBytes,
  );
  (head.skips ? skippingMagic : segmentMagic).copy(bytes);
  bytes.writeUInt32LE(headBytes.length, magicBytes);
  headBytes.copy(bytes, magicBytes + 4);
  let at = magicBytes + 4 + headBytes.length;
  records.forEach((changes, i) => {
    bytes.writeUInt32LE(lengths[i], at);
    at = writeChanges(bytes, at + 4, changes);
  });
  const sum = createHash('sha256').update(bytes.subarray(0, at)).digest();
  sum.copy(bytes, at);
  return { bytes, sum: sum.toString('hex') };
};

/** @throws store-corrupt */
export const decodeSegment = (bytes: Buffer, store: string, segment: number): Segment => {
  const corrupt = (fault: string): LakeError =>
    new LakeError('store-corrupt', { store, key: segmentKey(segment), fault });
  const end = bytes.length - sumBytes;
  const magic = bytes.subarray(0, magicBytes);
  if (end < magicBytes + 4 || !(magic.equals(segmentMagic) || magic.equals(skippingMagic)))
    throw corrupt('it is no segment');
  const sum = createHash('sha256').update(bytes.subarray(0, end)).digest();
  if (!sum.equals(bytes.subarray(end))) throw corrupt('its checksum does not hold');
  const headEnd = magicBytes + 4 + bytes.readUInt32LE(magicBytes);
  const head = JSON.parse(bytes.toString('utf8', magicBytes + 4, headEnd)) as SegmentHead;
  if (head.segment !== segment) throw corrupt(`it is segment ${head.segment}`);
  const records: (readonly Change[])[] = [];
  for (let at = headEnd; at < end; ) {
    const next = at + 4 + bytes.readUInt32LE(at);
    records.push(readChanges(bytes.subarray(at + 4, next)));
    at = next;
  }
  return { head, sum: sum.toString('hex'), records };
};

/** What a bucket has, as far as its names tell. `tip`: the last number of its newest segment, 0 if there is none. */
export interface BucketState {
  /** Newest last. */
  readonly bases: readonly number[];
  readonly tip: number;
  /** The first segment behind the newest base that was there, and is not although later ones are. */
  readonly missing?: number;
  readonly unnamed?: UnnamedBase;
}
/**
 * `base/newest` does not name a base, which only a listing has then. `isDamaged`: it is there; `text`: why, with the
 * store and the key.
 */
export interface UnnamedBase {
  readonly base: number;
  readonly isDamaged: boolean;
  readonly fault: string;
  readonly text: string;
}
/** Looks for the newest segment: bases are listed, segments are asked for by number. */
export const findTip = async (bucket: Bucket): Promise<BucketState> => {
  for (;;) {
    const { bases } = await knownBases(bucket);
    const last = await endOfLog(bucket, bases.at(-1) ?? 0);
    // Either listing may be old: what it names last may be gone, and segments behind it with it.
    const known = await knownBases(bucket);
    const listed = ascending([...bases, ...known.bases]);
    const base = listed.at(-1) ?? 0;
    if (base > last) continue;
    const gap = await firstGap(bucket, base, last);
    if (gap.last > last && gap.missing === undefined) continue;
    const tip = await wholeEnd(bucket, gap.last);
    return {
      bases: listed,
      tip,
      ...(gap.missing !== undefined && { missing: gap.missing }),
      ...(known.unnamed && base > 0 && { unnamed: { ...known.unnamed, base } }),
    };
  }
};
/** With the numbers behind it that are skipped. */
const wholeEnd = async (bucket: Bucket, last: number): Promise<number> => {
  const newest = await segmentAround(bucket, last);
  return newest ? Math.max(last, lastNumber(newest.head)) : last;
};
/**
 * Compares with the names of the log: a segment that was lost is no end, whatever the search by numbers made of it. A
 * listing alone proves neither, so that the segments are asked for.
 */
const firstGap = async (
  bucket: Bucket,
  base: number,
  found: number,
): Promise<{ readonly last: number; readonly missing?: number }> => {
  const listed = new Set<number>();
  for await (const { key } of bucket.list('log/', { after: segmentKey(base) })) listed.add(numberOf(key));
  let last = found;
  for (const number of [...listed].sort((a, b) => b - a)) {
    if (number <= last) break;
    if (!(await isThere(bucket, number))) continue;
    last = number;
    break;
  }
  for (let number = base + 1; number < last; number++) {
    if (listed.has(number) || (await isThere(bucket, number))) continue;
    const around = await segmentAround(bucket, number);
    if (around) number = lastNumber(around.head);
    else return (await isBegun(bucket, number, last)) ? { last: number - 1 } : { last, missing: number };
  }
  return { last };
};
const isThere = async (bucket: Bucket, segment: number): Promise<boolean> =>
  (await bucket.head(segmentKey(segment))) !== undefined;
/**
 * Whether a segment that is not there may be on its way, or was when its writer died: no later one was put by somebody
 * who knew that it is there.
 */
export const isBegun = async (bucket: Bucket, absent: number, last: number): Promise<boolean> => {
  if (last - absent >= segmentsAhead) return false;
  const later = await Promise.all(Array.from({ length: last - absent }, (_, i) => getSegment(bucket, absent + 1 + i)));
  return later.every((each) => !each || (each.head.known ?? each.head.segment - 1) < absent);
};
/** Those that a listing has, and the newest one. */
const knownBases = async (
  bucket: Bucket,
): Promise<{ readonly bases: readonly number[]; readonly unnamed?: Omit<UnnamedBase, 'base'> }> => {
  const numbers: number[] = [];
  for await (const { key } of bucket.list('base/')) if (numberOf(key) > 0) numbers.push(numberOf(key));
  const newest = await namedBase(bucket);
  if (typeof newest !== 'number') return { bases: ascending(numbers), unnamed: newest };
  // Its writer may have been overtaken, and others have removed it.
  if (newest > (numbers.at(-1) ?? 0) && (await bucket.head(baseKey(newest))) !== undefined) numbers.push(newest);
  return { bases: ascending(numbers) };
};
/** The number in `base/newest`, or why there is none. */
const namedBase = async (bucket: Bucket): Promise<number | Omit<UnnamedBase, 'base'>> => {
  const faulty = (isDamaged: boolean, fault: string): Omit<UnnamedBase, 'base'> => {
    const { message: text } = new LakeError('store-corrupt', { store: bucket.name, key: newestBaseKey, fault });
    return { isDamaged, fault, text };
  };
  try {
    const text = (await bucket.get(newestBaseKey))?.toString('latin1');
    if (text === undefined) return faulty(false, 'it is missing');
    return /^\d{1,16}$/.test(text) ? Number(text) : faulty(true, 'it is no number');
  } catch (fault) {
    if (!(fault instanceof LakeError) || fault.code !== 'store-corrupt') throw fault;
    return faulty(true, String(fault.parameters['fault']));
  }
};
const ascending = (numbers: readonly number[]): readonly number[] => [...new Set(numbers)].sort((a, b) => a - b);
/** Behind a base no `segmentsAhead` numbers in a row are free before the end. */
const endOfLog = async (bucket: Bucket, known: number): Promise<number> => {
  const isBefore = async (segment: number): Promise<boolean> => {
    if (await isThere(bucket, segment)) return true;
    const next = await Promise.all(
      Array.from({ length: segmentsAhead - 1 }, (_, i) => isThere(bucket, segment + 1 + i)),
    );
    return next.includes(true);
  };
  let low = known;
  let step = 1;
  while (await isBefore(low + step)) {
    low += step;
    step *= 2;
  }
  for (let high = low + step; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return low;
};

/** A segment; undefined if there is none. @throws store-corrupt */
export const getSegment = async (bucket: Bucket, segment: number): Promise<Segment | undefined> => {
  const bytes = await bucket.get(segmentKey(segment));
  return bytes && decodeSegment(bytes, bucket.name, segment);
};

/** The segment that takes a number: the one there, or the fence before it that skips it. @throws store-corrupt */
export const segmentAround = async (bucket: Bucket, number: number): Promise<Segment | undefined> => {
  const first = Math.max(1, number - segmentsAhead + 1);
  const near = await Promise.all(
    Array.from({ length: Math.max(0, number - first + 1) }, (_, i) => getSegment(bucket, first + i)),
  );
  return near.find((each) => each && lastNumber(each.head) >= number);
};

const segmentsAtOnce = 32;
/** Segments from one on, in their order, to where the next is not there; several are asked for side by side. */
export async function* segmentsFrom(bucket: Bucket, first: number): AsyncGenerator<Segment, void> {
  for (let next = first; ; ) {
    const from = next;
    const part = await Promise.all(Array.from({ length: segmentsAtOnce }, (_, i) => getSegment(bucket, from + i)));
    while (next < from + segmentsAtOnce) {
      const segment = part[next - from];
      if (!segment) return;
      yield segment;
      next = lastNumber(segment.head) + 1;
    }
  }
}

/** Whose segment it is, for people. */
export const whoWrote = ({ address, writer }: Pick<SegmentHead, 'address' | 'writer'>): string =>
  `${address || 'a service'} (writer ${writer})`;
