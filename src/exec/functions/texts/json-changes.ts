/**
 * Functions that give JSON changed: something set, put in or taken away at a path, nulls left out, names in order; and
 * what tells of JSON as a whole.
 *
 * Invariants:
 * - A path is one of `json_extract`, without `[*]` and `.*`; `[#]` is the place behind the last element.
 * - A value that goes in is JSON itself: `query/sql/values/json.ts` makes JSON of other values in SQL.
 */
import { int64Min, uint64Max } from '../../../vectors/literal.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, nullValue, stringValue } from '../../../vectors/value.ts';
import { type Json, isJsonArray, isJsonObject, jsonText } from '../../expressions/json-text.ts';
import { sqlFloatText } from '../../expressions/sql/texts.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';
import { type Step, asJson, kindOf, nameIn, noPath, parsedJson, pathOf, placeIn } from './json.ts';

export const noPlace = new Refusal("path such as '$.a[0]', '/a/0' or 'a' required, without *", 1);
/** The steps of a path that leads to one place. */
export const placeOf = (path: string): readonly Step[] | Refusal => {
  const found = pathOf(path);
  if (found instanceof Refusal) return found === noPath ? noPlace : found;
  return found.isMany ? noPlace : found.steps;
};

/** What happens at the end of a path: `found` is undefined where nothing is there; undefined leaves all as it is. */
type Change = (found: Json | undefined) => Json | undefined;
/** JSON with a change at the end of a path; objects, and lists of one element, are made on the way. */
const changedAt = (v: Json | undefined, steps: readonly Step[], change: Change): Json | undefined => {
  const [step, ...rest] = steps;
  if (step === undefined) return change(v);
  if (v !== undefined && isJsonArray(v)) {
    const given = placeIn(step);
    const place = given === Infinity ? v.length : given < 0 ? v.length + given : given;
    if (!(place >= 0 && place <= v.length)) return v;
    const element = changedAt(v[place], rest, change);
    return element === undefined ? v : [...v.slice(0, place), element, ...v.slice(place + 1)];
  }
  if (v === undefined && (step === 0 || step === Infinity)) {
    const element = changedAt(undefined, rest, change);
    return element === undefined ? v : [element];
  }
  const name = nameIn(step);
  if ((v !== undefined && !isJsonObject(v)) || name === undefined) return v;
  const value = changedAt(v?.get(name), rest, change);
  return value === undefined ? v : new Map([...(v ?? []), [name, value]]);
};
/** JSON without what a path leads to; undefined if that is all of it. */
const without = (v: Json, steps: readonly Step[]): Json | undefined => {
  const [step, ...rest] = steps;
  if (step === undefined) return undefined;
  if (isJsonArray(v)) {
    const given = placeIn(step);
    const place = given < 0 ? v.length + given : given;
    if (!(place >= 0 && place < v.length)) return v;
    const element = without(v[place]!, rest);
    return [...v.slice(0, place), ...(element === undefined ? [] : [element]), ...v.slice(place + 1)];
  }
  const name = nameIn(step);
  if (!isJsonObject(v) || name === undefined || !v.has(name)) return v;
  const value = without(v.get(name)!, rest);
  return new Map(
    [...v].flatMap(([n, x]) => (n !== name ? [[n, x] as const] : value === undefined ? [] : [[n, value]])),
  );
};

const setWith =
  (pick: (value: Json) => Change) =>
  (of: Value, path: string, value: Value): Value | Refusal => {
    const json = parsedJson(of);
    const steps = placeOf(path);
    const given = parsedJson(value);
    if (json instanceof Refusal) return json;
    if (steps instanceof Refusal) return steps;
    if (given instanceof Refusal) return new Refusal(given.text, 2);
    const changed = changedAt(json, steps, pick(given));
    return asJson(changed === undefined ? json : changed);
  };
const removed = (of: Value, path: string): Value | Refusal => {
  const json = parsedJson(of);
  const steps = placeOf(path);
  if (json instanceof Refusal) return json;
  if (steps instanceof Refusal) return steps;
  const rest = without(json, steps);
  return rest === undefined ? nullValue : asJson(rest);
};
/** A function of JSON alone. */
const ofJson =
  (give: (v: Json) => Value) =>
  (of: Value): Value | Refusal => {
    const json = parsedJson(of);
    return json instanceof Refusal ? json : give(json);
  };
const ofTwo =
  (give: (a: Json, b: Json) => Value) =>
  (a: Value, b: Value): Value | Refusal => {
    const [x, y] = [parsedJson(a), parsedJson(b)];
    if (x instanceof Refusal) return x;
    return y instanceof Refusal ? new Refusal(y.text, 1) : give(x, y);
  };

const withoutNulls = (v: Json): Json =>
  isJsonArray(v)
    ? v.map(withoutNulls)
    : isJsonObject(v)
      ? new Map([...v].filter(([, x]) => x !== null).map(([n, x]) => [n, withoutNulls(x)]))
      : v;
const byCode = ([a]: readonly [string, Json], [b]: readonly [string, Json]): number => (a < b ? -1 : a > b ? 1 : 0);
/** Names in order, and numbers with a fraction or an exponent as floats are written. */
const normalized = (v: Json): Json => {
  if (isJsonArray(v)) return v.map(normalized);
  if (isJsonObject(v)) return new Map([...v].toSorted(byCode).map(([n, x]) => [n, normalized(x)]));
  return typeof v === 'object' && v !== null && /[.eE]/.test(v.digits)
    ? { digits: sqlFloatText(Number(v.digits), 64) }
    : v;
};
const indent = '    ';
/** A line for each element and field; what is empty has none. */
const pretty = (v: Json, before: string): string => {
  const inside = before + indent;
  const lines = isJsonArray(v)
    ? v.map((x) => pretty(x, inside))
    : isJsonObject(v)
      ? [...v].map(([n, x]) => `${JSON.stringify(n)}: ${pretty(x, inside)}`)
      : [];
  if (lines.length === 0) return jsonText(v);
  const [open, close] = isJsonArray(v) ? '[]' : '{}';
  return `${open}\n${lines.map((line) => inside + line).join(',\n')}\n${before}${close}`;
};

const same = (a: Json, b: Json): boolean => {
  if (isJsonArray(a)) return isJsonArray(b) && a.length === b.length && a.every((x, i) => same(x, b[i]!));
  if (isJsonObject(a))
    return isJsonObject(b) && a.size === b.size && [...a].every(([n, x]) => b.has(n) && same(x, b.get(n)!));
  if (typeof a === 'object' && a !== null) return isNumber(b) && a.digits === b.digits;
  return a === b;
};
const isNumber = (v: Json): v is { readonly digits: string } =>
  typeof v === 'object' && v !== null && !isJsonArray(v) && !isJsonObject(v);
/** Whether all of `part` is in `whole` at this place: fields of objects, and elements of arrays in any order. */
const covers = (whole: Json, part: Json): boolean => {
  if (isJsonObject(part))
    return isJsonObject(whole) && [...part].every(([n, x]) => whole.has(n) && covers(whole.get(n)!, x));
  if (isJsonArray(part)) return isJsonArray(whole) && part.every((x) => whole.some((w) => covers(w, x)));
  return same(whole, part);
};
const contains = (whole: Json, part: Json): boolean =>
  covers(whole, part) ||
  (isJsonArray(whole)
    ? whole.some((x) => contains(x, part))
    : isJsonObject(whole) && [...whole.values()].some((x) => contains(x, part)));

/** Objects are merged at every level; a null of the second one changes nothing that is there. */
const merged = (a: Json, b: Json): Json => {
  if (b === null) return a;
  if (!isJsonObject(a) || !isJsonObject(b)) return b;
  const out = new Map(a);
  for (const [n, x] of b) {
    const before = out.get(n);
    if (x !== null) out.set(n, before === undefined ? x : merged(before, x));
  }
  return out;
};
/** The patch (RFC 7396) that makes one value of the other. */
const patchOf = (from: Json, to: Json): Json => {
  if (!isJsonObject(from) || !isJsonObject(to)) return to;
  const out = new Map<string, Json>();
  for (const n of from.keys()) if (!to.has(n)) out.set(n, null);
  for (const [n, x] of to) {
    const before = from.get(n);
    if (before === undefined) out.set(n, x);
    else if (!same(before, x)) out.set(n, patchOf(before, x));
  }
  return out;
};

/** The types of values, in the form that they have: arrays with that of their elements, objects with their fields'. */
const structureOf = (v: Json): Json => {
  if (isJsonArray(v)) return [v.map(structureOf).reduce(common, 'NULL')];
  if (isJsonObject(v)) return new Map([...v].map(([n, x]) => [n, structureOf(x)]));
  if (!isNumber(v)) return kindOf(v);
  if (/[.eE]/.test(v.digits)) return 'DOUBLE';
  const whole = BigInt(v.digits);
  return whole > uint64Max || whole < int64Min ? 'DOUBLE' : whole < 0n ? 'BIGINT' : 'UBIGINT';
};
/** An object without fields says nothing of them. */
const withoutEmpty = (v: Json): Json => {
  if (isJsonArray(v)) return v.map(withoutEmpty);
  if (!isJsonObject(v)) return v;
  return v.size === 0 ? 'JSON' : new Map([...v].map(([n, x]) => [n, withoutEmpty(x)]));
};
const wholeKinds = ['UBIGINT', 'BIGINT', 'HUGEINT'];
const common = (a: Json, b: Json): Json => {
  if (a === 'NULL' || same(a, b)) return b;
  if (b === 'NULL') return a;
  if (isJsonArray(a) && isJsonArray(b)) return [common(a[0]!, b[0]!)];
  if (isJsonObject(a) && isJsonObject(b)) {
    const out = new Map(a);
    for (const [n, x] of b) out.set(n, common(out.get(n) ?? 'NULL', x));
    return out;
  }
  const kinds = [a, b].map((x) => (typeof x === 'string' ? x : ''));
  if (kinds.every((k) => wholeKinds.includes(k))) return 'HUGEINT';
  return kinds.every((k) => k === 'DOUBLE' || wholeKinds.includes(k)) ? 'DOUBLE' : 'JSON';
};

const broken = (name: string, rest = ''): readonly [string, string] => [
  `${name}("{"${rest})`,
  `error({message:"${name}: text is no JSON",on:"{"})`,
];
const setter = (
  name: string,
  text: string,
  pick: (value: Json) => Change,
  output: string,
  pathed: readonly (readonly [string, string])[] = [],
): FunctionRow[] =>
  rowsOf(`${name}(json, path, value)`, text, byRow(name, ['value', 'string', 'value'], 'value', setWith(pick)), [
    [`${name}('{"a":1}','$.a',2)`, output],
    ...pathed,
    broken(name, ',"$.a",1'),
  ]);

export const jsonChanges: readonly FunctionRow[] = [
  ...setter(
    'json_set',
    'JSON with a value at a path, in place of what is there or in addition to it; in SQL a text that is not known to be JSON goes in as a string.',
    (value) => () => value,
    '"{\\"a\\":2}"',
    [
      [`json_set('[1,2]','$[#]',3)`, '"[1,2,3]"'],
      [
        `json_set('[1,2]','$[*]',3)`,
        `error({message:"json_set: path such as '$.a[0]', '/a/0' or 'a' required, without *",on:"$[*]"})`,
      ],
    ],
  ),
  ...setter(
    'json_insert',
    'The same where nothing is there.',
    (value) => (found) => (found === undefined ? value : found),
    '"{\\"a\\":1}"',
    [[`json_insert('{"a":1}','$.b',2)`, '"{\\"a\\":1,\\"b\\":2}"']],
  ),
  ...setter(
    'json_replace',
    'The same where something is there.',
    (value) => (found) => (found === undefined ? undefined : value),
    '"{\\"a\\":2}"',
    [[`json_replace('{"a":1}','$.b',2)`, '"{\\"a\\":1}"']],
  ),
  ...rowsOf(
    'json_remove(json, path)',
    'JSON without what is at a path.',
    byRow('json_remove', ['value', 'string'], 'value', removed),
    [[`json_remove('{"a":1,"b":[1,2]}','$.b[0]')`, '"{\\"a\\":1,\\"b\\":[2]}"'], broken('json_remove', ',"$.a"')],
  ),
  ...rowsOf(
    'json_contains(json, part)',
    'Whether JSON has another somewhere in it: fields of an object among others, elements of an array in any order.',
    byRow(
      'json_contains',
      ['value', 'value'],
      'value',
      ofTwo((a, b) => ({ type: types.bool, data: contains(a, b) })),
    ),
    [[`json_contains('[1,{"a":2,"b":3}]','{"b":3}')`, 'true'], broken('json_contains', ',"1"')],
  ),
  ...rowsOf(
    'json_deep_merge(json, other)',
    'JSON with the fields of another, merged at every level; nulls of the other one change nothing.',
    byRow('json_deep_merge', ['value?', 'value?'], 'value', (a, b) =>
      a === null || b === null ? (a ?? b ?? nullValue) : ofTwo((x, y) => asJson(merged(x, y)))(a, b),
    ),
    [
      [`json_deep_merge('{"a":{"b":1}}','{"a":{"c":2}}')`, '"{\\"a\\":{\\"b\\":1,\\"c\\":2}}"'],
      broken('json_deep_merge', ',"{}"'),
    ],
  ),
  ...rowsOf(
    'json_merge_patch_diff(json, other)',
    'The patch (as of json_merge_patch) that makes the other JSON of the first.',
    byRow(
      'json_merge_patch_diff',
      ['value', 'value'],
      'value',
      ofTwo((a, b) => asJson(patchOf(a, b))),
    ),
    [
      [`json_merge_patch_diff('{"a":1,"b":2}','{"b":3}')`, '"{\\"a\\":null,\\"b\\":3}"'],
      broken('json_merge_patch_diff', ',"{}"'),
    ],
  ),
  ...rowsOf(
    'json_strip_nulls(json)',
    'JSON without the fields that are null.',
    byRow(
      'json_strip_nulls',
      ['value'],
      'value',
      ofJson((v) => asJson(withoutNulls(v))),
    ),
    [[`json_strip_nulls('{"a":null,"b":[null]}')`, '"{\\"b\\":[null]}"'], broken('json_strip_nulls')],
  ),
  ...rowsOf(
    'json_normalize(json)',
    'JSON with the names of its objects in order.',
    byRow(
      'json_normalize',
      ['value'],
      'value',
      ofJson((v) => asJson(normalized(v))),
    ),
    [[`json_normalize('{"b":1,"a":1e2}')`, '"{\\"a\\":100.0,\\"b\\":1}"'], broken('json_normalize')],
  ),
  ...rowsOf(
    'json_pretty(json)',
    'JSON with a line for each element and field.',
    byRow(
      'json_pretty',
      ['value'],
      'value',
      ofJson((v) => stringValue(pretty(v, ''))),
    ),
    [[`json_pretty('{"a":[]}')`, '"{\\n    \\"a\\": []\\n}"'], broken('json_pretty')],
  ),
  ...rowsOf(
    'json_structure(json)',
    'The types in JSON, in its form: of arrays that of all elements, JSON where they have none in common.',
    byRow(
      'json_structure',
      ['value'],
      'value',
      ofJson((v) => asJson(withoutEmpty(structureOf(v)))),
    ),
    [[`json_structure('{"a":[1,2.5]}')`, '"{\\"a\\":[\\"DOUBLE\\"]}"'], broken('json_structure')],
  ),
];
