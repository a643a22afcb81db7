/**
 * Columns cut down to their leaves: the values that are there, in order, and the levels that tell where.
 *
 * Every step knows the entries so far: how deep each exists, at which level it repeats, and which row of the vector at
 * hand it is.
 */
import { LakeError } from '../../errors.ts';
import { types } from '../../vectors/type.ts';
import {
  type ConstantVector,
  type DictionaryVector,
  type ListVector,
  type SelectedVector,
  type Vector,
  slice,
  take,
  ofForm,
} from '../../vectors/vector.ts';
import { plainOf } from '../columns/out.ts';
import type { LeafValues, TextView } from './encode.ts';
import { type LeafOut, type NodeOut, writerName } from './schema-write.ts';

/** What is written of one leaf: `entries` levels, and values for those that reach the highest. */
export interface LeafData {
  readonly leaf: LeafOut;
  readonly entries: number;
  /** Undefined: all are at the highest level, which is 0 or reached by all. */
  readonly definition: Uint8Array | undefined;
  /** Undefined: each entry begins a row. */
  readonly repetition: Uint8Array | undefined;
  /** Of the entries at the highest level. */
  readonly values: LeafValues;
}

interface Entries {
  readonly count: number;
  readonly definition: Uint8Array | undefined;
  readonly repetition: Uint8Array | undefined;
  /** Level of all entries if `definition` is absent. */
  readonly level: number;
  /** The vector's row of each entry, -1 for one that ended above. Absent: entry i is row i. */
  readonly rows: Int32Array | undefined;
}

/** The leaves of a column's rows, in the order of the schema. @throws LakeError `write-columns-value` */
export const shred = (node: NodeOut, v: Vector, present: Uint8Array | undefined): Generator<LeafData> =>
  step(node, v, present, { count: v.length, definition: undefined, repetition: undefined, level: 0, rows: undefined });

function* step(node: NodeOut, v: Vector, present: Uint8Array | undefined, entries: Entries): Generator<LeafData> {
  const { content } = node;
  if (content.kind === 'leaf' && content.type.kind === 'null') {
    yield {
      leaf: content,
      entries: entries.count,
      definition: entries.definition ?? new Uint8Array(entries.count).fill(entries.level),
      repetition: entries.repetition,
      values: { form: 'null', length: 0 },
    };
    return;
  }
  if (content.kind === 'leaf' && node.nullable && isView(v)) {
    if (!entries.rows && !entries.definition) {
      const valid = present?.subarray(0, v.length);
      yield leafOf(content, picked(content, v, valid), marked(entries, valid));
      return;
    }
    const here = defined(entries, present?.subarray(0, v.length));
    yield leafOf(content, alive(content, v, here), here);
    return;
  }
  const { values, valid } = plainOf(v, present);
  const here = node.nullable ? defined(entries, valid) : entries;
  switch (content.kind) {
    case 'leaf':
      yield leafOf(content, alive(content, values, here), here);
      return;
    case 'struct':
      for (const [k, f] of content.fields.entries())
        yield* step(f, ofForm(values, 'record').fields[k].values, ofForm(values, 'record').fields[k].present, here);
      return;
    case 'list': {
      const list = ofForm(values, 'list');
      if (content.size !== undefined) checkSize(list, content.size, here);
      yield* step(content.item, list.items, undefined, opened(here, list.offsets, content.repetition));
      return;
    }
    case 'map': {
      const map = ofForm(values, 'map');
      const items = opened(here, map.offsets, content.repetition);
      yield* step(content.key, map.keys, undefined, items);
      yield* step(content.value, map.values, undefined, items);
    }
  }
}

/** Entries that are all there one level on, where they are valid; without the rows that these have. */
const marked = (e: Entries, valid: Uint8Array | undefined): Entries => {
  if (!valid) return { ...e, level: e.level + 1 };
  return { ...e, definition: e.level === 0 ? valid : valid.map((is) => e.level + is) };
};

/** The entries one level on, where they are not null. */
const defined = (e: Entries, valid: Uint8Array | undefined): Entries => {
  if (!valid && !e.definition) return { ...e, level: e.level + 1 };
  const { count } = e;
  const definition = new Uint8Array(count);
  const rows = new Int32Array(count);
  if (valid && !e.rows && !e.definition) {
    for (let i = 0; i < count; i++) {
      definition[i] = e.level + valid[i];
      rows[i] = (i + 1) * valid[i] - 1;
    }
    return { ...e, definition, rows };
  }
  for (let i = 0; i < count; i++) {
    const row = e.rows ? e.rows[i] : i;
    const before = e.definition ? e.definition[i] : e.level;
    const isThere = row >= 0 && (!valid || valid[row] === 1);
    definition[i] = isThere ? before + 1 : before;
    rows[i] = isThere ? row : -1;
  }
  return { ...e, definition, rows };
};

/** An entry an item; an empty list stays an entry that ends here. */
const opened = (e: Entries, offsets: Uint32Array, repetition: number): Entries => {
  let count = 0;
  for (let i = 0; i < e.count; i++) {
    const row = e.rows ? e.rows[i] : i;
    count += row < 0 ? 1 : Math.max(1, offsets[row + 1] - offsets[row]);
  }
  const definition = new Uint8Array(count);
  const repetitions = new Uint8Array(count);
  const rows = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < e.count; i++) {
    const row = e.rows ? e.rows[i] : i;
    const before = e.definition ? e.definition[i] : e.level;
    const first = e.repetition ? e.repetition[i] : 0;
    const start = row < 0 ? 0 : offsets[row];
    const end = row < 0 ? 0 : offsets[row + 1];
    if (start === end) {
      definition[at] = before;
      repetitions[at] = first;
      rows[at++] = -1;
    }
    for (let item = start; item < end; item++) {
      definition[at] = before + 1;
      repetitions[at] = item === start ? first : repetition;
      rows[at++] = item;
    }
  }
  return { count, definition, repetition: repetitions, level: 0, rows };
};

const leafOf = (leaf: LeafOut, values: LeafValues, here: Entries): LeafData => ({
  leaf,
  entries: here.count,
  definition: leaf.definitionMax > 0 ? here.definition : undefined,
  repetition: here.repetition,
  values,
});
/** Rows of scalars that are elsewhere, none of them null: those that are alive are looked up once, others never. */
const isView = (v: Vector): v is View => {
  switch (v.form) {
    case 'selected':
      return v.base.form === 'bytes' || v.base.form === 'number' || v.base.form === 'bool';
    case 'dictionary':
      return v.values.form === 'bytes';
    case 'constant':
      return v.inner.form === 'bytes';
    default:
      return false;
  }
};
type View = SelectedVector | DictionaryVector | ConstantVector;

/** The rows of a view that are valid. */
const picked = (leaf: LeafOut, v: View, valid: Uint8Array | undefined): LeafValues => {
  const coded = v.form === 'constant' ? codedOnce(v) : v;
  const index = coded.form === 'selected' ? coded.index : coded.codes;
  return lookedUp(leaf, coded, valid ? indexOfValid(index, valid) : index.subarray(0, v.length));
};
/** A value that all rows have as a dictionary of it. */
const codedOnce = ({ inner, length }: ConstantVector): DictionaryVector => ({
  form: 'dictionary',
  length,
  codes: new Uint32Array(length),
  values: ofForm(inner, 'bytes'),
});
const indexOfValid = (index: Uint32Array, valid: Uint8Array): Uint32Array => {
  const out = new Uint32Array(valid.length);
  let length = 0;
  for (let i = 0; i < valid.length; i++) {
    out[length] = index[i];
    length += valid[i];
  }
  return out.subarray(0, length);
};
/** Rows `index` of what is behind a view: texts and bytes where they lie, others in a row. */
const lookedUp = (leaf: LeafOut, v: SelectedVector | DictionaryVector, index: Uint32Array): LeafValues => {
  const base = v.form === 'selected' ? v.base : v.values;
  if (v.form === 'selected' && index.length > 0 && areInRow(index))
    return plainOf(slice(base, index[0], index[0] + index.length)).values;
  const view = { ...v, length: index.length, ...(v.form === 'selected' ? { index } : { codes: index }) } as typeof v;
  const isText = base.form === 'bytes' && (base.type === types.string || base.type === types.bytes);
  return isText && leaf.type.kind === 'binary' ? (view as TextView) : plainOf(view).values;
};
const areInRow = (index: Uint32Array): boolean => {
  const [first] = index;
  for (let i = 1; i < index.length; i++) if (index[i] !== first + i) return false;
  return true;
};

/** The rows that entries have. */
const alive = (leaf: LeafOut, v: Vector, { rows, count }: Entries): LeafValues => {
  if (!rows) return plainOf(v).values;
  const index = new Uint32Array(count);
  let length = 0;
  for (let i = 0; i < count; i++) if (rows[i] >= 0) index[length++] = rows[i];
  const view = take(v, index.subarray(0, length));
  return isView(view) ? picked(leaf, view, undefined) : plainOf(view).values;
};

/** Lists of rows that nobody sees may have any size. */
const checkSize = (v: ListVector, size: number, e: Entries): void => {
  for (let i = 0; i < e.count; i++) {
    const row = e.rows ? e.rows[i] : i;
    const items = row < 0 ? size : v.offsets[row + 1] - v.offsets[row];
    if (items !== size)
      throw new LakeError('write-columns-value', {
        writer: writerName,
        fault: `value of ${items} items in a column of ${size}`,
      });
  }
};
