/** What is told of values that SQL's casts refuse: the value, the type, and why if that can be said. */
import { LakeError } from '../../../errors.ts';
import { intervalOfText } from '../../../query/analyze/intervals.ts';
import { type SqlType, sqlTypeText } from '../../../query/sql/types.ts';
import { types } from '../../../vectors/type.ts';
import type { Value } from '../../../vectors/value.ts';
import { supText } from '../../../vectors/sup/print.ts';
import type { SqlCast } from './cast.ts';
import { spanOf } from './spans.ts';
import { timesHeld } from '../../../vectors/literal.ts';
import { faultOfSqlTime } from './texts.ts';

/** The error of a value that has no cast. */
export const castError = (value: Value, type: SqlType, cast: SqlCast): LakeError => {
  const shown = supText(value);
  const reason = reasonOf(value, type);
  return new LakeError('query-cast', {
    cast: cast.written,
    value: shown.length > shownMax ? `${shown.slice(0, shownMax)}..` : shown,
    type: sqlTypeText(type),
    advice: reason === undefined ? (cast.advice ?? '; TRY_CAST gives null for such values') : ` (${reason})`,
  });
};
/** Whether SQL's type holds values that ours cannot. */
export const mayHoldMore = (type: SqlType): boolean =>
  type.kind === 'date' || type.kind === 'timestamp' || isInterval(type);
const isInterval = (type: SqlType): boolean => type.kind === 'plain' && type.type === types.duration;
/** Such a value is no null in TRY_CAST either. @throws query-cast */
export const refuseBeyond = (value: Value, type: SqlType, cast: SqlCast): void => {
  if (reasonOf(value, type) !== undefined) throw castError(value, type, cast);
};
const reasonOf = (value: Value, type: SqlType): string | undefined => {
  switch (type.kind) {
    case 'date':
    case 'timestamp':
      if (value.type === types.time) return timesHeld;
      return value.type === types.string ? faultOfSqlTime(value.data as string) : undefined;
    case 'plain':
      return isInterval(type) && monthsIn(value) !== 0
        ? 'months have no length of their own: add the interval to a time, t + i'
        : undefined;
    default:
      return undefined;
  }
};
/** The months of an interval, whether text or bytes of Parquet. */
const monthsIn = (value: Value): number =>
  (value.type === types.string
    ? intervalOfText(value.data as string)?.months
    : value.type === types.bytes
      ? spanOf(value)?.months
      : 0) ?? 0;
const shownMax = 100;
