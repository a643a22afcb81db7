/** Whatever goes into a builder comes out of the vector, also through views, copies and concatenation. */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { anyValue, someValues } from '../../support/formats/values.ts';
import { vectorOf, constantOf } from '../../../src/vectors/builder.ts';
import {
  type Vector,
  flatten,
  gather,
  slice,
  take,
  typeAt,
  uniformType,
  valueAt,
} from '../../../src/vectors/vector.ts';
import { concat, concatFreeing, scatter } from '../../../src/vectors/concat.ts';
import { type Value, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import {
  recordType,
  typeText,
  types,
  unionType,
  arrayType,
  compareText,
  compareTypes,
  namedType,
} from '../../../src/vectors/type.ts';
import { fuseAll, fuseTypes, typesOf } from '../../../src/vectors/fuse.ts';
import { upcastVector } from '../../../src/vectors/upcast.ts';
import { compareValues, equalValues } from '../../../src/vectors/compare.ts';

const rows = (v: Vector): Value[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));
const parameters = { numRuns: 300 };
const plain = (x: string | number | boolean | null): Value =>
  x === null
    ? nullValue
    : typeof x === 'string'
      ? stringValue(x)
      : typeof x === 'boolean'
        ? { type: types.bool, data: x }
        : { type: types.float64, data: x };
const recordOf = (fields: Readonly<Record<string, string | number | boolean | null>>): Value =>
  recordValue(Object.entries(fields).map(([name, x]) => ({ name, value: plain(x) })));

describe('a vector of values', () => {
  test('gives back each value with its type', () => {
    fc.assert(
      fc.property(someValues(), (values) => {
        const v = vectorOf(values);
        expect(rows(v)).toEqual(values);
        const uniform = uniformType(v);
        if (uniform) for (let i = 0; i < v.length; i++) expect(typeAt(v, i)).toBe(uniform);
      }),
      parameters,
    );
  });

  test('slices, takes and gathers its rows', () => {
    fc.assert(
      fc.property(
        someValues({ maxLength: 12 }).filter((v) => v.length > 0),
        fc.array(fc.nat(), { maxLength: 10 }),
        fc.nat(),
        fc.nat(),
        (values, picks, a, b) => {
          const v = vectorOf(values);
          const n = values.length;
          const start = Math.min(a % (n + 1), b % (n + 1));
          const end = Math.max(a % (n + 1), b % (n + 1));
          expect(rows(slice(v, start, end))).toEqual(values.slice(start, end));
          const index = Uint32Array.from(picks, (p) => p % n);
          const wanted = Array.from(index, (i) => values[i]!);
          expect(rows(take(v, index))).toEqual(wanted);
          expect(rows(take(take(v, index), Uint32Array.from(index.keys())))).toEqual(wanted);
          expect(rows(gather(v, index))).toEqual(wanted);
          expect(rows(flatten(take(v, index)))).toEqual(wanted);
          expect(rows(slice(flatten(take(v, index)), 0, Math.floor(index.length / 2)))).toEqual(
            wanted.slice(0, Math.floor(index.length / 2)),
          );
        },
      ),
      parameters,
    );
  });

  test('joins others in order', () => {
    fc.assert(
      fc.property(fc.array(someValues({ maxLength: 6 }), { maxLength: 4 }), (lists) => {
        expect(rows(concat(lists.map((l) => vectorOf(l))))).toEqual(lists.flat());
        const given = lists.map((l) => vectorOf(l));
        expect(rows(concatFreeing(given))).toEqual(lists.flat());
        expect(given).toEqual([]);
        const views = lists.map((l) => take(vectorOf(l), Uint32Array.from(l.keys()).reverse()));
        expect(rows(concat(views))).toEqual(lists.flatMap((l) => [...l].reverse()));
      }),
      parameters,
    );
  });

  test('joins dictionaries of texts without a copy of the texts, the same ones into the same one', () => {
    const texts = (list: readonly string[]): Vector => vectorOf(list.map(stringValue));
    const coded = (values: Vector, codes: readonly number[]): Vector => ({
      form: 'dictionary',
      length: codes.length,
      codes: Uint32Array.from(codes),
      values,
    });
    const word = fc.string({ unit: 'binary', maxLength: 3 });
    const parts = fc.array(
      fc.record({
        values: fc.array(word, { minLength: 1, maxLength: 4 }),
        picks: fc.array(fc.nat(), { maxLength: 6 }),
        isConstant: fc.boolean(),
      }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(parts, (given) => {
        const vectors = given.map(({ values, picks, isConstant }) =>
          isConstant
            ? constantOf(stringValue(values[0]!), picks.length)
            : coded(
                texts(values),
                picks.map((p) => p % values.length),
              ),
        );
        const wanted = given.flatMap(({ values, picks, isConstant }) =>
          picks.map((p) => stringValue(values[isConstant ? 0 : p % values.length]!)),
        );
        expect(rows(concat(vectors))).toEqual(wanted);
      }),
      { numRuns: 100 },
    );
    const one = texts(['a', 'b']);
    const other = texts(['b', 'c']);
    const joined = (codes: readonly number[], more: readonly number[]): Vector =>
      concat([coded(one, codes), coded(other, more), coded(one, codes)]);
    const first = joined([0, 1, 1], [1, 0]);
    const second = joined([1, 0], [0, 0, 1]);
    expect(rows(first).map((v) => v.data)).toEqual(['a', 'b', 'b', 'c', 'b', 'a', 'b', 'b']);
    expect(first.form === 'dictionary' && second.form === 'dictionary' && first.values === second.values).toBe(true);
    // What is longer than the rows that lead to it is not joined, nor are texts of another type.
    expect(concat([coded(one, [0]), coded(other, [1])]).form).toBe('bytes');
    const octets = vectorOf([{ type: types.bytes, data: Uint8Array.of(1) }]);
    expect(rows(concat([coded(one, [0, 1]), constantOf(stringValue('x'), 2), coded(octets, [0, 0])]))).toEqual([
      ...['a', 'b', 'x', 'x'].map(stringValue),
      { type: types.bytes, data: Uint8Array.of(1) },
      { type: types.bytes, data: Uint8Array.of(1) },
    ]);
  });

  test('scatters the rows of its parts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyValue(1), fc.boolean()), { minLength: 1, maxLength: 12 }), (marked) => {
        const of = (side: boolean): { rows: Uint32Array; values: Vector } => ({
          rows: Uint32Array.from(marked.flatMap(([, s], i) => (s === side ? [i] : []))),
          values: vectorOf(marked.filter(([, s]) => s === side).map(([v]) => v)),
        });
        expect(rows(scatter(marked.length, [of(true), of(false)]))).toEqual(marked.map(([v]) => v));
      }),
      parameters,
    );
  });

  test('holds one constant for any number of rows', () => {
    fc.assert(
      fc.property(anyValue(), (value) => {
        expect(rows(constantOf(value, 3))).toEqual([value, value, value]);
        expect(rows(flatten(constantOf(value, 2)))).toEqual([value, value]);
      }),
      parameters,
    );
  });

  test('keeps records of one shape together when a field changes its type', () => {
    const t = recordType([{ name: 'a', type: types.int64 }]);
    const n = recordType([{ name: 'a', type: types.null }]);
    const v = vectorOf([
      { type: t, data: [1] },
      { type: n, data: [null] },
      { type: t, data: [3] },
    ]);
    expect(v.form).toBe('record');
    expect(uniformType(v)).toBeUndefined();
    expect(typeAt(v, 1)).toBe(n);
  });

  test('keeps integers beyond 2^53 exact', () => {
    const values: Value[] = [1, 9223372036854775807n, -9223372036854775808n].map((data) => ({
      type: types.int64,
      data,
    }));
    expect(rows(vectorOf(values))).toEqual(values);
    const unsigned: Value[] = [18446744073709551615n, 0].map((data) => ({ type: types.uint64, data }));
    expect(rows(vectorOf(unsigned))).toEqual(unsigned);
  });
});

describe('types', () => {
  test('of equal structure are the same object', () => {
    expect(recordType([{ name: 'a', type: arrayType(types.int64) }])).toBe(
      recordType([{ name: 'a', type: arrayType(types.int64) }]),
    );
    expect(recordType([{ name: 'a', type: types.int64, optional: true }])).not.toBe(
      recordType([{ name: 'a', type: types.int64 }]),
    );
  });
  test('of a union are in type order, duplicates stay', () => {
    expect(typeText(unionType([types.string, types.int64]))).toBe('int64|string');
    expect(typeText(unionType([types.int64, types.string, types.int64]))).toBe('int64|int64|string');
    expect(typeText(arrayType(unionType([types.null, types.string])))).toBe('[string|null]');
  });
  test('are printed with a name defined once', () => {
    const port = namedType('port', types.uint16);
    expect(
      typeText(
        recordType([
          { name: 'a', type: port },
          { name: 'b c', type: port },
        ]),
      ),
    ).toBe('{a:port=uint16,"b c":port}');
  });
  test('have a total order', () => {
    fc.assert(
      fc.property(anyValue(), anyValue(), anyValue(), ({ type: a }, { type: b }, { type: c }) => {
        expect(Math.sign(compareTypes(a, b))).toBe(-Math.sign(compareTypes(b, a)) + 0);
        if (compareTypes(a, b) <= 0 && compareTypes(b, c) <= 0) expect(compareTypes(a, c)).toBeLessThanOrEqual(0);
      }),
      parameters,
    );
  });
  test('text is ordered by code point', () => {
    expect(compareText('\uffff', '\u{10000}')).toBeLessThan(0);
    expect(compareText('\u{10000}', '\ue000')).toBeGreaterThan(0);
    expect(compareText('a', 'ab')).toBeLessThan(0);
  });
});

describe('order', () => {
  const int = (data: number | bigint): Value => ({ type: types.int64, data });
  const float = (data: number): Value => ({ type: types.float64, data });
  test('compares integers and floats as numbers', () => {
    expect(compareValues(int(1), float(1.5))).toBeLessThan(0);
    expect(compareValues(int(9007199254740993n), float(9007199254740992))).toBeGreaterThan(0);
    expect(compareValues(float(NaN), float(-Infinity))).toBeLessThan(0);
  });
  test('puts null and missing last, or first when asked', () => {
    const nothing: Value = { type: types.null, data: null };
    expect(compareValues(nothing, int(1))).toBeGreaterThan(0);
    expect(compareValues(nothing, int(1), false)).toBeLessThan(0);
    expect(compareValues(nothing, nothing)).toBe(0);
  });
  test('is antisymmetric and transitive on random values', () => {
    fc.assert(
      fc.property(anyValue(1), anyValue(1), anyValue(1), (a, b, c) => {
        expect(Math.sign(compareValues(a, b))).toBe(-Math.sign(compareValues(b, a)) + 0);
        if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) expect(compareValues(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 2000 },
    );
  });
  test('equality wants the same type except for numbers', () => {
    expect(equalValues(int(1), float(1))).toBe(true);
    expect(
      equalValues({ type: arrayType(types.int64), data: [1] }, { type: arrayType(types.float64), data: [1] }),
    ).toBe(false);
    expect(equalValues(float(NaN), float(NaN))).toBe(false);
  });
});

describe('types of rows', () => {
  const mixed = fc.oneof(
    someValues({ maxLength: 12 }),
    fc
      .array(
        fc.record({ a: fc.constantFrom(1, 'x', null), b: fc.constantFrom(1.5, null), c: fc.constantFrom(true, 'y') }),
        { maxLength: 12 },
      )
      .map((all) => all.map(recordOf)),
  );
  test('are those of the rows one by one, in slices too', () => {
    fc.assert(
      fc.property(
        mixed.filter((v) => v.length > 0),
        fc.nat(),
        (values, a) => {
          const v = slice(vectorOf(values), a % values.length, values.length);
          const { table, codes } = typesOf(v);
          for (let i = 0; i < v.length; i++) expect(table[codes?.[i] ?? 0]).toBe(typeAt(v, i));
        },
      ),
      parameters,
    );
  });
  test('rows upcast together are what each is by itself', () => {
    fc.assert(
      fc.property(
        mixed.filter((v) => v.length > 0),
        fc.nat(),
        (values, a) => {
          const v = slice(vectorOf(values), a % values.length, values.length);
          const own = rows(v);
          const types = own.map((x) => x.type);
          const type = types.reduce((x, y) => fuseTypes(x, y));
          expect(fuseAll(types)).toBe(type);
          expect(rows(upcastVector(v, type))).toEqual(own.map((x) => valueAt(upcastVector(vectorOf([x]), type), 0)));
        },
      ),
      parameters,
    );
  });
});
