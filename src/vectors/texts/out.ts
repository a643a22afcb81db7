/**
 * Bytes of text in the making: what writers print into, a value at a time, without strings where the values are bytes
 * or small integers.
 */
import { viewOf } from './byte-runs.ts';
import { charge } from '../stop.ts';
import type { ChunkBuffers } from './chunk-buffers.ts';

const utf8 = new TextEncoder();
const zero = 0x30;
/** Texts of so many characters are measured first. */
const longText = 1 << 16;
/** Bytes to begin with: one value, printed. */
const smallBytes = 512;

const noBytes = new Uint8Array(0);

/** UTF-8 text in a buffer that grows: bytes[0, length) are what was printed since the last `take`. */
export class TextOut {
  bytes: Uint8Array;
  length = 0;
  view: DataView;
  private readonly buffers: ChunkBuffers | undefined;

  /**
   * `size` is what is about to come; a small answer never takes it. With buffers, large pieces are given out as they
   * are.
   */
  constructor(size = 1 << 16, buffers?: ChunkBuffers) {
    this.bytes = new Uint8Array(Math.min(size, smallBytes));
    this.view = viewOf(this.bytes);
    this.buffers = buffers;
  }

  reserve(extra: number): void {
    if (this.length + extra > this.bytes.length) this.grow(this.length + extra);
  }
  private grow(least: number): void {
    const { buffers } = this;
    const size = Math.max(this.bytes.length * 2, least);
    charge(size, 'the text of a value');
    // No bytes at all: the last piece was given out with its buffer.
    const before = this.bytes;
    const isShared = buffers && size <= buffers.size && (size >= buffers.size >> 2 || before.length === 0);
    const grown = isShared
      ? buffers.take()
      : buffers && size > buffers.size
        ? buffers.takeLarge(size)
        : new Uint8Array(size);
    grown.set(before.subarray(0, this.length));
    this.bytes = grown;
    this.view = viewOf(grown);
    buffers?.done(before);
  }
  /** Puts ASCII text in the place of the byte at `at`. */
  replaceByte(at: number, text: string): void {
    this.reserve(text.length - 1);
    const { bytes } = this;
    bytes.copyWithin(at + text.length, at + 1, this.length);
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    this.length += text.length - 1;
  }
  byte(b: number): void {
    this.reserve(1);
    this.bytes[this.length++] = b;
  }
  /** ASCII text. */
  ascii(text: string): void {
    const n = text.length;
    this.reserve(n);
    const { bytes } = this;
    for (let i = 0, to = this.length; i < n; i++) bytes[to++] = text.charCodeAt(i);
    this.length += n;
  }
  text(text: string): void {
    // Three bytes for each character would be much more than a long text needs, mostly.
    this.reserve(text.length > longText ? Buffer.byteLength(text) : text.length * 3);
    this.length += utf8.encodeInto(text, this.bytes.subarray(this.length)).written;
  }
  raw(source: Uint8Array, start = 0, end = source.length): void {
    const size = end - start;
    this.reserve(size);
    if (size > 48)
      this.bytes.set(start === 0 && end === source.length ? source : source.subarray(start, end), this.length);
    else {
      const { bytes } = this;
      for (let i = start, to = this.length; i < end; i++) bytes[to++] = source[i]!;
    }
    this.length += size;
  }
  /**
   * source[start, end) as it is, but only up to a byte that is no plain ASCII or that quoted text may not have (control
   * characters, `"`, `\\`), or a few bytes before it; answers where it stopped. `from` is a view of the source.
   */
  plainRun(source: Uint8Array, from: DataView, start: number, end: number): number {
    this.reserve(end - start + 3);
    const { view } = this;
    const offset = this.length - start;
    const wordEnd = Math.min(end, source.length - 3);
    let at = start;
    for (; at < wordEnd; at += 4) {
      const all = from.getInt32(at, true);
      const rest = end - at;
      // What is behind the end counts as blanks, and is printed over by what comes next.
      const word = rest >= 4 ? all : (all & ~(-1 << (rest * 8))) | (0x20202020 << (rest * 8));
      const quotes = word ^ 0x22222222;
      const slashes = word ^ 0x5c5c5c5c;
      if (
        ((word | (word + 0x01010101) | (word - 0x20202020) | (quotes - 0x01010101) | (slashes - 0x01010101)) &
          0x80808080) !==
        0
      )
        break;
      view.setInt32(at + offset, all, true);
    }
    if (at > end) at = end;
    this.length = at + offset;
    return at;
  }
  /** Digits of a safe integer. */
  integer(x: number): void {
    if (x !== (x | 0)) {
      this.ascii(x === 0 ? '0' : String(x));
      return;
    }
    this.reserve(11);
    const { bytes } = this;
    let rest = x;
    if (rest < 0) {
      if (rest === -2147483648) return this.ascii('-2147483648');
      bytes[this.length++] = 0x2d;
      rest = -rest;
    }
    const digits =
      rest < 10
        ? 1
        : rest < 100
          ? 2
          : rest < 1e3
            ? 3
            : rest < 1e4
              ? 4
              : rest < 1e5
                ? 5
                : rest < 1e6
                  ? 6
                  : rest < 1e7
                    ? 7
                    : rest < 1e8
                      ? 8
                      : rest < 1e9
                        ? 9
                        : 10;
    for (let to = this.length + digits - 1; to >= this.length; to--) {
      const tenth = (rest / 10) | 0;
      bytes[to] = zero + rest - tenth * 10;
      rest = tenth;
    }
    this.length += digits;
  }
  /** The four bytes from `start` on as an address with dots. */
  quad(source: Uint8Array, start: number): void {
    for (let i = start; i < start + 4; i++) {
      if (i > start) this.byte(0x2e);
      this.integer(source[i]!);
    }
  }
  /**
   * A float of at most six digits behind the point and fifteen in all, as JavaScript spells it; false, and nothing
   * printed, for any other. Two such numbers are never one double, so no shorter spelling can stand for it.
   */
  decimal(x: number): boolean {
    const whole = Math.floor(x);
    const millionths = Math.round(x * 1e6);
    if (!(x > 0 && millionths < 1e15 && millionths / 1e6 === x && whole < 0x7fffffff)) return false;
    this.integer(whole);
    let rest = millionths - whole * 1e6;
    if (rest === 0) return true;
    let digits = 6;
    for (let tenth = (rest / 10) | 0; tenth * 10 === rest; tenth = (rest / 10) | 0) {
      rest = tenth;
      digits--;
    }
    this.reserve(digits + 1);
    const { bytes } = this;
    bytes[this.length] = 0x2e;
    for (let to = this.length + digits; to > this.length; to--) {
      const tenth = (rest / 10) | 0;
      bytes[to] = zero + rest - tenth * 10;
      rest = tenth;
    }
    this.length += digits + 1;
    return true;
  }
  /** Drops what was printed behind `length`. */
  cutTo(length: number): void {
    this.length = length;
  }
  /** What was printed, for the caller to keep, with its buffer unless that is nearly empty; printing begins again. */
  take(): Uint8Array {
    const { bytes, length, buffers } = this;
    this.length = 0;
    if (!buffers || bytes.length < buffers.size || length * 4 < bytes.length) return bytes.slice(0, length);
    this.bytes = noBytes;
    this.view = viewOf(noBytes);
    return bytes.subarray(0, length);
  }
}

/** The bytes of a text. */
export const bytesOfText = (text: string): Uint8Array => utf8.encode(text);
