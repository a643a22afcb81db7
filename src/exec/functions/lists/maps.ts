/**
 * Functions on maps. Of keys that come twice the last one counts where maps are put together; elsewhere they are an
 * error.
 */
import { fitsInt64 } from '../../../vectors/literal.ts';
import { isInteger, mapType, types } from '../../../vectors/type.ts';
import {
  type Value,
  intValue,
  mapValue,
  fieldsData,
  itemsData,
  memberData,
  numericData,
} from '../../../vectors/value.ts';
import { boundOfOthers } from '../../aggregates/grouping/held.ts';
import { entriesList, isGiven, itemsOf, keyOf, listOf, sameValues } from './lists.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, type Entries, type Items } from '../typed.ts';

const isNull = (v: Value): boolean => v.type === types.null;
const nullKey = new Refusal('no key may be null');
const keyTwice = new Refusal('a key comes twice');
const unlike = new Refusal('lists of one length required', 1);
const mapOf = (entries: Entries): Value | Refusal => {
  if (entries.length === 0) return { type: mapType(types.null, types.null), data: [] };
  if (entries.some(([key]) => isNull(key))) return nullKey;
  return new Set(entries.map(([key]) => keyOf(key))).size < entries.length ? keyTwice : mapValue(ofOneWidth(entries));
};
/** Whole numbers of several types as one: a column beside a literal is narrower, and keys are told by their type. */
const ofOneWidth = (entries: Entries): Entries => {
  const [first] = entries;
  const isMixed = entries.some(([key]) => key.type !== first![0].type);
  return isMixed &&
    entries.every(
      ([{ type, data }]) =>
        isInteger(type) && type !== types.time && type !== types.duration && fitsInt64(numericData(data)),
    )
    ? entries.map(([key, value]) => [{ type: types.int64, data: key.data }, value])
    : entries;
};
const fromLists = (keys: Items | null = empty, values: Items | null = empty): Value | null | Refusal => {
  if (keys === null || values === null) return null;
  return keys.values.length === values.values.length
    ? mapOf(keys.values.map((key, i) => [key, values.values[i]]))
    : unlike;
};
const empty: Items = { element: types.null, values: [] };

const recordsRequired = new Refusal('list of records of two fields required');
const fromEntries = (list: Items): Value | Refusal => {
  const entries: [Value, Value][] = [];
  for (const v of list.values) {
    if (v.type.kind !== 'record' || v.type.fields.length !== 2) return recordsRequired;
    const [key, value] = v.type.fields.map((f, k) => ({
      type: f.type,
      data: itemsData(v.data)[k],
    }));
    entries.push([bare(key!), bare(value!)]);
  }
  return mapOf(entries);
};
const bare = (v: Value): Value => (v.type.kind === 'union' ? memberData(v.data) : v);

const found = (map: Entries, key: Value): Value | undefined => map.find(([k]) => sameValues(k, key))?.[1];
const extractedList = (map: Entries, key: Value | null): Value => {
  const value = key === null || isNull(key) ? undefined : found(map, key);
  return listOf(value === undefined ? [] : [value], map[0]?.[1].type ?? types.null);
};
const together = (...maps: readonly (Entries | null)[]): Value | null => {
  const given = maps.filter(isGiven);
  if (given.length === 0) return null;
  const entries = new Map<string, readonly [Value, Value]>();
  for (const [key, value] of given.flat()) entries.set(keyOf(key), [key, value]);
  return entries.size === 0 ? { type: mapType(types.null, types.null), data: [] } : mapValue([...entries.values()]);
};

const example = '|{"a":1,"b":2}|';
const mapError = (name: string, rest = ''): readonly [string, string] => [
  `${name}(1${rest})`,
  `error({message:"${name}: map argument required",on:1})`,
];
/** Values under which histograms have what is in none of their bins. */
const isOtherBin = ({ type, data }: Value): boolean => {
  if (type.kind === 'array') return itemsData(data).length === 0;
  if (type.kind === 'record') return fieldsData(data).every((x) => (x ?? null) === null);
  const other = boundOfOthers(type);
  return other.type !== types.null && sameValues({ type, data }, other);
};

export const maps: readonly FunctionRow[] = [
  ...rowsOf(
    'is_histogram_other_bin(bound)',
    'Whether a bound is the one under which histogram and histogram_exact count what is in no bin: the greatest number of its type, the empty text or list, a record of nulls.',
    byRow('is_histogram_other_bin', ['value'], 'bool', isOtherBin),
    [
      ['is_histogram_other_bin(9223372036854775807)', 'true'],
      ['is_histogram_other_bin(10)', 'false'],
      ['is_histogram_other_bin(null)', 'null'],
    ],
  ),
  ...rowsOf(
    'map([keys, values])',
    'In SQL: a map of the keys and values of two lists. In pipes map(a, f) gives what a function gives for each element.',
    byRow('map', ['list?', 'list?'], 'value', fromLists),
    [
      ["select map(['a','b'],[1,2]) as m", '{m:|{"a":1,"b":2}|}'],
      ["select map(['a','a'],[1,2]) as m", '{m:error({message:"map: a key comes twice",on:["a","a"]})}'],
      ['select map([null],[1]) as m', '{m:error({message:"map: no key may be null",on:[null]})}'],
      ['select map([1],[]) as m', '{m:error({message:"map: lists of one length required",on:[]::[null]})}'],
    ],
    { sqlOnly: 'all' },
  ),
  ...rowsOf(
    'map_from_entries(a)',
    'A map of a list of records of a key and a value.',
    byRow('map_from_entries', ['list'], 'value', fromEntries),
    [
      ['map_from_entries([{k:"a",v:1}])', '|{"a":1}|'],
      ['map_from_entries([1])', 'error({message:"map_from_entries: list of records of two fields required",on:[1]})'],
    ],
  ),
  ...rowsOf(
    'map_keys(m)',
    'The keys of a map.',
    byRow('map_keys', ['map'], 'value', (map) =>
      listOf(
        map.map(([key]) => key),
        types.null,
      ),
    ),
    [[`map_keys(${example})`, '["a","b"]'], mapError('map_keys')],
  ),
  ...rowsOf(
    'map_values(m)',
    'The values of a map, in the order of its keys.',
    byRow('map_values', ['map'], 'value', (map) =>
      listOf(
        map.map(([, value]) => value),
        types.null,
      ),
    ),
    [[`map_values(${example})`, '[1,2]'], mapError('map_values')],
  ),
  ...rowsOf(
    'map_entries(m)',
    'Records of the keys and values of a map.',
    byRow('map_entries', ['map'], 'value', entriesList),
    [[`map_entries(|{"a":1}|)`, '[{key:"a",value:1}]'], mapError('map_entries')],
  ),
  ...rowsOf(
    'map_extract(m, key)',
    'A list of the value of a key, empty if there is none.',
    byRow('map_extract', ['map', 'value?'], 'value', extractedList),
    [[`map_extract(${example},"b")`, '[2]'], [`map_extract(${example},"c")`, '[]'], mapError('map_extract', ',1')],
    { also: ['element_at'] },
  ),
  ...rowsOf(
    'map_extract_value(m, key)',
    'The value of a key, null if there is none.',
    byRow('map_extract_value', ['map', 'value?'], 'value', (map, key) =>
      key === null ? null : (found(map, key) ?? null),
    ),
    [[`map_extract_value(${example},"b")`, '2'], mapError('map_extract_value', ',1')],
  ),
  ...rowsOf(
    'map_contains(m, key)',
    'Whether a map has a key.',
    byRow('map_contains', ['map', 'value'], 'bool', (map, key) => found(map, key) !== undefined),
    [[`values map_contains(${example},"b")`, 'true'], mapError('map_contains', ',1')],
  ),
  ...rowsOf(
    'map_contains_value(m, v)',
    'Whether a map has a value.',
    byRow('map_contains_value', ['map', 'value'], 'bool', (map, v) =>
      map.some(([, value]) => !isNull(value) && sameValues(value, v)),
    ),
    [[`values map_contains_value(${example},2)`, 'true'], mapError('map_contains_value', ',1')],
  ),
  ...rowsOf(
    'map_contains_entry(m, key, v)',
    'Whether a map has a key with a value.',
    byRow('map_contains_entry', ['map', 'value', 'value'], 'bool', (map, key, v) => {
      const value = found(map, key);
      return value !== undefined && !isNull(value) && sameValues(value, v);
    }),
    [[`values map_contains_entry(${example},"b",2)`, 'true'], mapError('map_contains_entry', ',1,1')],
  ),
  ...rowsOf(
    'map_concat(m, ...)',
    'The entries of several maps; of a key that comes twice the last value.',
    byRow('map_concat', ['map?'], 'value', together),
    [[`map_concat(${example},|{"b":3}|)`, '|{"a":1,"b":3}|'], mapError('map_concat')],
  ),
  ...rowsOf(
    'cardinality(m)',
    'How many entries a map, or elements a list, has.',
    byRow('cardinality', ['value'], 'value', (v) => {
      const list = itemsOf(v);
      if (list) return intValue(list.values.length);
      return v.type.kind === 'map'
        ? intValue((v.data as readonly unknown[]).length)
        : new Refusal('map or list argument required');
    }),
    [
      [`cardinality(${example})`, '2'],
      ['cardinality(1)', 'error({message:"cardinality: map or list argument required",on:1})'],
    ],
  ),
];
