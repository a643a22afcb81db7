/** The two sides of UNION, INTERSECT and EXCEPT, made to have the same columns of the same types. */
import type { Analysis } from '../analyze/context.ts';
import type { Span } from '../ast.ts';
import { fieldOf, literal, thisExpr } from '../plan/walk.ts';
import type { PlanExpr, PlanOp } from '../plan/plan.ts';
import type { LoweredSql } from './queries.ts';
import { castTo } from './values/casts.ts';
import { isToldColumn, storedColumn } from './values/stored.ts';
import type { SqlType } from './values/types.ts';
import { numberIn, recordOf } from '../types/of.ts';
import { type Type, commonNumber } from '../../vectors/type.ts';
import { nullValue } from '../../vectors/value.ts';

/** The operators of both sides. */
export interface AlignedSides {
  readonly left: LoweredSql;
  readonly right: readonly PlanOp[];
}

/** Both sides with the columns of both, which go together by their names: what one lacks is null in it. */
export const sidesByName = (a: Analysis, left: LoweredSql, right: LoweredSql, place: Span): AlignedSides => {
  const { columns: ours } = left;
  const { columns: theirs } = right;
  if (!ours || !theirs) {
    if (a.sourcesKnown) a.fault('UNION BY NAME needs the names of the columns: write them instead of *', place);
    return { left, right: right.ops };
  }
  const columns = [...ours, ...theirs.filter((name) => !ours.some((x) => isSame(x, name)))];
  const filled = (ops: readonly PlanOp[], own: readonly string[]): readonly PlanOp[] =>
    projected(a, ops, columns, (name) => {
      const from = own.find((x) => isSame(x, name));
      return from === undefined ? literal(nullValue) : fieldOf(thisExpr, from);
    });
  return { left: { ops: filled(left.ops, ours), columns }, right: filled(right.ops, theirs) };
};
const isSame = (x: string, y: string): boolean => x.toLowerCase() === y.toLowerCase();

/**
 * Both sides with numbers of one type in each column, as far as it is known of what types they are: rows are equal
 * where their numbers are.
 */
export const sidesOfOneType = (a: Analysis, { left, right }: AlignedSides, input: Type): AlignedSides => {
  const { columns } = left;
  const [ours, theirs] = [left.ops, right].map((ops) => recordOf(a.rowTypeByContent(ops, input)));
  if (!columns || !ours || !theirs || ours === 'dynamic' || theirs === 'dynamic') return { left, right };
  const casts = new Map<string, Sides>();
  for (const name of columns) {
    const [x, y] = [ours, theirs].map((record) => record.fields.find((f) => f.name === name)?.type);
    const found = x && y && sidesOf(x, y);
    if (found) casts.set(name, found);
  }
  const cast = (ops: readonly PlanOp[], side: 'left' | 'right'): readonly PlanOp[] => {
    if (![...casts.values()].some((c) => c[side])) return ops;
    return projected(a, ops, columns, (name) => {
      const found = casts.get(name);
      const value = fieldOf(thisExpr, name);
      return found?.[side] ? castTo(value, found[side]) : value;
    });
  };
  return { left: { ...left, ops: cast(left.ops, 'left') }, right: cast(right, 'right') };
};

/** What a column is cast to on either side. */
interface Sides {
  readonly left?: SqlType;
  readonly right?: SqlType;
}
const sidesOf = (x: Type, y: Type): Sides | undefined => {
  const left = storedColumn(x);
  const right = storedColumn(y);
  // What a file has in a form of its own is beside other values what these are.
  const isUnlike = left && right ? isToldColumn(x) !== isToldColumn(y) : (left ?? right) !== undefined;
  if (isUnlike && x !== y) return { ...(left && { left }), ...(right && { right }) };
  const ours = numberIn(x);
  const theirs = numberIn(y);
  if (!ours || !theirs || ours === theirs) return undefined;
  const type = commonNumber(ours, theirs);
  const target: SqlType = { kind: 'plain', type };
  return { ...(ours !== type && { left: target }), ...(theirs !== type && { right: target }) };
};

const projected = (
  a: Analysis,
  ops: readonly PlanOp[],
  columns: readonly string[],
  valueOf: (name: string) => PlanExpr,
): readonly PlanOp[] => [
  ...ops,
  { kind: 'values', exprs: [a.recordOfColumns(columns.map((name) => ({ name, value: valueOf(name) })))] },
];
