/** Rows that are held for long must not hold more than themselves: views of larger vectors are copied. */
import { liftTagged } from '../expressions/lift.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { type DynamicVector, type Vector, compacted, flatten, gather, range, take } from '../../vectors/vector.ts';

/** The same rows, copied as far as they are a view of many more. */
export const compact = (v: Vector): Vector => (isView(v, v.length) ? copied(v) : v);

/** So many times more rows than are seen make a view worth a copy; dictionaries are shared by the batches of a scan. */
const viewFactor = 2;
const dictionaryFactor = 16;

const isView = (v: Vector, rows: number): boolean => {
  if (v.length > rows * viewFactor + 64) return true;
  switch (v.form) {
    case 'record':
      return v.fields.some((f) => isView(f.values, rows));
    case 'error':
    case 'named':
      return isView(v.inner, rows);
    case 'dictionary':
      return isView(v.values, rows * dictionaryFactor);
    case 'selected':
      return isView(v.base, rows);
    case 'dynamic':
      return v.parts.some((p) => isView(p, rows));
    case 'union':
      return v.members.some((m) => isView(m, rows));
    default:
      return false;
  }
};

const copied = (v: Vector): Vector => {
  switch (v.form) {
    case 'record':
      return {
        ...v,
        fields: v.fields.map((f) => ({
          ...f,
          values: f.values.length > v.length ? compact(gather(f.values, range(0, v.length))) : compact(f.values),
        })),
      };
    case 'error':
    case 'named':
      return { ...v, inner: compact(v.inner) };
    case 'dictionary':
    case 'selected':
      return compact(flatten(v));
    case 'dynamic':
      return liftTagged(v.tags, v.slots, v.parts, v.length, compact);
    case 'union': {
      // To look its rows up would copy tags and slots, and leave the members.
      const { slots, parts } = compacted(v, v.members);
      return { ...v, slots, members: parts.map(compact) };
    }
    default:
      return gather(v, range(0, v.length));
  }
};

/**
 * Bytes that rows take once they are put together with others: what is shared among them now is spread out then, but for
 * dictionaries that are no longer than the rows, of which codes stay (joined-dictionaries.ts).
 */
export const flatSize = (v: Vector): number => {
  switch (v.form) {
    case 'dictionary':
      return v.length * 4 + sizeOf(v.values) * Math.min(1, v.length / Math.max(1, v.values.length));
    case 'constant':
      return v.length * sizeOf(v.inner);
    case 'record':
      return v.fields.reduce((n, f) => n + flatSize(f.values) + (f.present ? v.length : 0), 0);
    case 'dynamic':
      return v.length * 8 + flatSizeOfRows(v.parts, v.length);
    case 'union': {
      // Those of one member have tags and slots in common.
      const member = onlyMember(v);
      return member ? flatSize(member) : v.length * 8 + flatSizeOfRows(v.members, v.length);
    }
    case 'list':
      return v.length * 4 + flatSizeOfRows([v.items], itemsOf(v));
    case 'map':
      return v.length * 4 + flatSizeOfRows([v.keys], itemsOf(v)) + flatSizeOfRows([v.values], itemsOf(v));
    case 'selected':
      return v.length * (4 + flatSize(v.base) / Math.max(1, v.base.length));
    case 'error':
    case 'named':
      return flatSize(v.inner);
    default:
      return sizeOf(v);
  }
};

const itemsOf = (v: { readonly length: number; readonly offsets: Uint32Array }): number =>
  v.length > 0 ? v.offsets[v.length] - v.offsets[0] : 0;
/** The same for so many rows of all that the parts have together: slices share them. */
const flatSizeOfRows = (parts: readonly Vector[], rows: number): number => {
  let all = 0;
  let bytes = 0;
  for (const p of parts) {
    all += p.length;
    bytes += flatSize(p);
  }
  return rows < all ? bytes * (rows / all) : bytes;
};

/**
 * Rows in another order, copied column by column: that is much faster than to look each batch of them up in all
 * columns.
 */
export const ordered = (v: Vector, order: Uint32Array): Vector => {
  const { length } = order;
  switch (v.form) {
    case 'record':
      return {
        form: 'record',
        length,
        fields: v.fields.map((f) => ({
          ...f,
          values: ordered(f.values, order),
          ...(f.present && { present: order.length > 0 ? Uint8Array.from(order, (i) => f.present![i]) : f.present }),
        })),
      };
    case 'error':
    case 'named':
      return { ...v, length, inner: ordered(v.inner, order) };
    case 'dynamic':
      return orderedParts(v, order);
    case 'selected': {
      const rows = new Uint32Array(length);
      for (let i = 0; i < length; i++) rows[i] = v.index[order[i]];
      return ordered(v.base, rows);
    }
    case 'constant':
    case 'dictionary':
    case 'null':
      return take(v, order);
    default:
      return gather(v, order);
  }
};
const orderedParts = (v: DynamicVector, order: Uint32Array): Vector => {
  const { length } = order;
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const counts = new Uint32Array(v.parts.length);
  for (let i = 0; i < length; i++) {
    const tag = v.tags[order[i]];
    tags[i] = tag;
    slots[i] = counts[tag]++;
  }
  const rows = Array.from(counts, (n) => new Uint32Array(n));
  for (let i = 0; i < length; i++) rows[tags[i]][slots[i]] = v.slots[order[i]];
  return { form: 'dynamic', length, tags, slots, parts: v.parts.map((part, tag) => ordered(part, rows[tag])) };
};
