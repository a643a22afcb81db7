/**
 * Functions of times over a batch, which look at its units or columns, give what they give of each time alone.
 */
import { describe, expect, test } from 'vitest';
import { functionNamed } from '../../../../src/exec/functions/functions.ts';
import { datePart } from '../../../../src/exec/functions/times/date-parts.ts';
import { Refusal } from '../../../../src/exec/functions/typed.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { types } from '../../../../src/vectors/type.ts';
import { type Value, integer, stringValue } from '../../../../src/vectors/value.ts';
import { type Vector, constant, valueAt } from '../../../../src/vectors/vector.ts';
import { spanValue } from '../../../../src/vectors/spans.ts';

const day = 86_400_000_000_000n;
/** Six days around a moment, each with times at and beside its hours: many rows of one unit, in no order. */
const around = (nanos: bigint): Value[] =>
  Array.from({ length: 400 }, (_, i): Value => {
    const hour = BigInt((i * 37) % 144) * 3_600_000_000_000n;
    const beside = [0n, -1n, 1n, 59_999_999_999n, 60_000_000_000n, 123_456_789n][i % 6]!;
    return { type: types.time, data: integer(nanos + hour + beside) };
  });
const batches: Readonly<Record<string, readonly Value[]>> = {
  'beside 1970': around(-3n * day),
  'at the end of a leap year': around(11_320n * day),
  'beside the year 1900': around(-25_570n * day),
  'about the first times': around(-106_751n * day - 2n * 3_600_000_000_000n),
};
const duration = (nanos: bigint): Value => ({ type: types.duration, data: integer(nanos) });
const second = 1_000_000_000n;
/** Calls of a function: what stands at the place of the times is undefined. */
type Call = readonly [name: string, args: readonly (Value | undefined)[]];
const calls: readonly Call[] = [
  ...['dayname', 'monthname', 'last_day', 'days_in_month', 'epoch'].map((name): Call => [name, [undefined]]),
  ...['century', 'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'ms', 'us'].flatMap((unit) => [
    ['date_trunc', [stringValue(unit), undefined]] satisfies Call,
    ['date_diff', [stringValue(unit), { type: types.time, data: integer(5n * second + 7n) }, undefined]] satisfies Call,
    ['date_diff', [stringValue(unit), undefined, { type: types.time, data: -1 }]] satisfies Call,
  ]),
  ...[1n, 7n, 60n, 900n, 86_400n, 604_800n, 864_000n].map(
    (seconds): Call => ['time_bucket', [duration(seconds * second), undefined]],
  ),
  ['time_bucket', [duration(1_500_000_000n), undefined]],
  ['time_bucket', [duration(3600n * second), undefined, duration(60n * second)]],
  ['time_bucket', [spanValue({ months: 5, days: 0, nanos: 0n }), undefined]],
  ...['%Y-%m-%d', '%-d %b %H', '%H:%M|', '%p%I %X', '%c.%f', '%j %%', '%Q'].map(
    (format): Call => ['strftime', [undefined, stringValue(format)]],
  ),
];
const isTime = (v: Value | undefined): v is undefined => v === undefined;
const ran = ([name, args]: Call, given: (arg: Value | undefined) => Vector, length: number): string[] => {
  const row = functionNamed(name)!;
  const make = row.inSql?.make ?? row.make;
  const out = make({ literals: args.map(() => undefined), names: new Map() })(args.map(given), length);
  return Array.from({ length }, (_, i) => supText(valueAt(out, i)));
};

describe.each(Object.entries(batches))('times %s', (_, times) => {
  test.each(calls)('%s %j', (name, args) => {
    const together = ran(
      [name, args],
      (v) => (isTime(v) ? vectorOf([...times]) : constant(vectorOf([v]), times.length)),
      times.length,
    );
    const alone = times.map((time) => ran([name, args], (v) => vectorOf([v ?? time]), 1)[0]);
    expect(together).toEqual(alone);
  });
  test.each(['year', 'doy', 'era', 'isodow', 'hour', 'minute', 'second', 'ms', 'us', 'ns', 'epoch', 'julian'])(
    'date_part %s',
    (part) => {
      const together = ran(
        ['date_part', [stringValue(part), undefined]],
        (v) => (isTime(v) ? vectorOf([...times]) : constant(vectorOf([v]), times.length)),
        times.length,
      );
      const alone = times.map((time) => datePart(stringValue(part), time));
      expect(together).toEqual(alone.map((v) => (v instanceof Refusal ? v.text : supText(v))));
    },
  );
});
