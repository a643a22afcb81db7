/** JSON as values of types that are named by JSON of the same shape: `{"a":"INTEGER","b":["VARCHAR"]}`. */
import { type SqlType, sqlTypeNamed } from '../../../query/sql/values/types.ts';
import { type Json, isJsonArray, isJsonObject, parseJson } from '../../expressions/json-text.ts';
import { wrapErrors } from '../../expressions/rows.ts';
import { sqlCastVector } from '../../expressions/sql/cast.ts';
import type { CallContext, Evaluate, FunctionRow } from '../row.ts';

/** The type that a structure names; undefined if one of its words is no type, or a list is not of one type. */
const typeOf = (v: Json): SqlType | undefined => {
  if (typeof v === 'string') {
    const [, precision, scale] = /^(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$/i.exec(v.trim()) ?? [];
    return precision === undefined
      ? sqlTypeNamed(v.trim())
      : { kind: 'decimal', precision: Number(precision), scale: Number(scale ?? 0) };
  }
  if (isJsonArray(v)) {
    const element = v.length === 1 ? typeOf(v[0]!) : undefined;
    return element && { kind: 'list', element };
  }
  if (v === null || !isJsonObject(v) || v.size === 0) return undefined;
  const fields = [...v].flatMap(([name, x]) => {
    const type = typeOf(x);
    return type ? [{ name, type }] : [];
  });
  return fields.length === v.size ? { kind: 'struct', fields } : undefined;
};

const transformed =
  (name: string, failure: 'null' | 'error') =>
  ({ literals }: CallContext): Evaluate => {
    const structure = literals[1]?.data;
    const json = typeof structure === 'string' ? parseJson(structure) : undefined;
    const type = json === undefined ? undefined : typeOf(json);
    const from = { kind: 'json' } as const;
    return ([arg, given]) =>
      type
        ? sqlCastVector(arg!, { type, from, failure, written: name })
        : wrapErrors(`${name}: structure such as '{"a":"INTEGER","b":["VARCHAR"]}' required`, given!);
  };

const row = (name: string, failure: 'null' | 'error'): FunctionRow => ({
  name,
  signature: `${name}(json, structure)`,
  text:
    failure === 'null'
      ? 'JSON as a value of the types that a structure of the same shape names; what does not fit is null, and what the structure does not name is left out.'
      : 'JSON as a value of the types that a structure of the same shape names; what does not fit ends the query.',
  argumentsMin: 2,
  argumentsMax: 2,
  sqlOnly: 'all',
  examples: [
    {
      query: `select ${name}('{"a":"7","b":["x"]}', '{"a":"INTEGER","b":["VARCHAR"]}') as v`,
      output: '{v:{a:7::int32,b:["x"]}}',
    },
  ],
  make: transformed(name, failure),
});

export const jsonShapes: readonly FunctionRow[] = [
  row('from_json', 'null'),
  row('from_json_strict', 'error'),
  row('json_transform', 'null'),
  row('json_transform_strict', 'error'),
];
