/**
 * AT TIME ZONE. The data model has one kind of time, a moment in UTC; what the query calls a date or a timestamp
 * without a zone is what clocks show, and the operator turns the one into the other.
 */
import { types } from '../../../vectors/type.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { castTo, sqlTypeOf } from './casts.ts';

/** Functions whose results have no zone. */
const clocks: ReadonlySet<string> = new Set([
  'at_zone',
  'make_timestamp',
  'make_timestamp_ms',
  'make_timestamp_ns',
  'strptime',
  'try_strptime',
]);
/** Functions that give a time as one of their arguments is. */
const alike: ReadonlySet<string> = new Set([
  'add_months',
  'coalesce',
  'date_trunc',
  'datetrunc',
  'greatest',
  'ifnull',
  'least',
  'nullif',
  'time_bucket',
]);
/** Whether the query says that an expression is what clocks show; columns are moments. */
const isShown = (e: PlanExpr): boolean => {
  const type = sqlTypeOf(e);
  if (type?.kind === 'timestamp') return type.zoned !== true;
  if (type?.kind === 'date') return true;
  if (e.kind === 'call') return clocks.has(e.name) || (alike.has(e.name) && e.arguments.some(isShown));
  return e.kind === 'arithmetic' && (isShown(e.left) || isShown(e.right));
};

/** `t AT TIME ZONE zone`. */
export const atZone = (time: PlanExpr, zone: PlanExpr): PlanExpr => {
  const isText = time.kind === 'literal' && time.value.type === types.string;
  const moment = isText ? castTo(time, { kind: 'timestamp', unit: 1, zoned: true }) : time;
  return { kind: 'call', name: isShown(moment) ? 'from_zone' : 'at_zone', arguments: [moment, zone], sql: true };
};
