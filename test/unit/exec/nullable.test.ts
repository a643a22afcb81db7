/**
 * A column that may be null and is not takes the way of a plain one: what is given to the loops is the same, and
 * nothing is made for each row. Times are not looked at: arrays of tags that cannot be read would end any loop that
 * looks a row's member up.
 */
import { describe, expect, test } from 'vitest';
import { aggregateTable } from '../../../src/exec/aggregates/aggregates.ts';
import { GroupTable } from '../../../src/exec/aggregates/grouping/groups.ts';
import { compareVectors } from '../../../src/exec/expressions/compare.ts';
import { plainRows } from '../../../src/exec/expressions/lift.ts';
import { kindsOf } from '../../../src/exec/operators/rows/kinds.ts';
import { Leaders } from '../../../src/exec/operators/sort/leaders.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { type UnionType, types, unionType } from '../../../src/vectors/type.ts';
import { unionOfOne } from '../../../src/vectors/unions.ts';
import {
  type UnionVector,
  type Vector,
  bools,
  emptyVector,
  gather,
  numbers,
  slice,
  take,
  uniformType,
  valueAt,
} from '../../../src/vectors/vector.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { intValue, stringValue } from '../../../src/vectors/value.ts';

const count = 40;
const index = Uint32Array.from({ length: count / 2 }, (_, i) => (i * 7) % count);
const plain: Readonly<Record<string, Vector>> = {
  integers: numbers(
    types.int64,
    Float64Array.from({ length: count }, (_, i) => (i * 13) % 11),
  ),
  'integers beyond 2^53': numbers(
    types.int64,
    BigInt64Array.from({ length: count }, (_, i) => (BigInt((i * 13) % 11) << 58n) - 5n),
  ),
  floats: numbers(
    types.float64,
    Float64Array.from({ length: count }, (_, i) => i / 4),
  ),
  times: numbers(
    types.time,
    BigInt64Array.from({ length: count }, (_, i) => 1_700_000_000_000_000_000n + BigInt((i * 5) % 9)),
  ),
  bools: bools(Uint8Array.from({ length: count }, (_, i) => i % 2)),
  texts: vectorOf(Array.from({ length: count }, (_, i) => stringValue(`text ${(i * 3) % 7}`))),
};

/** The nullable column of these rows; whoever reads the tag or slot of a row behind the first fails. */
const nullable = (v: Vector): UnionVector => {
  const type = unionType([uniformType(v)!, types.null]) as UnionType;
  const members = type.members.map((m) => (m === types.null ? emptyVector(m) : v));
  const tag = members.indexOf(v);
  const column = unionOfOne(type, tag, v, members);
  const unread = <A extends Uint32Array>(array: A): A =>
    new Proxy(array, {
      get: (_, name) => {
        // By this one the column knows its member.
        if (name === '0') return array[0];
        throw new Error(`a member is looked up (${String(name)})`);
      },
    });
  return Object.assign(column, { tags: unread(column.tags), slots: unread(column.slots) });
};
const rowsOf = (v: Vector): readonly unknown[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));
const copied = (v: Vector): Vector => plainRows(v);

describe.each(Object.entries(plain))('%s', (_, v) => {
  test('views and copies', () => {
    const half = count / 2;
    expect(rowsOf(copied(gather(nullable(v), index)))).toEqual(rowsOf(gather(v, index)));
    expect(rowsOf(copied(take(nullable(v), index)))).toEqual(rowsOf(take(v, index)));
    expect(rowsOf(copied(slice(nullable(v), 3, half)))).toEqual(rowsOf(slice(v, 3, half)));
    expect(rowsOf(copied(concat([nullable(v), nullable(v)])))).toEqual(rowsOf(concat([v, v])));
  });
  test('comparisons, kinds, group keys, bounds of top', () => {
    const constant = take(v, Uint32Array.of(3));
    for (const operator of ['==', '!=', '<', '<=', '>', '>='] as const) {
      const right: Vector = { form: 'constant', length: count, inner: gather(constant, Uint32Array.of(0)) };
      expect(rowsOf(compareVectors(operator, nullable(v), right, count, 0))).toEqual(
        rowsOf(compareVectors(operator, v, right, count, 0)),
      );
    }
    expect(kindsOf(nullable(v))).toBeUndefined();
    expect(new GroupTable(2).ids([plainRows(nullable(v)), plainRows(nullable(v))], count)).toEqual(
      new GroupTable(2).ids([v, v], count),
    );
    const bound = (column: Vector): unknown =>
      new Leaders({ count: 3, direction: { order: 'desc', nulls: 'last' }, end: 'first', single: true }).candidates(
        column,
      );
    expect(bound(nullable(v))).toEqual(bound(v));
  });
  test.each(
    aggregateTable
      .filter(
        (row) => row.signature.argumentsMax === 1 && row.state({ all: false, distinct: false, sql: true }).keepsNothing,
      )
      .map((row) => [row.signature.name, row] as const),
  )('%s', (name, { state }) => {
    const ids = Uint32Array.from({ length: count }, (_, i) => i % 3);
    const result = (argument: Vector): unknown => {
      const made = state({ all: false, distinct: false, sql: true });
      made.grow(4);
      try {
        made.update(ids, argument);
        if (made.updateOne) made.updateOne(3, argument);
        return rowsOf(made.result(4));
      } catch (error) {
        // A sum that has no place in 64 bits is refused, the same for both.
        return String(error);
      }
    };
    if (name === 'count_if' && v.form !== 'bool') return;
    expect(result(nullable(v))).toEqual(result(v));
  });
});

test('what has nulls is no column of one member', () => {
  const type = unionType([types.int64, types.null]) as UnionType;
  const own = vectorOf([intValue(1), intValue(2)]);
  const members = type.members.map((m) => (m === types.null ? ({ form: 'null', length: 1 } as const) : own));
  const tag = type.members.indexOf(types.int64);
  const column: UnionVector = {
    form: 'union',
    type,
    length: 3,
    tags: Uint32Array.of(tag, 1 - tag, tag),
    slots: Uint32Array.of(0, 0, 1),
    members,
  };
  expect(kindsOf(column)).toEqual(Uint8Array.of(0, 1, 0));
});
