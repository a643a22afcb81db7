/**
 * Functions on JSON, which is text here; lists, records and maps count as the JSON that they would be written as.
 *
 * Invariants:
 * - A path is `$.a."b c"[0][#-1]`, `/a/b/0`, the name of a field alone, or the place of an element from 0; with `[*]`
 *   or `.*` it gives a list.
 * - What is not there is null; text that is no JSON is an error value.
 */
import { isInteger, types } from '../../../vectors/type.ts';
import { levelsMax } from '../../../vectors/type-limits.ts';
import { type Value, intValue, nullValue, stringValue, stringData } from '../../../vectors/value.ts';
import { type Vector, valueAt } from '../../../vectors/vector.ts';
import type { JsonStep } from './json-bytes.ts';
import { type Json, isJsonArray, isJsonObject, jsonOf, jsonText, parseJson } from '../../expressions/json-text.ts';
import { itemsOf, listOf } from '../lists/lists.ts';
import { remembered } from '../remembered.ts';
import { byKernel, rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow, rowKernel } from '../typed.ts';
import { takenAtPlaces } from './json-places.ts';
import { textParts } from './strings.ts';

const noJson = new Refusal('text is no JSON');
export const noPath = new Refusal("path such as '$.a[0]', '/a/0', 'a' or 0 required", 1);
/** Of objects on a path of names no more than the path may be there. */
export const parsedJson = (v: Value, names?: readonly string[]): Json | Refusal => {
  const found = v.type === types.string ? parseJson(stringData(v.data), names) : jsonOf(v);
  return found === undefined ? noJson : found;
};

/** A part of a pointer: a name in objects, a place in arrays. */
interface Either {
  readonly either: string;
}
/** A step: a name, a place (from the end below 0, Infinity behind the last one), or each of the values. */
export type Step = string | number | Either | typeof each;
/** The place that a step leads to in arrays, else NaN. */
export const placeIn = (step: Step): number => {
  if (typeof step === 'number') return step;
  return typeof step === 'object' ? Number(step.either) : NaN;
};
/** The name that a step leads to in objects. */
export const nameIn = (step: Step): string | undefined => {
  if (typeof step === 'string') return step;
  return typeof step === 'object' ? step.either : undefined;
};
const each = Symbol('each');
interface Path {
  readonly steps: readonly Step[];
  /** The names that it begins with. */
  readonly names?: readonly string[];
  readonly isMany: boolean;
}
const stepSyntax = /\.(?:"((?:[^"\\]|\\.)*)"|(\*)|([^.["]+))|\[(?:(\*)|(-?\d+)|#(?:-(\d+))?)\]/gy;
/** A path goes no deeper than values do. */
const tooDeep = new Refusal(`path too deep (limit ${levelsMax} steps)`, 1);
/** The names that steps begin with. */
const namesOf = (steps: readonly Step[]): readonly string[] => {
  const names: string[] = [];
  for (const step of steps) {
    if (typeof step !== 'string') break;
    names.push(step);
  }
  return names;
};
export const pathOf = remembered((text): Path | Refusal => {
  const steps: Step[] = [];
  for (const step of stepsOf(text)) {
    if (step === undefined) return noPath;
    if (steps.push(step) > levelsMax) return tooDeep;
  }
  return { steps, names: namesOf(steps), isMany: steps.includes(each) };
});
/** The steps of a path one after the other; undefined, at the end, for what is none. */
function* stepsOf(text: string): Generator<Step | undefined> {
  if (text.startsWith('/')) {
    for (const part of textParts(text.slice(1), '/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      yield /^\d+$/.test(name) ? { either: name } : name;
    }
    return;
  }
  if (!text.startsWith('$')) {
    yield text;
    return;
  }
  for (let next = 1; next < text.length; ) {
    stepSyntax.lastIndex = next;
    const m = stepSyntax.exec(text);
    if (!m) {
      yield undefined;
      return;
    }
    next = stepSyntax.lastIndex;
    if (m[2] !== undefined || m[4] !== undefined) yield each;
    else if (m[5] !== undefined) yield Number(m[5]);
    else if (m[6] !== undefined) yield -Number(m[6]);
    else if (m[0] === '[#]') yield Infinity;
    else yield m[1]?.replace(/\\(.)/g, '$1') ?? m[3];
  }
}
/** What a step to one place leads to. */
const stepped = (v: Json, step: Exclude<Step, typeof each>): Json | undefined => {
  if (isJsonArray(v)) {
    const place = placeIn(step);
    return place === place ? v.at(place) : undefined;
  }
  const name = nameIn(step);
  return isJsonObject(v) && name !== undefined ? v.get(name) : undefined;
};
const partsOf = (v: Json): readonly Json[] => {
  if (isJsonArray(v)) return v;
  return isJsonObject(v) ? [...v.values()] : [];
};
const at = (v: Json, { steps }: Path): readonly Json[] => {
  let found: readonly Json[] = [v];
  for (const step of steps) {
    if (step === each) found = found.flatMap(partsOf);
    else if (found.length === 1) {
      const next = stepped(found[0], step);
      if (next === undefined) return [];
      found = [next];
    } else found = found.map((x) => stepped(x, step)).filter((x) => x !== undefined);
  }
  return found;
};

/** The steps of a path of names and places from the first one on; undefined: it is none. */
const placesOf = (path: Vector): readonly JsonStep[] | undefined => {
  const { type, data } = valueAt(path, 0);
  const found = type === types.string ? pathOf(stringData(data)) : undefined;
  if (!found || found instanceof Refusal || found.isMany) return undefined;
  const steps = found.steps.map((step): JsonStep | undefined => {
    if (typeof step === 'string') return Buffer.from(step);
    return typeof step === 'number' && step >= 0 && Number.isSafeInteger(step) ? step : undefined;
  });
  return steps.every((step) => step !== undefined) ? steps : undefined;
};

/** What a path, or each of a list of paths, leads to, written by `write`. */
const taken =
  (write: (v: Json) => Value) =>
  (of: Value, path: Value): Value | Refusal => {
    const single = path.type === types.string ? pathOf(stringData(path.data)) : undefined;
    const names = single instanceof Refusal ? undefined : single?.names;
    const json = parsedJson(of, names);
    const paths = itemsOf(path)?.values;
    if (json instanceof Refusal) return json;
    const one = (p: Value): Value | Refusal => {
      const isPlace = isInteger(p.type) && p.type !== types.time && p.type !== types.duration;
      const steps = isPlace
        ? { steps: [Number(p.data)], isMany: false }
        : p.type === types.string
          ? (single ?? pathOf(stringData(p.data)))
          : noPath;
      if (steps instanceof Refusal) return steps;
      const found = at(json, steps);
      return steps.isMany ? listOf(found.map(write), types.string) : found.length === 0 ? nullValue : write(found[0]);
    };
    if (!paths) return one(path);
    const all = paths.map(one);
    const wrong = all.find((x) => x instanceof Refusal);
    return wrong ?? listOf(all as readonly Value[], types.string);
  };
export const asJson = (v: Json): Value => stringValue(jsonText(v));
const asText = (v: Json): Value => (v === null ? nullValue : typeof v === 'string' ? stringValue(v) : asJson(v));
export const kindOf = (v: Json): string => {
  if (v === null) return 'NULL';
  if (isJsonArray(v)) return 'ARRAY';
  if (isJsonObject(v)) return 'OBJECT';
  if (typeof v === 'object') return /[.eE]/.test(v.digits) ? 'DOUBLE' : v.digits.startsWith('-') ? 'BIGINT' : 'UBIGINT';
  return typeof v === 'string' ? 'VARCHAR' : 'BOOLEAN';
};
/** What is said of a value, or of what a path leads to. */
const told = (say: (v: Json) => Value) => {
  const atPath = taken(say);
  return (of: Value, path?: Value): Value | Refusal => {
    if (path !== undefined) return atPath(of, path);
    const json = parsedJson(of);
    return json instanceof Refusal ? json : say(json);
  };
};
const lengthOf = (v: Json): Value => intValue(isJsonArray(v) ? v.length : 0);
const keysOf = (v: Json): Value => listOf(isJsonObject(v) ? [...v.keys()].map(stringValue) : [], types.string);
const objectOf = (...parts: readonly Value[]): Value | Refusal => {
  const given = parts.filter((p) => p !== undefined);
  const entries = new Map<string, Json>();
  if (given.length % 2 === 1) return new Refusal('pairs of a name and a value required');
  for (let i = 0; i < given.length; i += 2) {
    if (given[i].type !== types.string) return new Refusal('pairs of a name and a value required', i);
    entries.set(stringData(given[i].data), jsonOf(given[i + 1]));
  }
  return asJson(entries);
};
/** The patch of RFC 7396: objects are merged name by name, null takes a name away, all else stands in its place. */
const patched = (target: Json, patch: Json): Json => {
  if (!isJsonObject(patch)) return patch;
  const out = new Map(isJsonObject(target) ? target : []);
  for (const [name, value] of patch) {
    if (value === null) out.delete(name);
    else out.set(name, patched(out.get(name) ?? null, value));
  }
  return out;
};
const merged = (...values: readonly (Value | null)[]): Value | Refusal => {
  let whole: Json = null;
  for (const [i, v] of values.entries()) {
    if (v === undefined) continue;
    const next = v === null ? null : parsedJson(v);
    if (next instanceof Refusal) return new Refusal(next.text, i);
    whole = i === 0 ? next : patched(whole, next);
  }
  return whole === null ? nullValue : asJson(whole);
};
const orNull = (v: Value | null): Value => v ?? nullValue;

const broken = (name: string, rest = ''): readonly [string, string] => [
  `${name}("{"${rest})`,
  `error({message:"${name}: text is no JSON",on:"{"})`,
];
export const jsonFunctions: readonly FunctionRow[] = [
  ...rowsOf(
    'json_extract(json, path)',
    'The JSON at a path; of a list of paths, or a path with [*], a list. In SQL also json -> path.',
    byKernel(
      takenAtPlaces(placesOf, 'json', rowKernel('json_extract', ['value', 'value'], 'value', taken(asJson))),
      'bare',
    ),
    [
      [`json_extract('{"a":[1,"x"]}','$.a[1]')`, '"\\"x\\""'],
      ['json_extract({a:{b:1}},"$.a")', '"{\\"b\\":1}"'],
      broken('json_extract', ',"$.a"'),
      [
        'json_extract("1","$a")',
        `error({message:"json_extract: path such as '$.a[0]', '/a/0', 'a' or 0 required",on:"$a"})`,
      ],
    ],
    { also: ['json_extract_path'] },
  ),
  ...rowsOf(
    'json_extract_string(json, path)',
    'The same as text: strings without their quotes, null for null. In SQL also json ->> path.',
    byKernel(
      takenAtPlaces(placesOf, 'text', rowKernel('json_extract_string', ['value', 'value'], 'value', taken(asText))),
      'bare',
    ),
    [[`json_extract_string('{"a":[1,"x"]}','$.a[1]')`, '"x"'], broken('json_extract_string', ',"$.a"')],
    { also: ['json_extract_path_text'] },
  ),
  ...rowsOf(
    'json_value(json, path)',
    'The JSON at a path if it is a text, a number or a bool, else null.',
    byRow(
      'json_value',
      ['value', 'value'],
      'value',
      taken((v) => (v === null || isJsonArray(v) || isJsonObject(v) ? nullValue : asJson(v))),
    ),
    [
      [`json_value('{"a":1,"b":[2]}','$.a')`, '"1"'],
      [`select json_value('{"a":1,"b":[2]}','$.b') is null as n`, '{n:true}'],
      broken('json_value', ',"$.a"'),
    ],
  ),
  ...rowsOf(
    'json_merge_patch(json, patch, ...)',
    'JSON with the changes of patches (RFC 7396): objects are merged, and what a patch has as null is taken away.',
    byRow('json_merge_patch', ['value?'], 'value', merged),
    [
      [`json_merge_patch('{"a":1,"b":{"c":2}}','{"a":null,"b":{"d":3}}')`, '"{\\"b\\":{\\"c\\":2,\\"d\\":3}}"'],
      broken('json_merge_patch', ',"1"'),
    ],
  ),
  ...rowsOf(
    'json_exists(json, path)',
    'Whether JSON has something at a path.',
    byRow('json_exists', ['value', 'value'], 'value', (of, path) => {
      const found = taken(() => ({ type: types.bool, data: true }))(of, path);
      return found instanceof Refusal || found.type !== types.null ? found : { type: types.bool, data: false };
    }),
    [[`values json_exists('{"a":null}','$.a')`, 'true'], broken('json_exists', ',"a"')],
  ),
  ...rowsOf(
    'json_array_length(json[, path])',
    'How many elements an array of JSON has; 0 for what is none.',
    byRow('json_array_length', ['value', 'value'], 'value', told(lengthOf)),
    [['json_array_length("[1,2]")', '2'], broken('json_array_length')],
  ),
  ...rowsOf(
    'json_keys(json[, path])',
    'The names in an object of JSON.',
    byRow('json_keys', ['value', 'value'], 'value', told(keysOf)),
    [[`json_keys('{"a":1,"b":2}')`, '["a","b"]'], broken('json_keys')],
  ),
  ...rowsOf(
    'json_type(json[, path])',
    'What JSON is: OBJECT, ARRAY, VARCHAR, BOOLEAN, NULL, UBIGINT, BIGINT or DOUBLE.',
    byRow(
      'json_type',
      ['value', 'value'],
      'value',
      told((v) => stringValue(kindOf(v))),
    ),
    [['json_type("[1]")', '"ARRAY"'], broken('json_type')],
  ),
  ...rowsOf(
    'json_valid(s)',
    'Whether a text is JSON.',
    byRow('json_valid', ['value'], 'bool', (v) => !(parsedJson(v) instanceof Refusal)),
    [
      ['values json_valid("[1]")', 'true'],
      ['values json_valid("{a:1}")', 'false'],
    ],
  ),
  ...rowsOf(
    'to_json(v)',
    'A value as JSON.',
    byRow('to_json', ['value?'], 'value', (v) => asJson(jsonOf(orNull(v)))),
    [
      ['to_json({a:1,b:["x",null]})', '"{\\"a\\":1,\\"b\\":[\\"x\\",null]}"'],
      ['to_json(2024-01-01T00:00:00Z)', '"\\"2024-01-01 00:00:00\\""'],
    ],
    { also: ['row_to_json', 'array_to_json'] },
  ),
  ...rowsOf('json(json)', 'JSON in its shortest form.', byRow('json', ['value'], 'value', told(asJson)), [
    [`json('{ "a": 1 }')`, '"{\\"a\\":1}"'],
    broken('json'),
  ]),
  ...rowsOf(
    'json_quote(v)',
    'A value as JSON, null as null.',
    byRow('json_quote', ['value'], 'value', (v) => asJson(jsonOf(v))),
    [['json_quote("x")', '"\\"x\\""']],
  ),
  ...rowsOf(
    'json_array([v, ...])',
    'Values as an array of JSON.',
    byRow('json_array', ['value?'], 'value', (...values) =>
      asJson(values.filter((v) => v !== undefined).map((v) => jsonOf(orNull(v)))),
    ),
    [
      ['json_array(1,"x",null)', '"[1,\\"x\\",null]"'],
      ['json_array()', '"[]"'],
    ],
  ),
  ...rowsOf(
    'json_object([name, v, ...])',
    'Names and values in turn as an object of JSON.',
    byRow('json_object', ['value?'], 'value', (...values) =>
      objectOf(...(values.map((v) => (v === undefined ? v : orNull(v))) as Value[])),
    ),
    [
      ['json_object("a",1,"b",null)', '"{\\"a\\":1,\\"b\\":null}"'],
      ['json_object()', '"{}"'],
      ['json_object("a",1,"b")', 'error({message:"json_object: pairs of a name and a value required",on:"a"})'],
    ],
  ),
];
