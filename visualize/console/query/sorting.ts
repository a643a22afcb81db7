/**
 * The order of rows by a column: numbers by their value however wide, times and durations by their length, texts by
 * their letters; errors, nulls and what is missing come last.
 */
import { floatOf } from '../../../src/client/jsup.ts';
import { Duration } from '../../../src/client/values.ts';
import { type Column, cellAt } from './columns/columns.ts';
import { bareText, supText } from './print.ts';
import type { RowStore } from './rows.ts';
import { type Cell, isNull, plain } from './wire.ts';

type Key = { readonly rank: number; readonly value: number | string | bigint };
const ranks = { bool: 0, number: 1, duration: 2, time: 3, text: 4, nested: 5, error: 6, null: 7, missing: 8 } as const;

/** The positions of `rows` in the order of a column; equal ones stay in the order in which they came. */
export const sortedRows = (
  store: RowStore,
  rows: ArrayLike<number>,
  column: Column,
  descending: boolean,
): Uint32Array => {
  const length = rows.length;
  const keys: Key[] = [];
  for (let i = 0; i < length; i++) keys.push(keyOfCell(cellAt(store.cell(rows[i]), column)));
  const order = Array.from({ length }, (_, i) => i);
  order.sort((a, b) => {
    const x = keys[a];
    const y = keys[b];
    // What is no value stays last either way.
    if (x.rank !== y.rank)
      return x.rank >= ranks.error || y.rank >= ranks.error || !descending ? x.rank - y.rank : y.rank - x.rank;
    const compared = x.value < y.value ? -1 : x.value > y.value ? 1 : 0;
    return compared === 0 ? a - b : descending ? -compared : compared;
  });
  return Uint32Array.from(order, (i) => rows[i]);
};

const keyOfCell = (cell: Cell | undefined): Key => {
  if (!cell) return { rank: ranks.missing, value: 0 };
  const value = plain(cell);
  const { type, json } = value;
  if (isNull(value)) return { rank: ranks.null, value: 0 };
  if (type.kind === 'error') return { rank: ranks.error, value: supText(value) };
  if (type.kind === 'enum') return { rank: ranks.text, value: bareText(value) };
  if (type.kind !== 'primitive') return { rank: ranks.nested, value: supText(value) };
  const text = String(json);
  switch (type.name) {
    case 'bool':
      return { rank: ranks.bool, value: text };
    case 'duration':
      return { rank: ranks.duration, value: Duration.parse(text).nanoseconds };
    case 'time':
      return { rank: ranks.time, value: instant(text) };
    case 'string':
    case 'bytes':
    case 'ip':
    case 'net':
      return { rank: ranks.text, value: text };
    case 'type':
      return { rank: ranks.text, value: bareText(value) };
    default:
      return { rank: ranks.number, value: numberOf(text) };
  }
};

/** Wide integers are compared exactly: a bigint and a number compare by value. */
const numberOf = (text: string): number | bigint => {
  const number = floatOf(text);
  return Number.isNaN(number)
    ? Number.NEGATIVE_INFINITY
    : Number.isSafeInteger(number) || !/^-?\d+$/.test(text)
      ? number
      : BigInt(text);
};

/** Nanoseconds since 1970 of a time as the service prints it: in UTC, with up to nine digits behind the second. */
export const instant = (text: string): bigint => {
  const dot = text.indexOf('.');
  const whole = Date.parse(dot < 0 ? text : `${text.slice(0, dot)}Z`);
  return BigInt(whole) * 1_000_000n + (dot < 0 ? 0n : BigInt(text.slice(dot + 1, -1).padEnd(9, '0')));
};
