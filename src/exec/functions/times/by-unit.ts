/**
 * Times cut down to units of a fixed length, and functions whose result is the same for all times of a unit (a day, an
 * hour): a kernel runs once for each unit that a batch has, and rows get a dictionary of that. Names of months of
 * 1,000,000 times take 0.08 of the time.
 */
import { types } from '../../../vectors/type.ts';
import { type Vector, flatten, gather, numbers } from '../../../vectors/vector.ts';
import { joinSeconds, splitSeconds } from '../../expressions/time-bytes.ts';
import { type Kernel } from '../row.ts';

export const secondsOfDay = 86_400;

/** The number of each row's unit among those of a batch, and the first row of each. */
interface Units {
  readonly codes: Uint32Array;
  readonly firsts: Uint32Array;
}
/** Units of so many seconds since 1970; undefined where they lie far apart, or are about as many as rows. */
export const unitsOf = (seconds: Float64Array, size: number): Units | undefined => {
  const { length } = seconds;
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < length; i++) {
    const s = seconds[i];
    if (s < least) least = s;
    if (s > most) most = s;
  }
  const from = Math.floor(least / size);
  const span = Math.floor(most / size) - from + 1;
  if (!(span <= length * 4)) return undefined;
  const places = new Uint32Array(span);
  const codes = new Uint32Array(length);
  const firsts = new Uint32Array(Math.floor(length / 2));
  let count = 0;
  for (let i = 0; i < length; i++) {
    const place = Math.floor(seconds[i] / size) - from;
    if (places[place] === 0) {
      if (count === firsts.length) return undefined;
      firsts[count] = i;
      places[place] = ++count;
    }
    codes[i] = places[place] - 1;
  }
  return { codes, firsts: firsts.subarray(0, count) };
};

/**
 * A kernel whose result depends on the unit that the times of an argument are in, beside constants; `sizeOf` tells its
 * seconds, undefined where there is none. Refusals show the time of each row: such batches go row by row.
 */
export const byUnit =
  (kernel: Kernel, argument: number, sizeOf: (args: readonly Vector[]) => number | undefined): Kernel =>
  (args, length) =>
    ofUnits(kernel, args, argument, sizeOf) ?? kernel(args, length);
const ofUnits = (
  kernel: Kernel,
  args: readonly Vector[],
  argument: number,
  sizeOf: (args: readonly Vector[]) => number | undefined,
): Vector | undefined => {
  const times = args[argument];
  if (times?.form !== 'number' || times.type !== types.time) return undefined;
  if (args.some((a, k) => k !== argument && a.form !== 'constant')) return undefined;
  const size = sizeOf(args);
  const units = size === undefined ? undefined : unitsOf(splitSeconds(times).seconds, size);
  if (!units) return undefined;
  const count = units.firsts.length;
  const few = kernel(
    args.map((a, k) => {
      if (k === argument) return gather(times, units.firsts);
      return a.form === 'constant' ? { ...a, length: count } : a;
    }),
    count,
  );
  return few.form === 'number' || few.form === 'bytes'
    ? { form: 'dictionary', length: times.length, codes: units.codes, values: few }
    : undefined;
};
/** Of functions of a time alone that look at its day. */
export const byDay = (kernel: Kernel): Kernel => byUnit(kernel, 0, () => secondsOfDay);

/**
 * The beginning of the unit of so many nanoseconds that each time is in, counted from a second; undefined for what are
 * no times in a vector, for units that are no whole seconds, and where one would begin before all times.
 */
export const cutTimes = (times: Vector, nanos: number | undefined, origin = 0): Vector | undefined => {
  const flat = times.form === 'constant' ? undefined : flatten(times);
  if (nanos === undefined || nanos % nanosOfSecond !== 0) return undefined;
  if (flat?.form !== 'number' || flat.type !== types.time) return undefined;
  const { seconds } = splitSeconds(flat);
  const size = nanos / nanosOfSecond;
  for (let i = 0; i < seconds.length; i++) seconds[i] = Math.floor((seconds[i] - origin) / size) * size + origin;
  return seconds.some((s) => s < firstSecond)
    ? undefined
    : numbers(types.time, joinSeconds(seconds, new Uint32Array(flat.length)));
};
const nanosOfSecond = 1_000_000_000;
/** The first whole second that 64 bits of nanoseconds hold. */
const firstSecond = -9_223_372_036;
