/** What is told of values that SQL's casts refuse: the value, the type, and why if that can be said. */
import { LakeError } from '../../../errors.ts';
import { type SqlType, sqlTypeText } from '../../../query/sql/values/types.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, stringData } from '../../../vectors/value.ts';
import { supText } from '../../../vectors/sup/print.ts';
import type { SqlCast } from './cast.ts';
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
const reasonOf = (value: Value, type: SqlType): string | undefined => {
  switch (type.kind) {
    case 'date':
    case 'timestamp':
      if (value.type === types.time) return timesHeld;
      return value.type === types.string ? faultOfSqlTime(stringData(value.data), type) : undefined;
    default:
      return undefined;
  }
};
const shownMax = 100;
