/** Expressions of constants are worked out once. What reads the clock, binds names or looks them up stays. */
import { LakeError } from '../../errors.ts';
import { types } from '../../vectors/type.ts';
import type { Value } from '../../vectors/value.ts';
import { bodyIn, bytesWithin, mapExprs, mapParts, partsOf, withBody } from '../plan/walk.ts';
import type { PlanExpr } from '../plan/plan.ts';
import type { Rule, RuleContext } from './rule.ts';

export const constantFolding = {
  name: 'constant-folding',
  apply: (ops, context) => ops.map((op) => mapExprs(op, (e) => fold(e, context))),
  applyToFunction: (body, context) => fold(body, context),
} as const satisfies Rule;

const fold = (e: PlanExpr, context: RuleContext): PlanExpr => {
  // A pattern of grep that is spelled out is a regular expression, one that is worked out is a text: it must not become
  // the former.
  const pattern = e.kind === 'call' && e.name === 'grep' ? e.arguments[0] : undefined;
  const mapped = mapParts(e, (part) => (part === pattern ? part : fold(part, context)));
  if (bodyIn(mapped)) return withBody(mapped, (body) => fold(body, context));
  if (!isFoldable(mapped, context) || !partsOf(mapped).every((part) => part.kind === 'literal')) return mapped;
  const value = valueOf(mapped, context);
  return value ? { kind: 'literal', value } : mapped;
};

/** Faults of an expression that count where a row asks for it. */
const unasked: ReadonlySet<string> = new Set([
  'query-memory',
  'query-memory-busy',
  'query-string',
  'query-cast',
  'query-overflow',
  'query-division',
  'query-aggregate',
  'query-argument',
]);
/** Constants beyond so many bytes, one alone or all together, are made when the query runs. */
const bytesMax = 1 << 20;
const bytesOfAllMax = 8 << 20;
const folded = new WeakMap<RuleContext, number>();

const valueOf = (e: PlanExpr, context: RuleContext): Value | undefined => {
  const before = folded.get(context) ?? 0;
  if (before > bytesOfAllMax) return undefined;
  try {
    const value = context.environment.evaluate(e, context.functions);
    const bytes = bytesWithin(value, bytesMax);
    folded.set(context, before + (bytes ?? bytesMax));
    return bytes === undefined ? undefined : value;
  } catch (error) {
    // No row may ever ask for it.
    if (!(error instanceof LakeError) || !unasked.has(error.code)) throw error;
    folded.set(context, before + bytesMax);
    return undefined;
  }
};

/** Functions that depend on more than their arguments: the clock, chance, the names bound so far. */
const unfoldable: ReadonlySet<string> = new Set(['now', 'ksuid', 'typename', 'cast', 'upcast']);

const isFoldable = (e: PlanExpr, context: RuleContext): boolean => {
  switch (e.kind) {
    case 'literal':
    case 'this':
    case 'subquery':
    case 'apply':
    case 'outer':
    case 'columns':
    case 'mapElements':
    case 'userCall':
    case 'castNamed':
      return false;
    case 'call':
      return !unfoldable.has(e.name) && !context.environment.functions.find(e.name)?.impure;
    // A cast to a named type binds the name.
    case 'cast':
      return e.type.kind === 'primitive' && e.type !== types.type;
    case 'record':
      return e.elements.every((x) => x.kind === 'field') && e.elements.length > 0;
    default:
      return true;
  }
};
