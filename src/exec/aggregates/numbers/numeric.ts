/** Numeric classes: what sum, min and max widen their results to. A higher class takes in the lower ones. */
import { type PrimitiveType, type Type, isFloat, isUnsigned, types } from '../../../vectors/type.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { textError } from '../../../vectors/value.ts';

/** 0: nothing yet. */
export const classes = { none: 0, unsigned: 1, signed: 2, duration: 3, time: 4, float: 5 } as const;
/**
 * The class that numbers of this type have. Asked for number types alone: what is none of the other classes counts as
 * signed.
 */
export const classOf = (t: Type): number =>
  isFloat(t)
    ? classes.float
    : t === types.time
      ? classes.time
      : t === types.duration
        ? classes.duration
        : isUnsigned(t)
          ? classes.unsigned
          : classes.signed;
const classTypes: readonly PrimitiveType[] = [
  types.int64,
  types.uint64,
  types.int64,
  types.duration,
  types.time,
  types.float64,
];
/** The type of a result of this class; int64 for `none`. */
const typeOfClass = (c: number): PrimitiveType => classTypes[c];

/** A 64-bit integer as its class holds it: wraps around. */
export const wrapped = (x: bigint, c: number): bigint =>
  c === classes.unsigned ? BigInt.asUintN(64, x) : BigInt.asIntN(64, x);

/** The result of a group that has both strings and numbers. */
export const mixture = textError('mixture of string and numeric values');

/**
 * The numbers of all groups as they stand, null where a group has none, if they are of one class; never those of
 * uint64, which may wrap.
 */
export const plainNumbers = (groups: number, classOfGroup: Uint8Array, values: Float64Array): Vector | undefined => {
  let c: number = classes.none;
  let empty = 0;
  for (let g = 0; g < groups; g++) {
    const own = classOfGroup[g];
    if (own === classes.none) empty++;
    else if (c === classes.none) c = own;
    else if (own !== c) return undefined;
  }
  if (c === classes.none || c === classes.unsigned) return undefined;
  const numbers: Vector = { form: 'number', type: typeOfClass(c), length: groups, values: values.slice(0, groups) };
  if (empty === 0) return numbers;
  const tags = new Uint32Array(groups);
  const slots = new Uint32Array(groups);
  for (let g = 0; g < groups; g++) {
    slots[g] = g;
    if (classOfGroup[g] === classes.none) tags[g] = 1;
  }
  return { form: 'dynamic', length: groups, tags, slots, parts: [numbers, { form: 'null', length: groups }] };
};

/** The numbers of all groups, null where a group has none, the error where it has strings too. */
export const numbersOfGroups = (
  groups: number,
  classOfGroup: Uint8Array,
  values: Float64Array,
  extra: (g: number) => bigint | undefined,
  isMixture: (g: number) => boolean,
): Vector => {
  const first = groups > 0 ? classOfGroup[0] : 0;
  let plain = first !== classes.none;
  for (let g = 0; g < groups && plain; g++)
    plain = classOfGroup[g] === first && extra(g) === undefined && !isMixture(g);
  if (plain) return { form: 'number', type: typeOfClass(first), length: groups, values: values.slice(0, groups) };
  const out = new Builder();
  for (let g = 0; g < groups; g++) {
    const c = classOfGroup[g];
    if (isMixture(g)) out.append(mixture);
    else if (c === classes.none) out.null();
    else {
      const big = extra(g);
      // What is no int64 keeps its type beside lesser numbers that are.
      out.number(
        big !== undefined && big > int64Max ? types.uint64 : typeOfClass(c),
        big === undefined ? values[g] : narrow(big),
      );
    }
  }
  return out.finish();
};
const int64Max = 2n ** 63n - 1n;
const narrow = (x: bigint): number | bigint => (x >= -9007199254740991n && x <= 9007199254740991n ? Number(x) : x);
