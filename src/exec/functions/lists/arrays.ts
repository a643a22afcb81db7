/**
 * Functions on arrays and sets: what is in them, and their elements in another order. Nulls among the elements are
 * values, but for what counts or sorts them.
 */
import { checked } from '../../../vectors/stop.ts';
import { arrayType, types } from '../../../vectors/type.ts';
import { type Value, arrayValue } from '../../../vectors/value.ts';
import { wrapErrors, inner } from '../../expressions/rows.ts';
import { order } from '../../expressions/sql/value-order.ts';
import { having } from './flat-items.ts';
import { keyOf, sameValues } from './lists.ts';
import { aliasOf, byKernel, isText, type FunctionRow, type Kernel } from '../row.ts';
import { Refusal, byRow, rowKernel, type Items } from '../typed.ts';

const isNull = (v: Value): boolean => v.type === types.null;
const isSame = (a: Value, b: Value): boolean => !isNull(a) && a.type.kind !== 'error' && sameValues(a, b);
/** An array of elements of a list; one without elements keeps the type. */
const arrayOf = (list: Items, values: readonly Value[]): Value =>
  values.length === 0 ? { type: arrayType(list.element), data: [] } : arrayValue(values);

const containing = (name: string): Kernel =>
  having(
    'value',
    'any',
    rowKernel(name, ['list', 'value'], 'bool', (list, v) => list.values.some((x) => isSame(x, v))),
  );
const listContains = containing('contains');
const textContains = rowKernel('contains', ['string', 'string'], 'bool', (s, part) => s.includes(part));
const contains: Kernel = (args, length) => {
  const [of] = args;
  const { form } = inner(of!);
  if (form === 'list') return listContains(args, length);
  return form === 'null' || isText(of!)
    ? textContains(args, length)
    : wrapErrors('contains: string or list argument required', of!);
};

/** Nulls stand behind the others in either direction, unless they are asked for in front. */
const sorted = (list: Items, direction = 'asc', nulls = 'nulls last'): Value | Refusal => {
  const sign = directions.get(direction.toLowerCase());
  const isFirst = nullPlaces.get(nulls.toLowerCase());
  if (sign === undefined) return new Refusal('ASC or DESC required', 1);
  if (isFirst === undefined) return new Refusal('NULLS FIRST or NULLS LAST required', 2);
  const some = list.values.filter((v) => !isNull(v)).sort(checked((a, b) => order(a, b) * sign));
  const none = list.values.filter(isNull);
  return arrayOf(list, isFirst ? [...none, ...some] : [...some, ...none]);
};
const directions: ReadonlyMap<string, 1 | -1> = new Map([
  ['asc', 1],
  ['ascending', 1],
  ['desc', -1],
  ['descending', -1],
]);
const nullPlaces: ReadonlyMap<string, boolean> = new Map([
  ['nulls first', true],
  ['nulls last', false],
]);

const distinct = (list: Items): readonly Value[] => {
  const found = new Map<string, Value>();
  for (const v of list.values) {
    if (isNull(v)) continue;
    const key = keyOf(v);
    if (!found.has(key)) found.set(key, v);
  }
  return [...found.values()];
};

const containsRow: FunctionRow = {
  name: 'list_contains',
  signature: 'list_contains(a, v)',
  text: 'Whether the value is an element of an array or set.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'list_contains([1,2],2)', output: 'true' },
    { query: 'list_contains("a",1)', output: 'error({message:"list_contains: list argument required",on:"a"})' },
  ],
  make: byKernel(containing('list_contains'), 'bare'),
};
const positionRow: FunctionRow = {
  name: 'list_position',
  signature: 'list_position(a, v)',
  text: 'The place of the first element that equals the value, from 1; null if there is none.',
  argumentsMin: 2,
  argumentsMax: 2,
  examples: [
    { query: 'list_position(["a","b"],"b")', output: '2' },
    { query: 'values list_position([1],2)', output: 'null' },
    { query: 'list_position(1,1)', output: 'error({message:"list_position: list argument required",on:1})' },
  ],
  make: byRow('list_position', ['list', 'value?'], 'integer', (list, v) => {
    const at = list.values.findIndex((x) => (v === null ? isNull(x) : isSame(x, v)));
    return at < 0 ? null : at + 1;
  }),
};
const sortRow: FunctionRow = {
  name: 'list_sort',
  signature: 'list_sort(a[, direction[, nulls]])',
  text: 'The elements in order, "ASC" (by default) or "DESC", nulls last or "NULLS FIRST".',
  argumentsMin: 1,
  argumentsMax: 3,
  examples: [
    { query: 'list_sort([3,null,1])', output: '[1,3,null]' },
    { query: 'list_sort([1,2],"DESC")', output: '[2,1]' },
    { query: 'list_sort([1],"x")', output: 'error({message:"list_sort: ASC or DESC required",on:"x"})' },
    {
      query: 'list_sort([1],"ASC","x")',
      output: 'error({message:"list_sort: NULLS FIRST or NULLS LAST required",on:"x"})',
    },
    { query: 'list_sort(1)', output: 'error({message:"list_sort: list argument required",on:1})' },
  ],
  gives: 'list',
  make: byRow('list_sort', ['list', 'string', 'string'], 'value', sorted),
};
const distinctRow: FunctionRow = {
  name: 'list_distinct',
  signature: 'list_distinct(a)',
  text: 'The elements without repetitions and nulls, in the order of arrival.',
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: 'list_distinct([2,1,null,2])', output: '[2,1]' },
    { query: 'list_distinct(1)', output: 'error({message:"list_distinct: list argument required",on:1})' },
  ],
  gives: 'list',
  make: byRow('list_distinct', ['list'], 'value', (list) => arrayOf(list, distinct(list))),
};

const reverseRow: FunctionRow = {
  name: 'list_reverse',
  signature: 'list_reverse(a)',
  text: 'The elements from the last one to the first.',
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: 'list_reverse([1,2])', output: '[2,1]' },
    { query: 'list_reverse(1)', output: 'error({message:"list_reverse: list argument required",on:1})' },
  ],
  gives: 'list',
  make: byRow('list_reverse', ['list'], 'value', (list) => arrayOf(list, [...list.values].reverse())),
};
const uniqueRow: FunctionRow = {
  name: 'list_unique',
  signature: 'list_unique(a)',
  text: 'How many elements there are without repetitions and nulls.',
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: 'list_unique([1,1,null,2])', output: '2' },
    { query: 'list_unique(1)', output: 'error({message:"list_unique: list argument required",on:1})' },
  ],
  make: byRow('list_unique', ['list'], 'integer', (list) => distinct(list).length),
};

export const arrays: readonly FunctionRow[] = [
  {
    name: 'contains',
    signature: 'contains(v, part)',
    text: 'Whether a string has the other one in it, or an array or set the element.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'contains("hello","ell")', output: 'true' },
      { query: 'contains([1,2],3)', output: 'false' },
      { query: 'contains("a",1)', output: 'error({message:"contains: string argument required",on:1})' },
      { query: 'contains(1,1)', output: 'error({message:"contains: string or list argument required",on:1})' },
    ],
    make: byKernel(contains, 'bare'),
  },
  containsRow,
  aliasOf(containsRow, 'array_contains', [{ query: 'array_contains([1,2],2)', output: 'true' }]),
  positionRow,
  aliasOf(positionRow, 'array_position', [{ query: 'array_position([1,2],2)', output: '2' }]),
  sortRow,
  aliasOf(sortRow, 'array_sort', [{ query: 'array_sort([2,1])', output: '[1,2]' }]),
  {
    name: 'list_reverse_sort',
    signature: 'list_reverse_sort(a[, nulls])',
    text: 'The elements from the greatest down, nulls last or "NULLS FIRST".',
    argumentsMin: 1,
    argumentsMax: 2,
    examples: [
      { query: 'list_reverse_sort([1,null,3])', output: '[3,1,null]' },
      { query: 'list_reverse_sort(1)', output: 'error({message:"list_reverse_sort: list argument required",on:1})' },
    ],
    gives: 'list',
    make: byRow('list_reverse_sort', ['list', 'string'], 'value', (list, nulls) => {
      const found = sorted(list, 'desc', nulls);
      return found instanceof Refusal ? new Refusal(found.text, 1) : found;
    }),
  },
  reverseRow,
  aliasOf(reverseRow, 'array_reverse', [{ query: 'array_reverse([1,2])', output: '[2,1]' }]),
  distinctRow,
  aliasOf(distinctRow, 'array_distinct', [{ query: 'array_distinct([1,1])', output: '[1]' }]),
  uniqueRow,
  aliasOf(uniqueRow, 'array_unique', [{ query: 'array_unique([1,1,null,2])', output: '2' }]),
];
