/** Functions on numbers. */
import { type PrimitiveType, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import { parseInteger, parseUnsigned } from '../../../vectors/literal.ts';
import { type Value, integer, underValue, numericData, stringData } from '../../../vectors/value.ts';
import { type Vector, bools, flatten, nulls, numbers, take, ofForm } from '../../../vectors/vector.ts';
import { apply } from '../../expressions/apply.ts';
import { castVector } from '../../expressions/cast.ts';
import { goFloat } from '../../expressions/number-text.ts';
import { floatsFor } from '../../expressions/float-room.ts';
import { original, overlay, rowsWith, tidy, truth, truthOf, wrapErrors, inner } from '../../expressions/rows.ts';
import { logarithm } from './elementary.ts';
import { roundDigits, roundHalfAway } from './rounding.ts';
import { aliasOf, byKernel, byValues, isError, isNull, refused, type FunctionRow, type Kernel } from '../row.ts';

/** Durations and times count as their nanoseconds. */
const isNumber = (v: Vector): boolean => inner(v).form === 'number';

/** Whole numbers stay, floats go through `round`. */
const rounding =
  (name: string, round: (x: number) => number, options: { readonly nulls: boolean }): Kernel =>
  ([arg], length) => {
    if (options.nulls && isNull(arg!)) return nulls(length);
    if (!isNumber(arg!)) return wrapErrors(`${name}: not a number`, arg!);
    const v = ofForm(flatten(arg!), 'number');
    return isFloat(v.type)
      ? numbers(v.type, (v.values as Float64Array).subarray(0, length).map(round))
      : original(arg!);
  };
const abs: Kernel = ([arg], length) => {
  if (isNull(arg!)) return nulls(length);
  if (!isNumber(arg!)) return wrapErrors('abs: not a number', arg!);
  const v = ofForm(flatten(arg!), 'number');
  if (isUnsigned(v.type)) return original(arg!);
  if (v.values instanceof Float64Array) {
    const { values } = v;
    const out = floatsFor(length);
    for (let i = 0; i < length; i++) out[i] = Math.abs(values[i]);
    return numbers(v.type, out);
  }
  const out = new BigInt64Array(length);
  for (let i = 0; i < length; i++) out[i] = v.values[i] < 0n ? -(v.values[i] as bigint) : (v.values[i] as bigint);
  return numbers(v.type, out);
};

const floats = (v: Vector, length: number): Float64Array => {
  const flat = ofForm(flatten(v), 'number');
  return flat.values instanceof Float64Array
    ? flat.values.subarray(0, length)
    : Float64Array.from(flat.values.subarray(0, length) as BigInt64Array, Number);
};
const sqrt: Kernel = ([arg], length) => {
  if (isNull(arg!)) return nulls(length);
  return isNumber(arg!)
    ? numbers(types.float64, floats(arg!, length).map(Math.sqrt))
    : wrapErrors('sqrt: number argument required', arg!);
};
/** x to the y-th by squaring the fraction, the exponent of two aside: the last digits that SuperDB gives. */
const power = (x: number, y: number): number => {
  if (y === 0 || x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  if (!Number.isFinite(x) || !Number.isFinite(y) || x === 0 || Math.abs(y) >= 2 ** 62) return x ** y;
  if (Math.abs(y) === 0.5) return y > 0 ? Math.sqrt(x) : 1 / Math.sqrt(x);
  let whole = Math.trunc(Math.abs(y));
  let part = Math.abs(y) - whole;
  if (part !== 0 && x < 0) return NaN;
  if (part > 0.5) {
    part -= 1;
    whole += 1;
  }
  let fraction = part === 0 ? 1 : Math.exp(part * Math.log(x));
  let exponent = 0;
  let [base, baseExponent] = split(x);
  for (; whole >= 1; whole = Math.floor(whole / 2)) {
    if (Math.abs(baseExponent) > 4096) {
      exponent += baseExponent;
      break;
    }
    if (whole % 2 === 1) {
      fraction *= base;
      exponent += baseExponent;
    }
    base *= base;
    baseExponent *= 2;
    if (base < 0.5) {
      base += base;
      baseExponent--;
    }
  }
  return y < 0 ? scaled(1 / fraction, -exponent) : scaled(fraction, exponent);
};
/** A fraction from 0.5 on, below 1 (or its negative), and the power of two that makes the number of it. */
const split = (x: number): [number, number] => {
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(x))) + 1);
  let fraction = scaled(x, -exponent);
  while (Math.abs(fraction) < 0.5) {
    fraction *= 2;
    exponent--;
  }
  while (Math.abs(fraction) >= 1) {
    fraction /= 2;
    exponent++;
  }
  return [fraction, exponent];
};
/** `x * 2 ** n`, in steps that do not overflow before the result does. */
const scaled = (x: number, n: number): number => {
  let out = x;
  let left = Math.max(-5000, Math.min(5000, n));
  for (; left > 1000; left -= 1000) out *= 2 ** 1000;
  for (; left < -1000; left += 1000) out *= 2 ** -1000;
  return out * 2 ** left;
};
/** Of the rows that failed those where `arg` is no number. */
const refusedRows = (arg: Vector, failed: Uint8Array, length: number): Uint8Array => {
  const good = truthOf(apply([arg], length, ([a], n) => bools(new Uint8Array(n).fill(isNumber(a!) ? 1 : 0)))).subarray(
    0,
    length,
  );
  return failed.map((f, i) => (f === 1 && good[i] !== truth.true ? 1 : 0));
};
/** Unions of numbers count as what they hold; an error shows the first argument that is no number, a union whole. */
const pow: Kernel = (args, length) => {
  if (args.some((a) => inner(a).form === 'union')) {
    const result = apply(args, length, pow);
    const failed = truthOf(result)
      .subarray(0, length)
      .map((c) => (c === truth.error ? 1 : 0));
    return args.reduceRight(
      (out, arg) => overlay(out, refusedRows(arg, failed, length), wrapErrors('pow: not a number', arg)),
      result,
    );
  }
  if (args.some(isNull)) return nulls(length);
  const other = args.find((a) => !isNumber(a));
  if (other) return wrapErrors('pow: not a number', other);
  const x = floats(args[0], length);
  const y = floats(args[1], length);
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) out[i] = power(x[i], y[i]);
  return numbers(types.float64, out);
};
/** Anything that can be cast to a float counts as a number. */
const log: Kernel = ([arg], length) => {
  if (isNull(arg!)) return nulls(length);
  if (isError(arg!)) return arg!;
  const cast = castVector(arg!, types.float64);
  const failed = truthOf(cast).subarray(0, length);
  const good = rowsWith(
    failed.map((c) => (c === truth.error || c === truth.null ? 0 : 1)),
    length,
    1,
  );
  const out = new Float64Array(length);
  const bad = new Uint8Array(length);
  const illegal = new Uint8Array(length);
  bad.fill(1);
  if (good.length > 0) {
    const x = floats(tidy(take(cast, good)), good.length);
    good.forEach((row, k) => {
      bad[row] = 0;
      if (x[k] > 0 || Number.isNaN(x[k])) out[row] = Math.log(x[k]);
      else illegal[row] = 1;
    });
  }
  return overlay(
    overlay(numbers(types.float64, out), illegal, wrapErrors('log: illegal argument', arg!)),
    bad,
    wrapErrors('log: not a number', arg!),
  );
};

const int64Max = (1n << 63n) - 1n;
const int64Min = -(1n << 63n);
const uint64Max = (1n << 64n) - 1n;
const kindOf = (v: Value): PrimitiveType | undefined => {
  if (v.type.kind !== 'primitive') return undefined;
  if (isUnsigned(v.type)) return types.uint64;
  if (isFloat(v.type)) return types.float64;
  return isInteger(v.type) || v.type === types.duration || v.type === types.time ? types.int64 : undefined;
};
const converted = (v: Value, to: PrimitiveType): number | bigint | undefined => {
  const from = kindOf(v);
  if (!from) return undefined;
  const x = numericData(v.data);
  if (to === types.float64) return Number(x);
  if (from === types.float64 && (!Number.isFinite(x) || (to === types.uint64 && x < 0))) return undefined;
  const n = from === types.float64 ? BigInt(Math.trunc(x as number)) : BigInt(x);
  return to === types.uint64
    ? n >= 0n && n <= uint64Max
      ? integer(n)
      : undefined
    : n >= int64Min && n <= int64Max
      ? integer(n)
      : undefined;
};
/**
 * Text of a number of the result's kind and bools count as numbers behind the first argument, unions as what they hold.
 */
const numeric = (arg: Value, to: PrimitiveType): Value => {
  const v = arg.type.kind === 'union' ? underValue(arg) : arg;
  if (v.type === types.bool) return { type: types.int64, data: v.data === true ? 1 : 0 };
  if (v.type !== types.string) return v;
  const parse = to === types.float64 ? goFloat : to === types.uint64 ? parseUnsigned : parseInteger;
  const x = parse(stringData(v.data));
  return x === undefined ? v : { type: to === types.float64 ? to : types.int64, data: x };
};
/** The first argument decides the result's type, the others are converted to it. */
const extreme =
  (name: string, better: (x: number | bigint, y: number | bigint) => boolean) =>
  (...args: readonly Value[]): Value => {
    const type = kindOf(args[0]);
    if (!type) return refused(`${name}: not a number`, args[0]);
    let best = converted(args[0], type)!;
    for (const arg of args.slice(1)) {
      const x = converted(numeric(arg, type), type);
      if (x === undefined) return refused(`${name}: not a number`, arg);
      if (better(x, best) || Number.isNaN(x)) best = x;
    }
    return { type, data: best };
  };

const powRow: FunctionRow = {
  name: 'pow',
  signature: 'pow(x, y)',
  text: 'x to the power of y.',
  argumentsMin: 2,
  argumentsMax: 2,
  gives: 'float64',
  examples: [
    { query: 'pow(2,3)', output: '8.' },
    { query: 'pow("a",1)', output: 'error({message:"pow: not a number",on:"a"})' },
  ],
  make: byKernel(pow, 'whole'),
};

export const math: readonly FunctionRow[] = [
  {
    name: 'abs',
    signature: 'abs(n)',
    text: 'The absolute value of a number or duration.',
    argumentsMin: 1,
    argumentsMax: 1,
    gives: 'argument',
    examples: [
      { query: 'abs(-1.5)', output: '1.5' },
      { query: 'abs(-128::int8)', output: '128::int8' },
      { query: 'abs("a")', output: 'error({message:"abs: not a number",on:"a"})' },
    ],
    make: byKernel(abs, 'bare'),
  },
  {
    name: 'ceil',
    signature: 'ceil(n)',
    text: 'The number rounded up.',
    argumentsMin: 1,
    argumentsMax: 1,
    gives: 'argument',
    examples: [
      { query: 'ceil(1.5)', output: '2.' },
      { query: 'ceil(1h)', output: '1h' },
      { query: 'ceil(null)', output: 'error({message:"ceil: not a number",on:null})' },
    ],
    make: byKernel(rounding('ceil', Math.ceil, { nulls: false }), 'whole'),
  },
  {
    name: 'floor',
    signature: 'floor(n)',
    text: 'The number rounded down.',
    argumentsMin: 1,
    argumentsMax: 1,
    gives: 'argument',
    examples: [
      { query: 'floor(-1.5)', output: '-2.' },
      { query: 'floor(null)', output: 'error({message:"floor: not a number",on:null})' },
    ],
    make: byKernel(rounding('floor', Math.floor, { nulls: false }), 'whole'),
  },
  {
    name: 'round',
    signature: 'round(n[, digits])',
    text: 'The nearest whole number, in SQL also with this many digits after the point; halves away from zero.',
    argumentsMin: 1,
    argumentsMax: 2,
    gives: 'argument',
    sqlOnly: { pipeArgumentsMax: 1 },
    examples: [
      { query: 'round(2.5)', output: '3.' },
      { query: 'round(-1.5)', output: '-2.' },
      { query: 'round("a")', output: 'error({message:"round: not a number",on:"a"})' },
      { query: 'select round(1234.5678,2) as n', output: '{n:1234.57}' },
      { query: 'select round(1250,-2) as n', output: '{n:1300}' },
      {
        query: "select round(1,x) as n from (values ('a')) t(x)",
        output: '{n:error({message:"round: integer argument required",on:"a"})}',
      },
    ],
    make: (call) =>
      (call.literals.length > 1
        ? byKernel(roundDigits, 'bare')
        : byKernel(rounding('round', roundHalfAway, { nulls: true }), 'whole'))(call),
  },
  {
    name: 'log',
    signature: 'log([base, ]n)',
    text: 'The natural logarithm, or that to the base.',
    argumentsMin: 1,
    argumentsMax: 2,
    examples: [
      { query: 'log(4)', output: '1.3862943611198906' },
      { query: 'log("2")', output: '0.6931471805599453' },
      { query: 'log(0)', output: 'error({message:"log: illegal argument",on:0})' },
      { query: 'log("e")', output: 'error({message:"log: not a number",on:"e"})' },
      { query: 'log(2,8)', output: '3.' },
      { query: 'log(2,"a")', output: 'error({message:"log: number argument required",on:"a"})' },
    ],
    make: (call) => (call.literals.length > 1 ? logarithm : byKernel(log, 'whole'))(call),
  },
  powRow,
  aliasOf(powRow, 'power', [{ query: 'power(2,3)', output: '8.' }]),
  {
    name: 'sqrt',
    signature: 'sqrt(n)',
    text: 'The square root.',
    argumentsMin: 1,
    argumentsMax: 1,
    gives: 'float64',
    examples: [
      { query: 'sqrt(2)', output: '1.4142135623730951' },
      { query: 'sqrt(-1.0)', output: 'NaN' },
      { query: 'sqrt("a")', output: 'error({message:"sqrt: number argument required",on:"a"})' },
    ],
    make: byKernel(sqrt, 'bare'),
  },
  {
    name: 'max',
    signature: 'max(a, b, ...)',
    text: 'The greatest of several numbers, in the type that the first one decides.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values max(1,2,3)', output: '3' },
      { query: 'values max(1::uint8,2)', output: '2::uint64' },
      { query: 'values max(2,2.5)', output: '2' },
      { query: 'values max(1h,2h)', output: '7200000000000' },
      { query: 'values max(1::uint8,-5)', output: 'error({message:"max: not a number",on:-5})' },
      { query: 'values max(1,"a")', output: 'error({message:"max: not a number",on:"a"})' },
      { query: 'values max(1,null)', output: 'error({message:"max: not a number",on:null})' },
    ],
    make: byValues(
      extreme('max', (x, y) => x > y),
      'whole',
    ),
  },
  {
    name: 'min',
    signature: 'min(a, b, ...)',
    text: 'The least of several numbers, in the type that the first one decides.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values min(1,2,3)', output: '1' },
      { query: 'values min(1.5,1)', output: '1.' },
      { query: 'values min(1,"a")', output: 'error({message:"min: not a number",on:"a"})' },
    ],
    make: byValues(
      extreme('min', (x, y) => x < y),
      'whole',
    ),
  },
];
