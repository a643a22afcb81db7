/**
 * Comparisons answered from what is stored, and what blocks come to: the same as of the rows themselves, whatever the
 * encoding.
 */
import { expect, test } from 'vitest';
import { type KnownValues, type StoredTest } from '../../../src/lake/columns/stored-tests.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { compareVectors } from '../../../src/exec/expressions/compare.ts';
import { inVector } from '../../../src/exec/expressions/contains.ts';
import { isTrue } from '../../../src/exec/expressions/rows.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { arrayType, types, unionType } from '../../../src/vectors/type.ts';
import {
  type Value,
  integer,
  intValue,
  nullValue,
  recordValue,
  stringValue,
  underValue,
} from '../../../src/vectors/value.ts';
import { type RecordVector, type Vector, constant, slice, valueAt } from '../../../src/vectors/vector.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const readerOf = (rows: Vector, blockRows: number): ObjectReader => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: 1 << 20 });
  for (let at = 0; at < rows.length; at += blockRows)
    writer.block(slice(rows, at, Math.min(at + blockRows, rows.length)), noKeys);
  writer.finish();
  return openObject(sourceOfBytes('0'.repeat(40), Buffer.concat(chunks))) as ObjectReader;
};

const rowCount = 1200;
const blockRows = 500;
const whole =
  (type: Value['type'], of: (i: number) => bigint | number) =>
  (i: number): Value => ({ type, data: integer(BigInt(of(i))) });
const float =
  (of: (i: number) => number) =>
  (i: number): Value => ({ type: types.float64, data: of(i) });
const text =
  (of: (i: number) => string) =>
  (i: number): Value =>
    stringValue(of(i));
const big = 1n << 60n;
/** Each way in which a column is stored. */
const columns: Readonly<Record<string, (i: number) => Value>> = {
  'one byte': whole(types.int16, (i) => (i * 7) % 60),
  'two bytes below zero': whole(types.int32, (i) => ((i * 7919) % 3000) - 1500),
  'four bytes': whole(types.int64, (i) => (i * 2654435761) % 4294967296),
  scaled: whole(types.int64, (i) => ((i * 31) % 97) * 1000),
  steps: whole(types.int64, (i) => 1_000_000 * i + (i % 3)),
  constant: whole(types.int64, () => 5),
  'all of 64 bits': whole(types.int64, (i) => BigInt.asIntN(64, BigInt(i * 2654435761) * 0x9e3779b97f4a7c15n)),
  'unsigned, all of 64 bits': whole(types.uint64, (i) =>
    BigInt.asUintN(64, BigInt(i * 2654435761) * 0x9e3779b97f4a7c15n),
  ),
  'both ends of 64 bits': whole(types.int64, (i) => [-(1n << 63n), (1n << 63n) - 1n, BigInt(i)][i % 3]!),
  'the least of 64 bits': whole(types.int64, () => -(1n << 63n)),
  'the greatest of 64 bits': whole(types.int64, () => (1n << 63n) - 1n),
  'unsigned, both ends of 64 bits': whole(types.uint64, (i) => [0n, (1n << 64n) - 1n, BigInt(i)][i % 3]!),
  'times of all centuries': whole(types.time, (i) => (i % 2 === 0 ? -(1n << 63n) : (1n << 63n) - 1n)),
  'wide and near': whole(types.int64, (i) => big + BigInt((i * 37) % 500)),
  'wide and rising': whole(types.int64, (i) => big + BigInt(i) * 3n),
  times: whole(types.time, (i) => 1_372_636_800_000_000_000n + BigInt((i * 37) % 31) * 86_400_000_000_000n),
  'days of decades': whole(types.time, (i) => BigInt((i * 7919) % 20_000) * 86_400_000_000_000n),
  'minutes of centuries': whole(types.time, (i) => (BigInt((i * 7919) % 100_000) - 50_000n) * 60_000_000_000_000n),
  'milliseconds of years': whole(types.time, (i) => 1_372_636_800_000_000_000n + BigInt(i) * 86_399_999_000_000n),
  'microseconds of years': whole(types.time, (i) => 1_372_636_800_000_000_000n + BigInt(i) * 86_399_999_999_000n),
  durations: whole(types.duration, (i) => i % 50),
  floats: float((i) => [0.5, -0, 0, Number.NaN, Infinity, -Infinity, 1e300, 5, -5.25][i % 9]!),
  prices: float((i) => ((i * 7919) % 60_000) / 100),
  'readings below zero': float((i) => (((i * 7919) % 2000) - 1000) / 1000),
  'rising prices': float((i) => 1e6 + i / 100),
  'whole floats': float((i) => i % 40),
  'narrow floats': float((i) => Math.fround(i / 7)),
  'no number': float(() => Number.NaN),
  dictionary: text((i) => ['', 'a', 'ab', 'b', 'é'][(i * i) % 5]!),
  texts: text((i) => (i % 11 === 0 ? '' : `t${(i * 2654435761) % 1_000_003}${'x'.repeat(i % 40)}`)),
  'empty texts': text(() => ''),
  bools: (i) => ({ type: types.bool, data: i % 2 === 0 }),
};
const constants: readonly Value[] = [
  ...[0, 1, 5, 30, 59, 60, -1, -1500, 86, 5000, 1_000_001, 2 ** 31, Number(big)].map((x) => intValue(x)),
  ...[big, big + 7n, -(1n << 63n), (1n << 63n) - 1n, 1_372_723_200_000_000_000n].map((data) => ({
    type: types.int64,
    data: integer(data),
  })),
  ...[0n, (1n << 64n) - 1n].map((data) => ({ type: types.uint64, data: integer(data) })),
  ...[0.5, -0, 5, 19.99, 19.995, -0.3, 0.1 + 0.2, 1e19, -1e19, Infinity, -Infinity, Number.NaN, Number(big)].map(
    (data): Value => ({ type: types.float64, data }),
  ),
  { type: types.uint64, data: integer((1n << 63n) + 5n) },
  { type: types.duration, data: 7 },
  ...['', 'a', 'ab', 'é', 't', 'zz', 't5'].map(stringValue),
  { type: types.bool, data: true },
];
/** Of numbers and texts, alike and not. */
const lists: readonly (readonly Value[])[] = constants
  .filter(({ type }) => type !== types.bool)
  .flatMap((c, i, all) => [
    [c, all[(i + 1) % all.length]!],
    [c, all[(i + 3) % all.length]!, c, all[(i + 4) % all.length]!],
    [c, { type: types.float64, data: 5 }, { type: types.int64, data: 5 }, { type: types.int64, data: 6 }],
  ]);
const arrayOf = (values: readonly Value[]): Value => {
  const kinds = [...new Set(values.map(({ type }) => type))];
  return kinds.length === 1
    ? { type: arrayType(kinds[0]!), data: values.map(({ data }) => data) }
    : { type: arrayType(unionType(kinds)), data: values };
};
const operators = ['==', '!=', '<', '<=', '>', '>='] as const;

/** As the column is, with nulls in between, and with rows that lack it. */
const shapes: Readonly<Record<string, (value: Value, i: number) => Value>> = {
  plain: (value) =>
    recordValue([
      { name: 'k', value: intValue(0) },
      { name: 'v', value },
    ]),
  'with nulls': (value, i) => {
    return recordValue([
      { name: 'k', value: intValue(0) },
      { name: 'v', value: { type: unionType([value.type, types.null]), data: i % 10 === 3 ? nullValue : value } },
    ]);
  },
};

const selectedOf = (
  reader: ObjectReader,
  block: number,
  tests: readonly StoredTest[],
): readonly number[] | undefined => {
  const [part] = reader.parts(block);
  const known: KnownValues[] = tests.map(() => new WeakMap());
  const found = reader.passing(block, part!, tests, known) as { readonly rows: Uint32Array | undefined } | undefined;
  return found && [...(found.rows ?? Array.from({ length: part!.rows }, (_, i) => i))];
};
const columnOf = (rows: Vector): Vector => (rows as RecordVector).fields.find((f) => f.name === 'v')!.values;
/** The column in records of several shapes, and rows without it between them. */
const mixedRows = (of: (i: number) => Value): Vector =>
  vectorOf(
    Array.from({ length: rowCount }, (_, i) => {
      const v = { name: 'v', value: of(i) };
      const w = { name: 'w', value: stringValue(`w${i % 4}`) };
      const inner = [() => recordValue([v]), () => recordValue([w, v]), () => recordValue([w]), () => nullValue][
        i % 4
      ]!;
      return recordValue([
        { name: 'k', value: intValue(i) },
        { name: 'm', value: inner() },
      ]);
    }),
  );

test.each(Object.keys(columns))(
  '%s: stored tests pass the rows that comparisons do, and blocks come to what their rows do',
  (name) => {
    let answered = 0;
    for (const [shape, record] of Object.entries(shapes)) {
      const reader = readerOf(
        vectorOf(Array.from({ length: rowCount }, (_, i) => record(columns[name]!(i), i))),
        blockRows,
      );
      for (let block = 0; block < reader.blocks.length; block++) {
        const values = columnOf(reader.read(block) as Vector);
        const seen = Array.from({ length: values.length }, (_, i) => underValue(valueAt(values, i))).filter(
          (v) => v.type !== types.null,
        );
        for (const value of constants) {
          for (const operator of operators) {
            const stored = selectedOf(reader, block, [{ path: ['v'], operator, value }]);
            if (!stored) continue;
            answered++;
            expect({ shape, value, operator, rows: stored }).toEqual({
              shape,
              value,
              operator,
              rows: [
                ...isTrue(compareVectors(operator, values, constant(vectorOf([value]), values.length), values.length)),
              ],
            });
          }
        }
        for (const [value, ...others] of lists) {
          const stored = selectedOf(reader, block, [{ path: ['v'], operator: '==', value: value!, others }]);
          if (!stored) continue;
          const list = constant(vectorOf([arrayOf([value!, ...others])]), values.length);
          expect({ shape, value, others, rows: stored }).toEqual({
            shape,
            value,
            others,
            rows: [...isTrue(inVector(values, list, values.length))],
          });
        }
        const [summary] = (reader.summaries(block, reader.parts(block)[0]!, [{ path: ['v'], totals: true }]) ??
          []) as readonly { readonly count: number; readonly integers?: object }[];
        if (!summary) continue;
        const numbers = seen.map((v) => BigInt(v.data as number | bigint));
        expect(summary).toEqual({
          count: seen.length,
          integers: {
            type: seen[0]!.type,
            min: numbers.reduce((a, b) => (a < b ? a : b)),
            max: numbers.reduce((a, b) => (a > b ? a : b)),
            sum: numbers.reduce((a, b) => a + b),
          },
        });
      }
    }
    expect(answered > 0).toBe(name !== 'bools');
  },
);

test('several tests keep the rows that pass all of them', () => {
  const reader = readerOf(
    vectorOf(
      Array.from({ length: rowCount }, (_, i) =>
        recordValue([
          { name: 'a', value: intValue((i * 7) % 60) },
          { name: 'b', value: columns['all of 64 bits']!(i) },
          { name: 'c', value: columns['texts']!(i) },
          { name: 'd', value: columns['dictionary']!(i) },
        ]),
      ),
    ),
    blockRows,
  );
  const tests: readonly StoredTest[] = [
    { path: ['c'], operator: '>', value: stringValue('t5') },
    { path: ['b'], operator: '>', value: intValue(0) },
    { path: ['a'], operator: '<', value: intValue(40) },
    { path: ['d'], operator: '!=', value: stringValue('') },
  ];
  for (let block = 0; block < reader.blocks.length; block++) {
    const each = tests.map((t) => new Set(selectedOf(reader, block, [t])!));
    const together = selectedOf(reader, block, tests)!;
    expect(together).toEqual([...each[0]!].filter((i) => each.every((s) => s.has(i))).sort((a, b) => a - b));
    expect(together.length).toBeGreaterThan(0);
  }
});

test.each(Object.keys(columns))(
  '%s in records of several shapes: stored tests pass the rows that comparisons do',
  (name) => {
    const reader = readerOf(mixedRows(columns[name]!), blockRows);
    let answered = 0;
    for (let block = 0; block < reader.blocks.length; block++) {
      const rows = reader.read(block) as Vector;
      const values = Array.from({ length: rows.length }, (_, i) => i);
      const own = values.filter((i) => (i + block * blockRows) % 4 < 2);
      const column = vectorOf(own.map((i) => columns[name]!(i + block * blockRows)));
      for (const value of constants.filter((_, i) => i % 3 === block)) {
        for (const operator of operators) {
          const test: StoredTest = { path: ['m', 'v'], operator, value };
          const stored = selectedOf(reader, block, [test]);
          if (!stored) continue;
          answered++;
          const passing = isTrue(compareVectors(operator, column, constant(vectorOf([value]), own.length), own.length));
          expect({ value, operator, rows: stored }).toEqual({
            value,
            operator,
            rows: [...passing].map((i) => own[i]!),
          });
          const beside: StoredTest = { path: ['m', 'w'], operator: '==', value: stringValue('w1') };
          const first: StoredTest = { path: ['k'], operator: '<', value: intValue(block * blockRows + 300) };
          expect(selectedOf(reader, block, [first, test, beside])).toEqual(
            stored.filter((i) => i < 300 && (i + block * blockRows) % 4 === 1),
          );
        }
      }
    }
    expect(answered > 0).toBe(name !== 'bools');
  },
);
