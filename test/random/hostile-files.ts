/**
 * Files of binary formats that nobody would write: deep, wide, with types that double, with dictionaries; and the same
 * with lengths that lie.
 */
import { type FormatName, createWriter } from '../../src/formats/formats.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { namedType, types } from '../../src/vectors/type.ts';
import {
  type Value,
  arrayValue,
  errorValue,
  floatValue,
  intValue,
  nullValue,
  recordValue,
  setValue,
  stringValue,
} from '../../src/vectors/value.ts';
import type { Vector } from '../../src/vectors/vector.ts';
import type { Random } from '../support/random.ts';

const field = (name: string, value: Value): { readonly name: string; readonly value: Value } => ({ name, value });

const deep = (random: Random): Value => {
  const wrap = random.pick([
    (v: Value) => arrayValue([v]),
    (v: Value) => recordValue([field('a', v)]),
    (v: Value) => recordValue([field('a', arrayValue([v, v]))]),
    (v: Value) => setValue([v]),
    errorValue,
  ]);
  let value = intValue(1);
  for (let n = random.pick([3, 10, 60]); n > 0; n--)
    value = JSON.stringify(value.data).length < 5_000 ? wrap(value) : arrayValue([value]);
  return recordValue([field('x', value)]);
};
const wide = (random: Random): Value =>
  recordValue(
    Array.from({ length: random.pick([10, 300, 2_000]) }, (_, i) =>
      field(`c${i}`, [intValue(i), floatValue(i / 3), stringValue(`v${i}`), nullValue][i % 4]),
    ),
  );
/** Each level has the one below twice. */
const doubling = (random: Random): Value => {
  let value: Value = intValue(1);
  for (let n = random.pick([3, 6, 9]); n > 0; n--) value = recordValue([field('a', value), field('b', value)]);
  return value;
};
const named = (random: Random): Value => {
  let type = namedType('t', types.int64);
  for (let n = random.pick([1, 10, 100]); n > 0; n--) type = namedType(`t${n}`, type);
  return recordValue([field('n', { type, data: 1 })]);
};

/** Codes beyond a few values, or one run. */
const dictionary = (random: Random): Vector => {
  const size = random.pick([1, 3, 200]);
  const length = random.pick([10, 3_000]);
  const values = vectorOf(
    Array.from({ length: size }, (_, i) => stringValue(`word ${i}`.repeat(random.pick([1, 20])))),
  );
  return {
    form: 'record',
    length,
    fields: [
      {
        name: 'd',
        optional: false,
        values: { form: 'dictionary', length, codes: Uint32Array.from({ length }, (_, i) => (i * 7) % size), values },
      },
    ],
  };
};
const rowsOf = (value: Value, count: number): Vector => vectorOf(Array.from({ length: count }, () => value));

const edges = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff];
/** Lengths, counts and offsets sit at the head, at the tail, or on words. */
const lie = (bytes: Uint8Array, random: Random): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let n = random.below(4); n > 0 && bytes.length > 16; n--) {
    const span = Math.min(bytes.length, random.pick([64, 512, bytes.length]));
    const at = random.below(2) === 0 ? random.below(span) : bytes.length - 1 - random.below(span);
    const x = random.pick([...edges, bytes.length - 8 + random.below(16)]);
    if (random.below(3) === 0) bytes[at] = x & 0xff;
    else view.setUint32(Math.min(at & ~3, bytes.length - 4), x, true);
  }
};

/** One such file. */
export const hostileFile = (format: FormatName, random: Random): Uint8Array => {
  const shape = random.below(6);
  const batch =
    shape === 0
      ? dictionary(random)
      : rowsOf(random.pick([deep, wide, doubling, named])(random), random.pick([1, 3, 40]));
  const writer = createWriter(format);
  const chunks: Uint8Array[] = [];
  try {
    for (const chunk of writer.write(batch)) chunks.push(chunk);
    for (const chunk of writer.end()) chunks.push(chunk);
  } catch {
    // Not every format holds every value; what it wrote before is an input as good as any.
  }
  const bytes = new Uint8Array(Buffer.concat(chunks));
  lie(bytes, random);
  return bytes;
};
