/**
 * States of all aggregates on their way: those of two shares of the rows, one of them packed for another thread and
 * unpacked, merge into what one state makes of all rows.
 */
import { describe, expect, test } from 'vitest';
import { aggregateTable } from '../../../src/exec/aggregates/aggregates.ts';
import { pack, unpack } from '../../../src/exec/carry.ts';
import type { AggregateState } from '../../../src/exec/aggregates/grouping/state.ts';
import { namedType, types } from '../../../src/vectors/type.ts';
import {
  type Value,
  boolValue,
  floatValue,
  intValue,
  mapValue,
  nullValue,
  recordValue,
  stringValue,
} from '../../../src/vectors/value.ts';
import { type Vector, take, valueAt } from '../../../src/vectors/vector.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';

const rows = [3, 1, undefined, 4, 1, 5, 9, 2, 6, 5, 3, 5];
const ids = Uint32Array.of(0, 1, 2, 0, 1, 0, 1, 0, 0, 1, 1, 0);
const valueOf = (name: string, x: number | undefined): Value => {
  // The compiler makes JSON of what these are called with.
  if (name.startsWith('json_group')) return stringValue(`${x ?? null}`);
  if (x === undefined) return nullValue;
  if (/^(and|or|bool_|count_?if|every)/.test(name)) return boolValue(x > 3);
  if (name === 'combine_aggr') return { type: namedType('aggregate_state sum', types.int64), data: x };
  if (name === 'collect_map') return mapValue([[stringValue(`k${x}`), intValue(x)]]);
  return isJoining(name) ? stringValue(`${x}`) : intValue(x);
};
/** Texts with what stands between them. */
const isJoining = (name: string): boolean => /^(string_agg|group_concat|listagg)$/.test(name);
/** The argument of as many columns as the aggregate takes at most. */
const argumentOf = (name: string, arity: number): Vector =>
  vectorOf(
    rows.map((x, i) => {
      const value = valueOf(name, x);
      const by = /quantile|percentile/.test(name)
        ? floatValue(0.5)
        : /^approx_top_k$|^min$|^max$/.test(name)
          ? intValue(2)
          : isJoining(name)
            ? stringValue('-')
            : name === 'bitstring_agg'
              ? intValue(0)
              : intValue((i * 7) % 5);
      return arity === 1
        ? value
        : recordValue([
            { name: 'value', value },
            { name: 'by', value: by },
            ...(arity === 3 ? [{ name: 'third', value: intValue(name === 'bitstring_agg' ? 9 : 2) }] : []),
          ]);
    }),
  );
const texts = (v: Vector): readonly string[] =>
  Array.from({ length: v.length }, (_, i) => {
    const value = valueAt(v, i);
    return value.type === types.float64 ? Math.abs(Number(value.data)).toFixed(9) : supText(value);
  });

// union is never taken by shares.
describe.each(
  aggregateTable.filter((row) => row.signature.name !== 'union').map((row) => [row.signature.name, row] as const),
)('%s', (name, { signature, state }) => {
  const counts = [...new Set([Math.max(1, signature.argumentsMin), Math.min(signature.argumentsMax, 3)])];
  test.each(counts)('of %i arguments', (arity) => {
    const call = { all: false, distinct: false, sql: true, ...(arity > 1 && { arity }) } as const;
    const argument = argumentOf(name, signature.argumentsMax > 1 && arity === 1 && isJoining(name) ? 2 : arity);
    const fed = (start: number, end: number): AggregateState => {
      const made = state(call);
      const part = Uint32Array.from({ length: end - start }, (_, i) => start + i);
      made.grow(3);
      made.update(ids.slice(start, end), take(argument, part));
      return made;
    };
    const first = fed(0, 5);
    const other = unpack(pack(fed(5, rows.length)).content) as AggregateState;
    first.merge(other, Uint32Array.of(0, 1, 2), 3);
    expect(texts(first.result(3))).toEqual(texts(fed(0, rows.length).result(3)));
  });
});
