/** Bytes of one format to text of another through the real readers and writers. */
import { LakeError } from '../../../src/errors.ts';
import {
  type FormatName,
  type ReadOptions,
  type WriteOptions,
  createWriter,
  openReader,
} from '../../../src/formats/formats.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { typeText } from '../../../src/vectors/type.ts';
import type { Value } from '../../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';

export interface Conversion {
  readonly from: FormatName | 'auto';
  readonly to?: FormatName;
  readonly read?: ReadOptions;
  readonly write?: WriteOptions;
  /** Bytes come in pieces of this size. Default: all at once. */
  readonly pieceBytes?: number;
}

export async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.slice(i, Math.min(bytes.length, i + size));
}
const bytesOf = (input: string | Uint8Array): Uint8Array => (typeof input === 'string' ? Buffer.from(input) : input);

/** The output (SUP by default) and the text of the error that ended it. Anything but a LakeError is thrown. */
export const convert = async (
  input: string | Uint8Array,
  options: Conversion,
): Promise<{ readonly output: string; readonly error: string }> => {
  const out: Uint8Array[] = [];
  try {
    const writer = createWriter(options.to ?? 'sup', options.write);
    const bytes = bytesOf(input);
    for await (const batch of await openReader(
      options.from,
      pieces(bytes, options.pieceBytes ?? Math.max(bytes.length, 1)),
      options.read,
    ))
      out.push(...collected(writer.write(batch), out));
    out.push(...writer.end());
  } catch (problem) {
    if (!(problem instanceof LakeError)) throw problem;
    return { output: Buffer.concat(out).toString(), error: problem.message };
  }
  return { output: Buffer.concat(out).toString(), error: '' };
};
/** Chunks that come before an error count. */
const collected = (chunks: Iterable<Uint8Array>, out: Uint8Array[]): Uint8Array[] => {
  for (const chunk of chunks) out.push(chunk);
  return [];
};

/** Batches of an input. */
export const read = async (
  input: string | Uint8Array,
  from: FormatName | 'auto',
  options: ReadOptions = {},
): Promise<Vector[]> => {
  const out: Vector[] = [];
  for await (const batch of await openReader(from, pieces(bytesOf(input), 1 << 16), options)) out.push(batch);
  return out;
};
export const readValues = async (
  input: string | Uint8Array,
  from: FormatName | 'auto',
  options: ReadOptions = {},
): Promise<Value[]> =>
  (await read(input, from, options)).flatMap((v) => Array.from({ length: v.length }, (_, i) => valueAt(v, i)));

/** The bytes of values in a format. */
export const written = (values: readonly Value[], to: FormatName, options: WriteOptions = {}): Uint8Array => {
  const writer = createWriter(to, options);
  return Buffer.concat([...(values.length > 0 ? writer.write(vectorOf(values)) : []), ...writer.end()]);
};

/** Values as texts to compare: alike are the same type and the same text. */
export const printed = (values: readonly Value[]): string[] => values.map((v) => `${typeText(v.type)} ${supText(v)}`);

/** -0 is printed as 0, so sets and maps may hold what looks alike in text. */
export const hasNegativeZero = (data: unknown): boolean =>
  Object.is(data, -0) ||
  (Array.isArray(data)
    ? data.some(hasNegativeZero)
    : typeof data === 'object' && data !== null && 'data' in data && hasNegativeZero(data.data));
