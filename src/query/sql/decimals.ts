/**
 * Decimals of SQL: floats that are the nearest ones to numbers of so many digits. What the query says of them is how
 * many places they have behind the point; sums, differences, products and remainders are rounded there, so that they
 * are the nearest floats to the exact results as far as these have 15 digits.
 */
import { type Type, isInteger, types } from '../../vectors/type.ts';
import { floatValue, intValue } from '../../vectors/value.ts';
import { literal } from '../plan/walk.ts';
import type { Aggregate, ArithmeticOperator, PlanExpr } from '../plan/plan.ts';
import { sqlTypeOfName } from './types.ts';
import { numberIn } from '../types/of.ts';

type TypeOf = ((e: PlanExpr) => Type) | undefined;

/** Places beyond which nothing is rounded: a number with as many has hardly a digit left before them. */
const scaleMax = 18;
/** Digits of a decimal that a float64 gives back. */
export const decimalDigitsMax = 15;
const decimalSyntax = /^[+-]?0*(\d*)\.(\d*)$/;
/** The places of a literal as it is written; undefined for exponents, and for more digits than a float64 holds. */
export const scaleOfText = (text: string): number | undefined => {
  const m = decimalSyntax.exec(text);
  return m && m[1]!.length + m[2]!.length <= decimalDigitsMax ? m[2]!.length : undefined;
};
/** Whether a literal is written as a decimal with more digits that count than a float64 gives back. */
export const isBeyondDecimals = (text: string): boolean => {
  const m = decimalSyntax.exec(text);
  return m !== null && `${m[1]!}${m[2]!}`.replace(/^0+|0+$/g, '').length > decimalDigitsMax;
};

/** How many places the values of an expression have, if it is known that they are decimals. */
export const scaleOf = (e: PlanExpr, typeOf: TypeOf): number | undefined => {
  switch (e.kind) {
    case 'literal':
    case 'arithmetic':
      return e.scale;
    case 'sqlCast':
      return e.type.kind === 'decimal' ? e.type.scale : undefined;
    case 'negate':
      return scaleOf(e.operand, typeOf);
    case 'conditional':
      return scaleOfAll([e.then, e.otherwise], typeOf);
    case 'case':
      return scaleOfAll([...e.branches.map((b) => b.then), ...(e.otherwise ? [e.otherwise] : [])], typeOf);
    case 'call':
      return scaleOfCall(e, typeOf) ?? (typeOf && scaleIn(typeOf(e)));
    case 'field':
    case 'index':
    case 'subquery':
    case 'apply':
      return typeOf && scaleIn(typeOf(e));
    default:
      return undefined;
  }
};
/** Of functions that give one of their arguments, or a decimal without its places. */
export const scaleOfCall = (e: PlanExpr & { readonly kind: 'call' }, typeOf: TypeOf): number | undefined => {
  const [operand, another] = e.arguments;
  if (alike.has(e.name)) return scaleOfAll(e.arguments, typeOf);
  return whole.has(e.name) && operand && !another && scaleOf(operand, typeOf) !== undefined ? 0 : undefined;
};
const whole: ReadonlySet<string> = new Set(['ceil', 'ceiling', 'floor', 'round', 'trunc']);
/** Functions that give one of their arguments. */
const alike: ReadonlySet<string> = new Set(['abs', 'coalesce', 'greatest', 'ifnull', 'least', 'nullif']);
/** Of expressions of which one is a decimal and the others are whole numbers or null. */
const scaleOfAll = (list: readonly PlanExpr[], typeOf: TypeOf): number | undefined => {
  const given = list.filter((e) => e.kind !== 'literal' || e.value.type !== types.null);
  const scales = given.map((e) => scaleOf(e, typeOf));
  if (!scales.some((s) => s !== undefined) || !given.every((e, i) => scales[i] !== undefined || isWhole(e, typeOf)))
    return undefined;
  return Math.max(...scales.map((s) => s ?? 0));
};
const isWhole = (e: PlanExpr, typeOf: TypeOf): boolean =>
  isWholeType(e.kind === 'literal' ? e.value.type : typeOf?.(e));
const isWholeType = (t: Type | undefined): boolean => {
  const type = numberIn(t);
  return type !== undefined && isInteger(type);
};
/** Decimals have their places in the names of their types; whole numbers may be among them. */
const scaleIn = (t: Type): number | undefined => {
  const given = (t.kind === 'union' ? t.members : [t]).filter((m) => m !== types.null);
  const scales = given.map((m) => {
    const known = m.kind === 'named' ? sqlTypeOfName(m.name) : undefined;
    return known?.kind === 'decimal' ? known.scale : undefined;
  });
  const isKnown = given.every((m, i) => scales[i] !== undefined || isWholeType(m));
  return isKnown && scales.some((s) => s !== undefined) ? Math.max(...scales.map((s) => s ?? 0)) : undefined;
};

/** The places of a result of decimals, or of one beside a whole number. */
export const scaleOfResult = (
  operator: ArithmeticOperator,
  left: PlanExpr,
  right: PlanExpr,
  typeOf: TypeOf,
): number | undefined => {
  if (operator === '/') return undefined;
  const l = scaleOf(left, typeOf);
  const r = scaleOf(right, typeOf);
  if (
    (l === undefined && r === undefined) ||
    (l === undefined && !isWhole(left, typeOf)) ||
    (r === undefined && !isWhole(right, typeOf))
  )
    return undefined;
  const scale = operator === '*' ? (l ?? 0) + (r ?? 0) : Math.max(l ?? 0, r ?? 0);
  return scale <= scaleMax ? scale : undefined;
};

/**
 * `round(x, n)` and `trunc(x, n)` of decimals: of whole numbers of the last place, as floats may be just below a half
 * that the digits are. Undefined for all else.
 */
export const roundedDecimal = (
  name: string,
  args: readonly PlanExpr[],
  typeOf: TypeOf,
  constant: (e: PlanExpr) => PlanExpr | undefined,
): PlanExpr | undefined => {
  const [operand, places] = args;
  if ((name !== 'round' && name !== 'trunc') || !operand || !places) return undefined;
  const scale = scaleOf(operand, typeOf);
  const digits = constant(places) ?? places;
  if (scale === undefined || scale > scaleMax || !isWhole(digits, typeOf)) return undefined;
  const units: PlanExpr = {
    kind: 'arithmetic',
    operator: '*',
    left: operand,
    right: literal(floatValue(10 ** scale)),
    sql: true,
    scale: 0,
  };
  const left: PlanExpr = {
    kind: 'arithmetic',
    operator: '-',
    left: digits,
    right: literal(intValue(scale)),
    sql: true,
  };
  const to = digits.kind === 'literal' ? Number(digits.value.data) : scale;
  return {
    kind: 'arithmetic',
    operator: '/',
    left: { kind: 'call', name, arguments: [units, left], sql: true },
    right: literal(floatValue(10 ** scale)),
    sql: true,
    scale: Math.min(scale, Math.max(to, 0)),
  };
};

const exactAggregates: ReadonlySet<string> = new Set(['sum', 'avg', 'mean']);
/**
 * The aggregate over whole numbers of the last place, of which floats lose none below 2^53, and what its result then
 * has to be divided by.
 */
export const ofUnits = (
  aggregate: Pick<Aggregate, 'name' | 'argument' | 'arity' | 'order'>,
  typeOf: TypeOf,
): { readonly argument: PlanExpr; readonly settle: (result: PlanExpr) => PlanExpr } | undefined => {
  const { argument, name } = aggregate;
  if (!argument || !exactAggregates.has(name) || aggregate.arity !== undefined || aggregate.order) return undefined;
  const scale = scaleOf(argument, typeOf);
  if (scale === undefined || scale < 1 || scale > scaleMax) return undefined;
  const by = literal(floatValue(10 ** scale));
  return {
    argument: { kind: 'arithmetic', operator: '*', left: argument, right: by, sql: true, scale: 0 },
    settle: (result) => ({
      kind: 'arithmetic',
      operator: '/',
      left: result,
      right: by,
      sql: true,
      ...(name === 'sum' && { scale }),
    }),
  };
};
