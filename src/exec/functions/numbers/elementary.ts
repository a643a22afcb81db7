/** Functions of real numbers: logarithms, roots, angles. What has no real result is NaN, as in IEEE 754. */
import { types } from '../../../vectors/type.ts';
import { floatValue } from '../../../vectors/value.ts';
import { numbers } from '../../../vectors/vector.ts';
import { repeat } from '../../expressions/rows.ts';
import { byKernel, byVectors, isTime, type FunctionRow, type Kernel } from '../row.ts';
import { byRow, rowKernel } from '../typed.ts';

/** log() with a base. */
export const logarithm = byRow('log', ['number', 'number'], 'number', (base, x) => Math.log10(x) / Math.log10(base));

type Example = readonly [argument: string, output: string];
const realRow = (name: string, text: string, f: (x: number) => number, [argument, output]: Example): FunctionRow => ({
  name,
  signature: `${name}(n)`,
  text,
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: `${name}(${argument})`, output },
    { query: `${name}("a")`, output: `error({message:"${name}: number argument required",on:"a"})` },
  ],
  make: byRow(name, ['number'], 'number', f),
});
const testRow = (name: string, text: string, f: (x: number) => boolean, [argument, output]: Example): FunctionRow => ({
  name,
  signature: `${name}(n)`,
  text,
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: `${name}(${argument})`, output },
    { query: `${name}("a")`, output: `error({message:"${name}: number argument required",on:"a"})` },
  ],
  make: byRow(name, ['number'], 'bool', f),
});

const isInfinite = (x: number): boolean => Math.abs(x) === Infinity;
/** Times are finite. */
const alsoOfTimes = (row: FunctionRow, f: (x: number) => boolean): FunctionRow => {
  const ofNumber = rowKernel(row.name, ['number'], 'bool', f);
  const ofTime = rowKernel(row.name, ['time'], 'bool', () => f(0));
  const kernel: Kernel = (args, length) => (isTime(args[0]!) ? ofTime : ofNumber)(args, length);
  return {
    ...row,
    text: `${row.text} A time is finite.`,
    examples: [...row.examples, { query: `${row.name}(2024-01-01T00:00:00Z)`, output: String(f(0)) }],
    make: byKernel(kernel, 'bare'),
  };
};

export const elementary: readonly FunctionRow[] = [
  realRow('ln', 'The natural logarithm; that of 0 is -Inf.', Math.log, ['1', '0.']),
  realRow('log2', 'The logarithm to the base 2.', Math.log2, ['8', '3.']),
  realRow('log10', 'The logarithm to the base 10.', Math.log10, ['1000', '3.']),
  {
    ...realRow('exp', 'In SQL: e to the n-th.', Math.exp, ['0', '1.']),
    sqlOnly: 'all',
    examples: [
      { query: 'select exp(0) as n', output: '{n:1.}' },
      {
        query: "select exp(x) as n from (values ('a')) t(x)",
        output: '{n:error({message:"exp: number argument required",on:"a"})}',
      },
    ],
  },
  realRow('cbrt', 'The cube root.', Math.cbrt, ['-27', '-3.']),
  realRow('radians', 'Degrees as radians.', (x) => x * (Math.PI / 180), ['180', '3.141592653589793']),
  realRow('degrees', 'Radians as degrees.', (x) => x * (180 / Math.PI), ['pi()', '180.']),
  realRow('sin', 'The sine of radians.', Math.sin, ['0', '0.']),
  realRow('cos', 'The cosine of radians.', Math.cos, ['0', '1.']),
  realRow('tan', 'The tangent of radians.', Math.tan, ['0', '0.']),
  realRow('asin', 'The arcsine in radians.', Math.asin, ['1', '1.5707963267948966']),
  realRow('acos', 'The arccosine in radians.', Math.acos, ['1', '0.']),
  realRow('atan', 'The arctangent in radians.', Math.atan, ['1', '0.7853981633974483']),
  {
    name: 'atan2',
    signature: 'atan2(y, x)',
    text: 'The angle of a point in radians.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'atan2(1,-1)', output: '2.356194490192345' },
      { query: 'atan2(1,"a")', output: 'error({message:"atan2: number argument required",on:"a"})' },
    ],
    make: byRow('atan2', ['number', 'number'], 'number', Math.atan2),
  },
  {
    name: 'pi',
    signature: 'pi()',
    text: "The ratio of a circle's circumference to its diameter.",
    argumentsMin: 0,
    argumentsMax: 0,
    examples: [{ query: 'pi()', output: '3.141592653589793' }],
    make: byVectors((_, length) =>
      length === 0 ? numbers(types.float64, new Float64Array(0)) : repeat(floatValue(Math.PI), length),
    ),
  },
  testRow('isnan', 'Whether a number is NaN.', Number.isNaN, ['NaN', 'true']),
  alsoOfTimes(testRow('isinf', 'Whether a number is infinite.', isInfinite, ['-Inf', 'true']), isInfinite),
  alsoOfTimes(
    testRow('isfinite', 'Whether a number is neither infinite nor NaN.', Number.isFinite, ['NaN', 'false']),
    Number.isFinite,
  ),
];
