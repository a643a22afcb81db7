/**
 * Equal parts of expressions are computed once a batch: `put a:=x+y, b:=(x+y)/z` adds once.
 *
 * Only what depends on nothing but the row is shared, and only where a second expression of the same context asks for
 * it.
 */
import type { Vector } from '../../vectors/vector.ts';
import type { PlanExpr } from '../../query/plan/plan.ts';
import { sqlTypeKey } from '../../query/sql/values/types.ts';
import { functionNamed } from '../functions/functions.ts';
import type { Evaluator, ExpressionContext } from './evaluator.ts';
import { type FloatRoom, roomAtHand } from './float-room.ts';

interface Shared {
  readonly evaluate: Evaluator;
  users: number;
  batch: Vector | undefined;
  result: Vector | undefined /** Where the result is. */;
  room: FloatRoom | undefined;
  turn: number | undefined;
}
const sharedOfContext = new WeakMap<ExpressionContext, Map<string, Shared>>();

/** Whether what the evaluator of an expression gives is for one user alone, as far as is known so far. */
export const isUnshared = (expr: PlanExpr, context: ExpressionContext): boolean => {
  const key = keyOf(expr);
  const known = key === undefined ? undefined : sharedOfContext.get(context)?.get(key);
  return !known || known.users === 1;
};

/** The evaluator of an expression, one for all equal expressions of the context. */
export const shared = (expr: PlanExpr, context: ExpressionContext, make: () => Evaluator): Evaluator => {
  const key = keyOf(expr);
  if (key === undefined) return make();
  let table = sharedOfContext.get(context);
  if (!table) sharedOfContext.set(context, (table = new Map()));
  let known = table.get(key);
  if (known) known.users++;
  else
    table.set(
      key,
      (known = { evaluate: make(), users: 1, batch: undefined, result: undefined, room: undefined, turn: undefined }),
    );
  const part = known;
  return (batch) => {
    if (part.users === 1) return part.evaluate(batch);
    const room = roomAtHand();
    if (part.batch === batch && part.room === room && part.turn === room?.turn) return part.result!;
    const result = part.evaluate(batch);
    part.batch = batch;
    part.result = result;
    part.room = room;
    part.turn = room?.turn;
    return result;
  };
};

/** Longer expressions are not compared. */
const keyLengthMax = 256;
const keys = new WeakMap<PlanExpr, { readonly key: string | undefined }>();

/** Equal texts: equal expressions. Undefined for what is not shared. */
const keyOf = (expr: PlanExpr): string | undefined => {
  let known = keys.get(expr);
  if (!known) {
    const key = made(expr);
    keys.set(expr, (known = { key: key !== undefined && key.length <= keyLengthMax ? key : undefined }));
  }
  return known.key;
};
const made = (expr: PlanExpr): string | undefined => {
  switch (expr.kind) {
    case 'this':
      return 'this';
    case 'field':
      return together('.', [expr.of], `${JSON.stringify(expr.name)}${expr.sql ? ' sql' : ''}`);
    case 'literal': {
      const { type, data } = expr.value;
      return type.kind === 'primitive' &&
        (typeof data === 'number' || typeof data === 'bigint' || typeof data === 'string')
        ? `${type.name} ${typeof data} ${Object.is(data, -0) ? '-0' : JSON.stringify(String(data))}`
        : undefined;
    }
    case 'arithmetic':
      return together(
        expr.operator,
        [expr.left, expr.right],
        expr.sql ? `sql${expr.scale ?? ''}${expr.whole ? 'w' : ''}${expr.attempt ? 't' : ''}` : '',
      );
    case 'negate':
      return together('negate', [expr.operand], expr.sql ? 'sql' : '');
    case 'cast':
      return together('cast', [expr.operand], expr.type.kind === 'primitive' ? expr.type.name : `#${expr.type.id}`);
    case 'sqlCast':
      return together(
        'sqlCast',
        [expr.operand],
        `${expr.failure} ${sqlTypeKey(expr.type)}${expr.from ? ` ${sqlTypeKey(expr.from)}` : ''}`,
      );
    case 'call':
      return functionNamed(expr.name)?.impure || expr.lambda
        ? undefined
        : together('call', expr.arguments, expr.sql ? `sql ${expr.attempt ? 'try ' : ''}${expr.name}` : expr.name);
    default:
      return undefined;
  }
};
const together = (operator: string, parts: readonly PlanExpr[], extra = ''): string | undefined => {
  const texts = parts.map(keyOf);
  return texts.includes(undefined) ? undefined : `(${operator} ${extra} ${texts.join(' , ')})`;
};
