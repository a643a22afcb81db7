/** Functions of whole numbers. Results beyond 64 bits are errors. */
import { int64Max } from '../../../vectors/literal.ts';
import { integer, numericData } from '../../../vectors/value.ts';
import { bitsOf, types } from '../../../vectors/type.ts';
import { nulls, numbers, ofForm } from '../../../vectors/vector.ts';
import { wrapErrors, inner } from '../../expressions/rows.ts';
import { bitsOfText } from '../../expressions/sql/bits.ts';
import { byKernel, data, isNull, isText, type FunctionRow, type Kernel } from '../row.ts';
import { Refusal, byRow, isWhole, rowKernel } from '../typed.ts';

const within = (x: bigint): number | bigint | Refusal =>
  x > int64Max ? new Refusal('result out of range') : integer(x);
const size = (x: number | bigint): bigint => (x < 0 ? -BigInt(x) : BigInt(x));
const divisor = (a: bigint, b: bigint): bigint => {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
};
const multiple = (a: bigint, b: bigint): bigint => (a === 0n || b === 0n ? 0n : (a / divisor(a, b)) * b);

/** The greatest number whose factorial fits into 64 bits. */
const factorialMax = 20;
const factorial = (n: number | bigint): number | bigint | Refusal => {
  if (n < 0) return new Refusal('negative number');
  if (n > factorialMax) return new Refusal('result out of range');
  let product = 1n;
  for (let k = 2n; k <= BigInt(n); k++) product *= k;
  return integer(product);
};

/** Of a number below zero the ones of its two's complement in the bits of its type. */
const bitCount: Kernel = ([n], length) => {
  if (isNull(n!)) return nulls(length);
  if (isText(n!)) return bitCountOfText([n!], length);
  if (!isWhole(n!)) return wrapErrors('bit_count: integer argument required', n!);
  const bits = bitsOf(ofForm(inner(n!), 'number').type);
  const read = data(n!);
  return numbers(
    types.int64,
    Float64Array.from({ length }, (_, i) => onesIn(BigInt.asUintN(bits, BigInt(numericData(read(i)))))),
  );
};
const bitCountOfText = rowKernel('bit_count', ['string'], 'integer', (text) => {
  const bits = bitsOfText(text);
  return bits === undefined ? new Refusal('integer argument required') : onesOf(bits);
});
const onesOf = (bits: string): number => {
  let n = 0;
  for (let i = 0; i < bits.length; i++) if (bits[i] === '1') n++;
  return n;
};
const onesIn = (x: bigint): number => {
  let n = 0;
  for (let rest = x; rest !== 0n; rest &= rest - 1n) n++;
  return n;
};

export const integers: readonly FunctionRow[] = [
  {
    name: 'sign',
    signature: 'sign(n)',
    text: 'In SQL: -1, 0 or 1 for numbers below, at and above zero; 0 for NaN.',
    argumentsMin: 1,
    argumentsMax: 1,
    sqlOnly: 'all',
    examples: [
      { query: 'select sign(-2.5) as n', output: '{n:-1}' },
      {
        query: "select sign(x) as n from (values ('a')) t(x)",
        output: '{n:error({message:"sign: number argument required",on:"a"})}',
      },
    ],
    make: byRow('sign', ['number'], 'integer', (x) => Number(x > 0) - Number(x < 0)),
  },
  {
    name: 'factorial',
    signature: 'factorial(n)',
    text: 'The product of the whole numbers from 1 to n.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'factorial(20)', output: '2432902008176640000' },
      { query: 'factorial(21)', output: 'error({message:"factorial: result out of range",on:21})' },
      { query: 'factorial(-1)', output: 'error({message:"factorial: negative number",on:-1})' },
      { query: 'factorial(1.5)', output: 'error({message:"factorial: integer argument required",on:1.5})' },
    ],
    make: byRow('factorial', ['integer'], 'integer', factorial),
  },
  {
    name: 'gcd',
    signature: 'gcd(a, b)',
    text: 'The greatest common divisor of two whole numbers.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'gcd(12,-18)', output: '6' },
      { query: 'gcd(1,1.5)', output: 'error({message:"gcd: integer argument required",on:1.5})' },
    ],
    make: byRow('gcd', ['integer', 'integer'], 'integer', (a, b) => within(divisor(size(a), size(b)))),
  },
  {
    name: 'lcm',
    signature: 'lcm(a, b)',
    text: 'The least common multiple of two whole numbers.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'lcm(4,6)', output: '12' },
      {
        query: 'lcm(9223372036854775807,2)',
        output: 'error({message:"lcm: result out of range",on:9223372036854775807})',
      },
      { query: 'lcm("a",1)', output: 'error({message:"lcm: integer argument required",on:"a"})' },
    ],
    make: byRow('lcm', ['integer', 'integer'], 'integer', (a, b) => within(multiple(size(a), size(b)))),
  },
  {
    name: 'bit_count',
    signature: 'bit_count(n)',
    text: 'The number of ones in the bits of a whole number, or in a bit string.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'bit_count(255)', output: '8' },
      { query: 'bit_count(-1::int8)', output: '8' },
      { query: 'bit_count("1011")', output: '3' },
      { query: 'bit_count("a")', output: 'error({message:"bit_count: integer argument required",on:"a"})' },
    ],
    make: byKernel(bitCount, 'bare'),
  },
];
