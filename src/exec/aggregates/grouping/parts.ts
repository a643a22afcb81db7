/**
 * Arguments of aggregates by class: flat vectors without names, unions and mixtures, each with the rows that it holds.
 */
import { nearestFloats } from '../../expressions/wide.ts';
import { unnamed } from '../../../vectors/decimal.ts';
import { onlyMember, opened } from '../../../vectors/unions.ts';
import {
  type Vector,
  type FlatVector,
  type NumberVector,
  constant,
  flatten,
  gather,
  lookUp,
  range,
} from '../../../vectors/vector.ts';

/** Rows `rows[i]` of the argument (absent: row i) are `part` at i. */
export type Visit = (
  part: Exclude<FlatVector, { form: 'dynamic' | 'union' | 'named' }>,
  rows: Uint32Array | undefined,
) => void;

/**
 * An argument as loops over numbers take it: held by itself, without a name, and what may be null as numbers among
 * nulls, or as numbers alone.
 */
export const numbersIn = (v: Vector): Vector => {
  switch (v.form) {
    case 'selected':
      return numbersIn(flatten(v));
    case 'named':
      return v.inner.length === v.length ? numbersIn(unnamed(v)) : v;
    case 'union': {
      const rows = opened(v);
      return rows.form === 'dynamic' ? rows : numbersIn(rows);
    }
    default:
      return v;
  }
};

/** Visits every class of rows once; within a class the rows keep their order. */
export const eachPart = (v: Vector, visit: Visit, rows?: Uint32Array): void => {
  if (v.length === 0) return;
  switch (v.form) {
    case 'constant':
      // What is left out by most is not spread out.
      if (v.inner.form === 'null') return visit({ form: 'null', length: v.length }, rows);
      if (v.inner.form === 'error')
        return visit({ form: 'error', length: v.length, inner: constant(v.inner.inner, v.length) }, rows);
      return eachPart(flatten(v), visit, rows);
    case 'dictionary':
    case 'selected':
      return eachPart(flatten(v), visit, rows);
    case 'named':
      return eachPart(v.inner.length === v.length ? unnamed(v) : gather(unnamed(v), range(0, v.length)), visit, rows);
    case 'dynamic':
      return eachTagged(v.tags, v.slots, v.parts, v.length, visit, rows);
    case 'union': {
      const member = onlyMember(v);
      return member ? eachPart(member, visit, rows) : eachTagged(v.tags, v.slots, v.members, v.length, visit, rows);
    }
    default:
      visit(v, rows);
  }
};
const eachTagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
  visit: Visit,
  rows: Uint32Array | undefined,
): void => {
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]]++;
  for (const [tag, part] of parts.entries()) {
    const count = counts[tag];
    if (count === 0) continue;
    const own = new Uint32Array(count);
    const index = new Uint32Array(count);
    for (let i = 0, n = 0; i < length; i++) {
      if (tags[i] !== tag) continue;
      own[n] = rows ? rows[i] : i;
      index[n++] = slots[i];
    }
    eachPart(gather(part, index), visit, own);
  }
};
/**
 * Whether the test holds for all that a vector is made of, rows that are not in use too; null is not asked about, nor
 * are errors but for `ofErrors`. Nothing is flattened.
 */
export const everyPart = (v: Vector, test: (part: Vector) => boolean, ofErrors = false): boolean => {
  switch (v.form) {
    case 'null':
      return true;
    case 'error':
      return !ofErrors || test(v);
    case 'constant':
      return everyPart(v.inner, test, ofErrors);
    case 'named':
      return everyPart(unnamed(v), test, ofErrors);
    case 'dictionary':
      return everyPart(v.values, test, ofErrors);
    case 'selected':
      return everyPart(v.base, test, ofErrors);
    case 'dynamic':
      return v.parts.every((p) => everyPart(p, test, ofErrors));
    case 'union': {
      const member = onlyMember(v);
      return member ? everyPart(member, test, ofErrors) : v.members.every((p) => everyPart(p, test, ofErrors));
    }
    default:
      return test(v);
  }
};
/**
 * Whether all rows are null, or all are the same error: what most aggregates leave out, and what a field that records
 * lack gives.
 */
export const isNothing = (v: Vector): boolean =>
  v.form === 'null' || (v.form === 'constant' && (v.inner.form === 'null' || v.inner.form === 'error'));

let sameIds = new Uint32Array(0);
/** Ids of rows that are all in one group, for use until the next call. */
export const idsOfOne = (group: number, length: number): Uint32Array => {
  if (sameIds.length < length) sameIds = new Uint32Array(Math.max(length, 8192));
  return sameIds.subarray(0, length).fill(group);
};

/** table[index[i]] for each i; the whole table where there is no index. */
export const pick = (table: Uint32Array, index: Uint32Array | undefined): Uint32Array =>
  index ? lookUp(table, index) : table;

/** Numbers as floats; integers beyond 2^53 are rounded. */
export const floatsOf = (v: NumberVector): Float64Array =>
  v.values instanceof Float64Array ? v.values : nearestFloats(v.values, v.length);
