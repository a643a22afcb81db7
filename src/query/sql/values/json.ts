/** Calls that make JSON: what is JSON already goes in as it is, and not as the text that it is kept as. */
import { types } from '../../../vectors/type.ts';
import { stringValue } from '../../../vectors/value.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { callOf, literal } from '../../plan/walk.ts';
import { castTo, sqlTypeOf } from './casts.ts';

const isJson = (e: PlanExpr): boolean => sqlTypeOf(e)?.kind === 'json';

const text = (s: string): PlanExpr => literal(stringValue(s));
/** The JSON of a value, shortly written; of null that of JSON. */
const jsonText = (e: PlanExpr): PlanExpr =>
  isJson(e) ? callOf('coalesce', callOf('json_extract', e, text('$')), text('null')) : callOf('to_json', e);
const joined = (parts: readonly PlanExpr[]): PlanExpr =>
  castTo(
    parts.reduce((left, right) => ({ kind: 'concat', left, right, sql: true })),
    { kind: 'json' },
  );

/** What goes in by them is JSON. */
const changers: ReadonlySet<string> = new Set(['json_insert', 'json_replace', 'json_set']);
/** `to_json`, and a call with arguments that are known to be JSON, or are made so; undefined for all else. */
export const jsonOfParts = (name: string, args: readonly PlanExpr[]): PlanExpr | undefined => {
  const [only, path, value] = args;
  if (changers.has(name) && only && path && value && args.length === 3)
    return {
      kind: 'call',
      name,
      arguments: [only, path, isJson(value) ? value : callOf('json_quote', value)],
      sql: true,
    };
  if (!only) return undefined;
  // The JSON of a null is a null, as in PostgreSQL and DuckDB; in pipes it is that of JSON.
  if (name === 'to_json' && args.length === 1 && !isJson(only)) return callOf('json_quote', only);
  if (!args.some(isJson)) return undefined;
  switch (name) {
    case 'array_to_json':
    case 'row_to_json':
    case 'to_json':
    case 'json_quote':
      return args.length === 1 ? callOf('json_extract', only, text('$')) : undefined;
    case 'json_array':
      return joined([text('['), ...args.flatMap((e, i) => [...(i > 0 ? [text(',')] : []), jsonText(e)]), text(']')]);
    case 'json_object':
      return args.length % 2 === 0 && args.every((e, i) => i % 2 === 1 || isName(e))
        ? joined([
            text('{'),
            ...args.flatMap((e, i) => [...(i > 0 ? [text(i % 2 === 1 ? ':' : ',')] : []), jsonText(e)]),
            text('}'),
          ])
        : undefined;
    default:
      return undefined;
  }
};
const isName = (e: PlanExpr): boolean => e.kind === 'literal' && e.value.type === types.string;

/** Aggregates that give JSON. */
const grouped: ReadonlySet<string> = new Set(['json_group_array', 'json_group_object']);
/** What an aggregate that gives JSON is given of a row: JSON, or a field of an object as its text. Undefined for others. */
export const jsonOfRow = (name: string, [value, by]: readonly PlanExpr[]): readonly PlanExpr[] | undefined => {
  if (!grouped.has(name) || !value) return undefined;
  if (name === 'json_group_array') return [jsonText(value)];
  const parts = by && [
    callOf('json_quote', castTo(value, { kind: 'plain', type: types.string })),
    text(':'),
    jsonText(by),
  ];
  return parts && [parts.reduce((left, right) => ({ kind: 'concat', left, right, sql: true }))];
};
/** The result of such an aggregate is known to be JSON. */
export const jsonOfAggregate = (name: string, result: PlanExpr): PlanExpr =>
  grouped.has(name) ? castTo(result, { kind: 'json' }) : result;
