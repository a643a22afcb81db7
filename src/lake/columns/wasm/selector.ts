/**
 * Rows whose code or number is in a range, 16 bytes at a time: a WebAssembly module of a function for codes of one, two
 * and four bytes each, for doubles and for 64-bit integers. 1,000,000 codes of a byte, of which 6 in 100 are in the
 * range, take 0.3 of the processor time of a loop in JavaScript, 64-bit
 * ids of which one is looked for 0.5, and of which a range is 0.15.
 *
 * Comparisons give a bit a row. Eight of them are a place in a table of the numbers of those that are set, so that the
 * rows of a byte are written at once, without a branch on each; where all bits are 0 nothing is written.
 *
 * Where there is no such WebAssembly (processors without SSE 4.1), `selector` gives undefined.
 */

import type { CodeRange } from '../select.ts';
import {
  type WasmFunction,
  type WasmMemory,
  assembled,
  at,
  block,
  constant,
  get,
  i32,
  kinds,
  local,
  pageBytes,
  set,
  simd,
} from './assembly.ts';

/** Writes the numbers of rows that pass, from `first` on, at byte `out`; how many there are. */
type Kernel = (rows: number, first: number, least: number, span: number, flip: number, out: number) => number;
type Exports = { readonly memory: WasmMemory } & { readonly [K in Kind]: Kernel };
/** The width of codes in bytes, and numbers, whose bounds are in memory. */
type Width = 1 | 2 | 4;
type Kind = `codes${Width}` | 'floats' | 'integers';
type Codes = Uint8Array | Uint16Array | Uint32Array;

/**
 * Bytes: the table, the least number twice and the greatest twice, the codes or numbers of a chunk, and what is found.
 * Groups of eight rows are written whole.
 */
const tableBytes = 256 * 8;
const leastAt = tableBytes;
const mostAt = leastAt + 16;
const inAt = mostAt + 16;
const chunkRows = 1 << 14;
const outAt = inAt + chunkRows * 8;
const slackBytes = 64;
const pagesAtStart = 4;

const vector = {
  and: 0x4e,
  bits64: 0xc4,
  load: 0x00,
  load8x8U: 0x02,
  store: 0x0b,
  add32: 0xae,
  splat32: 0x11,
  low16U: 0xa9,
  high16U: 0xaa,
};
/** By the bytes of a code. */
const lanes: Readonly<
  Record<Width, { readonly splat: number; readonly sub: number; readonly leU: number; readonly bits: number }>
> = {
  1: { splat: 0x0f, sub: 0x71, leU: 0x2a, bits: 0x64 },
  2: { splat: 0x10, sub: 0x91, leU: 0x34, bits: 0x84 },
  4: { splat: 0x11, sub: 0xb1, leU: 0x3e, bits: 0xa4 },
};
const comparisons = { floats: { atLeast: 0x4c, atMost: 0x4b }, integers: { atLeast: 0xdb, atMost: 0xda } };

/** Parameters and locals of a kernel, by number. */
const [rows, first, least, span, flip, out, i, from, bits, leasts, spans, start, group] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];
/** The rows of the eight bits of `bits` above `shift`: their numbers in the group and its first, then `out` moves on. */
const written = (shift: number): number[] => {
  const eight = [...get(bits), ...(shift > 0 ? [...constant(shift), i32.shrU] : []), ...constant(0xff), i32.and];
  const numbered = (half: number, place: number): number[] => [
    ...get(out),
    ...get(group),
    ...simd(half),
    ...get(start),
    ...simd(vector.add32),
    ...at(vector.store, place),
  ];
  return [
    ...[...eight, ...constant(3), i32.shl, ...at(vector.load8x8U, 0), ...set(group)],
    ...[...get(first), ...get(i), i32.add, ...(shift > 0 ? [...constant(shift), i32.add] : [])],
    ...[...simd(vector.splat32), ...set(start)],
    ...[...numbered(vector.low16U, 0), ...numbered(vector.high16U, 16)],
    ...[...get(out), ...eight, i32.popcnt, ...constant(2), i32.shl, i32.add, ...set(out)],
  ];
};
/** The bits of eight rows, or of 16 codes of a byte. */
const codesCompared = (width: Width): number[] => {
  const { sub, leU, bits: bitsOf } = lanes[width];
  const compared = (offset: number): number[] => [
    ...[...get(from), ...at(vector.load, inAt + offset), ...get(leasts), ...simd(sub)],
    ...[...get(spans), ...simd(leU), ...simd(bitsOf)],
  ];
  return [...compared(0), ...(width === 4 ? [...compared(16), ...constant(4), i32.shl, i32.or] : [])];
};
const numbersCompared = ({ atLeast, atMost }: { readonly atLeast: number; readonly atMost: number }): number[] =>
  [0, 1, 2, 3].flatMap((pair) => [
    ...[...get(from), ...at(vector.load, inAt + pair * 16), local.tee, group],
    ...[...get(leasts), ...simd(atLeast), ...get(group), ...get(spans), ...simd(atMost), ...simd(vector.and)],
    ...simd(vector.bits64),
    ...(pair > 0 ? [...constant(pair * 2), i32.shl, i32.or] : []),
  ]);
/** `prepared` sets what rows are compared with, `compared` leaves the bits of `step` rows. */
const kernel = (name: Kind, prepared: number[], compared: number[], { step, bytes }: Step): WasmFunction => {
  const all = (1 << step) - 1;
  const code = [
    ...prepared,
    ...[block.loop, block.empty],
    ...compared,
    ...[...get(flip), i32.xor, ...constant(all), i32.and, ...set(bits)],
    // Behind the last row there is what an earlier chunk left.
    ...[...get(rows), ...get(i), i32.sub, ...constant(step), i32.ltU, block.if, block.empty],
    ...[...get(bits), ...constant(1), ...get(rows), ...get(i), i32.sub, i32.shl, ...constant(1), i32.sub, i32.and],
    ...[...set(bits), block.end],
    ...[...get(bits), block.if, block.empty, ...written(0), ...(step > 8 ? written(8) : []), block.end],
    ...[...get(from), ...constant(step * bytes), i32.add, ...set(from)],
    ...[...get(i), ...constant(step), i32.add, ...set(i)],
    ...[...get(i), ...get(rows), i32.ltU, block.brIf, 0, block.end],
    ...get(out),
  ];
  const locals = [
    { count: 3, kind: kinds.i32 },
    { count: 4, kind: kinds.v128 },
  ];
  return { name, type: 0, locals, code };
};
/** Rows a step, and the bytes of each. */
interface Step {
  readonly step: number;
  readonly bytes: number;
}
const codesKernel = (width: Width): WasmFunction => {
  const { splat } = lanes[width];
  const prepared = [...get(least), ...simd(splat), ...set(leasts), ...get(span), ...simd(splat), ...set(spans)];
  return kernel(`codes${width}`, prepared, codesCompared(width), { step: width === 1 ? 16 : 8, bytes: width });
};
const numbersKernel = (kind: keyof typeof comparisons): WasmFunction => {
  const bound = (place: number): number[] => [...constant(place), ...at(vector.load, 0)];
  const prepared = [...bound(leastAt), ...set(leasts), ...bound(mostAt), ...set(spans)];
  return kernel(kind, prepared, numbersCompared(comparisons[kind]), { step: 8, bytes: 8 });
};
const functions = (): readonly WasmFunction[] => [
  ...([1, 2, 4] as const).map(codesKernel),
  ...(['floats', 'integers'] as const).map(numbersKernel),
];

/** Numbers of the bits that are set in a byte, eight places for each. */
const bitNumbers = (): Uint8Array => {
  const table = new Uint8Array(tableBytes);
  for (let byte = 0; byte < 256; byte++)
    for (let bit = 0, n = byte * 8; bit < 8; bit++) if ((byte >> bit) & 1) table[n++] = bit;
  return table;
};

class Selector {
  private readonly wasm: Exports;
  private bytes!: Uint8Array;
  private shorts!: Uint16Array;
  private words!: Uint32Array;
  private halves!: Int32Array;
  private doubles!: Float64Array;
  constructor(wasm: Exports) {
    this.wasm = wasm;
    this.view();
    this.bytes.set(bitNumbers());
  }
  private view(): void {
    const { buffer } = this.wasm.memory;
    this.bytes = new Uint8Array(buffer);
    this.shorts = new Uint16Array(buffer);
    this.words = new Uint32Array(buffer);
    this.halves = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }
  /** Makes room for so many rows. */
  private fit(count: number): void {
    const lacking = outAt + count * 4 + slackBytes - this.bytes.length;
    if (lacking <= 0) return;
    this.wasm.memory.grow(Math.ceil(lacking / pageBytes));
    this.view();
  }

  /** Rows whose code is from `least` to `least + span`; with `outside` the others. */
  codes(codes: Codes, count: number, { least: min, span: size, outside }: CodeRange): Uint32Array {
    this.fit(count);
    const { wasm } = this;
    const turned = outside ? 0xffff : 0;
    let end = outAt;
    for (let row = 0; row < count; row += chunkRows) {
      const length = Math.min(count - row, chunkRows);
      const chunk = length === codes.length ? codes : codes.subarray(row, row + length);
      if (chunk instanceof Uint8Array) {
        this.bytes.set(chunk, inAt);
        end = wasm.codes1(length, row, min, size, turned, end);
      } else if (chunk instanceof Uint16Array) {
        this.shorts.set(chunk, inAt >> 1);
        end = wasm.codes2(length, row, min, size, turned, end);
      } else {
        this.words.set(chunk, inAt >> 2);
        end = wasm.codes4(length, row, min, size, turned, end);
      }
    }
    return this.words.slice(outAt >> 2, end >> 2);
  }
  /** Rows whose number is from `min` to `max`; with `outside` the others, NaN among them. */
  floats(values: Float64Array, count: number, min: number, max: number, outside: boolean): Uint32Array {
    this.fit(count);
    this.doubles.fill(min, leastAt >> 3, mostAt >> 3).fill(max, mostAt >> 3, inAt >> 3);
    let end = outAt;
    for (let row = 0; row < count; row += chunkRows) {
      const length = Math.min(count - row, chunkRows);
      this.doubles.set(length === values.length ? values : values.subarray(row, row + length), inAt >> 3);
      end = this.wasm.floats(length, row, 0, 0, outside ? 0xffff : 0, end);
    }
    return this.words.slice(outAt >> 2, end >> 2);
  }
  /** Rows whose integer, given by its low and high half, is from `min` to `max` as signed ones are ordered. */
  integers(halves: Int32Array, count: number, min: bigint, max: bigint, outside: boolean): Uint32Array {
    this.fit(count);
    const place = (n: bigint, to: number): void => {
      this.halves[to] = this.halves[to + 2] = Number(BigInt.asIntN(32, n));
      this.halves[to + 1] = this.halves[to + 3] = Number(BigInt.asIntN(32, n >> 32n));
    };
    place(min, leastAt >> 2);
    place(max, mostAt >> 2);
    let end = outAt;
    for (let row = 0; row < count; row += chunkRows) {
      const length = Math.min(count - row, chunkRows);
      this.halves.set(length * 2 === halves.length ? halves : halves.subarray(row * 2, (row + length) * 2), inAt >> 2);
      end = this.wasm.integers(length, row, 0, 0, outside ? 0xffff : 0, end);
    }
    return this.words.slice(outAt >> 2, end >> 2);
  }
}

const made = (): Selector | undefined => {
  const types = [{ parameters: Array<number>(6).fill(kinds.i32), results: [kinds.i32] }];
  const exports = assembled({ types, functions: functions(), pages: pagesAtStart });
  return exports === undefined ? undefined : new Selector(exports as Exports);
};

let known: Selector | null | undefined;
/** That of this thread, made when a filter first asks: threads start 3 ms sooner. */
export const selector = (): Selector | undefined => {
  if (known === undefined) known = made() ?? null;
  return known ?? undefined;
};
