/**
 * The two entropy codes of Zstandard (RFC 8878): tables of finite states and of prefix codes, read from the bytes that
 * describe them.
 */
import { damaged } from './zstd-frames.ts';

/** For each state: the symbol that it stands for, the bits that the next state takes and what they are added to. */
export interface StateTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
  readonly bases: Uint16Array;
}
/** For each run of `log` bits: the symbol at its beginning and how many of the bits are its. */
export interface PrefixTable {
  readonly log: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
}

const highBit = (x: number): number => 31 - Math.clz32(x);

/** The table of a distribution; -1 is a count below one. */
export const stateTable = (counts: ArrayLike<number>, log: number): StateTable => {
  const size = 1 << log;
  const mask = size - 1;
  const step = (size >> 1) + (size >> 3) + 3;
  const symbols = new Uint8Array(size);
  const bits = new Uint8Array(size);
  const bases = new Uint16Array(size);
  const next = new Uint16Array(counts.length);
  let high = size - 1;
  for (let s = 0; s < counts.length; s++) {
    if (counts[s] === -1) symbols[high--] = s;
    next[s] = Math.abs(counts[s]);
  }
  let at = 0;
  for (let s = 0; s < counts.length; s++) {
    for (let k = 0; k < counts[s]; k++) {
      symbols[at] = s;
      do at = (at + step) & mask;
      while (at > high);
    }
  }
  for (let state = 0; state < size; state++) {
    const n = next[symbols[state]]++;
    bits[state] = log - highBit(n);
    bases[state] = (n << bits[state]) - size;
  }
  return { log, symbols, bits, bases };
};

/** One symbol only, which takes no bits. */
export const constantTable = (symbol: number): StateTable => ({
  log: 0,
  symbols: Uint8Array.of(symbol),
  bits: new Uint8Array(1),
  bases: new Uint16Array(1),
});

/** Reads a distribution from `bytes[start, end)`; `next` is behind it. @throws BytesFault */
export const readStateTable = (
  bytes: Uint8Array,
  start: number,
  end: number,
  { symbolMax, logMax }: { readonly symbolMax: number; readonly logMax: number },
): { readonly table: StateTable; readonly next: number } => {
  let at = start * 8;
  const limit = end * 8;
  const take = (count: number): number => {
    const i = at >>> 3;
    const value = ((bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16)) >>> (at & 7)) & ((1 << count) - 1);
    at += count;
    return value;
  };
  const log = take(4) + 5;
  const counts: number[] = [];
  if (log > logMax) damaged('distribution');
  let remaining = 1 << log;
  while (remaining > 0) {
    if (counts.length > symbolMax || at >= limit) damaged('distribution');
    const width = highBit(remaining + 1) + 1;
    const half = (1 << (width - 1)) - 1;
    const short = (1 << width) - 2 - remaining;
    let value = take(width);
    if ((value & half) < short) {
      at--;
      value &= half;
    } else if (value > half) value -= short;
    const count = value - 1;
    remaining -= Math.abs(count);
    counts.push(count);
    if (count !== 0) continue;
    for (let zeros = 3; zeros === 3; ) {
      zeros = take(2);
      for (let k = 0; k < zeros; k++) counts.push(0);
      if (counts.length > symbolMax + 1 || at > limit) damaged('distribution');
    }
  }
  if (remaining !== 0 || counts.length > symbolMax + 1 || at > limit) damaged('distribution');
  return { table: stateTable(counts, log), next: (at + 7) >>> 3 };
};

/** `count` bits (at most 25) from bit `at` of the bytes from `base` on; what lies before the first bit is 0. */
export const bitsAt = (bytes: Uint8Array, base: number, at: number, count: number): number => {
  if (at < 0) return count + at <= 0 ? 0 : bitsAt(bytes, base, 0, count + at) << -at;
  const i = base + (at >>> 3);
  return (
    ((bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24)) >>> (at & 7)) & ((1 << count) - 1)
  );
};

/** Bits of a stream that is read backwards, without the mark at its end. @throws BytesFault */
export const backwardBits = (bytes: Uint8Array, start: number, end: number): number => {
  if (end <= start || bytes[end - 1] === 0) damaged('bit stream');
  return (end - start - 1) * 8 + highBit(bytes[end - 1]);
};

const prefixLogMax = 11;
const weightLogMax = 6;

/** Reads a prefix code from `bytes[start, end)`; `next` is behind it. @throws BytesFault */
export const readPrefixTable = (
  bytes: Uint8Array,
  start: number,
  end: number,
): { readonly table: PrefixTable; readonly next: number } => {
  if (start >= end) damaged('prefix code');
  const head = bytes[start];
  if (head >= 128) {
    const count = head - 127;
    const next = start + 1 + ((count + 1) >> 1);
    if (next > end) damaged('prefix code');
    const weights = Array.from({ length: count }, (_, i) => (bytes[start + 1 + (i >> 1)] >> (i & 1 ? 0 : 4)) & 15);
    return { table: prefixTable(weights), next };
  }
  const next = start + 1 + head;
  if (next > end) damaged('prefix code');
  return { table: prefixTable(readWeights(bytes, start + 1, next)), next };
};

/** Two states take turns until the bits are used up. */
const readWeights = (bytes: Uint8Array, start: number, end: number): number[] => {
  const { table, next } = readStateTable(bytes, start, end, { symbolMax: 15, logMax: weightLogMax });
  const weights: number[] = [];
  let at = backwardBits(bytes, next, end) - 2 * table.log;
  if (at < 0) damaged('prefix code');
  let one = bitsAt(bytes, next, at + table.log, table.log);
  let other = bitsAt(bytes, next, at, table.log);
  while (weights.length < 255) {
    weights.push(table.symbols[one]);
    at -= table.bits[one];
    if (at < 0) {
      weights.push(table.symbols[other]);
      return weights;
    }
    const state = table.bases[one] + bitsAt(bytes, next, at, table.bits[one]);
    one = other;
    other = state;
  }
  return damaged('prefix code');
};

/** The last weight is what makes the code complete. */
const prefixTable = (weights: number[]): PrefixTable => {
  let sum = 0;
  for (const w of weights) sum += w > 0 ? 2 ** (w - 1) : 0;
  if (sum === 0 || sum >= 1 << prefixLogMax) damaged('prefix code');
  const log = highBit(sum) + 1;
  const left = (1 << log) - sum;
  if (log > prefixLogMax || (left & (left - 1)) !== 0 || weights.length > 255) damaged('prefix code');
  weights.push(highBit(left) + 1);
  const symbols = new Uint8Array(1 << log);
  const bits = new Uint8Array(1 << log);
  let at = 0;
  for (let w = 1; w <= log; w++) {
    for (let s = 0; s < weights.length; s++) {
      if (weights[s] !== w) continue;
      symbols.fill(s, at, at + (1 << (w - 1)));
      bits.fill(log + 1 - w, at, (at += 1 << (w - 1)));
    }
  }
  return { log, symbols, bits };
};
