/** WebAssembly modules put together by hand: what the kernels of this folder are written with, instruction by instruction. */

/** What TypeScript's libraries for Node lack. */
interface WasmEngine {
  readonly validate: (bytes: Uint8Array) => boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}
/** The memory that a module exports. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  readonly grow: (pages: number) => number;
}
export const pageBytes = 1 << 16;

/** Instructions; of memory with an alignment of 1 and an offset behind them (`load`). */
export const local = { get: 0x20, set: 0x21, tee: 0x22 };
export const i32 = {
  const: 0x41,
  ltU: 0x49,
  popcnt: 0x69,
  add: 0x6a,
  sub: 0x6b,
  and: 0x71,
  or: 0x72,
  xor: 0x73,
  shl: 0x74,
  shrU: 0x76,
};
export const block = { loop: 0x03, if: 0x04, brIf: 0x0d, end: 0x0b, empty: 0x40 };
export const kinds = { i32: 0x7f, i64: 0x7e, f64: 0x7c, v128: 0x7b };

const unsigned = (n: number): number[] => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...unsigned(n >>> 7)]);
const signed = (n: number): number[] => (n >= -64 && n < 64 ? [n & 0x7f] : [(n & 0x7f) | 0x80, ...signed(n >> 7)]);
export const get = (n: number): number[] => [local.get, n];
export const set = (n: number): number[] => [local.set, n];
export const constant = (n: number): number[] => [i32.const, ...signed(n)];
export const simd = (op: number): number[] => [0xfd, ...unsigned(op)];
/** A load or store of 16 bytes or a part of them, of any alignment. */
export const at = (op: number, offset: number): number[] => [...simd(op), 0, ...unsigned(offset)];
/** The same of a number. */
export const atNumber = (op: number, offset: number): number[] => [op, 0, ...unsigned(offset)];

/** A function: the number of its type, its locals beside the parameters, and what it does. */
export interface WasmFunction {
  readonly name: string;
  readonly type: number;
  readonly locals: readonly { readonly count: number; readonly kind: number }[];
  readonly code: readonly number[];
}
interface WasmModule {
  /** Parameters and results of each type. */
  readonly types: readonly { readonly parameters: readonly number[]; readonly results: readonly number[] }[];
  readonly functions: readonly WasmFunction[];
  readonly pages: number;
}

const section = (id: number, items: readonly (readonly number[])[]): number[] => {
  const body = [...unsigned(items.length), ...items.flat()];
  return [id, ...unsigned(body.length), ...body];
};
const listed = (values: readonly number[]): number[] => [...unsigned(values.length), ...values];
const exported = (name: string, kind: number, index: number): number[] => [
  ...listed([...Buffer.from(name)]),
  kind,
  ...unsigned(index),
];
const body = ({ locals, code }: WasmFunction): number[] =>
  listed([...unsigned(locals.length), ...locals.flatMap((l) => [l.count, l.kind]), ...code, block.end]);
const bytesOf = ({ types, functions, pages }: WasmModule): Uint8Array =>
  Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      types.map((t) => [0x60, ...listed(t.parameters), ...listed(t.results)]),
    ),
    ...section(
      3,
      functions.map((f) => [f.type]),
    ),
    ...section(5, [[0, ...unsigned(pages)]]),
    ...section(7, [exported('memory', 2, 0), ...functions.map((f, k) => exported(f.name, 0, k))]),
    ...section(10, functions.map(body)),
  ]);

/**
 * The module's memory and functions by name; undefined where there is no such WebAssembly (before SSE 4.1), or no room
 * for it: a memory reserves gigabytes of address space, which `ulimit -v` may not leave.
 */
export const assembled = (module: WasmModule): unknown => {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly?: WasmEngine };
  const bytes = bytesOf(module);
  if (WebAssembly?.validate(bytes) !== true) return undefined;
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  } catch (fault) {
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
};
