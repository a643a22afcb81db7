/**
 * The dispatcher: brings argument vectors into a form that kernels can loop over.
 *
 * A kernel sees flat or constant vectors without names (`original` gives them back) and unions, each with rows of one
 * kind only (never dynamic): nulls and errors come as vectors of their own, so that a kernel decides once per call,
 * never per row. What it gives for all rows of such a group is put back in place.
 * - All arguments constant: the kernel runs on one row.
 * - One dictionary and constants: it runs on the dictionary's values once, the codes stay.
 * - One mixed vector and constants: it runs on each part as a whole, the tags stay.
 * - Otherwise rows are split into groups by the combination of their parts.
 */
import { floatsOfTexts, longDecimalName } from '../../vectors/decimal.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { type UnionVector, type Vector, constant, flatten, gather, noRows, take } from '../../vectors/vector.ts';
import { allUsed, combine, markNames, namesOf, original } from './rows.ts';

/** `args` have `length` rows each, and so has the result. */
export type Kernel = (args: readonly Vector[], length: number) => Vector;

/** Rows of one kind (`tags` absent), or several parts. Parts are flat, constant or dictionaries, never mixed. */
interface Split {
  readonly parts: readonly Vector[];
  readonly tags?: Uint32Array;
  readonly slots?: Uint32Array;
}

/**
 * What a kernel sees of wrapped values. `named`: names and unions are looked through, errors show the names. `bare`:
 * errors do not show them either. `whole`: a union is an argument of its own kind, which most kernels refuse. `exact`:
 * long decimals are texts of which `isLong` is true; to all others they are the nearest floats.
 */
export type Wrapping = 'named' | 'bare' | 'whole' | 'exact';
/** Whether an argument has long decimals. */
export const isLong = (v: Vector): boolean =>
  namesOf(v.form === 'constant' ? v.inner : v)?.includes(longDecimalName) ?? false;

/** Runs the kernel over arguments of any form. */
export const apply = (
  args: readonly Vector[],
  length: number,
  kernel: Kernel,
  wrapping: Wrapping = 'named',
): Vector => {
  if (length === 0) return noRows;
  if (args.length === 1 && isPlain(args[0]!)) return kernel(args, length);
  const splits = args.map((a) => splitOf(a, wrapping));
  const mixed = splits.filter((s) => s.tags);
  if (mixed.length === 0)
    return run(
      splits.map((s) => s.parts[0]!),
      length,
      kernel,
    );
  if (mixed.length === 1 && splits.every((s) => s.tags || s.parts[0]!.form === 'constant'))
    return runOnParts(splits, mixed[0]!, kernel);
  return runOnGroups(splits, length, kernel);
};

const isPlain = (v: Vector): boolean => {
  switch (v.form) {
    case 'number':
    case 'bool':
    case 'bytes':
    case 'null':
    case 'type':
    case 'enum':
    case 'record':
    case 'list':
    case 'map':
    case 'error':
      return true;
    default:
      return false;
  }
};

const resized = (v: Vector, length: number): Vector =>
  v.form === 'constant' && v.length !== length ? { ...v, length } : v;

/** A part without its names, which are remembered for errors around it. */
const bare = (v: Vector): Vector => {
  switch (v.form) {
    case 'named': {
      const names: string[] = [];
      let inner: Vector = v;
      while (inner.form === 'named') {
        names.push(inner.name);
        inner = flatten(inner.inner);
      }
      return markNames({ ...inner }, names);
    }
    case 'constant': {
      const inner = bare(v.inner);
      return inner === v.inner ? v : { ...v, inner };
    }
    case 'dictionary': {
      const values = bare(v.values);
      return values === v.values ? v : { ...v, values };
    }
    default:
      return v;
  }
};
const looked = (v: Vector): Vector => (v.form === 'dictionary' ? markNames(flatten(v), namesOf(v.values)) : v);
const renamed = (v: Vector, name: string): Vector => {
  switch (v.form) {
    case 'constant':
      return { ...v, inner: renamed(v.inner, name) };
    case 'dictionary':
      return { ...v, values: renamed(v.values, name) };
    default:
      return { form: 'named', name, length: v.length, inner: v };
  }
};

/** An argument that a kernel gives back (an error, mostly) has its names again. */
const run = (parts: readonly Vector[], length: number, kernel: Kernel): Vector =>
  original(runBare(parts.map(bare), length, kernel));
const runBare = (args: readonly Vector[], length: number, kernel: Kernel): Vector => {
  const varying = args.filter((a) => a.form !== 'constant');
  if (varying.length === 0 && args.length > 0) {
    const one = original(
      kernel(
        args.map((a) => (a.form === 'constant' ? a.inner : a)),
        1,
      ),
    );
    return constant(one.form === 'selected' || one.form === 'dictionary' ? flatten(one) : one, length);
  }
  const [dictionary] = varying;
  if (varying.length === 1 && dictionary!.form === 'dictionary' && dictionary!.values.length <= length) {
    const size = dictionary!.values.length;
    const values = original(
      kernel(
        args.map((a) => (a === dictionary ? dictionary!.values : resized(a, size))),
        size,
      ),
    );
    return values.form === 'constant'
      ? resized(values, length)
      : { form: 'dictionary', length, codes: dictionary!.codes, values };
  }
  return kernel(args.map(looked), length);
};

const runOnParts = (splits: readonly Split[], mixed: Split, kernel: Kernel): Vector =>
  combine(
    mixed.tags!,
    mixed.slots!,
    mixed.parts.map((part) =>
      run(
        splits.map((s) => (s === mixed ? part : resized(s.parts[0]!, part.length))),
        part.length,
        kernel,
      ),
    ),
  );

const runOnGroups = (splits: readonly Split[], length: number, kernel: Kernel): Vector => {
  const { tags, slots, rows } = groupsOf(splits, length);
  return combine(
    tags,
    slots,
    rows.map((r) =>
      run(
        splits.map((s) => rowsOf(s, r)),
        r.length,
        kernel,
      ),
    ),
  );
};

/**
 * As `apply`, with vectors that come along as they are (`carried`), cut to the rows of each group. The kernel sees flat
 * and constant arguments.
 */
export const applyCarrying = (
  args: readonly Vector[],
  carried: readonly Vector[],
  length: number,
  kernel: (args: readonly Vector[], carried: readonly Vector[], length: number) => Vector,
  wrapping: Wrapping = 'named',
): Vector => {
  if (length === 0) return noRows;
  const splits = args.map((a) => splitOf(a, wrapping));
  const undone = (a: Vector): Vector => looked(bare(a));
  if (splits.every((s) => !s.tags))
    return original(
      kernel(
        splits.map((s) => undone(s.parts[0]!)),
        carried,
        length,
      ),
    );
  const { tags, slots, rows } = groupsOf(splits, length);
  return combine(
    tags,
    slots,
    rows.map((r) =>
      original(
        kernel(
          splits.map((s) => undone(rowsOf(s, r))),
          carried.map((c) => take(c, r)),
          r.length,
        ),
      ),
    ),
  );
};

/** Rows by the combination of parts that they are in. */
const groupsOf = (
  splits: readonly Split[],
  length: number,
): { readonly tags: Uint32Array; readonly slots: Uint32Array; readonly rows: readonly Uint32Array[] } => {
  const combinations = splits.reduce((n, s) => (s.tags ? n * s.parts.length : n), 1);
  const { tags, counts } =
    combinations <= tabledMax ? tabledGroups(splits, length, combinations) : hashedGroups(splits, length);
  const slots = new Uint32Array(length);
  const next = new Uint32Array(counts.length);
  for (let i = 0; i < length; i++) slots[i] = next[tags[i]!]!++;
  const rows = counts.map((n) => new Uint32Array(n));
  for (let i = 0; i < length; i++) rows[tags[i]!]![slots[i]!] = i;
  return { tags, slots, rows };
};

/** Combinations of parts that are counted in a table. */
const tabledMax = 1024;
interface GroupTags {
  readonly tags: Uint32Array;
  readonly counts: readonly number[];
}
const tabledGroups = (splits: readonly Split[], length: number, combinations: number): GroupTags => {
  const tags = new Uint32Array(length);
  const places = new Uint32Array(combinations);
  const counts: number[] = [];
  for (const s of splits) if (s.tags) addTags(tags, s.tags, s.parts.length);
  const totals = new Uint32Array(combinations);
  for (let i = 0; i < length; i++) totals[tags[i]!]!++;
  for (let k = 0; k < combinations; k++) if (totals[k]! > 0) places[k] = counts.push(totals[k]!) - 1;
  for (let i = 0; i < length; i++) tags[i] = places[tags[i]!]!;
  return { tags, counts };
};
const addTags = (codes: Uint32Array, tags: Uint32Array, parts: number): void => {
  for (let i = 0; i < codes.length; i++) codes[i] = codes[i]! * parts + tags[i]!;
};
const hashedGroups = (splits: readonly Split[], length: number): GroupTags => {
  const codes = new Float64Array(length);
  const numbers = new Map<number, number>();
  const tags = new Uint32Array(length);
  const counts: number[] = [];
  for (const s of splits)
    if (s.tags) for (let i = 0; i < length; i++) codes[i] = codes[i]! * s.parts.length + s.tags[i]!;
  for (let i = 0; i < length; i++) {
    let group = numbers.get(codes[i]!);
    if (group === undefined) {
      numbers.set(codes[i]!, (group = numbers.size));
      counts.push(0);
    }
    tags[i] = group;
    counts[group]!++;
  }
  return { tags, counts };
};

/** Rows `rows` of a split, all of which are in one part. */
const rowsOf = (s: Split, rows: Uint32Array): Vector => {
  if (!s.tags) return pick(s.parts[0]!, rows);
  const index = new Uint32Array(rows.length);
  for (let i = 0; i < index.length; i++) index[i] = s.slots![rows[i]!]!;
  return pick(s.parts[s.tags[rows[0]!]!]!, index);
};
const pick = (v: Vector, index: Uint32Array): Vector =>
  v.form === 'constant' ? resized(v, index.length) : v.form === 'dictionary' ? take(v, index) : gather(v, index);

const splitOf = (v: Vector, wrapping: Wrapping): Split => {
  switch (v.form) {
    case 'named': {
      const floats = v.name === longDecimalName && wrapping !== 'exact' ? floatsOfTexts(flatten(v.inner)) : undefined;
      if (floats) return { parts: [floats] };
      const s = splitOf(v.inner, wrapping);
      return wrapping === 'bare' ? s : { ...s, parts: s.parts.map((p) => renamed(p, v.name)) };
    }
    case 'dynamic':
      return splitTagged(v.tags, v.slots, v.parts, v.length, wrapping);
    case 'union':
      return wrapping === 'whole' ? { parts: [v] } : splitUnion(v, wrapping);
    case 'constant':
      return { parts: [constant(onlyRow(v.inner, wrapping), v.length)] };
    case 'selected':
      return splitIndexed(v.index, splitOf(v.base, wrapping), v.length);
    case 'dictionary': {
      const s = splitOf(v.values, wrapping);
      return s.tags
        ? splitIndexed(v.codes, s, v.length)
        : s.parts[0]!.form === 'constant' || s.parts[0]!.form === 'dictionary'
          ? { parts: [pick(s.parts[0]!, v.codes.subarray(0, v.length))] }
          : { parts: [s.parts[0] === v.values ? v : { ...v, values: s.parts[0]! }] };
    }
    default:
      return { parts: [v] };
  }
};
/** The single row of a constant as a flat vector of one row. */
const onlyRow = (v: Vector, wrapping: Wrapping): Vector => {
  if (isPlain(v) && v.length === 1) return v;
  const s = splitOf(v, wrapping);
  return s.tags ? gather(s.parts[s.tags[0]!]!, s.slots!.subarray(0, 1)) : gather(s.parts[0]!, new Uint32Array(1));
};

const splitIndexed = (index: Uint32Array, s: Split, length: number): Split => {
  if (!s.tags) {
    const part = s.parts[0]!;
    return { parts: [pick(part, index.length === length ? index : index.subarray(0, length))] };
  }
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    tags[i] = s.tags[index[i]!]!;
    slots[i] = s.slots![index[i]!]!;
  }
  return compact(tags, slots, s.parts);
};

/** Parts that can stay as they are: all in use, none much longer than its rows. */
const isCompact = (tags: Uint32Array, children: readonly Vector[], length: number): boolean => {
  if (
    children.length < 2 ||
    tags.length !== length ||
    !children.every((c) => isPlain(c) || (c.form === 'constant' && isPlain(c.inner) && c.inner.length === 1))
  )
    return false;
  // As many values as rows, and a row of each: nothing can be much longer than what is used of it, but where rows
  // repeat.
  if (
    children.reduce((n, c) => n + (c.form === 'constant' ? 0 : c.length), 0) <= length &&
    allUsed(tags, children.length, length)
  )
    return true;
  const counts = new Uint32Array(children.length);
  for (let i = 0; i < length; i++) counts[tags[i]!]!++;
  return children.every((c, k) => counts[k]! > 0 && (c.form === 'constant' || c.length <= counts[k]! * 2 + 16));
};

/**
 * A column that may be null and is not, as a file of Parquet has many, is told from others once and not for each
 * expression over it: 90 sums over one such column take 0.3 of the time.
 */
const splitUnion = (v: UnionVector, wrapping: Wrapping): Split => {
  const member = onlyMember(v);
  return member ? splitOf(member, wrapping) : splitTagged(v.tags, v.slots, v.members, v.length, wrapping);
};
const splitTagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  children: readonly Vector[],
  length: number,
  wrapping: Wrapping,
): Split => {
  if (isCompact(tags, children, length)) return { parts: children, tags, slots };
  const counts = rowsOfParts(tags, children.length, length);
  const splits = children.map((child, k) => (counts[k] ? splitOf(child, wrapping) : undefined));
  // The fields of unlike records are of one kind each, mostly: their rows are where they were.
  if (splits.every((s) => !s?.tags))
    return compact(
      tags.subarray(0, length),
      slots.subarray(0, length),
      splits.map((s) => s?.parts[0] ?? noRows),
      counts,
    );
  const parts: Vector[] = [];
  const places = splits.map((s) => {
    const base = parts.length;
    if (s) parts.push(...s.parts);
    return s && { s, base };
  });
  const outTags = new Uint32Array(length);
  const outSlots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const { s, base } = places[tags[i]!]!;
    outTags[i] = s.tags ? base + s.tags[slots[i]!]! : base;
    outSlots[i] = s.tags ? s.slots![slots[i]!]! : slots[i]!;
  }
  return compact(outTags, outSlots, parts);
};

/** Leaves out parts without rows and copies the rows out of parts that are much longer than what is used of them. */
const compact = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  counts = rowsOfParts(tags, parts.length, tags.length),
): Split => {
  const used = parts.reduce((n, _, k) => n + (counts[k] ? 1 : 0), 0);
  if (used === 1) {
    const part = parts[counts.findIndex((c) => c > 0)]!;
    return {
      parts: [
        part.form === 'constant' ? resized(part, tags.length) : isWhole(slots, part.length) ? part : pick(part, slots),
      ],
    };
  }
  const kept: Vector[] = [];
  const places = new Uint32Array(parts.length);
  let outSlots = slots;
  for (const [k, part] of parts.entries()) {
    if (counts[k] === 0) continue;
    places[k] = kept.length;
    if (part.form === 'constant' || part.length <= counts[k]! * 2 + 16) kept.push(part);
    else {
      if (outSlots === slots) outSlots = slots.slice();
      kept.push(copyUsed(part, k, tags, outSlots, counts[k]!));
    }
  }
  if (used === parts.length) return { parts: kept, tags, slots: outSlots };
  const outTags = new Uint32Array(tags.length);
  for (let i = 0; i < tags.length; i++) outTags[i] = places[tags[i]!]!;
  return { parts: kept, tags: outTags, slots: outSlots };
};
const rowsOfParts = (tags: Uint32Array, parts: number, length: number): Uint32Array => {
  const counts = new Uint32Array(parts);
  for (let i = 0; i < length; i++) counts[tags[i]!]!++;
  return counts;
};
const isWhole = (slots: Uint32Array, length: number): boolean => {
  if (slots.length !== length) return false;
  for (let i = 0; i < length; i++) if (slots[i] !== i) return false;
  return true;
};
const copyUsed = (part: Vector, tag: number, tags: Uint32Array, slots: Uint32Array, count: number): Vector => {
  const index = new Uint32Array(count);
  for (let i = 0, n = 0; i < tags.length; i++) {
    if (tags[i] !== tag) continue;
    index[n] = slots[i]!;
    slots[i] = n++;
  }
  return pick(part, index);
};
