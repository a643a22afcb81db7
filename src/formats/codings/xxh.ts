/**
 * The checksums of LZ4 frames (XXH32) and Zstandard frames (XXH64, its low half), both with seed 0. Node has neither,
 * and packages load theirs asynchronously, which block codecs cannot wait for.
 *
 * 64-bit numbers are pairs of 32-bit halves: BigInt is some fifty times as slow.
 */

const p1 = 0x9e3779b1;
const p2 = 0x85ebca77;
const p3 = 0xc2b2ae3d;
const p4 = 0x27d4eb2f;
const p5 = 0x165667b1;
const rotate = (x: number, by: number): number => (x << by) | (x >>> (32 - by));
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** XXH32 of bytes[start, end). */
export const xxh32 = (bytes: Uint8Array, start = 0, end = bytes.length): number => {
  const view = viewOf(bytes);
  let at = start;
  let hash = p5;
  if (end - start >= 16) {
    const lanes = [p1 + p2, p2, 0, -p1].map((lane) => lane | 0);
    for (; at + 16 <= end; at += 16) {
      for (let lane = 0; lane < 4; lane++)
        lanes[lane] = Math.imul(rotate((lanes[lane] + Math.imul(view.getInt32(at + 4 * lane, true), p2)) | 0, 13), p1);
    }
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
  }
  hash = (hash + (end - start)) | 0;
  for (; at + 4 <= end; at += 4) hash = Math.imul(rotate((hash + Math.imul(view.getInt32(at, true), p3)) | 0, 17), p4);
  for (; at < end; at++) hash = Math.imul(rotate((hash + Math.imul(bytes[at], p5)) | 0, 11), p1);
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/** A 64-bit number: its halves. */
interface Pair {
  high: number;
  low: number;
}
const pair = (high: number, low: number): Readonly<Pair> => ({ high: high | 0, low: low | 0 });
const q1 = pair(0x9e3779b1, 0x85ebca87);
const q2 = pair(0xc2b2ae3d, 0x27d4eb4f);
const q3 = pair(0x165667b1, 0x9e3779f9);
const q4 = pair(0x85ebca77, 0xc2b2ae63);
const q5 = pair(0x27d4eb2f, 0x165667c5);

/** The high half of the product of two unsigned 32-bit numbers. */
const highOf = (a: number, b: number): number => {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const cross = aLow * bHigh;
  const other = aHigh * bLow;
  const middle = ((aLow * bLow) >>> 16) + (cross & 0xffff) + (other & 0xffff);
  return (aHigh * bHigh + (cross >>> 16) + (other >>> 16) + (middle >>> 16)) | 0;
};
const add = (x: Pair, { high, low }: Readonly<Pair>): void => {
  const sum = (x.low >>> 0) + (low >>> 0);
  x.low = sum | 0;
  x.high = (x.high + high + (sum > 0xffff_ffff ? 1 : 0)) | 0;
};
const multiply = (x: Pair, { high, low }: Readonly<Pair>): void => {
  x.high = (highOf(x.low, low) + Math.imul(x.high, low) + Math.imul(x.low, high)) | 0;
  x.low = Math.imul(x.low, low);
};
const turn = (x: Pair, by: number): void => {
  const { high, low } = by < 32 ? x : { high: x.low, low: x.high };
  const bits = by % 32;
  x.high = bits === 0 ? high : (high << bits) | (low >>> (32 - bits));
  x.low = bits === 0 ? low : (low << bits) | (high >>> (32 - bits));
};
const mix = (x: Pair, { high, low }: Readonly<Pair>): void => {
  x.high ^= high;
  x.low ^= low;
};
/** What a word of the input comes to. */
const rounded = (lane: Readonly<Pair>, word: Readonly<Pair>): Pair => {
  const x = { ...word };
  multiply(x, q2);
  add(x, lane);
  turn(x, 31);
  multiply(x, q1);
  return x;
};

const stripe = 32;

/** XXH64 of bytes that come in pieces. */
export class Xxh64 {
  /** Low and high half of each of four lanes. */
  private readonly lanes = new Int32Array(8);
  private readonly rest = new Uint8Array(stripe);
  private restBytes = 0;
  private bytes = 0;

  constructor() {
    const first: Pair = { ...q1 };
    const last: Pair = { high: ~q1.high, low: ~q1.low };
    add(first, q2);
    add(last, pair(0, 1));
    [first, q2, pair(0, 0), last].forEach(({ high, low }, lane) => this.lanes.set([low, high], 2 * lane));
  }

  update(input: Uint8Array, start = 0, end = input.length): void {
    let at = start;
    this.bytes += end - start;
    if (this.restBytes > 0) {
      const some = Math.min(stripe - this.restBytes, end - at);
      this.rest.set(input.subarray(at, at + some), this.restBytes);
      this.restBytes += some;
      at += some;
      if (this.restBytes < stripe) return;
      this.stripes(this.rest, 0, stripe);
      this.restBytes = 0;
    }
    const whole = at + Math.floor((end - at) / stripe) * stripe;
    if (whole > at) this.stripes(input, at, whole);
    this.rest.set(input.subarray(whole, end));
    this.restBytes = end - whole;
  }

  /** One lane after the other: what a loop keeps is two numbers then. */
  private stripes(input: Uint8Array, start: number, end: number): void {
    const view = viewOf(input);
    const { lanes } = this;
    const high1 = q1.high;
    const low1 = q1.low;
    const high2 = q2.high;
    const low2 = q2.low;
    for (let lane = 0; lane < 4; lane++) {
      let low = lanes[2 * lane];
      let high = lanes[2 * lane + 1];
      for (let at = start + 8 * lane; at < end; at += stripe) {
        const wordLow = view.getInt32(at, true);
        const wordHigh = view.getInt32(at + 4, true);
        const sum = (low >>> 0) + (Math.imul(wordLow, low2) >>> 0);
        const sumHigh =
          (high +
            highOf(wordLow, low2) +
            Math.imul(wordHigh, low2) +
            Math.imul(wordLow, high2) +
            (sum > 0xffff_ffff ? 1 : 0)) |
          0;
        const sumLow = sum | 0;
        const turnedHigh = (sumHigh << 31) | (sumLow >>> 1);
        const turnedLow = (sumLow << 31) | (sumHigh >>> 1);
        high = (highOf(turnedLow, low1) + Math.imul(turnedHigh, low1) + Math.imul(turnedLow, high1)) | 0;
        low = Math.imul(turnedLow, low1);
      }
      lanes[2 * lane] = low;
      lanes[2 * lane + 1] = high;
    }
  }

  /** The low half of the hash of all that came. */
  low32(): number {
    const { rest, restBytes, bytes } = this;
    const view = viewOf(rest);
    const hash: Pair = { high: 0, low: 0 };
    if (bytes >= stripe) this.join(hash);
    else add(hash, q5);
    add(hash, pair(Math.floor(bytes / 2 ** 32), bytes));
    let at = 0;
    for (; at + 8 <= restBytes; at += 8) {
      mix(hash, rounded(pair(0, 0), pair(view.getInt32(at + 4, true), view.getInt32(at, true))));
      turn(hash, 27);
      multiply(hash, q1);
      add(hash, q4);
    }
    if (at + 4 <= restBytes) {
      const word: Pair = { high: 0, low: view.getInt32(at, true) };
      multiply(word, q1);
      mix(hash, word);
      turn(hash, 23);
      multiply(hash, q2);
      add(hash, q3);
      at += 4;
    }
    for (; at < restBytes; at++) {
      const byte: Pair = { high: 0, low: rest[at] };
      multiply(byte, q5);
      mix(hash, byte);
      turn(hash, 11);
      multiply(hash, q1);
    }
    mix(hash, pair(0, hash.high >>> 1));
    multiply(hash, q2);
    mix(hash, pair(hash.high >>> 29, (hash.high << 3) | (hash.low >>> 29)));
    multiply(hash, q3);
    return (hash.low ^ hash.high) >>> 0;
  }
  private join(hash: Pair): void {
    const lanes = [0, 2, 4, 6].map((at) => pair(this.lanes[at + 1], this.lanes[at]));
    lanes.forEach((lane, i) => {
      const turned: Pair = { ...lane };
      turn(turned, [1, 7, 12, 18][i]);
      add(hash, turned);
    });
    for (const lane of lanes) {
      mix(hash, rounded(pair(0, 0), lane));
      multiply(hash, q1);
      add(hash, q4);
    }
  }
}
