/** round() and trunc() to a digit, and division without its fraction. */
import { type PrimitiveType, bitsOf, isFloat, isUnsigned, types } from '../../../vectors/type.ts';
import { int64Max, int64Min, roundFloat } from '../../../vectors/literal.ts';
import { integer, numericData } from '../../../vectors/value.ts';
import { type Vector, flatten, nulls, numbers, ofForm } from '../../../vectors/vector.ts';
import { NumberBuilder } from '../../../vectors/builder-leaves.ts';
import { dividedBy } from '../../expressions/sql/arithmetic.ts';
import { original, overlay, wrapErrors, inner } from '../../expressions/rows.ts';
import { byKernel, data, isNull, type FunctionRow, type Kernel } from '../row.ts';
import { Refusal, byRow, isNumeric, isWhole } from '../typed.ts';

const halfAway = (x: number): number =>
  x < 0 ? -Math.floor(-x + 0.5) : Number.isSafeInteger(x) ? x : Math.floor(x + 0.5);
/** 0.49999999999999994 + 0.5 would round up to 1. */
export const roundHalfAway = (x: number): number =>
  Math.abs(x) < 0.5 ? x * 0 : Math.abs(x) >= 2 ** 52 ? x : halfAway(x);
/** The nearest whole number, of two the even one; never -0. */
export const roundHalfEven = (x: number): number => {
  const floor = Math.floor(x);
  const rest = x - floor;
  return (rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1) + 0;
};

interface Rounding {
  readonly name: string;
  readonly float: (x: number) => number;
  readonly integer: (x: bigint, unit: bigint) => bigint;
}
const rounded: Rounding = {
  name: 'round',
  float: roundHalfAway,
  integer: (x, unit) => {
    const rest = x % unit;
    const size = rest < 0n ? -rest : rest;
    return x - rest + (size * 2n < unit ? 0n : x < 0n ? -unit : unit);
  },
};
const truncated: Rounding = { name: 'trunc', float: Math.trunc, integer: (x, unit) => x - (x % unit) };

/** A float scaled by a power of ten; what the scale cannot hold stays as it is, or is nothing. */
const toPlaces = (x: number, digits: number, by: (x: number) => number): number => {
  const scale = 10 ** Math.abs(digits);
  const scaled = digits < 0 ? x / scale : x * scale;
  if (digits >= 0 && !Number.isFinite(scaled)) return x;
  if (scale === Infinity) return 0;
  return digits < 0 ? by(scaled) * scale : by(scaled) / scale;
};
/** Digits of the widest number. */
const digitsMax = 20;

const toDigits =
  (rounding: Rounding): Kernel =>
  ([n, digits], length) => {
    const { name } = rounding;
    const v = ofForm(flatten(n!), 'number');
    const read = data(digits!);
    const marks = new Uint8Array(length);
    const out = new NumberBuilder(v.type);
    for (let i = 0; i < length; i++) {
      const to = Number(read(i));
      const x = v.values[i];
      if (isFloat(v.type)) out.push(roundFloat(v.type, toPlaces(Number(x), to, rounding.float)));
      else if (to >= 0) out.push(x);
      else {
        const result = to < -digitsMax ? 0n : rounding.integer(BigInt(x), 10n ** BigInt(-to));
        marks[i] = fitsType(v.type, result) ? 0 : 1;
        out.push(marks[i] === 1 ? 0 : integer(result));
      }
    }
    return overlay(out.finish(), marks, wrapErrors(`${name}: result out of range`, n!));
  };
const fitsType = (type: PrimitiveType, x: bigint): boolean =>
  (isUnsigned(type) ? BigInt.asUintN(bitsOf(type), x) : BigInt.asIntN(bitsOf(type), x)) === x;

const withDigits =
  (rounding: Rounding): Kernel =>
  (args, length) => {
    const [n, digits] = args;
    if (args.some(isNull)) return nulls(length);
    if (!isNumeric(n!)) return wrapErrors(`${rounding.name}: not a number`, n!);
    if (!isWhole(digits!)) return wrapErrors(`${rounding.name}: integer argument required`, digits!);
    return toDigits(rounding)(args, length);
  };
/** round() with digits: numbers of any type, which keep it. */
export const roundDigits: Kernel = withDigits(rounded);
const truncDigits: Kernel = withDigits(truncated);

/** Whole numbers, times and durations stay. */
const trunc: Kernel = ([n], length) => {
  if (isNull(n!)) return nulls(length);
  if (inner(n!).form !== 'number') return wrapErrors('trunc: not a number', n!);
  const v = ofForm(flatten(n!), 'number');
  return isFloat(v.type)
    ? numbers(v.type, (v.values as Float64Array).subarray(0, length).map(Math.trunc))
    : original(n!);
};

/** Of whole numbers by bigints, of others as floats. */
const remainder: Kernel = (args, length) => {
  if (args.some(isNull)) return nulls(length);
  const other = args.find((a) => !isNumeric(a));
  if (other) return wrapErrors('mod: number argument required', other);
  return args.every(isWhole) ? wholeRemainder(args, length) : floatRemainder(args, length);
};
const floatRemainder = ([a, b]: readonly Vector[], length: number): Vector => {
  const x = data(a!);
  const y = data(b!);
  return numbers(
    types.float64,
    Float64Array.from({ length }, (_, i) => Number(x(i)) % Number(y(i))),
  );
};
const wholeRemainder = ([a, b]: readonly Vector[], length: number): Vector => {
  const x = data(a!);
  const y = data(b!);
  const marks = new Uint8Array(length);
  const type = typeOfBoth(a!, b!);
  const out = new NumberBuilder(type);
  for (let i = 0; i < length; i++) {
    const by = numericData(y(i));
    marks[i] = Number(by) === 0 ? 1 : 0;
    out.push(marks[i] === 1 ? 0 : restOf(numericData(x(i)), by));
  }
  return overlay(out.finish(), marks, wrapErrors('mod: divide by zero', a!));
};
/** Never -0. */
const restOf = (x: number | bigint, y: number | bigint): number | bigint =>
  typeof x === 'number' && typeof y === 'number' ? (x % y) + 0 : integer(BigInt(x) % BigInt(y));
const typeOfBoth = (a: Vector, b: Vector): PrimitiveType =>
  [a, b].every((v) => isUnsigned(ofForm(inner(v), 'number').type)) ? types.uint64 : types.int64;

const quotient = (x: number | bigint, y: number | bigint): number | bigint | Refusal => {
  if (Number(y) === 0) return new Refusal('divide by zero');
  const q = BigInt(x) / BigInt(y);
  return q > int64Max || q < int64Min ? new Refusal('result out of range') : integer(q);
};
const divided = byRow('div', ['integer', 'integer'], 'integer', quotient);
const dividedInSql: FunctionRow['make'] = (call) => {
  const evaluate = divided(call);
  const zeros = call.attempt ? { attempt: call.attempt } : {};
  return ([x, y], length) => dividedBy(evaluate([x!, y!], length), { operator: '/', left: x!, right: y! }, zeros);
};

export const rounding: readonly FunctionRow[] = [
  {
    name: 'trunc',
    signature: 'trunc(n[, digits])',
    text: 'The number without its fraction, or cut after this many digits (before the point if negative).',
    argumentsMin: 1,
    argumentsMax: 2,
    gives: 'argument',
    examples: [
      { query: 'trunc(-2.7)', output: '-2.' },
      { query: 'trunc(1234.5678,2)', output: '1234.56' },
      { query: 'trunc(159,-1)', output: '150' },
      { query: 'trunc("a")', output: 'error({message:"trunc: not a number",on:"a"})' },
      { query: 'trunc(1,"a")', output: 'error({message:"trunc: integer argument required",on:"a"})' },
    ],
    make: (call) => byKernel(call.literals.length > 1 ? truncDigits : trunc, 'bare')(call),
  },
  {
    name: 'mod',
    signature: 'mod(n, by)',
    text: 'The rest of a division, with the sign of the first number.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'mod(-5,3)', output: '-2' },
      { query: 'mod(5.5,2)', output: '1.5' },
      { query: 'mod(5,0)', output: 'error({message:"mod: divide by zero",on:5})' },
      { query: 'mod("a",1)', output: 'error({message:"mod: number argument required",on:"a"})' },
    ],
    make: byKernel(remainder, 'bare'),
  },
  {
    name: 'div',
    signature: 'div(n, by)',
    text: 'The quotient of two whole numbers without its fraction.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'div(-7,2)', output: '-3' },
      { query: 'div(7,0)', output: 'error({message:"div: divide by zero",on:7})' },
      { query: 'div(1.5,1)', output: 'error({message:"div: integer argument required",on:1.5})' },
    ],
    make: divided,
    inSql: { argumentsMin: 2, argumentsMax: 2, make: dividedInSql },
  },
];
