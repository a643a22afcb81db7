/**
 * Arrays of times from a start to an end, by months and a duration: what RANGE and GENERATE_SERIES of SQL come to over
 * times.
 */
import { checkStopAt } from '../../../vectors/stop.ts';
import { types } from '../../../vectors/type.ts';
import { type Value, arrayValue, integer } from '../../../vectors/value.ts';
import { nanosOfDay, spanOf } from '../../../vectors/spans.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { monthsOn } from '../../expressions/sql/spans.ts';
import { outOfRange } from './calendar.ts';
import { type Kernel, isOf } from '../row.ts';
import { Refusal, rowKernel } from '../typed.ts';

type Nanos = number | bigint;
/** Times of one range, at most. */
const countMax = 2 ** 24;

/** Whether arguments are those of a range of times: from, to, a duration, and maybe months. */
export const isTimeRange = (args: readonly Vector[]): boolean => args.length > 2 && isOf(args[0], types.time);

/** The range of the arguments `from, to, duration[, months]`. */
export const timeRange = (name: string, options: { readonly withEnd: boolean }): Kernel =>
  rowKernel(name, ['time', 'time', 'value', 'integer'], 'value', (from, to, by, months) => {
    const span = spanOf(by);
    if (!span) return new Refusal('duration argument required', 2);
    const step = BigInt(span.days) * nanosOfDay + span.nanos;
    const out: Value[] = [];
    const end = BigInt(to);
    const count = months ?? span.months;
    const way = Math.sign(Number(step)) || Math.sign(Number(count));
    if (way === 0) return arrayValue([]);
    if (Number(count) * way < 0) return new Refusal('an interval with parts of both signs', 2);
    for (let at: Nanos | Refusal = from; !(at instanceof Refusal); at = next(at, step, count)) {
      const left: bigint = (end - BigInt(at)) * BigInt(way);
      if (left < 0n || (left === 0n && !options.withEnd)) break;
      checkStopAt(out.length);
      if (out.length === countMax) return new Refusal(`more than ${countMax} times`);
      out.push({ type: types.time, data: at });
    }
    return arrayValue(out);
  });
const next = (at: Nanos, step: Nanos, months: Nanos): Nanos | Refusal => {
  const moved = Number(months) === 0 ? at : monthsOn(at, months);
  return moved === undefined ? outOfRange : integer(BigInt(moved) + BigInt(step));
};
