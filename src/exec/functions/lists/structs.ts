/** Functions on records as SQL's structs: fields taken out, put in, listed and looked for. */
import { LakeError } from '../../../errors.ts';
import { hasPlaces, recordType, types } from '../../../vectors/type.ts';
import {
  type Value,
  intValue,
  nullValue,
  recordValue,
  stringValue,
  underUnion,
  underValue,
  fieldsData,
  stringData,
} from '../../../vectors/value.ts';
import { fieldAt, listOf, sameValues } from './lists.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, type Items } from '../typed.ts';

interface Field {
  readonly name: string;
  readonly value: Value;
}
/** The fields that a record has a value for. */
const fieldsOf = ({ type, data }: Value): readonly Field[] => {
  if (type.kind !== 'record') return [];
  return type.fields.flatMap((f, k) => {
    const found = fieldsData(data)[k];
    return found === undefined ? [] : [{ name: f.name, value: underUnion({ type: f.type, data: found }) }];
  });
};
const emptyRecord: Value = { type: recordType([]), data: [] };
const recordOf = (fields: readonly Field[]): Value => (fields.length === 0 ? emptyRecord : recordValue(fields));

const twice = new Refusal('a field comes twice', 1);
const inserted = (record: Value, added: Value): Value | Refusal => {
  const fields = [...fieldsOf(record), ...fieldsOf(added)];
  return new Set(fields.map((f) => f.name.toLowerCase())).size < fields.length ? twice : recordOf(fields);
};
const mixed = new Refusal('records with names or without them required', 1);
const concatenated = (...records: readonly Value[]): Value | Refusal => {
  const lists = records.filter((r) => r !== undefined).map(fieldsOf);
  const rows = lists.filter(hasPlaces).length;
  const all = lists.flat();
  if (rows === lists.length) return recordOf(all.map((f, k) => ({ name: `c${k}`, value: f.value })));
  if (rows > 0) return mixed;
  return new Set(all.map((f) => f.name.toLowerCase())).size < all.length ? twice : recordOf(all);
};
/** Fields of both in the order of the first; those of the second one count. */
const updated = (record: Value, changes: Value): Value => {
  const fields = new Map(fieldsOf(record).map((f) => [f.name, f]));
  for (const f of fieldsOf(changes)) fields.set(f.name, f);
  return recordOf([...fields.values()]);
};
const without = (record: Value, ...names: readonly string[]): Value =>
  recordOf(fieldsOf(record).filter((f) => !names.includes(f.name)));
const placeOf = (record: Value, v: Value | null): number =>
  fieldsOf(record).findIndex((f) =>
    v === null ? f.value.type === types.null : f.value.type !== types.null && sameValues(f.value, v),
  ) + 1;
const valuesOf = (record: Value): Value =>
  recordOf(fieldsOf(record).map((f, k) => ({ name: `c${k}`, value: f.value })));

const recordError = (name: string, rest = ''): readonly [string, string] => [
  `${name}(1${rest})`,
  `error({message:"${name}: record argument required",on:1})`,
];
const namesMax = 10_000;
/** @throws query-argument where there are too many names */
const fromLists = (names: Items, values: Items): Value | Refusal => {
  if (names.values.length > namesMax)
    throw new LakeError('query-argument', {
      fault: `a record of ${names.values.length} fields made of a list, more than ${namesMax} (PIVOT makes one field of each value: name the values with IN)`,
    });
  const all = names.values.map(underValue);
  if (all.some((name) => name.type !== types.string)) return new Refusal('list of strings required');
  if (new Set(all.map((name) => name.data)).size < all.length) return new Refusal('a name comes twice');
  return recordOf(all.map((name, i) => ({ name: stringData(name.data), value: values.values[i] ?? nullValue })));
};
export const structs: readonly FunctionRow[] = [
  ...rowsOf(
    'struct_extract(r, name)',
    'A field of a record by its name, or by its place from 1.',
    byRow('struct_extract', ['record', 'value'], 'value', fieldAt),
    [
      ['struct_extract({a:1,b:2},"b")', '2'],
      ['struct_extract({a:1},"x")', 'error({message:"struct_extract: no such field",on:"x"})'],
      recordError('struct_extract', ',"a"'),
    ],
    { also: ['struct_extract_at'] },
  ),
  ...rowsOf(
    'struct_insert(r, fields)',
    'A record with further fields; in SQL struct_insert(r, name := value, ...).',
    byRow('struct_insert', ['record', 'record'], 'value', inserted),
    [
      ['struct_insert({a:1},{b:2})', '{a:1,b:2}'],
      ['struct_insert({a:1},{a:2})', 'error({message:"struct_insert: a field comes twice",on:{a:2}})'],
      recordError('struct_insert', ',{a:1}'),
    ],
  ),
  ...rowsOf(
    'struct_update(r, fields)',
    'A record with fields put in, or others in their place; in SQL struct_update(r, name := value, ...).',
    byRow('struct_update', ['record', 'record'], 'value', updated),
    [['struct_update({a:1,b:2},{b:3,c:4})', '{a:1,b:3,c:4}'], recordError('struct_update', ',{a:1}')],
  ),
  ...rowsOf(
    'struct_concat(r, ...)',
    'The fields of several records; of rows without names the values one after another.',
    byRow('struct_concat', ['record'], 'value', concatenated),
    [
      ['struct_concat({a:1},{b:2},{c:3})', '{a:1,b:2,c:3}'],
      ['struct_concat({a:1},{a:2})', 'error({message:"struct_concat: a field comes twice",on:{a:2}})'],
      [
        'struct_concat({a:1},{c0:2})',
        'error({message:"struct_concat: records with names or without them required",on:{c0:2}})',
      ],
      recordError('struct_concat'),
    ],
  ),
  ...rowsOf(
    'struct_from_lists(names, values)',
    'The record with these names and values; where there are fewer values the others are null. At most 10,000 names.',
    byRow('struct_from_lists', ['list', 'list'], 'value', fromLists),
    [
      ['struct_from_lists(["a","b"],[1,"x"])', '{a:1,b:"x"}'],
      ['struct_from_lists(["a","a"],[1,2])', 'error({message:"struct_from_lists: a name comes twice",on:["a","a"]})'],
      ['struct_from_lists(1,[1])', 'error({message:"struct_from_lists: list argument required",on:1})'],
    ],
  ),
  ...rowsOf(
    'struct_remove(r, name, ...)',
    'A record without some fields.',
    byRow('struct_remove', ['record', 'string'], 'value', without),
    [['struct_remove({a:1,b:2},"a")', '{b:2}'], recordError('struct_remove', ',"a"')],
  ),
  ...rowsOf(
    'struct_keys(r)',
    "The names of a record's fields.",
    byRow('struct_keys', ['record'], 'value', (r) =>
      listOf(
        fieldsOf(r).map((f) => stringValue(f.name)),
        types.string,
      ),
    ),
    [['struct_keys({a:1,b:2})', '["a","b"]'], recordError('struct_keys')],
  ),
  ...rowsOf(
    'struct_values(r)',
    "The values of a record's fields, as a record of places.",
    byRow('struct_values', ['record'], 'value', valuesOf),
    [['struct_values({a:1,b:"x"})', '{c0:1,c1:"x"}'], recordError('struct_values')],
  ),
  ...rowsOf(
    'struct_contains(r, v)',
    'Whether a field of a record has the value.',
    byRow('struct_contains', ['record', 'value'], 'bool', (r, v) => placeOf(r, v) > 0),
    [['values struct_contains({a:1,b:2},2)', 'true'], recordError('struct_contains', ',1')],
    { also: ['struct_has'] },
  ),
  ...rowsOf(
    'struct_position(r, v)',
    'The place of the first field of a record that has the value; null if there is none.',
    byRow('struct_position', ['record', 'value?'], 'value', (r, v) => {
      const at = placeOf(r, v);
      return at === 0 ? null : intValue(at);
    }),
    [['struct_position({a:1,b:2},2)', '2'], recordError('struct_position', ',1')],
    { also: ['struct_indexof'] },
  ),
];
