/**
 * Lists whose elements are looked at in their vectors, without a value for each: sums and extremes of numbers, and
 * whether some texts or numbers are among the elements (0.05 to 0.1 of the time that values take). All give undefined
 * for elements of other kinds, which are left to the functions by row.
 */
import { longDecimalName } from '../../../vectors/decimal.ts';
import { types, isFloat, isInteger } from '../../../vectors/type.ts';
import { textToBytes } from '../../../vectors/texts/codec.ts';
import { type Value, underUnions } from '../../../vectors/value.ts';
import {
  type BytesVector,
  type ListVector,
  type NumberVector,
  type Vector,
  bools,
  flatten,
  nulls,
  numbers,
  valueAt,
} from '../../../vectors/vector.ts';
import { onlyMember } from '../../../vectors/unions.ts';
import { overlay } from '../../expressions/rows.ts';
import type { Kernel } from '../row.ts';
import { itemsAt } from '../typed.ts';

/** Numbers of one type, beside nulls: element k is `values[slots[k]]`, or null if that is -1. */
interface FlatNumbers {
  readonly type: NumberVector['type'];
  readonly values: Float64Array;
  readonly slots: Int32Array | undefined;
}

const flatNumbers = (items: Vector): FlatNumbers | undefined => {
  const v = flatten(items);
  if (v.form === 'number')
    return (isInteger(v.type) || isFloat(v.type)) && v.values instanceof Float64Array
      ? { type: v.type, values: v.values, slots: undefined }
      : undefined;
  if (v.form === 'named') return v.name === longDecimalName ? undefined : flatNumbers(v.inner);
  if (v.form !== 'union') return undefined;
  const only = onlyMember(v);
  if (only) return flatNumbers(only);
  const given = v.members.flatMap((m, tag) => (m.form === 'null' || m.length === 0 ? [] : [tag]));
  const [tag] = given;
  const member = given.length === 1 ? flatNumbers(v.members[tag!]!) : undefined;
  if (!member || member.slots) return undefined;
  const slots = new Int32Array(v.length);
  for (let k = 0; k < slots.length; k++) slots[k] = v.tags[k] === tag ? v.slots[k] : -1;
  return { ...member, slots };
};

/** What a function makes of the numbers of a list, which are not null. */
export interface Fold {
  /** NaN stands for the result of no numbers. */
  readonly of: (given: FlatNumbers, start: number, end: number) => number;
  readonly type: (of: NumberVector['type']) => NumberVector['type'];
  /** Results that are not exact are left to others. */
  readonly isExact?: (total: number, of: NumberVector['type']) => boolean;
}

/** One number for each list, null where there are none. */
export const foldNumbers = (v: ListVector, { of, type, isExact }: Fold): Vector | undefined => {
  const given = flatNumbers(v.items);
  if (!given) return undefined;
  const out = new Float64Array(v.length);
  const none = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    const start = v.offsets[i];
    const end = v.offsets[i + 1];
    if (!hasNumber(given, start, end)) {
      none[i] = 1;
      continue;
    }
    out[i] = of(given, start, end);
    if (isExact && !isExact(out[i], given.type)) return undefined;
  }
  return overlay(numbers(type(given.type), out), none, nulls(v.length));
};
const hasNumber = ({ slots }: FlatNumbers, start: number, end: number): boolean => {
  if (!slots) return end > start;
  for (let k = start; k < end; k++) if (slots[k] >= 0) return true;
  return false;
};

/** NaN where a sum of integers goes beyond what a float has exactly. */
export const sumFold: Fold = {
  of: ({ type, values, slots }, start, end) => {
    const most = isFloat(type) ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER;
    let total = 0;
    for (let k = start; k < end; k++) {
      const at = slots ? slots[k] : k;
      if (at < 0) continue;
      total += values[at];
      if (total > most || total < -most) return Number.NaN;
    }
    return total;
  },
  type: (of) => (isFloat(of) ? types.float64 : types.int64),
  isExact: (total, of) => isFloat(of) || !Number.isNaN(total),
};
export const meanFold: Fold = {
  of: (given, start, end) => {
    let count = 0;
    for (let k = start; k < end; k++) if (!given.slots || given.slots[k] >= 0) count++;
    return sumFold.of(given, start, end) / count;
  },
  type: () => types.float64,
  isExact: sumFold.isExact!,
};
/** The greatest (`sign` 1) or least number; NaN is the greatest of all. Of equal ones the first counts. */
export const extremeFold = (sign: 1 | -1): Fold => ({
  of: ({ values, slots }, start, end) => {
    let best: number | undefined;
    for (let k = start; k < end; k++) {
      const at = slots ? slots[k] : k;
      if (at < 0) continue;
      const x = values[at];
      if (best === undefined || order(x, best) * sign > 0) best = x;
    }
    return best ?? Number.NaN;
  },
  type: (of) => of,
});
const order = (x: number, y: number): number => {
  if (x !== x || y !== y) return Number(x !== x) - Number(y !== y);
  return x - y;
};

/** Values that are looked for, each of which has a bit. */
const soughtMax = 30;
/**
 * Whether lists have any or all of the values that the second argument says, nulls apart, where it is the same for all
 * rows; else by row.
 */
export const having =
  (sought: 'value' | 'list', quantity: 'any' | 'all', byRows: Kernel): Kernel =>
  (args, length) => {
    const [list, given] = args;
    if (list!.form !== 'list' || given!.form !== 'constant' || given!.inner.form === 'null')
      return byRows(args, length);
    const values = soughtValues(given!.inner, sought)?.filter(({ type }) => type !== types.null);
    if (!values || values.length > soughtMax) return byRows(args, length);
    const { items, offsets } = list!;
    const marks = new Uint32Array(items.length);
    if (!mark(items, values, marks)) return byRows(args, length);
    const all = 2 ** values.length - 1;
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      let found = 0;
      for (let k = offsets[i]; k < offsets[i + 1]; k++) found |= marks[k];
      out[i] = (quantity === 'any' ? found !== 0 : found === all) ? 1 : 0;
    }
    return bools(out);
  };
const soughtValues = (given: Vector, sought: 'value' | 'list'): readonly Value[] | undefined => {
  if (sought === 'value') return [underUnions(valueAt(given, 0))];
  const list = flatten(given);
  return list.form === 'list' ? itemsAt(list, 0).values : undefined;
};
/** Sets the bits of the values that elements equal, as `sameValues` has it; false where that is not known of all. */
const mark = (v: Vector, sought: readonly Value[], marks: Uint32Array): boolean => {
  switch (v.form) {
    case 'null':
      return true;
    case 'bytes':
      return v.type === types.string && markTexts(v, sought, marks);
    case 'number':
      return (
        (isInteger(v.type) || isFloat(v.type)) &&
        v.values instanceof Float64Array &&
        markNumbers(v.values, sought, marks)
      );
    case 'dictionary':
      return markParts([v.values], undefined, v.codes, sought, marks);
    case 'selected':
      return v.base.length <= 4 * v.length
        ? markParts([v.base], undefined, v.index, sought, marks)
        : mark(flatten(v), sought, marks);
    case 'named':
      return v.name !== longDecimalName && mark(v.inner, sought, marks);
    case 'union':
      return markParts(v.members, v.tags, v.slots, sought, marks);
    default:
      return false;
  }
};
const markParts = (
  parts: readonly Vector[],
  tags: Uint32Array | undefined,
  slots: Uint32Array,
  sought: readonly Value[],
  marks: Uint32Array,
): boolean => {
  const own = parts.map((part) => {
    const inner = new Uint32Array(part.length);
    return mark(part, sought, inner) ? inner : undefined;
  });
  if (own.includes(undefined)) return false;
  for (let k = 0; k < marks.length; k++) marks[k] = own[tags ? tags[k] : 0]![slots[k]];
  return true;
};
const markTexts = (v: BytesVector, sought: readonly Value[], marks: Uint32Array): boolean => {
  for (let bit = 0; bit < sought.length; bit++) {
    const { type, data } = sought[bit];
    if (!isPlain(sought[bit])) return false;
    if (type !== types.string || typeof data !== 'string') continue;
    markText(v, textToBytes(data), 1 << bit, marks);
  }
  return true;
};
const markText = ({ offsets, bytes }: BytesVector, text: Uint8Array, bit: number, marks: Uint32Array): void => {
  for (let k = 0; k < marks.length; k++) {
    const start = offsets[k];
    if (offsets[k + 1] - start !== text.length) continue;
    let at = 0;
    while (at < text.length && bytes[start + at] === text[at]) at++;
    if (at === text.length) marks[k] |= bit;
  }
};
const markNumbers = (values: Float64Array, sought: readonly Value[], marks: Uint32Array): boolean => {
  for (let bit = 0; bit < sought.length; bit++) {
    const { type, data } = sought[bit];
    if (!isPlain(sought[bit])) return false;
    if (type === types.string || typeof data !== 'number') continue;
    for (let k = 0; k < marks.length; k++)
      if (values[k] === data || (data !== data && values[k] !== values[k])) marks[k] |= 1 << bit;
  }
  return true;
};
/** A text, or a number that a float can be. */
const isPlain = ({ type, data }: Value): boolean =>
  type === types.string || ((isInteger(type) || isFloat(type)) && typeof data === 'number');
