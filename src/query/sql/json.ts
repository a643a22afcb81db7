/** Calls that make JSON: what is JSON already goes in as it is, and not as the text that it is kept as. */
import { types } from '../../vectors/type.ts';
import { stringValue } from '../../vectors/value.ts';
import type { PlanExpr } from '../plan/plan.ts';
import { callOf, literal } from '../plan/walk.ts';
import { castTo } from './casts.ts';

/** Functions that give JSON. */
const makers: ReadonlySet<string> = new Set([
  'json_array',
  'json_extract',
  'json_extract_path',
  'json_merge_patch',
  'json_object',
  'json_quote',
  'json_value',
  'to_json',
]);
const isJson = (e: PlanExpr): boolean =>
  (e.kind === 'sqlCast' && e.type.kind === 'json') || (e.kind === 'call' && makers.has(e.name));

const text = (s: string): PlanExpr => literal(stringValue(s));
/** The JSON of a value, shortly written; of null that of JSON. */
const jsonText = (e: PlanExpr): PlanExpr =>
  isJson(e) ? callOf('coalesce', callOf('json_extract', e, text('$')), text('null')) : callOf('to_json', e);
const joined = (parts: readonly PlanExpr[]): PlanExpr =>
  castTo(
    parts.reduce((left, right) => ({ kind: 'concat', left, right, sql: true })),
    { kind: 'json' },
  );

/** A call with arguments that are known to be JSON; undefined for all else. */
export const jsonOfParts = (name: string, args: readonly PlanExpr[]): PlanExpr | undefined => {
  const [only] = args;
  if (!only || !args.some(isJson)) return undefined;
  switch (name) {
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
