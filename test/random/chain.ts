/**
 * Chains of formats: streams of random values go from one to the next, and what comes out at the end is compared with
 * what went in.
 *
 * SUP text has no -0 and drops the element type of an empty container at top level (reference/formats/sup.md): what is
 * read from it is compared with the values less that. All other formats have to give back every bit.
 */
import fc from 'fast-check';
import { type FormatName, createWriter, openReader } from '../../src/formats/formats.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { isImplied, supText } from '../../src/vectors/sup/print.ts';
import { type Type, arrayType, mapType, setType, typeText, types } from '../../src/vectors/type.ts';
import { type Data, type Value, canonicalMap, canonicalSet } from '../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../src/vectors/vector.ts';
import { someRecords } from '../support/formats/column-values.ts';
import { pieces } from '../support/formats/convert.ts';
import { type Random, randomOf } from '../support/random.ts';
import { someValues } from '../support/formats/values.ts';

/** Values of any type go through these formats; records of one type through the columnar ones, too. */
export const anyFormats = ['bsup', 'csup', 'jsup'] as const,
  arrowFormats = ['arrows', 'bsup', 'csup', 'jsup'] as const,
  parquetFormats = ['parquet', 'arrows', 'bsup', 'csup', 'jsup'] as const;

interface ChainOptions {
  readonly seed: number;
  readonly count: number;
  readonly formats: readonly FormatName[];
}

/** Sends `count` values through the chain, in streams; what did not come back, at most a few of it. */
export const chain = async ({ seed, count, formats }: ChainOptions): Promise<readonly string[]> => {
  const faults: string[] = [];
  const random = randomOf(seed);
  let left = count;
  for (const values of streams({ seed, count, formats })) {
    const stream = values.slice(0, left);
    left -= stream.length;
    faults.push(...(await sent(stream, formats, random)));
    if (left === 0 || faults.length >= faultsMax) break;
  }
  return left > 0 && faults.length === 0 ? [`only ${count - left} values`] : faults.slice(0, faultsMax);
};
const faultsMax = 5;
const streamRows = 50;

const streams = function* ({ seed, count, formats }: ChainOptions): Generator<readonly Value[]> {
  const rows = { minLength: streamRows >> 1, maxLength: streamRows };
  const parquet = formats.includes('parquet');
  const arbitrary =
    parquet || formats.includes('arrows')
      ? someRecords({ parquet, maxLength: streamRows })
      : someValues({ depth: 3, ...rows });
  // Streams are made a few at a time: all of them would be a gigabyte.
  for (let part = 0; part * 20 < count; part++)
    yield* fc.sample(arbitrary, { seed: seed * 1_000_003 + part, numRuns: 20 });
};

/** One stream's way. What is at fault is looked for one value at a time. */
const sent = async (
  values: readonly Value[],
  formats: readonly FormatName[],
  random: Random,
): Promise<readonly string[]> => {
  const fault = await way(values, formats, random);
  if (fault === undefined) return [];
  for (const value of values) {
    const own = await way([value], formats, random);
    if (own !== undefined) return [own];
  }
  return [`only together: ${fault}`];
};

const way = async (
  values: readonly Value[],
  formats: readonly FormatName[],
  random: Random,
): Promise<string | undefined> => {
  try {
    const text = await bytesOf('sup', values, random);
    const plain = values.map(asSup);
    let at = differs(await valuesOf('sup', text, random), plain);
    if (at !== undefined) return `sup: ${at}`;
    let now = values;
    for (const format of formats) {
      now = await valuesOf(format, await bytesOf(format, now, random), random);
      at = differs(now, values);
      if (at !== undefined) return `${format}: ${at}`;
    }
    const again = await bytesOf('sup', now, random);
    return again.equals(text) ? undefined : `sup out: ${text.toString()} came back as ${again.toString()}`;
  } catch (problem) {
    return `${(problem as Error).stack} of ${values.length === 1 ? described(values[0]) : `${values.length} values`}`;
  }
};

/** Written in batches of any size, with any options that change no value. */
const bytesOf = async (format: FormatName, values: readonly Value[], random: Random): Promise<Buffer> => {
  const writer = createWriter(format, {
    bsupCompress: random.below(2) === 0,
    bsupFrameBytes: random.pick([40, 1000, 1 << 19]),
  });
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < values.length; ) {
    const end = Math.min(values.length, start + 1 + random.below(values.length));
    chunks.push(...writer.write(vectorOf(values.slice(start, end))));
    start = end;
  }
  chunks.push(...writer.end());
  return Promise.resolve(Buffer.concat(chunks));
};
/** Read in pieces of any size and in batches of any size. */
const valuesOf = async (format: FormatName, bytes: Uint8Array, random: Random): Promise<readonly Value[]> => {
  const out: Value[] = [];
  const pieceBytes = random.pick([7, 100, 4096, 1 << 20]);
  const batchRows = random.pick([1, 3, 7, 4096]);
  for await (const batch of await openReader(format, pieces(bytes, pieceBytes), { batchRows }))
    out.push(...rowsOf(batch));
  return out;
};
const rowsOf = (v: Vector): Value[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));

const described = (v: Value): string => `${typeText(v.type)} ${supText(v)}`;
/** Where the values are not the same, in words. */
const differs = (found: readonly Value[], wanted: readonly Value[]): string | undefined => {
  for (const [i, value] of wanted.entries())
    if (i >= found.length || !same(found[i], value))
      return `${described(value)} came back as ${i < found.length ? described(found[i]) : 'nothing'}`;
  return found.length > wanted.length ? `${found.length} values of ${wanted.length}` : undefined;
};
/** The same type and the same data, NaN the same as NaN and 0 another than -0. */
const same = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => same(x, b[i]));
  return 'data' in a && 'data' in b && (a as Value).type === (b as Value).type && same(a.data, b.data);
};

/** The value as its SUP text has it. */
const asSup = ({ type, data }: Value): Value => {
  const isEmpty =
    (type.kind === 'array' || type.kind === 'set' || type.kind === 'map') &&
    (data as readonly Data[]).length === 0 &&
    isImplied(type);
  if (!isEmpty) return { type, data: withoutNegativeZero(type, data) };
  return {
    type:
      type.kind === 'array'
        ? arrayType(types.null)
        : type.kind === 'set'
          ? setType(types.null)
          : mapType(types.null, types.null),
    data: [],
  };
};
const withoutNegativeZero = (type: Type, data: Data): Data => {
  switch (type.kind) {
    case 'primitive':
      return Object.is(data, -0) ? 0 : data;
    case 'record':
      return type.fields.map((f, i) => {
        const d = (data as readonly (Data | undefined)[])[i];
        return d === undefined ? undefined : withoutNegativeZero(f.type, d);
      });
    case 'array':
      return (data as readonly Data[]).map((d) => withoutNegativeZero(type.element, d));
    case 'set':
      return canonicalSet(
        type.element,
        (data as readonly Data[]).map((d) => withoutNegativeZero(type.element, d)),
      );
    case 'map':
      return canonicalMap(
        type.key,
        (data as readonly (readonly [Data, Data])[]).map(
          ([k, v]) => [withoutNegativeZero(type.key, k), withoutNegativeZero(type.value, v)] as const,
        ),
      );
    case 'union': {
      const member = data as Value;
      return { type: member.type, data: withoutNegativeZero(member.type, member.data) };
    }
    case 'enum':
      return data;
    case 'error':
    case 'named':
      return withoutNegativeZero(type.inner, data);
  }
};
