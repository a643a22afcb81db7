/**
 * Functions that take lists apart and put them together. Places count from 1, or from the end if they are negative; a
 * place that is not there gives null.
 */
import { charge, checked } from '../../../vectors/stop.ts';
import { type Type, arrayType, isFloat, isInteger, types } from '../../../vectors/type.ts';
import {
  type Data,
  type Value,
  arrayValue,
  encodeBody,
  floatValue,
  intValue,
  nullValue,
  recordValue,
  stringValue,
  underUnion,
  underValue,
  bytesData,
  entriesData,
  fieldsData,
  itemsData,
  numericData,
  stringData,
} from '../../../vectors/value.ts';
import { openBound } from '../../../query/plan/plan.ts';
import { order } from '../../expressions/sql/value-order.ts';
import { countOf, cut } from '../texts/code-points.ts';
import { byKernel, rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, rowKernel, type Entries, type Items } from '../typed.ts';
import { having } from './flat-items.ts';
import { elementsAtPlaces } from './places.ts';
import { zip } from './zip.ts';

const isNull = (v: Value): boolean => v.type === types.null;
/** An array of these elements; without elements it is of the element type that is known. */
export const listOf = (values: readonly Value[], element: Type): Value =>
  values.length === 0 ? { type: arrayType(element), data: [] } : arrayValue(values);
/**
 * Equal for equal values, whatever the types of numbers, also of those inside of lists, records and maps; NaN equals
 * NaN.
 */
export const keyOf = (value: Value): string => {
  const v = underValue(value);
  if (isInteger(v.type) || isFloat(v.type)) return `n${String(v.data)}`;
  const inside = partsOf(v);
  if (inside) return `${v.type.kind} ${inside.map((part) => `${part.length} ${part}`).join()}`;
  return `${v.type.id} ${Buffer.from(encodeBody(v.type, v.data)).toString('latin1')}`;
};
/** What is inside of a value, as keys; undefined where nothing is. */
const partsOf = ({ type, data }: Value): readonly string[] | undefined => {
  const of = (inner: Type, x: Data | undefined): string => (x === undefined ? '' : keyOf({ type: inner, data: x }));
  switch (type.kind) {
    case 'array':
    case 'set':
      return itemsData(data).map((x) => of(type.element, x));
    case 'record':
      return type.fields.flatMap((f, k) => [f.name, of(f.type, fieldsData(data)[k])]);
    case 'map':
      return entriesData(data).flatMap(([k, x]) => [of(type.key, k), of(type.value, x)]);
    default:
      return undefined;
  }
};
/** Whether two values that are neither null nor errors are one, as `keyOf` has it. */
export const sameValues = (a: Value, b: Value): boolean => {
  if (isInteger(a.type) && isInteger(b.type)) return a.data === b.data;
  return a.type === types.string && b.type === types.string ? a.data === b.data : keyOf(a) === keyOf(b);
};
const keysOf = (list: Items): ReadonlySet<string> => new Set(list.values.filter((v) => !isNull(v)).map(keyOf));
/** The index of a place, or -1. */
const indexOf = (place: number | bigint, size: number): number => {
  const n = Number(place);
  const at = n < 0 ? size + n : n - 1;
  return at >= 0 && at < size ? at : -1;
};

/** Neither null nor left out. */
export const isGiven = <T>(x: T | null | undefined): x is T => x !== null && x !== undefined;
const joined = (...lists: readonly (Items | null)[]): Value | null => {
  const given = lists.filter(isGiven);
  if (given.length === 0) return null;
  return listOf(
    given.flatMap((l) => l.values),
    given.find((l) => l.element !== types.null)?.element ?? types.null,
  );
};
const nothing: Items = { element: types.null, values: [] };
const elementAt = (list: Items, place: number | bigint): Value | null =>
  list.values[indexOf(place, list.values.length)] ?? null;

/** The first and last index of a range whose end is in it. */
const rangeOf = (from: number | bigint, to: number | bigint, size: number): readonly [number, number] => {
  const start = from < 0 ? Math.max(size + Number(from), 0) : Math.max(Number(from) - 1, 0);
  return [start, Math.min(to < 0 ? size + Number(to) : Number(to) - 1, size - 1)];
};
const stepZero = new Refusal('step must not be 0', 3);
const sliced = (
  of: Value,
  from: number | bigint,
  to: number | bigint,
  step: number | bigint = 1,
): Value | null | Refusal => {
  if (step === 0) return stepZero;
  if (of.type === types.string)
    return step === 1 ? stringValue(slicedText(stringData(of.data), from, to)) : new Refusal('a step needs a list', 3);
  if (of.type === types.bytes)
    return step === 1
      ? { type: types.bytes, data: slicedBytes(bytesData(of.data), from, to) }
      : new Refusal('a step needs a list', 3);
  const list = itemsOf(of);
  if (!list) return new Refusal('list, string or bytes argument required');
  const size = list.values.length;
  const by = Number(step);
  const picked: Value[] = [];
  // Backwards the range is told from its upper end.
  const [start, end] =
    by > 0 ? rangeOf(from, to, size) : rangeOf(to === openBound ? 1 : to, from === -openBound ? size : from, size);
  if (by > 0) for (let at = start; at <= end; at += by) picked.push(list.values[at]);
  else for (let at = end; at >= start; at += by) picked.push(list.values[at]);
  return listOf(picked, list.element);
};
const slicedText = (s: string, from: number | bigint, to: number | bigint): string => {
  const [start, end] = rangeOf(from, to, countOf(s));
  return end < start ? '' : cut(s, start, end + 1);
};
const slicedBytes = (bytes: Uint8Array, from: number | bigint, to: number | bigint): Uint8Array => {
  const [start, end] = rangeOf(from, to, bytes.length);
  return bytes.slice(start, Math.max(end + 1, start));
};
/** The elements of an array or set. */
export const itemsOf = ({ type, data }: Value): Items | undefined =>
  type.kind === 'array' || type.kind === 'set'
    ? {
        element: type.element,
        values: itemsData(data).map((d) => underUnion({ type: type.element, data: d })),
      }
    : undefined;

/** What brackets give. */
const extracted = (of: Value, at: Value): Value | null | Refusal => {
  if (of.type.kind === 'map') return valueOfKey(of, at);
  if (of.type.kind === 'record') return fieldAt(of, at);
  if (!isInteger(at.type)) return new Refusal('integer argument required', 1);
  const place = numericData(at.data);
  if (of.type === types.string) {
    const s = stringData(of.data);
    const found = indexOf(place, countOf(s));
    return stringValue(found < 0 ? '' : cut(s, found, found + 1));
  }
  const list = itemsOf(of);
  return list ? elementAt(list, place) : new Refusal('list, string, map or record argument required');
};
const valueOfKey = ({ type, data }: Value, key: Value): Value | null => {
  if (type.kind !== 'map') return null;
  const found = entriesData(data).find(([k]) => sameValues(underUnion({ type: type.key, data: k }), key));
  return found ? underUnion({ type: type.value, data: found[1] }) : null;
};
const noField = new Refusal('no such field', 1);
/** A field by its name, in any case if no other fits, or by its place. */
export const fieldAt = ({ type, data }: Value, at: Value): Value | null | Refusal => {
  if (type.kind !== 'record') return new Refusal('record argument required');
  const { fields } = type;
  const name = at.type === types.string ? stringData(at.data) : undefined;
  if (name === undefined && !isInteger(at.type)) return new Refusal('string or integer argument required', 1);
  const exact =
    name === undefined ? indexOf(numericData(at.data), fields.length) : fields.findIndex((f) => f.name === name);
  const index =
    exact < 0 && name !== undefined ? fields.findIndex((f) => f.name.toLowerCase() === name.toLowerCase()) : exact;
  const field = fields[index];
  if (!field) return noField;
  const found = fieldsData(data)[index];
  return found === undefined ? null : underUnion({ type: field.type, data: found });
};

const hasAny = (a: Items, b: Items): boolean => {
  const keys = keysOf(a);
  return b.values.some((v) => !isNull(v) && keys.has(keyOf(v)));
};
const hasAll = (a: Items, b: Items): boolean => {
  const keys = keysOf(a);
  return b.values.every((v) => isNull(v) || keys.has(keyOf(v)));
};
const common = (a: Items, b: Items): Value => {
  const keys = new Set(keysOf(b));
  return listOf(
    a.values.filter((v) => !isNull(v) && keys.delete(keyOf(v))),
    a.element,
  );
};

const sizeMax = 2 ** 27;
const resized = (list: Items, size: number | bigint | null, filler: Value = nullValue): Value | Refusal => {
  const n = Number(size ?? 0);
  const missing = n - list.values.length;
  if (n < 0 || n > sizeMax) return new Refusal(`size must be 0 to ${sizeMax}`, 1);
  if (missing > 0) charge(missing * 32, 'a list');
  return listOf(
    missing > 0 ? [...list.values, ...Array.from({ length: missing }, () => filler)] : list.values.slice(0, n),
    list.element,
  );
};
const noNulls = new Refusal('no nulls may be in the second list', 1);
const kept = (list: Items, marks: Items): Value | Refusal => {
  if (marks.values.some(isNull)) return noNulls;
  if (marks.values.some((m) => m.type !== types.bool)) return new Refusal('list of bools required', 1);
  return listOf(
    marks.values.flatMap((m, i) => (m.data === true ? [list.values[i] ?? nullValue] : [])),
    list.element,
  );
};
const picked = (list: Items, places: Items): Value | Refusal => {
  if (places.values.some(isNull)) return noNulls;
  if (places.values.some((p) => !isInteger(p.type))) return new Refusal('list of integers required', 1);
  return listOf(
    places.values.map((p) => elementAt(list, numericData(p.data)) ?? nullValue),
    list.element,
  );
};

/** Places in the order of the elements, nulls behind the others unless asked for in front. */
const gradeUp = (list: Items, direction = 'ASC', nulls = 'NULLS LAST'): Value | Refusal => {
  const sign = direction.toUpperCase() === 'DESC' ? -1 : direction.toUpperCase() === 'ASC' ? 1 : undefined;
  if (sign === undefined) return new Refusal('ASC or DESC required', 1);
  const nullSign = nulls.toUpperCase() === 'NULLS FIRST' ? -1 : 1;
  const places = list.values
    .map((v, i) => ({ v, i }))
    .sort(
      checked(
        (a, b) =>
          (isNull(a.v) || isNull(b.v)
            ? (Number(isNull(a.v)) - Number(isNull(b.v))) * nullSign
            : order(a.v, b.v) * sign) || a.i - b.i,
      ),
    );
  return listOf(
    places.map(({ i }) => intValue(i + 1)),
    types.int64,
  );
};
/** One level of lists less; nulls among them count as empty. */
export const flattened = (list: Items): Value | Refusal => {
  const inner = list.values.map((v) => (isNull(v) ? nothing : itemsOf(v)));
  if (inner.includes(undefined)) return new Refusal('list of lists required');
  return listOf(
    inner.flatMap((l) => l!.values),
    inner.find((l) => l!.element !== types.null)?.element ?? types.null,
  );
};
/** A list behind itself so many times. */
export const repeatedList = (list: Items, count: number | bigint): Value | Refusal => {
  const times = Math.max(Number(count), 0);
  if (times * list.values.length > sizeMax) return new Refusal(`more than ${sizeMax} elements`, 1);
  charge(times * list.values.length * 32, 'a list');
  return listOf(Array.from({ length: times }, () => list.values).flat(), list.element);
};

/** Numbers of two lists of one length; null where either has one. */
const overNumbers = (
  name: string,
  combine: (a: readonly number[], b: readonly number[]) => number,
): FunctionRow['make'] =>
  byRow(name, ['list', 'list'], 'number', (a, b) => {
    if (a.values.length !== b.values.length) return new Refusal('lists of one length required', 1);
    const wrong = [a, b].findIndex((l) => l.values.some((v) => !isInteger(v.type) && !isFloat(v.type)));
    if (wrong >= 0) return new Refusal('list of numbers required', wrong);
    const [x, y] = [a, b].map((l) => l.values.map((v) => Number(v.data)));
    return combine(x!, y!);
  });
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i], 0);
const crossProduct = (a: Items, b: Items): Value | Refusal => {
  const wrong = [a, b].findIndex(
    (l) => l.values.length !== 3 || l.values.some((v) => !isInteger(v.type) && !isFloat(v.type)),
  );
  if (wrong >= 0) return new Refusal('three numbers required', wrong);
  const [x, y, z] = a.values.map((v) => Number(v.data));
  const [u, v, w] = b.values.map((n) => Number(n.data));
  return listOf([y! * w! - z! * v!, z! * u! - x! * w!, x! * v! - y! * u!].map(floatValue), types.float64);
};
const cosine = (a: readonly number[], b: readonly number[]): number =>
  Math.min(1, Math.max(-1, dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))));
const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.sqrt(a.reduce((sum, x, i) => sum + (x - b[i]) ** 2, 0));

export const entriesList = (entries: Entries): Value =>
  listOf(
    entries.map(([key, value]) =>
      recordValue([
        { name: 'key', value: key },
        { name: 'value', value },
      ]),
    ),
    types.null,
  );

const listError = (name: string): readonly [string, string] => [
  `${name}(1)`,
  `error({message:"${name}: list argument required",on:1})`,
];

export const lists: readonly FunctionRow[] = [
  ...rowsOf(
    'list_concat(a, ...)',
    'The elements of lists, one list after the other; a null counts as an empty list.',
    byRow('list_concat', ['list?'], 'value', joined),
    [['list_concat([1],[2,3])', '[1,2,3]'], ['values list_concat([1],null)', '[1]'], listError('list_concat')],
    { also: ['list_cat', 'array_concat', 'array_cat'] },
  ),
  ...rowsOf(
    'list_append(a, v)',
    'A list with a value appended.',
    byRow('list_append', ['list?', 'value?'], 'value', (list, v) => {
      const { values, element } = list ?? nothing;
      return listOf([...values, v ?? nullValue], element);
    }),
    [
      ['list_append([1,2],3)', '[1,2,3]'],
      ['list_append(1,2)', 'error({message:"list_append: list argument required",on:1})'],
    ],
    { also: ['array_append', 'array_push_back'] },
  ),
  ...rowsOf(
    'list_prepend(v, a)',
    'A list with a value before its elements.',
    byRow('list_prepend', ['value?', 'list?'], 'value', (v, list) => {
      const { values, element } = list ?? nothing;
      return listOf([v ?? nullValue, ...values], element);
    }),
    [
      ['list_prepend(1,[2,3])', '[1,2,3]'],
      ['list_prepend(1,2)', 'error({message:"list_prepend: list argument required",on:2})'],
    ],
    { also: ['array_prepend'] },
  ),
  ...rowsOf(
    'array_push_front(a, v)',
    'A list with a value before its elements.',
    byRow('array_push_front', ['list?', 'value?'], 'value', (list, v) => {
      const { values, element } = list ?? nothing;
      return listOf([v ?? nullValue, ...values], element);
    }),
    [
      ['array_push_front([2,3],1)', '[1,2,3]'],
      ['array_push_front(1,2)', 'error({message:"array_push_front: list argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'array_pop_back(a)',
    'A list without its last element.',
    byRow('array_pop_back', ['list'], 'value', (list) => listOf(list.values.slice(0, -1), list.element)),
    [['array_pop_back([1,2])', '[1]'], listError('array_pop_back')],
  ),
  ...rowsOf(
    'array_pop_front(a)',
    'A list without its first element.',
    byRow('array_pop_front', ['list'], 'value', (list) => listOf(list.values.slice(1), list.element)),
    [['array_pop_front([1,2])', '[2]'], listError('array_pop_front')],
  ),
  ...rowsOf(
    'array_extract(v, at)',
    "What brackets give in SQL: an element or character by its place from 1, a map's value by its key, a field by its name.",
    byKernel(elementsAtPlaces(rowKernel('array_extract', ['value', 'value'], 'value', extracted)), 'bare'),
    [
      ['array_extract([1,2],2)', '2'],
      ['array_extract("ab",-1)', '"b"'],
      ['values array_extract(|{"a":1}|,"b")', 'null'],
      ['array_extract({a:1},"b")', 'error({message:"array_extract: no such field",on:"b"})'],
      ['array_extract(1,1)', 'error({message:"array_extract: list, string, map or record argument required",on:1})'],
    ],
    { also: ['list_extract', 'list_element'], gives: 'element' },
  ),
  ...rowsOf(
    'array_slice(v, from, to[, step])',
    'The elements or characters of a range of places, the end in it; in SQL v[from:to:step].',
    byRow('array_slice', ['value', 'integer', 'integer', 'integer'], 'value', sliced),
    [
      ['array_slice([1,2,3],2,3)', '[2,3]'],
      ['array_slice("hello",-3,-2)', '"ll"'],
      ['array_slice([1,2,3,4],1,4,2)', '[1,3]'],
      ['array_slice([1],1,1,0)', 'error({message:"array_slice: step must not be 0",on:0})'],
      ['array_slice(1,1,1)', 'error({message:"array_slice: list, string or bytes argument required",on:1})'],
    ],
    { also: ['list_slice'] },
  ),
  ...rowsOf(
    'list_has_any(a, b)',
    'Whether two lists have an element in common, nulls apart; in SQL a && b.',
    byKernel(having('list', 'any', rowKernel('list_has_any', ['list', 'list'], 'bool', hasAny)), 'bare'),
    [
      ['values list_has_any([1,2],[2,3])', 'true'],
      listError('list_has_any').map((x) => x.replace('(1)', '(1,[1])')) as [string, string],
    ],
    { also: ['array_has_any'] },
  ),
  ...rowsOf(
    'list_has_all(a, b)',
    'Whether a list has all elements of another one, nulls apart; in SQL a @> b.',
    byKernel(having('list', 'all', rowKernel('list_has_all', ['list', 'list'], 'bool', hasAll)), 'bare'),
    [
      ['values list_has_all([1,2],[2])', 'true'],
      ['list_has_all([1],1)', 'error({message:"list_has_all: list argument required",on:1})'],
    ],
    { also: ['array_has_all'] },
  ),
  ...rowsOf(
    'list_has(a, v)',
    'Whether the value is an element of a list.',
    byKernel(
      having(
        'value',
        'any',
        rowKernel('list_has', ['list', 'value'], 'bool', (list, v) =>
          list.values.some((x) => !isNull(x) && sameValues(x, v)),
        ),
      ),
      'bare',
    ),
    [
      ['values list_has([1,2],2)', 'true'],
      ['list_has(1,1)', 'error({message:"list_has: list argument required",on:1})'],
    ],
    { also: ['array_has'] },
  ),
  ...rowsOf(
    'list_intersect(a, b)',
    'The elements of a list that another one has too, each once, without nulls.',
    byRow('list_intersect', ['list', 'list'], 'value', common),
    [
      ['list_intersect([1,2,2],[2,3])', '[2]'],
      ['list_intersect([1],1)', 'error({message:"list_intersect: list argument required",on:1})'],
    ],
    { also: ['array_intersect'] },
  ),
  ...rowsOf(
    'list_resize(a, size[, filler])',
    'A list of the given size: cut, or with nulls or another value after it.',
    byRow('list_resize', ['list', 'integer?', 'value?'], 'value', (list, size, filler) =>
      resized(list, size, filler ?? nullValue),
    ),
    [
      ['list_resize([1,2],3)', '[1,2,null]'],
      ['list_resize([1,2],3,0)', '[1,2,0]'],
      ['list_resize([1],-1)', `error({message:"list_resize: size must be 0 to ${sizeMax}",on:-1})`],
    ],
    { also: ['array_resize'] },
  ),
  ...rowsOf(
    'list_zip(a, ...)',
    'Records of the elements of several lists at each place; a last argument true cuts to the shortest one.',
    byKernel(zip, 'bare'),
    [
      ['list_zip([1,2],["a","b"])', '[{c0:1,c1:"a"},{c0:2,c1:"b"}]'],
      ['list_zip([1,2],["a"],true)', '[{c0:1,c1:"a"}]'],
      ['list_zip([1],2)', 'error({message:"list_zip: list argument required",on:2})'],
    ],
    { also: ['array_zip'] },
  ),
  ...rowsOf(
    'list_where(a, marks)',
    'The elements at whose places another list has true.',
    byRow('list_where', ['list', 'list'], 'value', kept),
    [
      ['list_where([1,2,3],[true,false,true])', '[1,3]'],
      ['list_where([1],[1])', 'error({message:"list_where: list of bools required",on:[1]})'],
    ],
    { also: ['array_where'] },
  ),
  ...rowsOf(
    'list_select(a, places)',
    'The elements at the places that another list names.',
    byRow('list_select', ['list', 'list'], 'value', picked),
    [
      ['list_select([1,2,3],[3,1])', '[3,1]'],
      ['list_select([1],["a"])', 'error({message:"list_select: list of integers required",on:["a"]})'],
    ],
    { also: ['array_select'] },
  ),
  ...rowsOf(
    'list_grade_up(a[, direction[, nulls]])',
    'The places of the elements in the order that list_sort() puts them in.',
    byRow('list_grade_up', ['list', 'string', 'string'], 'value', gradeUp),
    [
      ['list_grade_up([3,1,2])', '[2,3,1]'],
      ['list_grade_up([1],"x")', 'error({message:"list_grade_up: ASC or DESC required",on:"x"})'],
    ],
    { also: ['array_grade_up', 'grade_up'] },
  ),
  ...rowsOf(
    'list_dot_product(a, b)',
    'The sum of the products of the numbers at each place of two lists.',
    overNumbers('list_dot_product', dot),
    [
      ['list_dot_product([1,2],[3,4])', '11.'],
      ['list_dot_product([1],[1,2])', 'error({message:"list_dot_product: lists of one length required",on:[1,2]})'],
    ],
    { also: ['list_inner_product', 'array_inner_product', 'array_dot_product'] },
  ),
  ...rowsOf(
    'list_negative_dot_product(a, b)',
    'The same with the other sign: the less, the closer.',
    overNumbers('list_negative_dot_product', (a, b) => -dot(a, b)),
    [
      ['list_negative_dot_product([1,2],[3,4])', '-11.'],
      ['list_negative_dot_product(1,[1])', 'error({message:"list_negative_dot_product: list argument required",on:1})'],
    ],
    { also: ['list_negative_inner_product', 'array_negative_inner_product', 'array_negative_dot_product'] },
  ),
  ...rowsOf(
    'array_cross_product(a, b)',
    'The vector that is at right angles to two of three numbers each.',
    byRow('array_cross_product', ['list', 'list'], 'value', crossProduct),
    [
      ['array_cross_product([1,2,3],[2,3,4])', '[-1.,2.,-1.]'],
      ['array_cross_product([1],[2])', 'error({message:"array_cross_product: three numbers required",on:[1]})'],
    ],
  ),
  ...rowsOf(
    'list_cosine_similarity(a, b)',
    'The cosine of the angle between two lists of numbers.',
    overNumbers('list_cosine_similarity', cosine),
    [
      ['list_cosine_similarity([1,0],[0,1])', '0.'],
      [
        'list_cosine_similarity([1],["a"])',
        'error({message:"list_cosine_similarity: list of numbers required",on:["a"]})',
      ],
    ],
    { also: ['array_cosine_similarity'] },
  ),
  ...rowsOf(
    'list_cosine_distance(a, b)',
    'One less the cosine of the angle between two lists of numbers.',
    overNumbers('list_cosine_distance', (a, b) => 1 - cosine(a, b)),
    [
      ['list_cosine_distance([1,0],[0,1])', '1.'],
      ['list_cosine_distance(["a"],[1])', 'error({message:"list_cosine_distance: list of numbers required",on:["a"]})'],
    ],
    { also: ['array_cosine_distance'] },
  ),
  ...rowsOf(
    'list_distance(a, b)',
    'The Euclidean distance of two lists of numbers.',
    overNumbers('list_distance', distance),
    [
      ['list_distance([0,0],[3,4])', '5.'],
      ['list_distance(1,[1])', 'error({message:"list_distance: list argument required",on:1})'],
    ],
    { also: ['array_distance'] },
  ),
];
