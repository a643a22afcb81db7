/** Where the keys of data objects lie beside each other, and how they are written for people. */
import { Address, Duration, type LakeValue, Time } from '../../src/client/client.ts';
import { supText } from '../../src/client/sup.ts';

/** A place on the axis of keys, 0 to 1. */
interface Bar {
  readonly from: number;
  readonly to: number;
}
/** The least and the greatest key of a data object. */
interface KeyRange {
  readonly min: LakeValue;
  readonly max: LakeValue;
}
/** Numbers, times and durations lie where their values are; keys of other types, or of several, in their order. */
export const barsOf = (
  objects: readonly KeyRange[],
): { readonly bars: readonly Bar[]; readonly low: string; readonly high: string; readonly linear: boolean } => {
  const ends = objects.flatMap(({ min, max }) => [min, max]);
  if (ends.length === 0) return { bars: [], low: '', high: '', linear: true };
  const numbers = ends.map(numberOf);
  const kinds = new Set(ends.map(kindOf));
  const linear = kinds.size === 1 && numbers.every((n) => n !== undefined && Number.isFinite(n));
  const places = linear ? (numbers as number[]) : ranksOf(ends);
  let low = 0;
  let high = 0;
  places.forEach((place, i) => {
    if (place < places[low]!) low = i;
    if (place > places[high]!) high = i;
  });
  const start = places[low]!;
  const span = places[high]! - start || 1;
  const at = (place: number): number => (places[high] === start ? 0.5 : (place - start) / span);
  return {
    bars: objects.map((_, i) => ({
      from: at(Math.min(places[2 * i]!, places[2 * i + 1]!)),
      to: at(Math.max(places[2 * i]!, places[2 * i + 1]!)),
    })),
    low: keyText(ends[low]!),
    high: keyText(ends[high]!),
    linear,
  };
};
const kindOf = (value: LakeValue): string =>
  value instanceof Time
    ? 'time'
    : value instanceof Duration
      ? 'duration'
      : typeof value === 'bigint' || typeof value === 'number'
        ? 'number'
        : value === null
          ? 'null'
          : typeof value;
const numberOf = (value: LakeValue): number | undefined =>
  value instanceof Time || value instanceof Duration
    ? Number(value.nanoseconds)
    : typeof value === 'bigint'
      ? Number(value)
      : typeof value === 'number'
        ? value
        : undefined;
/** The order among kinds is that in which they came; within texts it is that of their characters. */
const ranksOf = (values: readonly LakeValue[]): readonly number[] => {
  const firsts = new Map<string, number>();
  values.forEach((value, i) => {
    if (!firsts.has(kindOf(value))) firsts.set(kindOf(value), i);
  });
  const keyed = values.map((value) => ({
    kind: firsts.get(kindOf(value))!,
    number: numberOf(value),
    text: keyText(value),
  }));
  const order = keyed
    .map((_, i) => i)
    .sort((a, b) => {
      const x = keyed[a]!;
      const y = keyed[b]!;
      return (
        x.kind - y.kind ||
        (x.number !== undefined && y.number !== undefined
          ? x.number - y.number
          : x.text < y.text
            ? -1
            : x.text > y.text
              ? 1
              : 0)
      );
    });
  const ranks: number[] = [];
  let rank = -1;
  let before: string | undefined;
  for (const i of order) {
    const here = `${keyed[i]!.kind} ${keyed[i]!.text}`;
    if (here !== before) rank++;
    before = here;
    ranks[i] = rank;
  }
  return ranks;
};
/** A key for people: texts without quotes, the rest as SUP. */
export const keyText = (value: LakeValue | undefined): string => {
  if (value === undefined) return 'missing';
  if (typeof value === 'string') return value;
  if (value instanceof Address) return value.text;
  try {
    return supText(value);
  } catch {
    return String(value);
  }
};
