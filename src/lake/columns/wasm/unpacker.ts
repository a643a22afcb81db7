/**
 * Packed numbers as numbers, several at a time: a WebAssembly module of a function for codes of one, two and four bytes
 * each, to doubles, to decimals (doubles that are divided besides), to 64-bit integers; of sums of steps of one and two
 * bytes; and of codes of one and two bytes to those of four. 32,768 prices take 0.43 of the processor time of loops in
 * JavaScript, their array included, as many dates 0.13.
 *
 * Doubles are bit by bit those of `x * scale + base`, divided by the power, and steps are added in their order: what one
 * machine reads is what any other reads.
 *
 * Where there is no such WebAssembly (processors without SSE 4.1), `unpacker` gives undefined.
 */
import {
  type WasmFunction,
  type WasmMemory,
  assembled,
  at,
  atNumber,
  block,
  constant,
  get,
  i32,
  kinds,
  local,
  set,
  simd,
} from './assembly.ts';

type Width = 1 | 2 | 4;
type Packed = Uint8Array | Uint16Array | Uint32Array;
type Floats = (rows: number, scale: number, base: number, power: number) => void;
type Wides = (rows: number, factor: bigint, base: bigint) => void;
type Steps = (rows: number, scale: number, least: number, first: number) => number;
type Codes = (rows: number, base: number) => void;
type Exports = { readonly memory: WasmMemory } & {
  readonly [K in `floats${Width}` | `decimals${Width}`]: Floats;
} & { readonly [K in `wides${Width}`]: Wides } & { readonly [K in `steps${1 | 2}`]: Steps } & {
  readonly [K in `codes${1 | 2}`]: Codes;
};

/** A chunk of packed rows, and of what is made of them; steps of four rows read and write beyond their end. */
const chunkRows = 1 << 14;
const slackBytes = 64;
const inAt = 0;
const outAt = chunkRows * 4 + slackBytes;
const pages = 4;
/** Rows a step. */
const together = 4;

/** Fewer rows are sooner unpacked one by one. */
export const unpackedMin = 64;

const vector = {
  splatLoad16: 0x08,
  loadZero32: 0x5c,
  loadZero64: 0x5d,
  store: 0x0b,
  splat32: 0x11,
  splat64: 0x14,
  extend8: 0x89,
  extend16: 0xa9,
  add32: 0xae,
  add: 0xf0,
  multiply: 0xf2,
  divide: 0xf3,
  fromSigned: 0xfe,
  fromUnsigned: 0xff,
};
const i64 = { load: { 1: 0x31, 2: 0x33, 4: 0x35 }, store: 0x37, add: 0x7c, multiply: 0x7e };
const load32 = { 1: 0x2d, 2: 0x2f };
const f64 = { convertU: 0xb8, store: 0x39, add: 0xa0, multiply: 0xa2 };

/** Parameters of the kernels, and their locals: place in what is packed, in what is made, and the row. */
const [rows, scale, base, power, from, to, row] = [0, 1, 2, 3, 4, 5, 6];
/** `body` makes `step` rows. */
const loop = (body: readonly number[], step: number, width: number, size: number, [f, t, r] = [from, to, row]) => [
  ...[block.loop, block.empty],
  ...body,
  ...[...get(f), ...constant(step * width), i32.add, ...set(f)],
  ...[...get(t), ...constant(step * size), i32.add, ...set(t)],
  ...[...get(r), ...constant(step), i32.add, local.tee, r],
  ...[...get(rows), i32.ltU, block.brIf, 0, block.end],
];
const places = { count: 3, kind: kinds.i32 };

/** Two packed rows as doubles. */
const pair = (width: Width, offset: number): number[] => {
  const loaded = (op: number): number[] => [...get(from), ...at(op, inAt + offset)];
  switch (width) {
    case 1:
      return [
        ...loaded(vector.splatLoad16),
        ...[...simd(vector.extend8), ...simd(vector.extend16), ...simd(vector.fromSigned)],
      ];
    case 2:
      return [...loaded(vector.loadZero32), ...simd(vector.extend16), ...simd(vector.fromSigned)];
    case 4:
      return [...loaded(vector.loadZero64), ...simd(vector.fromUnsigned)];
  }
};
const floats = (width: Width, isDivided: boolean): WasmFunction => {
  const [scales, bases, powers] = [7, 8, 9];
  const made = (k: number): number[] => [
    ...[...get(to), ...pair(width, k * 2 * width)],
    ...[...get(scales), ...simd(vector.multiply), ...get(bases), ...simd(vector.add)],
    ...(isDivided ? [...get(powers), ...simd(vector.divide)] : []),
    ...at(vector.store, outAt + k * 16),
  ];
  const splat = (n: number, into: number): number[] => [...get(n), ...simd(vector.splat64), ...set(into)];
  return {
    name: `${isDivided ? 'decimals' : 'floats'}${width}`,
    type: 0,
    locals: [places, { count: 3, kind: kinds.v128 }],
    code: [
      ...[...splat(scale, scales), ...splat(base, bases), ...splat(power, powers)],
      ...loop([...made(0), ...made(1)], together, width, 8),
    ],
  };
};
const wides = (width: Width): WasmFunction => {
  const [factor, least, ...places64] = [1, 2, 3, 4, 5];
  const made = (k: number): number[] => [
    ...[...get(places64[1]), ...get(places64[0]), ...atNumber(i64.load[width], inAt + k * width)],
    ...[...get(factor), i64.multiply, ...get(least), i64.add, ...atNumber(i64.store, outAt + k * 8)],
  ];
  return {
    name: `wides${width}`,
    type: 1,
    locals: [places],
    code: loop([0, 1, 2, 3].flatMap(made), together, width, 8, places64),
  };
};
/** What a step leads to is the parameter `first`, which is given back. */
const steps = (width: 1 | 2): WasmFunction => {
  const [least, reached] = [base, power];
  return {
    name: `steps${width}`,
    type: 2,
    locals: [places],
    code: [
      ...loop(
        [
          ...[...get(to), ...get(reached), ...get(from), ...atNumber(load32[width], inAt), f64.convertU],
          ...[...get(scale), f64.multiply, ...get(least), f64.add, f64.add, local.tee, reached],
          ...atNumber(f64.store, outAt),
        ],
        1,
        width,
        8,
      ),
      ...get(reached),
    ],
  };
};
const codes = (width: 1 | 2): WasmFunction => {
  const [least, f, t, r, bases] = [1, 2, 3, 4, 5];
  const loaded = width === 1 ? [...at(vector.loadZero32, inAt), ...simd(vector.extend8)] : at(vector.loadZero64, inAt);
  return {
    name: `codes${width}`,
    type: 3,
    locals: [places, { count: 1, kind: kinds.v128 }],
    code: [
      ...[...get(least), ...simd(vector.splat32), ...set(bases)],
      ...loop(
        [
          ...[...get(t), ...get(f), ...loaded, ...simd(vector.extend16)],
          ...[...get(bases), ...simd(vector.add32), ...at(vector.store, outAt)],
        ],
        together,
        width,
        4,
        [f, t, r],
      ),
    ],
  };
};

const widths = [1, 2, 4] as const;
const types = [
  { parameters: [kinds.i32, kinds.f64, kinds.f64, kinds.f64], results: [] },
  { parameters: [kinds.i32, kinds.i64, kinds.i64], results: [] },
  { parameters: [kinds.i32, kinds.f64, kinds.f64, kinds.f64], results: [kinds.f64] },
  { parameters: [kinds.i32, kinds.i32], results: [] },
];
const functions = (): readonly WasmFunction[] => [
  ...widths.map((width) => floats(width, false)),
  ...widths.map((width) => floats(width, true)),
  ...widths.map(wides),
  ...([1, 2] as const).map(steps),
  ...([1, 2] as const).map(codes),
];

class Unpacker {
  private readonly wasm: Exports;
  private readonly bytes: Uint8Array;
  private readonly doubles: Float64Array;
  private readonly signed: BigInt64Array;
  private readonly words: Uint32Array;
  constructor(wasm: Exports) {
    this.wasm = wasm;
    const { buffer } = wasm.memory;
    this.bytes = new Uint8Array(buffer);
    this.doubles = new Float64Array(buffer, outAt, chunkRows);
    this.signed = new BigInt64Array(buffer, outAt, chunkRows);
    this.words = new Uint32Array(buffer, outAt, chunkRows);
  }

  /** `(x * scale + base) / power` of each row. */
  floats(from: Packed, scale: number, base: number, power: number, out: Float64Array): void {
    const kernel = this.wasm[`${power === 1 ? 'floats' : 'decimals'}${widthOf(from)}`];
    for (let row = 0; row < out.length; row += chunkRows) {
      const count = this.take(from, row, out.length);
      kernel(count, scale, base, power);
      out.set(count === chunkRows ? this.doubles : this.doubles.subarray(0, count), row);
    }
  }
  /** `base + x * factor` of each row, within 64 bits. */
  wides(from: Packed, factor: bigint, base: bigint, out: BigInt64Array): void {
    const kernel = this.wasm[`wides${widthOf(from)}`];
    for (let row = 0; row < out.length; row += chunkRows) {
      const count = this.take(from, row, out.length);
      kernel(count, factor, base);
      out.set(count === chunkRows ? this.signed : this.signed.subarray(0, count), row);
    }
  }
  /** The sum of `first` and of `x * scale + least` of each row up to this one. */
  steps(from: Uint8Array | Uint16Array, scale: number, least: number, first: number, out: Float64Array): void {
    const kernel = this.wasm[`steps${from instanceof Uint8Array ? 1 : 2}`];
    let reached = first;
    for (let row = 0; row < out.length; row += chunkRows) {
      const count = this.take(from, row, out.length);
      reached = kernel(count, scale, least, reached);
      out.set(count === chunkRows ? this.doubles : this.doubles.subarray(0, count), row);
    }
  }
  /** `x + base` of each row. */
  codes(from: Uint8Array | Uint16Array, base: number, out: Uint32Array): void {
    const kernel = this.wasm[`codes${from instanceof Uint8Array ? 1 : 2}`];
    for (let row = 0; row < out.length; row += chunkRows) {
      const count = this.take(from, row, out.length);
      kernel(count, base);
      out.set(count === chunkRows ? this.words : this.words.subarray(0, count), row);
    }
  }
  /** Copies packed rows from `row` on; how many there are. */
  private take(from: Packed, row: number, rowsAll: number): number {
    const count = Math.min(chunkRows, rowsAll - row);
    const width = from.BYTES_PER_ELEMENT;
    this.bytes.set(new Uint8Array(from.buffer, from.byteOffset + row * width, count * width), inAt);
    return count;
  }
}
const widthOf = (from: Packed): Width => (from instanceof Uint8Array ? 1 : from instanceof Uint16Array ? 2 : 4);

let known: Unpacker | null | undefined;
/** That of this thread, made when the first long column is unpacked. */
export const unpacker = (): Unpacker | undefined => {
  if (known === undefined) {
    const exports = assembled({ types, functions: functions(), pages });
    known = exports === undefined ? null : new Unpacker(exports as Exports);
  }
  return known ?? undefined;
};
