/**
 * Decimals of SQL (vectors/decimal.ts has their form): what the query says of them is how many places they have behind
 * the point. Sums, differences, products and remainders are exact by it.
 */
import { type Type, isInteger, types, membersOf } from '../../../vectors/type.ts';
import { isLongDecimal, decimalData, decimalOfUnits, decimalValue, exactOfText } from '../../../vectors/decimal.ts';
import { type Value, intValue } from '../../../vectors/value.ts';
import { literal } from '../../plan/walk.ts';
import type { Aggregate, ArithmeticOperator, PlanExpr } from '../../plan/plan.ts';
import { decimalPrecisionMax, sqlTypeOfName } from './types.ts';
import { numberIn } from '../../types/of.ts';

export type TypeOf = ((e: PlanExpr) => Type) | undefined;

/** Places that decimals have at most. */
const scaleMax = decimalPrecisionMax;
const decimalSyntax = /^[+-]?0*(\d*)\.(\d*)$/;
/** The places of a literal as it is written; undefined for exponents, and for more digits than decimals have. */
export const scaleOfText = (text: string): number | undefined => {
  const m = decimalSyntax.exec(text);
  return m && m[1].length + m[2].length <= decimalPrecisionMax ? m[2].length : undefined;
};
/** Whether a literal is written as a decimal with more digits that count than these have. */
export const isBeyondDecimals = (text: string): boolean => {
  const m = decimalSyntax.exec(text);
  return m !== null && `${m[1]}${m[2]}`.replace(/^0+|0+$/g, '').length > decimalPrecisionMax;
};
/** The value of a literal with so many places. */
export const decimalOfText = (text: string): Value | undefined => {
  const exact = exactOfText(text.replace(/^([+-]?)\./, '$10.').replace(/\.$/, ''));
  const data = exact && decimalData(exact);
  return data === undefined ? undefined : decimalValue(data);
};

/** How many places the values of an expression have, if it is known that they are decimals. */
export const scaleOf = (e: PlanExpr, typeOf: TypeOf): number | undefined => {
  switch (e.kind) {
    case 'literal':
    case 'arithmetic':
      return e.scale;
    case 'sqlCast':
      if (e.type.kind === 'wide') return 0;
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
  const members = membersOf(t).filter((m) => m !== types.null);
  const given = members.filter((m) => !isLongDecimal(m));
  const scales = given.map((m) => {
    const known = m.kind === 'named' ? sqlTypeOfName(m.name) : undefined;
    return known?.kind === 'decimal' ? known.scale : undefined;
  });
  if (given.length < members.length && given.length > 0 && given.every(isWholeType)) return 0;
  const isKnown = given.every((m, i) => scales[i] !== undefined || isWholeType(m));
  return isKnown && scales.some((s) => s !== undefined) ? Math.max(...scales.map((s) => s ?? 0)) : undefined;
};

/** Whether an expression is known to be an integer of 128 bits. */
export const isWide = (e: PlanExpr, typeOf: TypeOf): boolean => {
  if (e.kind === 'sqlCast') return e.type.kind === 'wide';
  if (e.kind === 'negate') return isWide(e.operand, typeOf);
  const type = e.kind === 'field' || e.kind === 'index' || e.kind === 'subquery' ? typeOf?.(e) : undefined;
  const members = type?.kind === 'union' ? type.members.filter((m) => m !== types.null) : [];
  return members.some(isLongDecimal) && members.every((m) => isLongDecimal(m) || isWholeType(m));
};

/** Whether one operand is such an integer, and the other a whole number. */
export const areWide = (left: PlanExpr, right: PlanExpr, typeOf: TypeOf): boolean =>
  [left, right].some((e) => isWide(e, typeOf)) && [left, right].every((e) => isWide(e, typeOf) || isWhole(e, typeOf));

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
  // A product that needs more places is an error where it is worked out.
  return Math.min(scale, scaleMax);
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
    right: tenTo(scale),
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
    right: tenTo(scale),
    sql: true,
    scale: Math.min(scale, Math.max(to, 0)),
  };
};

/** One more digit than decimals have is a float still: its text says what it is. */
const tenTo = (scale: number): PlanExpr =>
  literal(scale < scaleMax ? decimalOfUnits(10n ** BigInt(scale), 0) : decimalValue(Number(`1e${scale}`)));
const exactAggregates: ReadonlySet<string> = new Set(['sum', 'avg', 'mean']);
/**
 * The aggregate over whole numbers of the last place, which are added exactly as far as 64 bits go, and what its result
 * then has to be divided by.
 */
export const ofUnits = (
  aggregate: Pick<Aggregate, 'name' | 'argument' | 'arity' | 'order'>,
  typeOf: TypeOf,
):
  | { readonly scale: number; readonly argument: PlanExpr; readonly settle: (result: PlanExpr) => PlanExpr }
  | undefined => {
  const { argument, name } = aggregate;
  if (!argument || !exactAggregates.has(name) || aggregate.arity !== undefined || aggregate.order) return undefined;
  const scale = scaleOf(argument, typeOf);
  if (scale === undefined || scale > scaleMax) return undefined;
  const by = tenTo(scale);
  return {
    scale,
    argument: {
      kind: 'sqlCast',
      operand: { kind: 'arithmetic', operator: '*', left: argument, right: by, sql: true, scale: 0 },
      type: { kind: 'units' },
      failure: 'error',
      written: `${name} of a decimal, in units of its last place`,
    },
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
