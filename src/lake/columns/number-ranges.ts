/** Comparisons with a constant as ranges of numbers, both ends included. */

/**
 * Numbers from `least` to `most`; with `outside` all others, NaN among them. `isFloat`: the ends are doubles; else
 * integers, exactly.
 */
export type NumberRange = { readonly outside: boolean } & (
  | { readonly isFloat: true; readonly least: number; readonly most: number }
  | { readonly isFloat: false; readonly least: bigint; readonly most: bigint }
);
type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** Beyond all 64-bit integers. */
const before = -(1n << 65n);
const behind = 1n << 65n;
const noNumber: NumberRange = { isFloat: false, least: 1n, most: 0n, outside: false };
const everyNumber: NumberRange = { ...noNumber, outside: true };

/** The integers that pass. */
export const integerRange = (operator: Operator, x: number | bigint): NumberRange => {
  const { floor, ceiling } = wholesAround(x);
  switch (operator) {
    case '==':
      return floor === ceiling ? { isFloat: false, least: floor, most: floor, outside: false } : noNumber;
    case '!=':
      return floor === ceiling ? { isFloat: false, least: floor, most: floor, outside: true } : everyNumber;
    case '<':
      return { isFloat: false, least: before, most: ceiling - 1n, outside: false };
    case '<=':
      return { isFloat: false, least: before, most: floor, outside: false };
    case '>':
      return { isFloat: false, least: floor + 1n, most: behind, outside: false };
    case '>=':
      return { isFloat: false, least: ceiling, most: behind, outside: false };
  }
};
const wholesAround = (x: number | bigint): { readonly floor: bigint; readonly ceiling: bigint } => {
  if (typeof x === 'bigint') return { floor: x, ceiling: x };
  if (!Number.isFinite(x)) return x > 0 ? { floor: behind, ceiling: behind } : { floor: before, ceiling: before };
  return { floor: BigInt(Math.floor(x)), ceiling: BigInt(Math.ceil(x)) };
};

/** The doubles that pass. */
export const floatRange = (operator: Operator, x: number): NumberRange => {
  const of = (least: number, most: number, outside = false): NumberRange => ({ isFloat: true, least, most, outside });
  switch (operator) {
    case '==':
      return of(x, x);
    case '!=':
      return of(x, x, true);
    case '<':
      return x === -Infinity ? noFloat : of(-Infinity, -nextAbove(-x));
    case '<=':
      return of(-Infinity, x);
    case '>':
      return x === Infinity ? noFloat : of(nextAbove(x), Infinity);
    case '>=':
      return of(x, Infinity);
  }
};
const noFloat: NumberRange = { isFloat: true, least: Infinity, most: -Infinity, outside: false };

const double = new Float64Array(1);
const bits = new BigInt64Array(double.buffer);
/** The next double above a number that is not infinite, or above -Infinity. */
const nextAbove = (x: number): number => {
  if (x === 0) return Number.MIN_VALUE;
  double[0] = x;
  bits[0] += x > 0 ? 1n : -1n;
  return double[0];
};
