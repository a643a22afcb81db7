/** Small things that kernels share: rows put over one another, errors, which rows are true, vectors in tidy form. */
import type { Type } from '../../vectors/type.ts';
import { type Value, stringValue, textError } from '../../vectors/value.ts';
import {
  type Vector,
  type FlatVector,
  type RecordVector,
  type DynamicVector,
  constant,
  gather,
  noRows,
  range,
  slice,
  take,
  ofForm,
} from '../../vectors/vector.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { constantOf } from '../../vectors/builder.ts';
import { classOf as flatClassOf, concat, pickCoded } from '../../vectors/concat.ts';

/** The class of a vector's rows (vectors/concat.ts), in whatever form; rows of a mixed vector have none. */
const classOf = (v: Vector): string | Type | undefined => {
  switch (v.form) {
    case 'constant':
      return classOf(v.inner);
    case 'dictionary':
      return classOf(v.values);
    case 'selected':
      return classOf(v.base);
    case 'record':
      return classOfRecords(v);
    case 'dynamic':
      return undefined;
    default:
      return flatClassOf(v);
  }
};
const recordClasses = new WeakMap<RecordVector, string | Type>();
const classOfRecords = (v: RecordVector): string | Type => {
  let known = recordClasses.get(v);
  if (known === undefined) recordClasses.set(v, (known = flatClassOf(v)));
  return known;
};

/**
 * Rows of several vectors as one: row i is parts[tags[i]] at slots[i]. Parts may be of any form. The result may have
 * several parts of one class, which costs nothing to make; `tidy` puts them together where somebody outside sees the
 * vector.
 */
export const combine = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  if (parts.length === 1) return take(parts[0], slots);
  if (parts.length === 0) return noRows;
  if (parts.every(isBools)) return combineBools(tags, slots, parts);
  if (
    parts.every((p) => p.form === 'constant' && p.inner.form !== 'null') &&
    new Set(parts.map(classOf)).size === 1 &&
    classOf(parts[0]) !== undefined
  ) {
    return {
      form: 'dictionary',
      length: tags.length,
      codes: tags,
      values: concat(parts.map((p) => slice(ofForm(p, 'constant').inner, 0, 1))),
    };
  }
  if (parts.some((p) => classOf(p) === undefined)) return combineCopied(tags, slots, parts);
  return { form: 'dynamic', length: tags.length, tags, slots, parts };
};
const isBools = (v: Vector): boolean => v.form === 'bool' || (v.form === 'constant' && v.inner.form === 'bool');
const combineBools = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  const arrays = parts.map((p) =>
    p.form === 'bool'
      ? p.values
      : (gather(p, new Uint32Array(p.length)) as Extract<FlatVector, { form: 'bool' }>).values,
  );
  const values = new Uint8Array(tags.length);
  for (let i = 0; i < values.length; i++) values[i] = arrays[tags[i]][slots[i]];
  return { form: 'bool', length: values.length, values };
};
const combineCopied = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[]): Vector => {
  const coded = pickCoded({ tags, slots, length: tags.length }, parts);
  if (coded) return coded;
  const bases = new Uint32Array(parts.length);
  for (let k = 1; k < parts.length; k++) bases[k] = bases[k - 1] + parts[k - 1].length;
  const all = concat(parts);
  const index = new Uint32Array(tags.length);
  for (let i = 0; i < index.length; i++) index[i] = bases[tags[i]] + slots[i];
  return gatherOrTake(all, index);
};
/** Copies where that is cheap, so that views do not pile up. */
const gatherOrTake = (v: Vector, index: Uint32Array): Vector => {
  switch (v.form) {
    case 'number':
    case 'bool':
    case 'bytes':
    case 'type':
    case 'enum':
    case 'dynamic':
      return gather(v, index);
    default:
      return take(v, index);
  }
};

/** Rows of `over` where `mask` is 1, else those of `base`; all three have the same length. */
export const overlay = (base: Vector, mask: Uint8Array, over: Vector): Vector => {
  const length = base.length;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  let covered = 0;
  for (let i = 0; i < length; i++) {
    slots[i] = i;
    if (mask[i]) {
      tags[i] = 1;
      covered++;
    }
  }
  return covered === 0 ? base : covered === length ? over : combine(tags, slots, [base, over]);
};

/** Parts of one class put together, so that a dynamic vector's parts differ in more than their place. */
export const tidy = (v: Vector): Vector => {
  if (v.form === 'selected' && v.base.form === 'dynamic') return tidy(gather(v.base, v.index));
  if (v.form !== 'dynamic') return v;
  if (v.length === 0) return v.parts[0] ? take(v.parts[0], new Uint32Array(0)) : noRows;
  if (allUsed(v.tags, v.parts.length, v.length) && areDistinct(v.parts)) return v;
  if (areOfOnePart(v)) return take(v.parts[v.tags[0]], v.slots.subarray(0, v.length));
  const coded = pickCoded(v, v.parts);
  if (coded) return coded;
  const used = new Uint32Array(v.parts.length);
  for (let i = 0; i < v.length; i++) used[v.tags[i]]++;
  return tidyParts(v, used);
};
const areOfOnePart = ({ tags, length }: DynamicVector): boolean => {
  let i = 1;
  while (i < length && tags[i] === tags[0]) i++;
  return i >= length;
};
/**
 * Whether there is a row of every part: known after a few rows, mostly. False where there are too many parts to tell
 * quickly.
 */
export const allUsed = (tags: Uint32Array, parts: number, length: number): boolean => {
  if (parts > 31) return false;
  const all = 2 ** parts - 1;
  let seen = 0;
  for (let i = 0; i < length; i++) {
    seen |= 1 << tags[i];
    if (seen === all) return true;
  }
  return false;
};
const areDistinct = (parts: readonly Vector[]): boolean => {
  const classes = new Set(parts.map(classOf));
  return classes.size === parts.length && !classes.has(undefined);
};
const tidyParts = (v: DynamicVector, used: Uint32Array): Vector => {
  const keep: Vector[] = [];
  const renumbered = new Uint32Array(v.parts.length);
  v.parts.forEach((p, k) => {
    if (used[k] > 0) renumbered[k] = keep.push(p) - 1;
  });
  const tags = new Uint32Array(v.length);
  for (let i = 0; i < v.length; i++) tags[i] = renumbered[v.tags[i]];
  const slots = v.slots.subarray(0, v.length);
  if (keep.length === 1) return take(keep[0], slots);
  const distinct = new Set(keep.map(classOf));
  return distinct.size === keep.length && !distinct.has(undefined)
    ? { ...v, tags, slots, parts: keep }
    : combineCopied(tags, slots, keep);
};

/** `error("text")` on every row. */
export const errors = (text: string, length: number): Vector => constantOf(textError(text), length);
/** Names that the dispatcher took off an argument before the kernel saw it, outermost first. */
const strippedNames = new WeakMap<object, readonly string[]>();
/** Marks a vector or value as what is under these names. */
export const markNames = <T extends object>(bare: T, names: readonly string[] | undefined): T => {
  if (names && names.length > 0) strippedNames.set(bare, names);
  return bare;
};
/** The names that were taken off this vector or value, outermost first; undefined if it had none. */
export const namesOf = (bare: object): readonly string[] | undefined => strippedNames.get(bare);
/** A kernel's argument with the names that it had; other vectors as they are. */
export const original = (v: Vector): Vector => {
  if (v.form === 'constant') return namesOf(v.inner) ? constant(original(v.inner), v.length) : v;
  const names = namesOf(v);
  // A copy: the mark must not leave the kernel.
  return names
    ? names.reduceRight<Vector>((inner, name) => ({ form: 'named', name, length: v.length, inner }), { ...v })
    : v;
};

/** `error({message,on})` on every row; what was named is named again. */
export const wrapErrors = (message: string, on: Vector): Vector => {
  if (on.form === 'constant') return constant(wrapErrors(message, on.inner), on.length);
  return {
    form: 'error',
    length: on.length,
    inner: {
      form: 'record',
      length: on.length,
      fields: [
        { name: 'message', optional: false, values: constantOf(stringValue(message), on.length) },
        { name: 'on', optional: false, values: original(on) },
      ],
    },
  };
};
/** error("missing") `length` times. */
export const missingRows = (length: number): Vector => ({ form: 'constant', length, inner: missingRow });
const missingRow = (constantOf(textError('missing'), 1) as Extract<Vector, { form: 'constant' }>).inner;

/** Every row is the same value. */
export const repeat = (value: Value, length: number): Vector => constantOf(value, length);

/** How a row counts in logic. */
export const truth = { false: 0, true: 1, null: 2, error: 3, other: 4 } as const;

/** A `truth` code for each row; names and unions are looked through. */
export const truthOf = (v: Vector): Uint8Array => {
  switch (v.form) {
    case 'bool':
      return v.length === v.values.length ? v.values : v.values.subarray(0, v.length);
    case 'null':
      return new Uint8Array(v.length).fill(truth.null);
    case 'error':
      return new Uint8Array(v.length).fill(truth.error);
    case 'named':
      return truthOf(v.inner);
    case 'constant':
      return new Uint8Array(v.length).fill(truthOf(v.inner)[0]);
    case 'dictionary':
      return codesAt(truthOf(v.values), v.codes, v.length);
    case 'selected':
      return codesAt(truthOf(v.base), v.index, v.length);
    case 'dynamic':
      return truthOfTagged(v.tags, v.slots, v.parts, v.length);
    case 'union': {
      const member = onlyMember(v);
      return member ? truthOf(member) : truthOfTagged(v.tags, v.slots, v.members, v.length);
    }
    default:
      return new Uint8Array(v.length).fill(truth.other);
  }
};
/** The same, where what is inside of a union is neither null nor an error. */
export const truthOutside = (v: Vector): Uint8Array => {
  switch (v.form) {
    case 'union':
      return new Uint8Array(v.length).fill(truth.other);
    case 'named':
      return truthOutside(v.inner);
    case 'constant':
      return new Uint8Array(v.length).fill(truthOutside(v.inner)[0]);
    case 'dictionary':
      return codesAt(truthOutside(v.values), v.codes, v.length);
    case 'selected':
      return codesAt(truthOutside(v.base), v.index, v.length);
    case 'dynamic':
      return truthOfTagged(v.tags, v.slots, v.parts, v.length, truthOutside);
    default:
      return truthOf(v);
  }
};
/** The codes of so many rows, of which `table` has one for each value that `index` names. */
export const codesAt = (table: Uint8Array, index: Uint32Array, length: number): Uint8Array => {
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = table[index[i]];
  return out;
};
const truthOfTagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
  codes: (part: Vector) => Uint8Array = truthOf,
): Uint8Array => {
  const tables = parts.map(codes);
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = tables[tags[i]][slots[i]];
  return out;
};

/** The rows that are true: what filters keep. */
export const isTrue = (v: Vector): Uint32Array => {
  if (v.form === 'constant') return truthOf(v.inner)[0] === truth.true ? range(0, v.length) : new Uint32Array(0);
  if (v.form === 'bool') return rowsSet(v.values, v.length);
  return rowsWith(truthOf(v), v.length, truth.true);
};
/** Rows of ones among zeros and ones: added up, without a branch that the machine would have to guess. */
const rowsSet = (values: Uint8Array, length: number): Uint32Array => {
  // Node finds the first one sooner than a loop here does; mostly there is none in a search for few rows.
  const first = Buffer.from(values.buffer, values.byteOffset, length).indexOf(1);
  if (first < 0) return new Uint32Array(0);
  const rows = scratchRows(length);
  let n = 0;
  for (let i = first; i < length; i++) {
    rows[n] = i;
    n += values[i];
  }
  return rows.slice(0, n);
};
let scratch = new Uint32Array(8192);
/** Where rows are collected before they are copied out: no pages are touched that soon after are garbage. */
const scratchRows = (length: number): Uint32Array => {
  if (scratch.length < length) scratch = new Uint32Array(length);
  return scratch;
};
/** The rows whose code is `wanted`. */
export const rowsWith = (codes: Uint8Array, length: number, wanted: number): Uint32Array => {
  const rows = scratchRows(length);
  let n = 0;
  for (let i = 0; i < length; i++) {
    rows[n] = i;
    n += Number(codes[i] === wanted);
  }
  return rows.slice(0, n);
};

/** The vector with the rows: a constant's inner one. */
export const inner = (v: Vector): Vector => (v.form === 'constant' ? v.inner : v);
