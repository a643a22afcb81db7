/** Further functions of numbers: hyperbolic ones, gamma, neighbours of floats, remainders, other roundings. */
import { int64Max } from '../../../vectors/literal.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import { type Value, integer, numberData, numericData } from '../../../vectors/value.ts';
import { flatten, numbers } from '../../../vectors/vector.ts';
import { byKernel, isOf, rowsOf, type Evaluate, type FunctionRow, type Kernel } from '../row.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';

/** Lanczos' approximation (g = 7, nine terms), and the reflection for the left half. */
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];
const logGamma = (x: number): number => {
  if (x === Infinity || x === -Infinity) return Infinity;
  if (Number.isInteger(x) && x <= 0) return Infinity;
  if (x === 1 || x === 2) return 0;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
  const y = x - 1;
  const t = y + 7.5;
  const sum = lanczos.reduce((n, c, i) => (i === 0 ? c : n + c / (y + i)), 0);
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum);
};
const wholeGammaMax = 171;
const gamma = (x: number): number => {
  if (Number.isInteger(x)) {
    if (x <= 0) return x === 0 ? Infinity : NaN;
    let product = 1;
    for (let k = 2; k < Math.min(x, wholeGammaMax + 1); k++) product *= k;
    return x > wholeGammaMax ? Infinity : product;
  }
  if (x === Infinity || Number.isNaN(x)) return x;
  return x < 0.5 ? Math.PI / (Math.sin(Math.PI * x) * Math.exp(logGamma(1 - x))) : Math.exp(logGamma(x));
};

const view = new DataView(new ArrayBuffer(8));
const nextAfter = (x: number, to: number): number => {
  if (Number.isNaN(x) || Number.isNaN(to)) return NaN;
  if (x === to) return to;
  if (x === 0) return to > 0 ? Number.MIN_VALUE : -Number.MIN_VALUE;
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (to > x === x > 0 ? 1n : -1n));
  return view.getFloat64(0);
};
const bits32 = new DataView(new ArrayBuffer(4));
const nextAfter32 = (x: number, to: number): number => {
  if (Number.isNaN(x) || Number.isNaN(to)) return NaN;
  if (x === to) return to;
  bits32.setFloat32(0, x);
  if (x === 0) bits32.setInt32(0, to > 0 ? 1 : -0x7fff_ffff);
  else bits32.setInt32(0, bits32.getInt32(0) + (to > x === x > 0 ? 1 : -1));
  return bits32.getFloat32(0);
};
/** Of two float32 the next float32. */
const afterNumbers: Kernel = (args, length) => {
  const isNarrow = args.every((a) => isOf(a, types.float32));
  const out = rowKernel('nextafter', ['number', 'number'], 'number', isNarrow ? nextAfter32 : nextAfter)(args, length);
  const values = isNarrow ? flatten(out) : undefined;
  return values?.form === 'number' ? numbers(types.float32, Float64Array.from(values.values, Number), length) : out;
};
const even = (x: number): number => {
  const up = Math.ceil(Math.abs(x));
  const found = up % 2 === 0 ? up : up + 1;
  return x < 0 ? -found : found;
};
/** The engine's own remainder is exact; it has the sign of the dividend. */
const floorRemainder = (a: number, b: number): number => {
  const rest = a % b;
  return rest === 0 || rest < 0 === b < 0 ? rest : rest + b;
};
const binomial = (n: number | bigint, k: number | bigint): number | bigint | null | Refusal => {
  if (n < 0) return new Refusal('negative number');
  if (k < 0 || k > n) return 0;
  const size = BigInt(n);
  const count = BigInt(k) * 2n > size ? size - BigInt(k) : BigInt(k);
  let found = 1n;
  for (let i = 1n; i <= count; i++) {
    found = (found * (size - count + i)) / i;
    if (found > int64Max) return new Refusal('result out of range');
  }
  return integer(found);
};
const halfEven = (x: number): number => {
  const down = Math.floor(x);
  const rest = x - down;
  return rest < 0.5 ? down : rest > 0.5 ? down + 1 : down % 2 === 0 ? down : down + 1;
};
const digitsMax = 300;
/** Halves to the even neighbour; whole numbers stay whole. */
const roundedEven = (v: Value, digits: number | bigint = 0): Value | Refusal => {
  const n = Number(digits);
  if (Math.abs(n) > digitsMax) return new Refusal(`digits must be -${digitsMax} to ${digitsMax}`, 1);
  if (isInteger(v.type)) {
    if (n >= 0) return v;
    const unit = 10n ** BigInt(-n);
    const x = BigInt(numericData(v.data));
    const floor = x - (((x % unit) + unit) % unit);
    const rest = x - floor;
    const up = rest * 2n > unit || (rest * 2n === unit && (floor / unit) % 2n !== 0n);
    return { type: v.type, data: integer(up ? floor + unit : floor) };
  }
  if (!isFloat(v.type)) return new Refusal('number argument required');
  const x = numberData(v.data);
  const scale = 10 ** Math.abs(n);
  const found = n < 0 ? halfEven(x / scale) * scale : halfEven(x * scale) / scale;
  return { type: v.type, data: Number.isFinite(found) ? found : x };
};

type Example = readonly [query: string, output: string];
const wrong = (name: string, rest = ''): Example => [
  `${name}("a"${rest})`,
  `error({message:"${name}: number argument required",on:"a"})`,
];
const real = (
  name: string,
  text: string,
  f: (x: number) => number | Refusal,
  example: Example,
  also: readonly string[] = [],
): FunctionRow[] => rowsOf(`${name}(n)`, text, byRow(name, ['number'], 'number', f), [example, wrong(name)], { also });
const inDomain =
  (f: (x: number) => number, low: number, high: number) =>
  (x: number): number | Refusal =>
    x < low || x > high ? new Refusal(`number from ${low} to ${high} required`) : f(x);
const drawn: Evaluate = (_, length) =>
  numbers(
    types.float64,
    Float64Array.from({ length }, () => Math.random()),
  );

export const realNumbers: readonly FunctionRow[] = [
  ...real('sinh', 'The hyperbolic sine.', Math.sinh, ['sinh(0)', '0.']),
  ...real('cosh', 'The hyperbolic cosine.', Math.cosh, ['cosh(0)', '1.']),
  ...real('tanh', 'The hyperbolic tangent.', Math.tanh, ['tanh(0)', '0.']),
  ...real('asinh', 'The number whose hyperbolic sine it is.', Math.asinh, ['asinh(0)', '0.']),
  ...real('acosh', 'The number whose hyperbolic cosine it is.', Math.acosh, ['acosh(1)', '0.']),
  ...real('atanh', 'The number whose hyperbolic tangent it is.', inDomain(Math.atanh, -1, 1), ['atanh(0)', '0.']),
  ...real('cot', 'The cotangent of radians.', (x) => 1 / Math.tan(x), [
    'cot(1.5707963267948966)',
    '6.123233995736766e-17',
  ]),
  ...real('gamma', 'The gamma function: (n-1)! for whole numbers.', gamma, ['gamma(5)', '24.']),
  ...real('lgamma', "The logarithm of the gamma function's size.", logGamma, ['lgamma(1)', '0.']),
  ...real('even', 'The next even number away from zero.', even, ['even(-2.1)', '-4.']),
  ...rowsOf('nextafter(x, to)', 'The next float from one number toward another.', byKernel(afterNumbers, 'bare'), [
    ['nextafter(1,2)', '1.0000000000000002'],
    ['nextafter(1.::float32,2.::float32)', '1.0000001::float32'],
    wrong('nextafter', ',1'),
  ]),
  ...rowsOf(
    'fmod(a, b)',
    'What a division of numbers leaves that is rounded down.',
    byRow('fmod', ['number', 'number'], 'number', floorRemainder),
    [['fmod(7.5,2)', '1.5'], wrong('fmod', ',1')],
  ),
  ...rowsOf(
    'fdiv(a, b)',
    'How often a number goes into another one, rounded down.',
    byRow('fdiv', ['number', 'number'], 'number', (a, b) => Math.floor(a / b)),
    [['fdiv(7,2)', '3.'], wrong('fdiv', ',1')],
  ),
  ...rowsOf(
    'random()',
    'A number from 0 on, below 1, another one for each row; there is no seed.',
    () => drawn,
    [['select random() between 0 and 1 as r', '{r:true}']],
    { sqlOnly: 'all', impure: true },
  ),
  ...rowsOf(
    'signbit(n)',
    'Whether the sign of a number is minus, of -0 and NaN too.',
    byRow('signbit', ['number'], 'bool', (x) => {
      view.setFloat64(0, x);
      return view.getUint8(0) >= 0x80;
    }),
    [['values signbit(-1)', 'true'], wrong('signbit')],
  ),
  ...rowsOf(
    'binom(n, k)',
    'How many ways there are to choose k of n things.',
    byRow('binom', ['integer', 'integer'], 'integer', binomial),
    [
      ['binom(5,2)', '10'],
      ['binom(-1,1)', 'error({message:"binom: negative number",on:-1})'],
      ['binom(100,50)', 'error({message:"binom: result out of range",on:100})'],
    ],
  ),
  ...rowsOf(
    'round_even(n[, digits])',
    'The nearest number with this many digits after the point; halves to the even one.',
    byRow('round_even', ['value', 'integer'], 'value', roundedEven),
    [['round_even(2.5)', '2.'], ['round_even(45,-1)', '40'], wrong('round_even')],
    { also: ['roundbankers'] },
  ),
];
