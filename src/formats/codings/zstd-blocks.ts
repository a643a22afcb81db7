/**
 * The blocks of Zstandard frames (RFC 8878), for Node before 22.15: later ones have a codec of their own. This file and
 * zstd-tables.ts go when Node 20 does.
 *
 * No package reads frames as a service must. Beside this file, for 766 kB of JSON lines in one frame: zstddec takes
 * 0.11 of its time, but pulls a stream's input without waiting, never ends on a damaged block, and has to be told the
 * size of what it reads in one go; `@hpcc-js/wasm-zstd`, which compresses for us, takes 6 times its time, has one
 * stream for all bodies, and does not say how much of its input it has read; fzstd takes 2.0 times its time and
 * compares no checksum.
 *
 * Invariants:
 * - A block gives 128 KiB at most, and nothing refers behind what its frame gave before.
 * - A stream keeps twice its window at most.
 * - Where a frame has a content checksum or a content size, what comes out is compared with it.
 */
import { BytesFault } from '../columns/type-bytes.ts';
import { Xxh64 } from './xxh.ts';
import {
  type BlockHead,
  type FrameHead,
  blockBytesMax,
  blockHeadBytes,
  damaged,
  readBlockHead,
  uint32,
} from './zstd-frames.ts';
import {
  type PrefixTable,
  type StateTable,
  backwardBits,
  bitsAt,
  constantTable,
  readPrefixTable,
  readStateTable,
  stateTable,
} from './zstd-tables.ts';

/** What a block leaves for the ones behind it. */
interface Frame {
  readonly head: FrameHead;
  /** Of what came out, if there is a checksum to compare it with. */
  readonly hash: Xxh64 | undefined;
  prefix: PrefixTable | undefined;
  lengths: StateTable | undefined;
  offsets: StateTable | undefined;
  matches: StateTable | undefined;
  readonly repeats: Int32Array;
}
const beginFrame = (head: FrameHead): Frame => ({
  head,
  hash: head.hasChecksum ? new Xxh64() : undefined,
  prefix: undefined,
  lengths: undefined,
  offsets: undefined,
  matches: undefined,
  repeats: Int32Array.of(1, 4, 8),
});

/**
 * What a frame stands for. `parts`: its header, its blocks one by one with their headers, and its checksum if it has
 * one. @throws BytesFault
 */
export async function* expandBlocks(head: FrameHead, parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const frame = beginFrame(head);
  let history = new Uint8Array(blockBytesMax);
  let to = 0;
  let given = 0;
  let isLast = false;
  let isHead = true;
  for await (const part of parts) {
    if (isHead) {
      isHead = false;
      continue;
    }
    if (isLast) {
      compareChecksum(frame, part, 0);
      continue;
    }
    const block = readBlockHead(part, 0);
    isLast = block.isLast;
    const { room, start } = makeRoom(history, to, head.window);
    history = room;
    to = decodeBlock(frame, block, part, blockHeadBytes, history, start);
    if (to === start) continue;
    const bytes = history.slice(start, to);
    frame.hash?.update(bytes);
    given += bytes.length;
    yield bytes;
  }
  compareSize(frame, given);
}

/**
 * Puts what the frame from `start` on stands for into the beginning of `out`; answers how much it is. @throws
 * BytesFault
 */
export const expandFrameInto = (head: FrameHead, input: Uint8Array, start: number, out: Uint8Array): number => {
  const frame = beginFrame(head);
  let at = start + head.bytes;
  let to = 0;
  for (let isLast = false; !isLast; ) {
    const block = readBlockHead(input, at);
    isLast = block.isLast;
    to = decodeBlock(frame, block, input, at + blockHeadBytes, out, to);
    at += blockHeadBytes + block.bytes;
  }
  frame.hash?.update(out, 0, to);
  if (head.hasChecksum) compareChecksum(frame, input, at);
  compareSize(frame, to);
  return to;
};

const compareSize = ({ head: { size } }: Frame, found: number): void => {
  if (size !== undefined && size !== found)
    throw new BytesFault(`zstd: frame of ${found} bytes, its header says ${size}`);
};
/** `at`: after the last block, where the low half of the hash is. */
const compareChecksum = ({ hash }: Frame, bytes: Uint8Array, at: number): void => {
  if (hash && hash.low32() !== uint32(bytes, at)) throw new BytesFault('zstd: content checksum does not match');
};

/** Room for one more block behind `to`: the buffer grows to two windows, then its last window moves to its front. */
const makeRoom = (
  history: Uint8Array<ArrayBuffer>,
  to: number,
  window: number,
): { readonly room: Uint8Array<ArrayBuffer>; readonly start: number } => {
  if (to + blockBytesMax <= history.length) return { room: history, start: to };
  const kept = Math.min(to, window);
  const most = 2 * window + blockBytesMax;
  const room =
    history.length >= most || kept + blockBytesMax <= history.length / 2
      ? history
      : new Uint8Array(Math.min(most, Math.max(history.length * 2, kept + blockBytesMax)));
  if (room === history) room.copyWithin(0, to - kept, to);
  else room.set(history.subarray(to - kept, to));
  return { room, start: kept };
};

/** Puts a block at `to` of `out`, which holds what the frame gave before; answers where it ends. */
const decodeBlock = (
  frame: Frame,
  { kind, size, bytes }: BlockHead,
  input: Uint8Array,
  at: number,
  out: Uint8Array,
  to: number,
): number => {
  const limit = Math.min(out.length, to + blockBytesMax);
  if (kind === 2) return decodeSequences(frame, input, at, at + bytes, out, to, limit);
  if (size > limit - to) damaged('block');
  if (kind === 0) out.set(input.subarray(at, at + size), to);
  else out.fill(input[at], to, to + size);
  return to + size;
};

interface Literals {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly length: number;
  readonly next: number;
}

/** The bytes that sequences copy from, and where the sequences begin. */
const readLiterals = (frame: Frame, input: Uint8Array, start: number, end: number): Literals => {
  if (start >= end) damaged('block');
  const head = input[start];
  const kind = head & 3;
  const format = (head >> 2) & 3;
  if (kind < 2) {
    const headBytes = format === 1 ? 2 : format === 3 ? 3 : 1;
    const word = head | (input[start + 1] << 8) | (input[start + 2] << 16);
    const length = headBytes === 1 ? head >> 3 : (word & (headBytes === 2 ? 0xffff : 0xffffff)) >> 4;
    const at = start + headBytes;
    const next = at + (kind === 0 ? length : 1);
    if (next > end || length > blockBytesMax) damaged('literals');
    return kind === 0
      ? { bytes: input, start: at, length, next }
      : { bytes: new Uint8Array(length).fill(input[at]), start: 0, length, next };
  }
  const headBytes = format < 2 ? 3 : format + 2;
  const word = uint32(input, start);
  const width = format < 2 ? 10 : format === 2 ? 14 : 18;
  const mask = (1 << width) - 1;
  const length = (word >>> 4) & mask;
  const packed = format === 3 ? ((word >>> 22) | (input[start + 4] << 10)) & mask : (word >>> (4 + width)) & mask;
  let at = start + headBytes;
  const next = at + packed;
  if (next > end || length > blockBytesMax) damaged('literals');
  if (kind === 2) {
    const read = readPrefixTable(input, at, next);
    frame.prefix = read.table;
    at = read.next;
  }
  const table = frame.prefix ?? damaged('literals');
  const out = new Uint8Array(length);
  if (format === 0) decodeLiterals(table, input, at, next, out, 0, length);
  else decodeFourStreams(table, input, at, next, out);
  return { bytes: out, start: 0, length, next };
};

const decodeFourStreams = (
  table: PrefixTable,
  input: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
): void => {
  const part = (out.length + 3) >> 2;
  if (end - start < 6 || part * 3 > out.length) damaged('literals');
  let at = start + 6;
  for (let k = 0; k < 4; k++) {
    const next = k === 3 ? end : at + (input[start + 2 * k] | (input[start + 2 * k + 1] << 8));
    if (next > end) damaged('literals');
    decodeLiterals(table, input, at, next, out, k * part, k === 3 ? out.length : (k + 1) * part);
    at = next;
  }
};

const decodeLiterals = (
  { log, symbols, bits }: PrefixTable,
  input: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  from: number,
  to: number,
): void => {
  const mask = (1 << log) - 1;
  let at = backwardBits(input, start, end);
  let k = from;
  // Far from the beginning of the bits nothing can run out.
  for (; k < to && at >= log; k++) {
    const low = at - log;
    const i = start + (low >>> 3);
    const code = ((input[i] | (input[i + 1] << 8) | (input[i + 2] << 16)) >>> (low & 7)) & mask;
    out[k] = symbols[code];
    at -= bits[code];
  }
  for (; k < to && at > 0; k++) {
    const code = bitsAt(input, start, at - log, log) & mask;
    out[k] = symbols[code];
    at -= bits[code];
  }
  if (k < to || at !== 0) damaged('literals');
};

const lengthBases = Int32Array.from([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024,
  2048, 4096, 8192, 16384, 32768, 65536,
]);
const lengthBits = Uint8Array.from([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]);
const matchBases = Int32Array.from([
  ...Array.from({ length: 32 }, (_, i) => i + 3),
  35,
  37,
  39,
  41,
  43,
  47,
  51,
  59,
  67,
  83,
  99,
  131,
  259,
  515,
  1027,
  2051,
  4099,
  8195,
  16387,
  32771,
  65539,
]);
const matchBits = Uint8Array.from([
  ...new Array<number>(32).fill(0),
  1,
  1,
  1,
  1,
  2,
  2,
  3,
  3,
  4,
  4,
  5,
  7,
  8,
  9,
  10,
  11,
  12,
  13,
  14,
  15,
  16,
]);
const offsetCodeMax = 31;
const usual = {
  lengths: stateTable(
    [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1],
    6,
  ),
  offsets: stateTable([1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1], 5),
  matches: stateTable([1, 4, 3, 2, 2, 2, 2, 2, 2, ...new Array<number>(37).fill(1), -1, -1, -1, -1, -1, -1, -1], 6),
} as const;
const kinds = [
  { name: 'lengths', shift: 6, symbolMax: 35, logMax: 9 },
  { name: 'offsets', shift: 4, symbolMax: offsetCodeMax, logMax: 8 },
  { name: 'matches', shift: 2, symbolMax: 52, logMax: 9 },
] as const;

/** Reads the tables of a block's sequences into the frame; answers where their bits begin. */
const readTables = (frame: Frame, input: Uint8Array, start: number, end: number): number => {
  const modes = input[start];
  let at = start + 1;
  if (start >= end || modes & 3) damaged('sequences');
  for (const { name, shift, symbolMax, logMax } of kinds) {
    const mode = (modes >> shift) & 3;
    if (mode === 0) frame[name] = usual[name];
    else if (mode === 1) {
      if (at >= end || input[at] > symbolMax) damaged('sequences');
      frame[name] = constantTable(input[at++]);
    } else if (mode === 2) {
      const { table, next } = readStateTable(input, at, end, { symbolMax, logMax });
      frame[name] = table;
      at = next;
    }
  }
  return at;
};

const decodeSequences = (
  frame: Frame,
  input: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  first: number,
  limit: number,
): number => {
  const literals = readLiterals(frame, input, start, end);
  const { bytes } = literals;
  let at = literals.next;
  let literal = literals.start;
  let to = first;
  const literalEnd = literal + literals.length;
  if (at >= end) damaged('sequences');
  let count = input[at++];
  if (count >= 128)
    count = count === 255 ? (input[at++] | (input[at++] << 8)) + 0x7f00 : ((count - 128) << 8) + input[at++];
  if (count > 0) {
    const base = readTables(frame, input, at, end);
    const { repeats } = frame;
    const lengths = frame.lengths ?? damaged('sequences');
    const offsets = frame.offsets ?? damaged('sequences');
    const matches = frame.matches ?? damaged('sequences');
    let bit = backwardBits(input, base, end);
    let lengthState = bitsAt(input, base, (bit -= lengths.log), lengths.log);
    let offsetState = bitsAt(input, base, (bit -= offsets.log), offsets.log);
    let matchState = bitsAt(input, base, (bit -= matches.log), matches.log);
    for (let k = 0; ; k++) {
      const lengthCode = lengths.symbols[lengthState];
      const matchCode = matches.symbols[matchState];
      const offsetCode = offsets.symbols[offsetState];
      const value =
        2 ** offsetCode +
        (offsetCode > 24
          ? bitsAt(input, base, (bit -= offsetCode - 16), offsetCode - 16) * 65536 +
            bitsAt(input, base, (bit -= 16), 16)
          : bitsAt(input, base, (bit -= offsetCode), offsetCode));
      const match = matchBases[matchCode] + bitsAt(input, base, (bit -= matchBits[matchCode]), matchBits[matchCode]);
      const length =
        lengthBases[lengthCode] + bitsAt(input, base, (bit -= lengthBits[lengthCode]), lengthBits[lengthCode]);
      if (bit < 0 || length > literalEnd - literal || length + match > limit - to) damaged('sequences');
      const distance = distanceOf(value, length, repeats);
      copyRun(bytes, literal, out, to, length);
      literal += length;
      to += length;
      if (distance > to) damaged('sequences: a distance behind the beginning');
      copyMatch(out, to, distance, match);
      to += match;
      if (k === count - 1) break;
      lengthState =
        lengths.bases[lengthState] + bitsAt(input, base, (bit -= lengths.bits[lengthState]), lengths.bits[lengthState]);
      matchState =
        matches.bases[matchState] + bitsAt(input, base, (bit -= matches.bits[matchState]), matches.bits[matchState]);
      offsetState =
        offsets.bases[offsetState] + bitsAt(input, base, (bit -= offsets.bits[offsetState]), offsets.bits[offsetState]);
    }
    if (bit !== 0) damaged('sequences');
  } else if (at !== end) damaged('sequences');
  if (literalEnd - literal > limit - to) damaged('block');
  copyRun(bytes, literal, out, to, literalEnd - literal);
  return to + literalEnd - literal;
};

/** The distance of a sequence; small values stand for those of the sequences before. */
const distanceOf = (value: number, length: number, repeats: Int32Array): number => {
  if (value > 3) {
    repeats[2] = repeats[1];
    repeats[1] = repeats[0];
    return (repeats[0] = Math.min(value - 3, 0x7fffffff));
  }
  const which = value - (length === 0 ? 0 : 1);
  const distance = which === 3 ? repeats[0] - 1 : repeats[which];
  if (distance <= 0) damaged('sequences');
  if (which > 1) repeats[2] = repeats[1];
  if (which > 0) {
    repeats[1] = repeats[0];
    repeats[0] = distance;
  }
  return distance;
};

/** Runs longer than this go through the engine's copy, which has a price per call. */
const shortRun = 48;
const copyRun = (bytes: Uint8Array, at: number, out: Uint8Array, to: number, length: number): void => {
  if (length > shortRun) out.set(bytes.subarray(at, at + length), to);
  else for (let k = 0; k < length; k++) out[to + k] = bytes[at + k];
};
const copyMatch = (out: Uint8Array, to: number, distance: number, length: number): void => {
  if (length > shortRun && distance >= length) out.copyWithin(to, to - distance, to - distance + length);
  else for (let k = 0; k < length; k++) out[to + k] = out[to - distance + k];
};
