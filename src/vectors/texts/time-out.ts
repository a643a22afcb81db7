/** Times printed from their vectors: no bigint and no string for each. */
import { dateOfDays } from '../literal.ts';
import type { TextOut } from './out.ts';
import type { NumberArray } from '../vector.ts';

/** Rows of times or durations as whole seconds and nanoseconds (0 to 999,999,999). */
export class SecondsView {
  seconds = 0;
  nanos = 0;
  private readonly values: NumberArray;
  /** Two words of 32 bits a value, the low one first; only of 64-bit integers. */
  private readonly words: Uint32Array | undefined;

  constructor(values: NumberArray) {
    this.values = values;
    this.words =
      values instanceof Float64Array ? undefined : new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  }

  /** Fills `seconds` and `nanos` with those of a row. */
  read(row: number): void {
    const { words } = this;
    if (!words) {
      const x = this.values[row] as number;
      this.seconds = Math.floor(x / 1e9);
      this.nanos = x - this.seconds * 1e9;
      // A quotient that was rounded up.
      if (this.nanos < 0) this.borrow();
      return;
    }
    // With the sign bit flipped it is 2^63 more and never negative; 16 bits at a time every step is exact.
    const low = words[row * 2];
    const high = (words[row * 2 + 1] ^ 0x80000000) >>> 0;
    const upper = Math.floor(high / 1e9);
    const r1 = (high - upper * 1e9) * 65536 + (low >>> 16);
    const q1 = Math.floor(r1 / 1e9);
    const r2 = (r1 - q1 * 1e9) * 65536 + (low & 0xffff);
    const q2 = Math.floor(r2 / 1e9);
    this.seconds = (upper * 65536 + q1) * 65536 + q2 - 9_223_372_036;
    this.nanos = r2 - q2 * 1e9 - 854_775_808;
    if (this.nanos < 0) this.borrow();
  }
  private borrow(): void {
    this.seconds--;
    this.nanos += 1e9;
  }
}

const zero = 0x30;
const twoDigits = (bytes: Uint8Array, at: number, x: number): void => {
  const tens = (x / 10) | 0;
  bytes[at] = zero + tens;
  bytes[at + 1] = zero + x - tens * 10;
};

/** `.` and the nanoseconds in so many digits, without trailing zeros but for the first `least`. */
export const appendFraction = (out: TextOut, nanos: number, least = 0): void => {
  let rest = nanos;
  let digits = 9;
  while (digits > least && rest % 10 === 0) {
    rest /= 10;
    digits--;
  }
  out.reserve(digits + 1);
  const { bytes } = out;
  bytes[out.length] = 0x2e;
  for (let to = out.length + digits; to > out.length; to--) {
    const tenth = Math.floor(rest / 10);
    bytes[to] = zero + rest - tenth * 10;
    rest = tenth;
  }
  out.length += digits + 1;
};

/** A printer of times as `timeText` of literal.ts spells them. */
export const timePrinter = (values: NumberArray, out: TextOut): ((row: number) => void) => {
  const view = new SecondsView(values);
  const date = new Uint8Array(11);
  let lastDay = NaN;
  return (row) => {
    view.read(row);
    const day = Math.floor(view.seconds / 86400);
    const ofDay = view.seconds - day * 86400;
    if (day !== lastDay) {
      lastDay = day;
      const { year, month, day: ofMonth } = dateOfDays(day);
      twoDigits(date, 0, Math.floor(year / 100));
      twoDigits(date, 2, year % 100);
      twoDigits(date, 5, month);
      twoDigits(date, 8, ofMonth);
      date[4] = date[7] = 0x2d;
      date[10] = 0x54;
    }
    out.raw(date);
    out.reserve(8);
    const { bytes, length } = out;
    const hour = (ofDay / 3600) | 0;
    const minute = ((ofDay - hour * 3600) / 60) | 0;
    twoDigits(bytes, length, hour);
    twoDigits(bytes, length + 3, minute);
    twoDigits(bytes, length + 6, ofDay - hour * 3600 - minute * 60);
    bytes[length + 2] = bytes[length + 5] = 0x3a;
    out.length += 8;
    if (view.nanos > 0) appendFraction(out, view.nanos);
    out.byte(0x5a);
  };
};
