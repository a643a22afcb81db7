/**
 * Reads Zstandard (RFC 8878). Node has no codec for it before version 22, and packages take a bad block for hours of
 * work: here each block costs what it may expand to at most.
 *
 * Invariants:
 * - A block gives 128 KiB at most, and nothing refers behind what its frame gave before.
 * - A stream keeps twice its window at most; windows are `windowBytesMax` at most.
 * - Where a frame has a content checksum or a content size, what comes out is compared with it.
 */
import { ByteSource } from '../byte-source.ts';
import { BytesFault } from '../type-bytes.ts';
import { Xxh64 } from './xxh.ts';
import {
  type PrefixTable,
  type StateTable,
  backwardBits,
  bitsAt,
  constantTable,
  damaged,
  readPrefixTable,
  readStateTable,
  stateTable,
} from './zstd-tables.ts';

/** What HTTP's coding allows (RFC 9659); programs go beyond it only when they are told to. */
const windowBytesMax = 8 << 20;
const blockBytesMax = 128 << 10;
/** The first four bytes of a frame, as a little-endian number. */
export const zstdMagic = 0xfd2fb528;

/** What a block leaves for the ones behind it. */
interface Frame {
  readonly window: number;
  /** Bytes that it stands for, if it says so. */
  readonly size: number | undefined;
  /** Of what came out, if there is a checksum to compare it with. */
  readonly hash: Xxh64 | undefined;
  prefix: PrefixTable | undefined;
  lengths: StateTable | undefined;
  offsets: StateTable | undefined;
  matches: StateTable | undefined;
  readonly repeats: Int32Array;
}

/** The bytes that a stream of frames stands for. @throws BytesFault */
export async function* zstdExpanded(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = new ByteSource(input, { format: 'zstd', what: 'block' });
  const need = async (count: number): Promise<void> => {
    if (!(await source.need(count))) throw new BytesFault('zstd: unexpected end of file');
  };
  try {
    while (await source.need(1)) {
      await need(4);
      const magic = uint32(source.bytes, source.start);
      if (isSkippable(magic)) {
        await need(8);
        let rest = 8 + uint32(source.bytes, source.start + 4);
        while (rest > 0) {
          await need(1);
          const some = Math.min(rest, source.end - source.start);
          source.start += some;
          rest -= some;
        }
        continue;
      }
      await need(5);
      const size = headerSize(source.bytes[source.start + 4]);
      await need(size);
      const frame = readHeader(source.bytes, source.start, windowBytesMax);
      source.start += size;
      let given = 0;
      for await (const bytes of blocks(frame, source, need)) {
        frame.hash?.update(bytes);
        given += bytes.length;
        yield bytes;
      }
      if (frame.hash) await need(checksumBytes);
      checkFrame(frame, given, source.bytes, source.start);
      if (frame.hash) source.start += checksumBytes;
    }
  } finally {
    await source.close();
  }
}

async function* blocks(
  frame: Frame,
  source: ByteSource,
  need: (count: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let history = new Uint8Array(blockBytesMax);
  let to = 0;
  for (let last = false; !last; ) {
    await need(3);
    const head = blockHead(source.bytes, source.start);
    last = head.last;
    await need(3 + head.bytes);
    const { room, start } = makeRoom(history, to, frame.window);
    history = room;
    to = decodeBlock(frame, head, source.bytes, source.start + 3, history, start);
    source.start += 3 + head.bytes;
    if (to > start) yield history.slice(start, to);
  }
}

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

/** All frames of `input` into `size` bytes; undefined if it is not that many. @throws BytesFault */
export const expandZstd = (input: Uint8Array, size: number): Uint8Array | undefined => {
  const out = new Uint8Array(size);
  let at = 0;
  let to = 0;
  const within = (end: number): void => {
    if (end > input.length) damaged('frame');
  };
  while (at < input.length) {
    within(at + 5);
    if (isSkippable(uint32(input, at))) {
      within(at + 8);
      at += 8 + uint32(input, at + 4);
      continue;
    }
    const headBytes = headerSize(input[at + 4]);
    within(at + headBytes);
    const frame = readHeader(input, at, Infinity);
    const start = to;
    const rest = out.subarray(start);
    at += headBytes;
    to = 0;
    for (let last = false; !last; ) {
      within(at + 3);
      const head = blockHead(input, at);
      last = head.last;
      within(at + 3 + head.bytes);
      to = decodeBlock(frame, head, input, at + 3, rest, to);
      at += 3 + head.bytes;
    }
    frame.hash?.update(rest, 0, to);
    if (frame.hash) within(at + checksumBytes);
    checkFrame(frame, to, input, at);
    to += start;
    if (frame.hash) at += checksumBytes;
  }
  return at === input.length && to === size ? out : undefined;
};

/** The low half of the hash. */
const checksumBytes = 4;
/** Compares what a frame came to with what it says itself; `at`: behind its last block. */
const checkFrame = ({ size, hash }: Frame, found: number, bytes: Uint8Array, at: number): void => {
  if (size !== undefined && size !== found)
    throw new BytesFault(`zstd: frame of ${found} bytes, its header says ${size}`);
  if (hash && hash.low32() !== uint32(bytes, at)) throw new BytesFault('zstd: content checksum does not match');
};

const uint32 = (bytes: Uint8Array, at: number): number =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
const isSkippable = (magic: number): boolean => magic >>> 4 === 0x184d2a5;

const dictionaryBytes = [0, 1, 2, 4];
const contentBytes = [0, 2, 4, 8];
/** Bytes of a frame's header with its magic number, by its descriptor. */
const headerSize = (descriptor: number): number => {
  const single = (descriptor >> 5) & 1;
  const content = contentBytes[descriptor >> 6];
  return 5 + (1 - single) + dictionaryBytes[descriptor & 3] + (content === 0 && single ? 1 : content);
};

const readHeader = (bytes: Uint8Array, start: number, most: number): Frame => {
  if (uint32(bytes, start) !== zstdMagic) damaged('frame');
  const descriptor = bytes[start + 4];
  const single = (descriptor & 0x20) !== 0;
  if (descriptor & 8) damaged('frame header');
  let at = start + 5;
  let window = 0;
  if (!single) {
    const code = bytes[at++];
    const base = 2 ** (10 + (code >> 3));
    window = base + (base / 8) * (code & 7);
  }
  for (let k = dictionaryBytes[descriptor & 3]; k > 0; k--)
    if (bytes[at++] !== 0) throw new BytesFault('zstd: frames with a dictionary are not read');
  const count = contentBytes[descriptor >> 6] || (single ? 1 : 0);
  let size = 0;
  for (let k = count - 1; k >= 0; k--) size = size * 256 + bytes[at + k];
  if (count === 2) size += 256;
  if (single) window = size;
  if (window > most) throw new BytesFault(`zstd: window of ${window} bytes (limit ${most})`);
  return {
    window,
    size: count > 0 ? size : undefined,
    hash: descriptor & 4 ? new Xxh64() : undefined,
    prefix: undefined,
    lengths: undefined,
    offsets: undefined,
    matches: undefined,
    repeats: Int32Array.of(1, 4, 8),
  };
};

interface BlockHead {
  readonly last: boolean;
  readonly kind: number;
  readonly size: number;
  readonly bytes: number;
}
const blockHead = (bytes: Uint8Array, at: number): BlockHead => {
  const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
  const kind = (word >> 1) & 3;
  const size = word >> 3;
  if (kind === 3 || size > blockBytesMax) damaged('block header');
  return { last: (word & 1) === 1, kind, size, bytes: kind === 1 ? 1 : size };
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

const lengthBases = Int32Array.of(
  0,
  1,
  2,
  3,
  4,
  5,
  6,
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
  18,
  20,
  22,
  24,
  28,
  32,
  40,
  48,
  64,
  128,
  256,
  512,
  1024,
  2048,
  4096,
  8192,
  16384,
  32768,
  65536,
);
const lengthBits = Uint8Array.of(
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  1,
  1,
  1,
  1,
  2,
  2,
  3,
  3,
  4,
  6,
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
);
const matchBases = Int32Array.of(
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
);
const matchBits = Uint8Array.of(
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
);
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
