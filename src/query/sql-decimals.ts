/**
 * Decimals of SQL: floats that are the nearest ones to numbers of so many digits. What the query says of them is how many places they have behind the point; sums, differences, products
 * and remainders are rounded there, so that they are the nearest floats to the exact results as far as these have 15 digits.
 */
import { type Type, isInteger, types } from '../vectors/type.ts';
import { floatValue } from '../vectors/value.ts';
import { literal } from './plan-walk.ts';
import type { Aggregate, ArithmeticOperator, PlanExpr } from './plan.ts';
import { numberIn } from './sql-numbers.ts';
import { sqlTypeOfName } from './sql-types.ts';

type TypeOf = ((e: PlanExpr) => Type) | undefined;

/** Places beyond which nothing is rounded: a number with as many has hardly a digit left before them. */
const scaleMax = 18;
/** The places of a literal as it is written; undefined for exponents, and for more digits than a float64 holds. */
export const scaleOfText = (text: string): number | undefined => {
  const m = /^[+-]?0*(\d*)\.(\d*)$/.exec(text);
  return m && m[1]!.length + m[2]!.length <= 15 ? m[2]!.length : undefined;
};

/** How many places the values of an expression have, if it is known that they are decimals. */
export const scaleOf = (e: PlanExpr, typeOf: TypeOf): number | undefined => {
  switch (e.kind) {
    case 'literal': case 'arithmetic': return e.scale;
    case 'sqlCast': return e.type.kind === 'decimal' ? e.type.scale : undefined;
    case 'negate': return scaleOf(e.operand, typeOf);
    case 'conditional': return scaleOfAll([e.then, e.otherwise], typeOf);
    case 'case': return scaleOfAll([...e.branches.map((b) => b.then), ...(e.otherwise ? [e.otherwise] : [])], typeOf);
    case 'call': return alike.has(e.name) ? scaleOfAll(e.arguments, typeOf) : undefined;
    case 'field': case 'index': return typeOf && scaleIn(typeOf(e));
    default: return undefined;
  }
};
/** Functions that give one of their arguments. */
const alike: ReadonlySet<string> = new Set(['abs', 'coalesce', 'greatest', 'ifnull', 'least', 'nullif']);
/** Of expressions of which one is a decimal and the others are whole numbers or null. */
const scaleOfAll = (list: readonly PlanExpr[], typeOf: TypeOf): number | undefined => {
  const given = list.filter((e) => e.kind !== 'literal' || e.value.type !== types.null), scales = given.map((e) => scaleOf(e, typeOf));
  if (!scales.some((s) => s !== undefined) || !given.every((e, i) => scales[i] !== undefined || isWhole(e, typeOf))) return undefined;
  return Math.max(...scales.map((s) => s ?? 0));
};
const isWhole = (e: PlanExpr, typeOf: TypeOf): boolean => {
  const type = numberIn(e.kind === 'literal' ? e.value.type : typeOf?.(e));
  return type !== undefined && isInteger(type);
};
/** Columns of files have their places in the names of their types. */
const scaleIn = (t: Type): number | undefined => {
  const scales = (t.kind === 'union' ? t.members : [t]).filter((m) => m !== types.null).map((m) => {
    const known = m.kind === 'named' ? sqlTypeOfName(m.name) : undefined;
    return known?.kind === 'decimal' ? known.scale : undefined;
  });
  return scales.length > 0 && scales.every((s) => s !== undefined) ? Math.max(...scales) : undefined;
};

/** The places of a result of decimals, or of one beside a whole number. */
export const scaleOfResult = (operator: ArithmeticOperator, left: PlanExpr, right: PlanExpr, typeOf: TypeOf): number | undefined => {
  if (operator === '/') return undefined;
  const l = scaleOf(left, typeOf), r = scaleOf(right, typeOf);
  if ((l === undefined && r === undefined) || (l === undefined && !isWhole(left, typeOf)) || (r === undefined && !isWhole(right, typeOf))) return undefined;
  const scale = operator === '*' ? (l ?? 0) + (r ?? 0) : Math.max(l ?? 0, r ?? 0);
  return scale <= scaleMax ? scale : undefined;
};

const exactAggregates: ReadonlySet<string> = new Set(['sum', 'avg', 'mean']);
/** The aggregate over whole numbers of the last place, of which floats lose none below 2^53, and what its result then has to be divided by. */
export const ofUnits = (aggregate: Pick<Aggregate, 'name' | 'argument' | 'arity' | 'order'>, typeOf: TypeOf): { readonly argument: PlanExpr; readonly settle: (result: PlanExpr) => PlanExpr } | undefined => {
  const { argument, name } = aggregate;
  if (!argument || !exactAggregates.has(name) || aggregate.arity !== undefined || aggregate.order) return undefined;
  const scale = scaleOf(argument, typeOf);
  if (scale === undefined || scale < 1 || scale > scaleMax) return undefined;
  const by = literal(floatValue(10 ** scale));
  return {
    argument: { kind: 'arithmetic', operator: '*', left: argument, right: by, sql: true, scale: 0 },
    settle: (result) => ({ kind: 'arithmetic', operator: '/', left: result, right: by, sql: true, ...(name === 'sum' && { scale }) }),
  };
};
