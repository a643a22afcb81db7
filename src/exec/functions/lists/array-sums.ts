/**
 * Arrays and sets as one value: sums, extremes, text; and arrays made of ranges of numbers. Nulls among the elements
 * are left out.
 */
import { chargeText, checkStopAt } from '../../../vectors/stop.ts';
import { decimalData, decimalValue, exactOf, isLongDecimal, nearValue, unitsAt } from '../../../vectors/decimal.ts';
import { int64Max, int64Min } from '../../../vectors/literal.ts';
import { isFloat, isInteger, types } from '../../../vectors/type.ts';
import {
  type Value,
  floatValue,
  integer,
  intValue,
  underUnion,
  underValue,
  numericData,
} from '../../../vectors/value.ts';
import { type Vector, flatten, nulls, valueAt } from '../../../vectors/vector.ts';
import { BytesBuilder, NumberBuilder } from '../../../vectors/builder-leaves.ts';
import { castVector } from '../../expressions/cast.ts';
import { listsOf } from '../../expressions/lists.ts';
import { overlay, wrapErrors } from '../../expressions/rows.ts';
import { extremeOf } from '../choices.ts';
import { isTimeRange, timeRange } from '../times/time-ranges.ts';
import { byKernel, data, isNull, isText, texts, type FunctionRow, type Kernel } from '../row.ts';
import { Refusal, byRow, isWhole, rowKernel, type Items } from '../typed.ts';
import { type Fold, extremeFold, foldNumbers, meanFold, sumFold } from './flat-items.ts';

const present = (list: Items): readonly Value[] => list.values.map(nearValue).filter((v) => v.type !== types.null);
const notNumbers = new Refusal('list of numbers required');
const areNumbers = (values: readonly Value[]): boolean => values.every((v) => isInteger(v.type) || isFloat(v.type));

const sum = (list: Items): Value | null | Refusal => {
  if (list.values.some((v) => isLongDecimal(v.type))) return exactSum(list.values);
  const values = present(list);
  if (!areNumbers(values)) return notNumbers;
  if (values.length === 0) return null;
  if (values.some((v) => isFloat(v.type))) return floatValue(floatSum(values));
  const total = values.reduce((n, v) => n + BigInt(numericData(v.data)), 0n);
  return total > int64Max || total < int64Min ? outOfRange : intValue(total);
};
/** Digit by digit, where decimals are among them that no float is. */
const exactSum = (values: readonly Value[]): Value | Refusal => {
  const given = values.filter((v) => underValue(v).type !== types.null).map(exactOf);
  if (given.includes(undefined)) return notNumbers;
  const scale = given.reduce((most, x) => Math.max(most, x!.scale), 0);
  const data = decimalData({ units: given.reduce((n, x) => n + unitsAt(x!, scale), 0n), scale });
  return data === undefined ? outOfRange : decimalValue(data);
};
const outOfRange = new Refusal('result out of range');
const floatSum = (values: readonly Value[]): number => values.reduce((n, v) => n + Number(v.data), 0);
const average = (list: Items): number | null | Refusal => {
  const values = present(list);
  if (!areNumbers(values)) return notNumbers;
  return values.length === 0 ? null : floatSum(values) / values.length;
};
const greatest = extremeOf('list_max', 1);
const least = extremeOf('list_min', -1);

/** Elements have the texts that they are given; without a text for nulls they are left out. */
export const joiningElements =
  (textsOf: (items: Vector) => Vector): Kernel =>
  (args, length) => {
    if (args.some(isNull)) return nulls(length);
    const [list, ...others] = args;
    const v = flatten(list!);
    if (v.form !== 'list') return wrapErrors('array_to_string: list argument required', list!);
    const wrong = others.find((a) => !isText(a));
    if (wrong) return wrapErrors('array_to_string: string argument required', wrong);
    const items = flatten(textsOf(v.items));
    const [between, instead] = others.map(texts);
    return textOf((i) => {
      const parts: string[] = [];
      let size = 0;
      for (let at = v.offsets[i]; at < v.offsets[i + 1]; at++) {
        checkStopAt(at);
        const part = textIn(items, at) ?? instead?.(i);
        if (part === undefined) continue;
        size += part.length + between!(i).length;
        parts.push(part);
      }
      chargeText(size, 'array_to_string');
      return parts.join(between!(i));
    }, length);
  };
const textOf = (text: (i: number) => string, length: number): Vector => {
  const out = new BytesBuilder(types.string);
  for (let i = 0; i < length; i++) out.text(text(i));
  return out.finish();
};
/** Undefined for nulls; what has no text is told by its error. */
const textIn = (items: Vector, at: number): string | undefined => {
  const { type, data: text } = underUnion(valueAt(items, at));
  if (type === types.null) return undefined;
  return typeof text === 'string' ? text : 'error';
};

/** Elements of one range, at most. */
const countMax = 2 ** 27;
/** Whole numbers from a start (0) up or down to an end by a step (1). */
const rangeKernel =
  (name: string, options: { readonly withEnd: boolean }, ofTimes = timeRange(name, options)): Kernel =>
  (args, length) => {
    if (args.some(isNull)) return nulls(length);
    if (isTimeRange(args)) return ofTimes(args, length);
    const wrong = args.find((a) => !isWhole(a));
    if (wrong) return wrapErrors(`${name}: integer argument required`, wrong);
    const [a, b, c] = args.map((v) => data(v) as (i: number) => number | bigint);
    const offsets = new Uint32Array(length + 1);
    const items = new NumberBuilder(types.int64);
    const marks = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      const start = args.length > 1 ? BigInt(a!(i)) : 0n;
      const end = BigInt((b ?? a)!(i));
      const step = BigInt(c?.(i) ?? 1);
      const count = countIn(start, end, step, options.withEnd);
      marks[i] = count > countMax ? 1 : 0;
      if (count <= countMax) pushRange(items, start, step, count);
      offsets[i + 1] = items.length;
    }
    return overlay(
      listsOf('array', offsets, items.finish(), length, types.int64),
      marks,
      wrapErrors(`${name}: more than ${countMax} numbers`, args[0]),
    );
  };
const countIn = (start: bigint, end: bigint, step: bigint, withEnd: boolean): number => {
  if (step === 0n) return 0;
  const way = step > 0n ? end - start : start - end;
  const size = step > 0n ? step : -step;
  if (way < 0n || (way === 0n && !withEnd)) return 0;
  return Number(withEnd ? way / size + 1n : (way + size - 1n) / size);
};
const pushRange = (items: NumberBuilder, start: bigint, step: bigint, count: number): void => {
  const first = Number(start);
  const by = Number(step);
  const last = first + by * count;
  const isSafe = [first, by, last].every(Number.isSafeInteger);
  for (let k = 0; k < count; k++) {
    checkStopAt(k);
    items.push(isSafe ? first + by * k : integer(start + step * BigInt(k)));
  }
};

const rangeRow = (name: string, text: string, output: string): FunctionRow => ({
  name,
  signature: `${name}([start, ]end[, step])`,
  text,
  argumentsMin: 1,
  argumentsMax: 3,
  examples: [
    { query: `${name}(1,4)`, output },
    { query: `${name}(1,1000000000000)`, output: `error({message:"${name}: more than ${countMax} numbers",on:1})` },
    { query: `${name}("a")`, output: `error({message:"${name}: integer argument required",on:"a"})` },
  ],
  make: byKernel(rangeKernel(name, { withEnd: name === 'generate_series' }), 'bare'),
});

/** By the numbers of the lists where they lie, else by row. */
const folded = (fold: Fold, byRows: Kernel): FunctionRow['make'] =>
  byKernel((args, length) => {
    const [list] = args;
    return (list!.form === 'list' && list!.length === length && foldNumbers(list!, fold)) || byRows(args, length);
  }, 'bare');
/** The sums of lists. */
export const listSum = folded(sumFold, rowKernel('list_sum', ['list'], 'value', sum));
export const arraySums: readonly FunctionRow[] = [
  {
    name: 'list_sum',
    signature: 'list_sum(a)',
    text: 'The sum of the numbers of an array or set; null if there are none.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'list_sum([1,2,null])', output: '3' },
      { query: 'list_sum(["a"])', output: 'error({message:"list_sum: list of numbers required",on:["a"]})' },
      {
        query: 'list_sum([9223372036854775807,1])',
        output: 'error({message:"list_sum: result out of range",on:[9223372036854775807,1]})',
      },
      { query: 'list_sum(1)', output: 'error({message:"list_sum: list argument required",on:1})' },
    ],
    make: listSum,
  },
  {
    name: 'list_avg',
    signature: 'list_avg(a)',
    text: 'The mean of the numbers of an array or set; null if there are none.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'list_avg([1,2])', output: '1.5' },
      { query: 'list_avg(["a"])', output: 'error({message:"list_avg: list of numbers required",on:["a"]})' },
      { query: 'list_avg(1)', output: 'error({message:"list_avg: list argument required",on:1})' },
    ],
    make: folded(meanFold, rowKernel('list_avg', ['list'], 'number', average)),
  },
  {
    name: 'list_min',
    signature: 'list_min(a)',
    text: 'The least element, of elements of one kind; null if there are none.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'list_min([2,1,null])', output: '1' },
      { query: 'list_min([1,"a"])', output: 'error({message:"list_min: number argument required",on:"a"})' },
      { query: 'list_min(1)', output: 'error({message:"list_min: list argument required",on:1})' },
    ],
    make: folded(
      extremeFold(-1),
      rowKernel('list_min', ['list'], 'value', (list) => least(present(list))),
    ),
  },
  {
    name: 'list_max',
    signature: 'list_max(a)',
    text: 'The greatest element, of elements of one kind; null if there are none.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'list_max(["a","b"])', output: '"b"' },
      { query: 'list_max(1)', output: 'error({message:"list_max: list argument required",on:1})' },
    ],
    make: folded(
      extremeFold(1),
      rowKernel('list_max', ['list'], 'value', (list) => greatest(present(list))),
    ),
  },
  {
    name: 'list_count',
    signature: 'list_count(a)',
    text: 'How many elements there are, without nulls.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'list_count([1,null])', output: '1' },
      { query: 'list_count(1)', output: 'error({message:"list_count: list argument required",on:1})' },
    ],
    make: byRow('list_count', ['list'], 'integer', (list) => present(list).length),
  },
  {
    name: 'array_to_string',
    signature: 'array_to_string(a, sep[, null])',
    text: 'The elements as text with the separator in between; nulls are left out, or written so.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'array_to_string([1,2,null],",")', output: '"1,2"' },
      { query: 'array_to_string(["a",null],",","*")', output: '"a,*"' },
      { query: 'array_to_string(1,",")', output: 'error({message:"array_to_string: list argument required",on:1})' },
      {
        query: 'array_to_string(["a"],1)',
        output: 'error({message:"array_to_string: string argument required",on:1})',
      },
    ],
    make: byKernel(
      joiningElements((items) => castVector(items, types.string)),
      'bare',
    ),
  },
  rangeRow('range', 'The whole numbers from a start (0) to before the end, by a step (1), as an array.', '[1,2,3]'),
  rangeRow(
    'generate_series',
    'The whole numbers from a start (0) to the end, by a step (1), as an array.',
    '[1,2,3,4]',
  ),
];
