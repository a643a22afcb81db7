/**
 * What is in JSON as rows: a record for each field or element, at one level or at all. FROM in SQL makes tables of them.
 *
 * Invariants:
 * - `id` numbers everything in the text, names too, from 0 on; `fullkey` is a path that leads to the value.
 * - `key` is null for what is no field and no element; `atom` is null for arrays, objects and null.
 */
import { arrayType, recordType, types, unionType } from '../../../vectors/type.ts';
import { checkStop } from '../../../vectors/stop.ts';
import type { Data, Value } from '../../../vectors/value.ts';
import { type Json, isJsonArray, isJsonObject, jsonText } from '../../expressions/json-text.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';
import { kindOf, nameIn, parsedJson, placeIn } from './json.ts';
import { noPlace, placeOf } from './json-changes.ts';

const text = unionType([types.string, types.null]);
const whole = unionType([types.int64, types.null]);
const rowType = recordType(
  (
    [
      ['key', text],
      ['value', types.string],
      ['type', types.string],
      ['atom', text],
      ['id', types.int64],
      ['parent', whole],
      ['fullkey', types.string],
      ['path', types.string],
    ] as const
  ).map(([name, type]) => ({ name, type })),
);
const textOrNull = (x: string | undefined): Data =>
  x === undefined ? { type: types.null, data: null } : { type: types.string, data: x };

/** A value in JSON, and where it is. */
interface Node {
  readonly json: Json;
  readonly key?: string;
  readonly id: number;
  readonly parent?: number;
  readonly path: string;
  readonly fullkey: string;
}
const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const step = (name: string): string => `.${plainName.test(name) ? name : JSON.stringify(name)}`;
/** How many numbers a value takes. */
const sizeOf = (v: Json): number => {
  if (isJsonArray(v)) return v.reduce<number>((n, x) => n + sizeOf(x), 1);
  return isJsonObject(v) ? [...v.values()].reduce<number>((n, x) => n + 1 + sizeOf(x), 1) : 1;
};
const childrenOf = ({ json, id, fullkey }: Node): readonly Node[] => {
  checkStop();
  let next = id + 1;
  const node = (x: Json, key: string, at: string, ahead: number): Node => {
    const found = { json: x, key, id: next + ahead, parent: id, path: fullkey, fullkey: fullkey + at };
    next += ahead + sizeOf(x);
    return found;
  };
  if (isJsonArray(json)) return json.map((x, i) => node(x, String(i), `[${i}]`, 0));
  return isJsonObject(json) ? [...json].map(([name, x]) => node(x, name, step(name), 1)) : [];
};
const treeOf = (node: Node): readonly Node[] => [node, ...childrenOf(node).flatMap(treeOf)];
const rowOf = ({ json, key, id, parent, fullkey, path }: Node): Data => {
  const isAtom = json !== null && !isJsonArray(json) && !isJsonObject(json);
  const written = jsonText(json);
  return [
    textOrNull(key),
    written,
    kindOf(json),
    textOrNull(isAtom ? written : undefined),
    id,
    parent === undefined ? { type: types.null, data: null } : { type: types.int64, data: parent },
    fullkey,
    path,
  ];
};
/** The rows of what a path leads to; none where nothing is there. */
const rowsIn =
  (nodesOf: (start: Node) => readonly Node[]) =>
  (of: Value, path?: string): Value | Refusal => {
    const json = parsedJson(of);
    const steps = path === undefined ? [] : placeOf(path);
    if (json instanceof Refusal) return json;
    if (steps instanceof Refusal) return noPlace;
    let at: Node | undefined = { json, id: 0, path: '$', fullkey: '$' };
    for (const s of steps) {
      const among: readonly Node[] = at ? childrenOf(at) : [];
      const isList: boolean = at !== undefined && isJsonArray(at.json);
      at = isList ? among.at(placeIn(s)) : among.find((n) => n.key === nameIn(s));
      if (isList && Number.isNaN(placeIn(s))) at = undefined;
    }
    const start = at && { json: at.json, id: at.id, path: at.fullkey, fullkey: at.fullkey };
    return { type: arrayType(rowType), data: start ? nodesOf(start).map(rowOf) : [] };
  };
/** What is right below; a value that has nothing in it is its own only row. */
const level = (start: Node): readonly Node[] =>
  isJsonArray(start.json) || isJsonObject(start.json) ? childrenOf(start).map(withoutParent) : [start];
const withoutParent = ({ json, key, id, path, fullkey }: Node): Node => ({
  json,
  ...(key !== undefined && { key }),
  id,
  path,
  fullkey,
});

const broken = (name: string): readonly [string, string] => [
  `${name}("{")`,
  `error({message:"${name}: text is no JSON",on:"{"})`,
];
export const jsonTables: readonly FunctionRow[] = [
  ...rowsOf(
    'json_each(json[, path])',
    'The fields or elements of JSON, or of what is at a path in it, as records; in FROM of SQL a table of them.',
    byRow('json_each', ['value', 'string'], 'value', rowsIn(level)),
    [[`select key, value from json_each('[7]')`, '{key:"0"::(string|null),value:"7"}'], broken('json_each')],
  ),
  ...rowsOf(
    'json_tree(json[, path])',
    'The same at all levels, beginning with the whole.',
    byRow('json_tree', ['value', 'string'], 'value', rowsIn(treeOf)),
    [
      [`select type, fullkey from json_tree('[7]')`, '{type:"ARRAY",fullkey:"$"}\n{type:"UBIGINT",fullkey:"$[0]"}'],
      broken('json_tree'),
    ],
  ),
];
