/** Values chosen among others: greatest, least, if, ifnull. */
import { isFloat, isInteger, isUnsigned, typeText, types } from '../../vectors/type.ts';
import { type Value, integer, nullValue, numericData } from '../../vectors/value.ts';
import { type Vector, flatten, numbers } from '../../vectors/vector.ts';
import { fieldOf } from '../expressions/access.ts';
import { recordOf } from '../expressions/construct.ts';
import { caseOf, coalesceOf } from '../expressions/logic.ts';
import { spanRecord } from '../../vectors/spans.ts';
import { fitsInt64 } from '../../vectors/literal.ts';
import { order } from '../expressions/sql/value-order.ts';
import { byKernel, isNull, refused, type Evaluate, type FunctionRow, valuesKernel } from './row.ts';

const isNumber = (v: Value): boolean => isInteger(v.type) || isFloat(v.type);
/** Intervals are of one kind, whether they have months or not. */
const kindOf = (v: Value): string =>
  isNumber(v) ? 'number' : v.type === spanRecord ? typeText(types.duration) : typeText(v.type);
/** Numbers of several types as one that has room for them. */
const widened = (v: Value, args: readonly Value[]): Value => {
  if (!isNumber(v) || args.every((a) => a.type === v.type)) return v;
  if (args.some((a) => isFloat(a.type))) return { type: types.float64, data: Number(v.data) };
  const x = integer(numericData(v.data));
  return { type: args.every((a) => isUnsigned(a.type)) || !fitsInt64(x) ? types.uint64 : types.int64, data: x };
};
/** The greatest (`sign` 1) or least of the values that are not null. */
export const extremeOf =
  (name: string, sign: 1 | -1) =>
  (all: readonly Value[]): Value => {
    const args = all.filter((v) => v.type !== types.null);
    const [first] = args;
    if (!first) return nullValue;
    const kind = kindOf(first);
    if (first.type.kind === 'error') return refused(`${name}: not a value`, first);
    const other = args.find((v) => kindOf(v) !== kind);
    if (other) return refused(`${name}: ${kind} argument required`, other);
    return widened(
      args.reduce((best, v) => (order(v, best) * sign > 0 ? v : best)),
      args,
    );
  };

const extreme = (name: string, sign: 1 | -1): FunctionRow['make'] => {
  const choice = extremeOf(name, sign);
  const byValue = valuesKernel((...args) => choice(args));
  return byKernel((args, length) => extremeNumbers(args, length, sign) ?? byValue(args, length), 'bare');
};
/**
 * The same of columns of numbers of one type, beside nulls: the greatest of ten in 50,000 rows takes 0.1 of the time
 * that values of their own take. Undefined for others.
 */
const extremeNumbers = (args: readonly Vector[], length: number, sign: 1 | -1): Vector | undefined => {
  const given = args.filter((a) => !isNull(a)).map((a) => (a.form === 'constant' ? flatten(a) : a));
  const [first] = given;
  if (first?.form !== 'number') return undefined;
  const columns: Float64Array[] = [];
  for (const v of given) {
    if (v.form !== 'number' || v.type !== first.type || !(v.values instanceof Float64Array)) return undefined;
    columns.push(v.values);
  }
  const out = columns[0].slice(0, length);
  for (let k = 1; k < columns.length; k++) {
    if (sign > 0) takeGreater(columns[k], out);
    else takeLess(columns[k], out);
  }
  return numbers(first.type, out, length);
};
/** NaN is the greatest number; of equal ones the first counts. */
const takeGreater = (values: Float64Array, out: Float64Array): void => {
  for (let i = 0; i < out.length; i++) {
    const x = values[i];
    if (x > out[i] || (x !== x && out[i] === out[i])) out[i] = x;
  }
};
const takeLess = (values: Float64Array, out: Float64Array): void => {
  for (let i = 0; i < out.length; i++) {
    const x = values[i];
    if (x < out[i] || (x === x && out[i] !== out[i])) out[i] = x;
  }
};

/** The arguments as fields of a record, for evaluators that pick from them. */
const packed = (args: readonly Vector[], length: number): Vector =>
  recordOf(
    args.map((values, k) => ({ name: String(k), values })),
    length,
  );
const argument =
  (k: number) =>
  (rows: Vector): Vector =>
    fieldOf(rows, String(k));
const choose: Evaluate = (args, length) =>
  caseOf({ branches: [{ when: argument(0), then: argument(1) }], otherwise: argument(2) })(packed(args, length));
const ifNull: Evaluate = (args, length) => coalesceOf([argument(0), argument(1)])(packed(args, length));

const chooseRow = (name: string): FunctionRow => ({
  name,
  signature: `${name}(test, then, else)`,
  text: 'The second argument if the first is true, the third if it is false or null.',
  argumentsMin: 3,
  argumentsMax: 3,
  examples: [
    { query: `values ${name}(1<2,"a","b")`, output: '"a"' },
    { query: `values ${name}(null,1,2)`, output: '2' },
    { query: `values ${name}(1,2,3)`, output: 'error({message:"?-operator: bool predicate required",on:1})' },
  ],
  make: () => choose,
});

export const choices: readonly FunctionRow[] = [
  {
    name: 'greatest',
    signature: 'greatest(v, ...)',
    text: 'The greatest of several values of one kind; nulls are left out.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values greatest(1,null,2.5)', output: '2.5' },
      { query: 'greatest("a","b")', output: '"b"' },
      { query: 'greatest(1,"a")', output: 'error({message:"greatest: number argument required",on:"a"})' },
    ],
    make: extreme('greatest', 1),
  },
  {
    name: 'least',
    signature: 'least(v, ...)',
    text: 'The least of several values of one kind; nulls are left out.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values least(3,null,2.5)', output: '2.5' },
      { query: 'least("a","b")', output: '"a"' },
      { query: 'least("a",1)', output: 'error({message:"least: string argument required",on:1})' },
    ],
    make: extreme('least', -1),
  },
  chooseRow('if'),
  chooseRow('iff'),
  {
    name: 'ifnull',
    signature: 'ifnull(v, other)',
    text: 'The first argument unless it is null or an error, else the second.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values ifnull(null,2)', output: '2' },
      { query: 'values ifnull(missing_field,2)', input: '{a:1}', output: '2' },
    ],
    make: () => ifNull,
  },
];
