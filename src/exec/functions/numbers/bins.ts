/** Bins of equal width: where their bounds are, and in which of them a number is. */
import { int64Max } from '../../../vectors/literal.ts';
import { charge, checkStopAt } from '../../../vectors/stop.ts';
import { isFloat, isInteger } from '../../../vectors/type.ts';
import { type Value, arrayValue, floatValue, intValue, numericData } from '../../../vectors/value.ts';
import { type FunctionRow, rowsOf } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

/** Most bins of one call. */
const binsMax = 1_000_000;
const valueBytes = 96;

/** 1, 2 or 5 times a power of ten, whichever is next to the width. */
const niceWidth = (width: number): number => {
  const power = 10 ** Math.floor(Math.log10(width));
  const first = width / power;
  if (first < 1.5) return power;
  if (first < 3) return 2 * power;
  return first < 7 ? 5 * power : 10 * power;
};
interface Range<T> {
  readonly low: T;
  readonly high: T;
  readonly count: number;
  readonly nice: boolean;
}
const wholeBounds = ({ low, high, count, nice }: Range<bigint>): readonly bigint[] => {
  const span = high - low;
  if (BigInt(count) > span) return Array.from({ length: Number(span) + 1 }, (_, i) => low + BigInt(i));
  if (!nice) return Array.from({ length: count }, (_, i) => low + (span * BigInt(i + 1)) / BigInt(count));
  const width = BigInt(Math.max(1, niceWidth(Number(span) / count)));
  const bounds: bigint[] = [];
  // The first multiple above the least number, and on to the first that is not below the greatest.
  let bound = (low / width) * width;
  while (bound > low) bound -= width;
  do {
    bound += width;
    bounds.push(bound < int64Max ? bound : int64Max);
    checkStopAt(bounds.length);
  } while (bound < high);
  return bounds;
};
const realBounds = ({ low, high, count, nice }: Range<number>): readonly number[] => {
  const width = (high - low) / count;
  if (!nice) return Array.from({ length: count }, (_, i) => (i + 1 === count ? high : low + width * (i + 1)));
  const step = niceWidth(width);
  // Below 1 the step divides a whole number exactly: 3 / 5 and not 3 * 0.2.
  const parts = step < 1 ? Math.round(1 / step) : undefined;
  const first = Math.floor(low / step) + 1;
  const last = Math.ceil(high / step);
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, i) =>
    parts === undefined ? (first + i) * step : (first + i) / parts,
  );
};
const isWhole = ({ type }: Value): boolean => isInteger(type);
const isNumber = ({ type }: Value): boolean => isInteger(type) || isFloat(type);

const boundsOf = (low: Value, high: Value, count: number | bigint, nice: boolean): Value | Refusal => {
  if (!isNumber(low)) return new Refusal('number argument required');
  if (!isNumber(high)) return new Refusal('number argument required', 1);
  if (count < 1 || count > binsMax) return new Refusal(`a count of bins from 1 to ${binsMax} required`, 2);
  const [from, to] = [Number(low.data), Number(high.data)];
  if (!Number.isFinite(from) || !Number.isFinite(to - from)) return new Refusal('finite numbers required');
  if (to < from) return new Refusal('a greatest number that is not below the least one required', 1);
  charge(Number(count) * 4 * valueBytes, 'a list');
  const whole = isWhole(low) && isWhole(high) && BigInt(numericData(high.data)) <= int64Max;
  if (from === to) return arrayValue([high]);
  const range = { count: Number(count), nice };
  return arrayValue(
    whole
      ? wholeBounds({ ...range, low: BigInt(numericData(low.data)), high: BigInt(numericData(high.data)) }).map(
          intValue,
        )
      : realBounds({ ...range, low: from, high: to }).map(floatValue),
  );
};

const bucketOf = (x: number, low: number, high: number, count: number | bigint): number | Refusal => {
  if (count < 1) return new Refusal('a count above zero required', 3);
  if (low === high) return new Refusal('bounds that differ required', 1);
  if (![x, low, high].every((n) => !Number.isNaN(n))) return new Refusal('numbers required');
  const buckets = Number(count);
  const share = (x - low) / (high - low);
  if (share < 0) return 0;
  return share >= 1 ? buckets + 1 : Math.min(Math.floor(((x - low) * buckets) / (high - low)) + 1, buckets);
};

export const bins: readonly FunctionRow[] = [
  ...rowsOf(
    'equi_width_bins(least, greatest, count, nice)',
    'The upper bounds of `count` bins of equal width, as an array; nice: of a width of 1, 2 or 5 times a power of ten, so that there may be more or fewer.',
    byRow('equi_width_bins', ['value', 'value', 'integer', 'bool'], 'value', boundsOf),
    [
      ['select equi_width_bins(0,10,5,true) as r', '{r:[2,4,6,8,10]}'],
      ['select equi_width_bins(0,1734,4,false) as r', '{r:[433,867,1300,1734]}'],
      ['select equi_width_bins(0.0,1.0,5,true) as r', '{r:[0.2,0.4,0.6,0.8,1.]}'],
    ],
    { sqlOnly: 'all' },
  ),
  ...rowsOf(
    'width_bucket(n, low, high, count)',
    'In which of `count` bins of equal width between two bounds a number is, from 1 on: 0 below them, one more than there are from the upper bound on.',
    byRow('width_bucket', ['number', 'number', 'number', 'integer'], 'integer', bucketOf),
    [
      ['select width_bucket(5.35,0.024,10.06,5) as r', '{r:3}'],
      ['select width_bucket(10.06,0.024,10.06,5) as r', '{r:6}'],
    ],
    { sqlOnly: 'all' },
  ),
];
