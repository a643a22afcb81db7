import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { ObjectSource } from '../../../src/lake/objects/copies.ts';
import { ObjectReader, openObject, projectionOf, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { LakeError } from '../../../src/errors.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { type Vector, dataAt, range, slice, take, typeAt } from '../../../src/vectors/vector.ts';
import { type Value, intValue, recordValue, stringValue, integer } from '../../../src/vectors/value.ts';
import { types } from '../../../src/vectors/type.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { linkTask, working } from '../../../src/vectors/stop.ts';
import type { MemoryAccount } from '../../../src/vectors/thread-memory.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { randomOf } from '../../support/random.ts';
import { someValues } from '../../support/formats/values.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };

const encode = (blocks: readonly Vector[], rowsExpected = blocks.reduce((n, b) => n + b.length, 0)): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected });
  for (const block of blocks) writer.block(block, noKeys);
  expect(writer.finish()).toBe(chunks.reduce((n, c) => n + c.length, 0));
  return Buffer.concat(chunks);
};
const rows = (v: Vector): Value[] =>
  Array.from({ length: v.length }, (_, i) => ({ type: typeAt(v, i), data: dataAt(v, i) }));
const open = (bytes: Uint8Array): ObjectReader => openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
const readAll = (reader: ObjectReader): Value[] => reader.blocks.flatMap((_, k) => rows(reader.read(k) as Vector));

describe('data objects', () => {
  test('values of every type come back as they were', () => {
    fc.assert(
      fc.property(
        fc.array(
          someValues({ maxLength: 40 }).filter((b) => b.length > 0),
          { minLength: 1, maxLength: 3 },
        ),
        fc.boolean(),
        (blocks, large) => {
          const back = readAll(
            open(
              encode(
                blocks.map((b) => vectorOf(b)),
                large ? 100_000 : 1,
              ),
            ),
          );
          expect(back).toEqual(blocks.flat());
        },
      ),
      { numRuns: 300 },
    );
  });

  test('a query that has no memory left is told that, not that the object is corrupt', () => {
    const { signal } = new AbortController();
    const refusal = new LakeError('query-memory', { operator: 'a test', limit: 1 });
    const charge = (): never => {
      throw refusal;
    };
    linkTask(signal, { account: { charge, step: () => undefined } as unknown as MemoryAccount });
    // The items of an empty list are a vector that is made for the list alone, and charged.
    const bytes = encode([vectorOf(parseSupValues('[]::[[int64]]'))]);
    expect(() => working(signal, () => readAll(open(bytes)))).toThrow(refusal);
  });

  test('long columns of like values come back in any form', () => {
    const column = fc.oneof(
      fc.array(
        fc.integer({ min: -1000, max: 100_000 }).map((x) => intValue(x)),
        { minLength: 50, maxLength: 300 },
      ),
      fc.array(
        fc.integer({ min: 0, max: 20 }).map((x) => stringValue(`name ${x}`)),
        { minLength: 50, maxLength: 300 },
      ),
      fc.array(
        fc
          .bigInt({ min: 0n, max: 100_000n })
          .map((x): Value => ({ type: types.time, data: integer(1_700_000_000_000_000_000n + x * 1_000_000n) })),
        { minLength: 50, maxLength: 300 },
      ),
      fc.array(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((x): Value => ({ type: types.uint64, data: integer(x) })),
        { minLength: 50, maxLength: 300 },
      ),
      fc.array(
        fc.float({ noNaN: true }).map((x): Value => ({ type: types.float64, data: x })),
        { minLength: 50, maxLength: 300 },
      ),
      fc.array(
        fc.constantFrom(0, -0, 1, NaN).map((x): Value => ({ type: types.float64, data: x })),
        { minLength: 50, maxLength: 300 },
      ),
    );
    fc.assert(
      fc.property(column, fc.boolean(), (values, sorted) => {
        const ordered = sorted
          ? [...values].sort((a, b) => (a.data! < b.data! ? -1 : a.data! > b.data! ? 1 : 0))
          : values;
        const flat = vectorOf(ordered);
        const n = flat.length;
        const forms: Vector[] = [
          flat,
          take(flat, range(0, n)),
          { form: 'dictionary', length: n, codes: range(0, n), values: flat },
          slice(vectorOf([...ordered, ...ordered]), n, 2 * n),
        ];
        for (const form of forms) {
          const record: Vector = { form: 'record', length: n, fields: [{ name: 'x', optional: false, values: form }] };
          const back = readAll(open(encode([record, record], 10_000)));
          expect(back.map((v) => (v.data as Value['data'][])[0])).toEqual([...ordered, ...ordered].map((v) => v.data));
        }
      }),
      { numRuns: 100 },
    );
  });

  test('a changed byte is found or does no harm', () => {
    const values = Array.from({ length: 60 }, (_, i) =>
      recordValue([
        { name: 'id', value: intValue(i * 7919) },
        { name: 'city', value: stringValue(['Oslo', 'Rome', 'Wien'][i % 3]!) },
        { name: 'note', value: stringValue(`n${i}`) },
      ]),
    );
    const bytes = encode([vectorOf(values)], 5000);
    const wanted = values.map((v) => supText(v));
    let found = 0;
    for (let at = 0; at < bytes.length; at++) {
      const broken = Uint8Array.from(bytes);
      broken[at]! ^= 1 << (at % 8);
      try {
        expect(readAll(open(broken)).map((v) => supText(v))).toEqual(wanted);
      } catch (error) {
        expect(error).toBeInstanceOf(LakeError);
        expect((error as LakeError).message).toMatch(/^object 0{40}: (block 0|dictionary \d|footer|trailer): /);
        found++;
      }
    }
    expect(found).toBeGreaterThan(bytes.length * 0.8);
  });

  test('an object that is cut short is refused', () => {
    const bytes = encode([vectorOf([intValue(1), intValue(2)])]);
    for (let length = 0; length < bytes.length; length++)
      expect(() => readAll(open(bytes.slice(0, length)))).toThrow(LakeError);
  });

  test('a projection reads the segments of its columns and no others', () => {
    const n = 8192;
    const wide = Array.from({ length: 20 }, (_, k) => ({
      name: `c${k}`,
      optional: false,
      values: vectorOf(Array.from({ length: n }, (_, i) => ({ type: types.float64, data: Math.sin(i * k + 1) }))),
    }));
    const bytes = encode(
      [
        { form: 'record', length: n, fields: wide },
        { form: 'record', length: n, fields: wide },
      ],
      n * 2,
    );
    let read = 0;
    const source: ObjectSource = {
      id: 'x',
      size: bytes.length,
      read: (offset, length) => {
        read += length;
        return bytes.slice(offset, offset + length);
      },
    };
    const reader = openObject(source) as ObjectReader;
    read = 0;
    const column = reader.read(1, projectionOf([['c7']])) as Vector;
    expect(read).toBe(n * 8);
    expect(rows(column).slice(0, 3)).toEqual(
      [0, 1, 2].map((i) => recordValue([{ name: 'c7', value: { type: types.float64, data: Math.sin(i * 7 + 1) } }])),
    );
  });

  test('text of few values comes back as codes into one dictionary for all blocks', () => {
    const block = (): Vector =>
      vectorOf(
        Array.from({ length: 5000 }, (_, i) => recordValue([{ name: 's', value: stringValue(`user ${i % 300}`) }])),
      );
    const reader = open(encode([block(), block()]));
    const columns = [0, 1].map((k) => (reader.read(k) as Extract<Vector, { form: 'record' }>).fields[0]!.values);
    expect(columns.map((c) => c.form)).toEqual(['dictionary', 'dictionary']);
    const [first, second] = columns as Extract<Vector, { form: 'dictionary' }>[];
    expect(first!.values).toBe(second!.values);
    expect(first!.values.length).toBe(300);
  });

  test('a dictionary that pays in the long run is kept though most values of the first blocks are new; ids get none', () => {
    const random = randomOf(3);
    const block = (): Vector =>
      vectorOf(
        Array.from({ length: 4000 }, () =>
          recordValue([
            { name: 's', value: stringValue(`user ${random.below(10_000)}`) },
            { name: 'id', value: stringValue(random.hex(12)) },
          ]),
        ),
      );
    const blocks = Array.from({ length: 6 }, block);
    const reader = open(encode(blocks));
    const columns = blocks.map((_, k) =>
      (reader.read(k) as Extract<Vector, { form: 'record' }>).fields.map((f) => f.values.form),
    );
    expect(columns).toEqual(blocks.map(() => ['dictionary', 'bytes']));
    expect(readAll(reader)).toEqual(blocks.flatMap(rows));
  });

  test('zone maps rule out blocks and never one that holds a match', () => {
    const values = Array.from({ length: 4000 }, (_, i) =>
      recordValue([
        { name: 'n', value: intValue(i) },
        { name: 's', value: stringValue(`k${String(i).padStart(5, '0')} and a long tail of text`) },
      ]),
    );
    const reader = open(encode([vectorOf(values.slice(0, 2000)), vectorOf(values.slice(2000))]));
    const matches = (path: string, operator: '==' | '<' | '<=' | '>' | '>=' | '!=', value: Value): boolean[] =>
      [0, 1].map((k) => reader.mayMatch(k, { kind: 'test', test: { path: [path], operator, value } }));
    expect(matches('n', '==', intValue(10))).toEqual([true, false]);
    expect(matches('n', '<', intValue(2000))).toEqual([true, false]);
    expect(matches('n', '<=', intValue(2000))).toEqual([true, true]);
    expect(matches('n', '>', intValue(1999))).toEqual([false, true]);
    expect(matches('n', '==', stringValue('10'))).toEqual([false, false]);
    expect(matches('n', '!=', stringValue('10'))).toEqual([true, true]);
    expect(matches('s', '==', stringValue('k03999 and a long tail of text'))).toEqual([false, true]);
    expect(matches('s', '>=', stringValue('k02'))).toEqual([false, true]);
    expect(matches('absent', '==', intValue(1))).toEqual([false, false]);
  });
});
