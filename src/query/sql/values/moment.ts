/**
 * What SELECT reads of the clock: the moment of the query, the same in all of its rows, calls and subqueries, as the
 * standard has it. In pipes `now()` is the time of each evaluation.
 */
import type { Analysis } from '../../analyze/context.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { castTo } from './casts.ts';

const calls: Readonly<Record<string, 'moment' | 'day'>> = {
  now: 'moment',
  current_timestamp: 'moment',
  current_localtimestamp: 'moment',
  get_current_timestamp: 'moment',
  transaction_timestamp: 'moment',
  current_date: 'day',
  today: 'day',
};
/** Reserved words of the standard, which take no brackets. */
const words: Readonly<Record<string, 'moment' | 'day'>> = {
  current_date: 'day',
  current_timestamp: 'moment',
  localtimestamp: 'moment',
};

/** What a call without arguments stands for; undefined for those that do not ask for the time. */
export const momentOfCall = (a: Analysis, name: string): PlanExpr | undefined => read(a, calls, name);

/** What a bare name, in lower case, stands for; undefined for those that do not ask for the time. */
export const momentOf = (a: Analysis, name: string): PlanExpr | undefined => read(a, words, name);

/** The day of the query. */
export const today = (a: Analysis): PlanExpr => castTo(a.now(), { kind: 'date' });

const read = (a: Analysis, names: typeof calls, name: string): PlanExpr | undefined => {
  if (!Object.hasOwn(names, name)) return undefined;
  return names[name] === 'day' ? today(a) : a.now();
};
