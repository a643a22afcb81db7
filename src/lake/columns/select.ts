/**
 * Rows whose stored number is in a range, found in the bytes as they are stored: one, two or four bytes a row, doubles,
 * or 64-bit integers by their halves.
 *
 * Each kernel exists once for each kind of array, so that it sees one kind alone. 1,000,000 rows of a byte take 1.3 ms,
 * whatever part of them passes: without a branch on the outcome (with one 5 ms where half of them do). Codes and numbers
 * of all rows are compared 16 bytes at a time where the processor can (`wasm/selector.ts`).
 */
import { selector } from './wasm/selector.ts';

/** Numbers of rows, in order; undefined: all of them. */
export type Selection = Uint32Array | undefined;
/** What earlier tests left, and how many rows there are. */
export interface Candidates {
  readonly rows: number;
  readonly prior: Selection;
}
/** Integers from `least` to `least + span`, both included; with `outside` all others. */
export interface CodeRange {
  readonly least: number;
  readonly span: number;
  readonly outside: boolean;
}

/** Where kernels write: what they found is copied, as it mostly is a small part of the rows. */
let scratch = new Uint32Array(0);
const room = ({ rows, prior }: Candidates): Uint32Array => {
  const length = prior?.length ?? rows;
  if (scratch.length < length) scratch = new Uint32Array(length * 2);
  return scratch;
};

/** Of codes of one, two or four bytes. */
export const inCodeRange = (
  codes: Uint8Array | Uint16Array | Uint32Array,
  among: Candidates,
  { least, span, outside }: CodeRange,
): Uint32Array => {
  const { prior, rows } = among;
  const simd = prior || rows === 0 ? undefined : selector();
  if (simd) return simd.codes(codes, rows, { least, span, outside });
  const out = room(among);
  const flip = outside ? 1 : 0;
  const own = prior ?? allRows(rows);
  return out.slice(
    0,
    codes instanceof Uint8Array
      ? some8(codes, own, least, span, flip, out)
      : codes instanceof Uint16Array
        ? some16(codes, own, least, span, flip, out)
        : some32(codes, own, least, span, flip, out),
  );
};
/** Where the processor cannot do better, all rows are looked at as those of an earlier test are. */
const allRows = (rows: number): Uint32Array => Uint32Array.from({ length: rows }, (_, i) => i);
const some8 = (
  a: Uint8Array,
  prior: Uint32Array,
  least: number,
  span: number,
  flip: number,
  out: Uint32Array,
): number => {
  let n = 0;
  for (let k = 0; k < prior.length; k++) {
    const i = prior[k];
    out[n] = i;
    n += Number((a[i] - least) >>> 0 <= span) ^ flip;
  }
  return n;
};
const some16 = (
  a: Uint16Array,
  prior: Uint32Array,
  least: number,
  span: number,
  flip: number,
  out: Uint32Array,
): number => {
  let n = 0;
  for (let k = 0; k < prior.length; k++) {
    const i = prior[k];
    out[n] = i;
    n += Number((a[i] - least) >>> 0 <= span) ^ flip;
  }
  return n;
};
const some32 = (
  a: Uint32Array,
  prior: Uint32Array,
  least: number,
  span: number,
  flip: number,
  out: Uint32Array,
): number => {
  let n = 0;
  for (let k = 0; k < prior.length; k++) {
    const i = prior[k];
    out[n] = i;
    n += Number((a[i] - least) >>> 0 <= span) ^ flip;
  }
  return n;
};

/** The values of a dictionary that pass: 1 for each of these; `range`: they are those from one to another, or all others. */
export interface PassingValues {
  readonly passes: Uint8Array;
  readonly range: CodeRange | undefined;
}
export const passingOf = (passes: Uint8Array): PassingValues => ({
  passes,
  range: runOf(passes, 1) ?? runOf(passes, 0),
});
/** The places that have this value, if they are one run. */
const runOf = (passes: Uint8Array, value: 0 | 1): CodeRange | undefined => {
  const least = passes.indexOf(value);
  if (least < 0) return undefined;
  const most = passes.lastIndexOf(value);
  const other = passes.indexOf(1 - value, least);
  return other < 0 || other > most ? { least, span: most - least, outside: value === 0 } : undefined;
};

/** Rows whose value of a dictionary passes; its code is `base` more than what is stored. */
export const passingCodes = (
  codes: Uint8Array | Uint16Array | Uint32Array,
  base: number,
  { passes, range }: PassingValues,
  among: Candidates,
): Uint32Array => {
  const { prior, rows } = among;
  if (range) {
    const least = Math.max(0, range.least - base);
    const most = Math.min(largest(codes), range.least + range.span - base);
    if (least <= most) return inCodeRange(codes, among, { least, span: most - least, outside: range.outside });
  }
  const out = room(among);
  const own = base === 0 ? passes : passes.subarray(base);
  if (!prior)
    return out.slice(
      0,
      codes instanceof Uint8Array
        ? passing8(codes, rows, own, out)
        : codes instanceof Uint16Array
          ? passing16(codes, rows, own, out)
          : passing32(codes, rows, own, out),
    );
  let n = 0;
  for (let k = 0; k < prior.length; k++) {
    const i = prior[k];
    out[n] = i;
    n += own[codes[i]];
  }
  return out.slice(0, n);
};
const largest = (codes: Uint8Array | Uint16Array | Uint32Array): number => 2 ** (codes.BYTES_PER_ELEMENT * 8) - 1;
const passing8 = (a: Uint8Array, rows: number, passes: Uint8Array, out: Uint32Array): number => {
  let n = 0;
  for (let i = 0; i < rows; i++) {
    out[n] = i;
    n += passes[a[i]];
  }
  return n;
};
const passing16 = (a: Uint16Array, rows: number, passes: Uint8Array, out: Uint32Array): number => {
  let n = 0;
  for (let i = 0; i < rows; i++) {
    out[n] = i;
    n += passes[a[i]];
  }
  return n;
};
const passing32 = (a: Uint32Array, rows: number, passes: Uint8Array, out: Uint32Array): number => {
  let n = 0;
  for (let i = 0; i < rows; i++) {
    out[n] = i;
    n += passes[a[i]];
  }
  return n;
};

/** Doubles from `least` to `most`, both included; NaN is in no range, and so it is `outside`. */
export const inFloatRange = (
  values: Float64Array,
  among: Candidates,
  { least, most, outside }: { readonly least: number; readonly most: number; readonly outside: boolean },
): Uint32Array => {
  const { prior, rows } = among;
  const simd = prior || rows === 0 ? undefined : selector();
  if (simd) return simd.floats(values, rows, least, most, outside);
  const out = room(among);
  const flip = outside ? 1 : 0;
  let n = 0;
  const own = prior ?? allRows(rows);
  for (let k = 0; k < own.length; k++) {
    const i = own[k];
    const x = values[i];
    out[n] = i;
    n += Number(x >= least && x <= most) ^ flip;
  }
  return out.slice(0, n);
};

/**
 * 64-bit integers in a range, both ends included. `halves`: low and high words in turn; `unsigned`: none is below 0.
 */
export const inWideRange = (
  halves: Int32Array,
  among: Candidates,
  {
    least,
    most,
    outside,
    unsigned,
  }: { readonly least: bigint; readonly most: bigint; readonly outside: boolean; readonly unsigned: boolean },
): Uint32Array => {
  // One number is the same bits, whatever the sign is.
  const simd = among.prior || among.rows === 0 || (unsigned && least !== most) ? undefined : selector();
  if (simd) return simd.integers(halves, among.rows, BigInt.asIntN(64, least), BigInt.asIntN(64, most), outside);
  const out = room(among);
  const flip = outside ? 1 : 0;
  if (least === most)
    return out.slice(
      0,
      equalWides(halves, among, Number(BigInt.asIntN(32, least)), Number(BigInt.asIntN(32, least >> 32n)), flip, out),
    );
  // With the sign bit turned unsigned high words have the order of signed ones.
  const turn = unsigned ? 0x8000_0000 | 0 : 0;
  const word = (x: bigint): readonly [number, number] => [
    Number(BigInt.asUintN(32, x)),
    Number(BigInt.asIntN(32, x >> 32n)) ^ turn,
  ];
  return out.slice(0, rangeWides(halves, among, { from: word(least), to: word(most), turn, flip }, out));
};
const equalWides = (
  halves: Int32Array,
  { rows, prior }: Candidates,
  low: number,
  high: number,
  flip: number,
  out: Uint32Array,
): number => {
  let n = 0;
  const own = prior ?? allRows(rows);
  for (let k = 0; k < own.length; k++) {
    const i = own[k];
    out[n] = i;
    n += Number(halves[2 * i] === low && halves[2 * i + 1] === high) ^ flip;
  }
  return n;
};
interface WideEnds {
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
  readonly turn: number;
  readonly flip: number;
}
const rangeWides = (
  halves: Int32Array,
  { rows, prior }: Candidates,
  { from: [fromLow, fromHigh], to: [toLow, toHigh], turn, flip }: WideEnds,
  out: Uint32Array,
): number => {
  const length = prior?.length ?? rows;
  let n = 0;
  for (let k = 0; k < length; k++) {
    const i = prior ? prior[k] : k;
    const low = halves[2 * i] >>> 0;
    const high = halves[2 * i + 1] ^ turn;
    const isIn =
      (high > fromHigh || (high === fromHigh && low >= fromLow)) &&
      (high < toHigh || (high === toHigh && low <= toLow));
    out[n] = i;
    n += Number(isIn) ^ flip;
  }
  return n;
};

/** Rows of one member of a union: `slots` are places among its own rows, in order. */
export const rowsOfSlots = (tags: Uint32Array, tag: number, slots: Selection): Uint32Array => {
  const out = new Uint32Array(slots?.length ?? tags.length);
  let n = 0;
  for (let i = 0, slot = 0; i < tags.length; i++) {
    if (tags[i] !== tag) continue;
    if (!slots) out[n++] = i;
    else if (n < slots.length && slots[n] === slot) out[n++] = i;
    slot++;
  }
  return out.subarray(0, n);
};
/** Rows of a part of a mixed column that pass, by their places in it; how many it has. */
export interface PartSelection {
  readonly rows: number;
  readonly passing: Selection;
}
/** Rows, among those that earlier tests left, that pass in the part where they are. */
export const rowsOfParts = (
  { tags, slots }: { readonly tags: Uint32Array; readonly slots: Uint32Array },
  parts: readonly PartSelection[],
  { rows, prior }: Candidates,
): Uint32Array => {
  const starts = new Uint32Array(parts.length);
  const passes = new Uint8Array(rows);
  let start = 0;
  for (const [tag, part] of parts.entries()) {
    starts[tag] = start;
    const { passing } = part;
    if (!passing) passes.fill(1, start, start + part.rows);
    else for (let k = 0; k < passing.length; k++) passes[start + passing[k]] = 1;
    start += part.rows;
  }
  const out = new Uint32Array(prior?.length ?? rows);
  let n = 0;
  for (let k = 0; k < out.length; k++) {
    const i = prior ? prior[k] : k;
    out[n] = i;
    n += passes[starts[tags[i]] + slots[i]];
  }
  return out.subarray(0, n);
};
/** Rows that are in both. */
export const both = (a: Selection, b: Selection): Selection => {
  if (!a || !b) return a ?? b;
  const out = new Uint32Array(Math.min(a.length, b.length));
  let n = 0;
  for (let i = 0, k = 0; i < a.length && k < b.length; ) {
    const x = a[i];
    const y = b[k];
    if (x === y) out[n++] = x;
    if (x <= y) i++;
    if (y <= x) k++;
  }
  return out.subarray(0, n);
};
/** Rows that are in one of two that have none in common. */
export const either = (a: Uint32Array, b: Uint32Array): Uint32Array => {
  const out = new Uint32Array(a.length + b.length);
  for (let n = 0, i = 0, k = 0; n < out.length; n++)
    out[n] = k >= b.length || (i < a.length && a[i] < b[k]) ? a[i++] : b[k++];
  return out;
};
/** Rows that are in one of two, or in both. */
export const union = (a: Uint32Array, b: Uint32Array): Uint32Array => {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a;
  const out = new Uint32Array(a.length + b.length);
  let n = 0;
  for (let i = 0, k = 0; i < a.length || k < b.length; ) {
    const x = i < a.length ? a[i] : Infinity;
    const y = k < b.length ? b[k] : Infinity;
    out[n++] = x < y ? x : y;
    if (x <= y) i++;
    if (y <= x) k++;
  }
  return out.subarray(0, n);
};
/** Those of the rows that are flagged. */
export const flagged = (flags: Uint8Array, { rows, prior }: Candidates): Uint32Array => {
  const out = new Uint32Array(prior?.length ?? rows);
  let n = 0;
  for (let k = 0; k < out.length; k++) {
    const i = prior ? prior[k] : k;
    out[n] = i;
    n += flags[i];
  }
  return out.subarray(0, n);
};
