/**
 * Rows to one CSUP object: rows are taken apart by type, columns down to their leaves; a leaf of one value or few is
 * written as such.
 *
 * Invariants: a child's descriptor comes before its parent's, a column's own segments before those of its children.
 */
import assert from 'node:assert';
import { scatter } from '../../vectors/concat.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { checkStop } from '../../vectors/stop.ts';
import type { RecordType, Type } from '../../vectors/type.ts';
import {
  emptyVector,
  type DynamicVector,
  type Field,
  type FlatVector,
  type RecordVector,
  type UnionVector,
  type Vector,
  flatten,
  slice,
  take,
  valueAt,
} from '../../vectors/vector.ts';
import type { Descriptor, FieldDescriptor, Segment } from './descriptors.ts';
import { blocks32 } from './int-encode.ts';
import { entriesOf, entryValues, writeLeaf } from './leaves.ts';
import type { BsupParts } from './parts.ts';
import { DataSection, noSegment } from './section.ts';

/** An object ready to be written; `root` is the number of the descriptor of its rows. */
interface EncodedObject {
  readonly descriptors: readonly Descriptor[];
  readonly data: Uint8Array;
  readonly root: number;
}

/** All rows as one object. */
export const encodeObject = (v: Vector, bsup: BsupParts): EncodedObject => {
  const encoder = new ObjectEncoder(bsup);
  const root = encoder.rows(v);
  return { descriptors: encoder.descriptors, data: encoder.section.bytes(), root };
};

class ObjectEncoder {
  readonly descriptors: Descriptor[] = [];
  readonly section = new DataSection();
  private readonly bsup: BsupParts;
  constructor(bsup: BsupParts) {
    this.bsup = bsup;
  }

  /** Rows of any types; the number of their descriptor. */
  rows(v: Vector): number {
    const { table, codes } = typesOf(v);
    const { tags, groups } = byType(codes, v.length);
    if (groups.length === 1) return this.column(table[groups[0].code], v);
    const segment = this.words(tags);
    const members = groups.map(({ code, rows }) => this.column(table[code], take(v, rows)));
    return this.add({ kind: 'Dynamic', tags: segment, members, count: v.length });
  }

  /** Rows that all have the type; none at all may be in the form of another one. */
  private column(type: Type, rows: Vector): number {
    checkStop();
    const v = rows.length === 0 ? emptyVector(type) : rows;
    switch (type.kind) {
      case 'named':
        return this.add({ kind: 'Named', name: type.name, values: this.column(type.inner, insideOf(v)) });
      case 'error':
        return this.add({ kind: 'Error', values: this.column(type.inner, insideOf(v)) });
      case 'record':
        return this.record(type, v);
      case 'array':
      case 'set': {
        const flat = flatOf(v);
        assert(flat.form === 'list');
        const lengths = this.offsets(flat.offsets, flat.length);
        const values = this.column(type.element, slice(flat.items, flat.offsets[0], flat.offsets[flat.length]));
        // The reference has a set described as an array, too.
        const array = this.add({ kind: 'Array', count: v.length, lengths, values });
        return type.kind === 'array' ? array : this.add({ kind: 'Set', count: v.length, lengths, values });
      }
      case 'map': {
        const flat = flatOf(v);
        assert(flat.form === 'map');
        const { offsets, length } = flat;
        const lengths = this.offsets(offsets, length);
        const keys = this.column(type.key, slice(flat.keys, offsets[0], offsets[length]));
        const values = this.column(type.value, slice(flat.values, offsets[0], offsets[length]));
        return this.add({ kind: 'Map', count: length, lengths, keys, values });
      }
      case 'union': {
        const flat = flatOf(v);
        assert(flat.form === 'union');
        return this.union(type.members, flat);
      }
      default:
        return this.leaf(type, v);
    }
  }

  private record(type: RecordType, v: Vector): number {
    const flat = flatOf(v);
    assert(flat.form === 'record');
    const fields = type.fields.map(({ name, optional, type: fieldType }, k): FieldDescriptor => {
      const { nones, values } = this.present(flat, flat.fields[k]);
      return { name, optional, nones, values: this.column(fieldType, values) };
    });
    return this.add({ kind: 'Record', count: v.length, fields });
  }
  /** Where the field is absent, and its values at the other rows. */
  private present(
    { length }: RecordVector,
    { optional, present, values }: Field,
  ): { readonly nones: Segment; readonly values: Vector } {
    if (!optional) return { nones: noSegment, values };
    const runs: number[] = [];
    const rows = new Uint32Array(length);
    let count = 0;
    let there = 0;
    let start = 0;
    for (let i = 0; i < length; i++) {
      const now = present && present[i] === 0 ? 0 : 1;
      if (now === 1) rows[count++] = i;
      if (now === there) continue;
      runs.push(i - start);
      there = now;
      start = i;
    }
    if (count === length) return { nones: this.words(new Uint32Array(0)), values };
    runs.push(length - start);
    return { nones: this.words(Uint32Array.from(runs)), values: take(values, rows.subarray(0, count)) };
  }

  private union(types: readonly Type[], v: UnionVector): number {
    const tags = this.words(v.tags.subarray(0, v.length));
    const slots = types.map(() => new Uint32Array(v.length));
    const counts = new Uint32Array(types.length);
    for (let i = 0; i < v.length; i++) slots[v.tags[i]][counts[v.tags[i]]++] = v.slots[i];
    const members = types.map((type, k) => this.column(type, take(v.members[k], slots[k].subarray(0, counts[k]))));
    return this.add({ kind: 'Union', count: v.length, tags, members });
  }

  private leaf(type: Type, v: Vector): number {
    const flat = flatOf(v);
    const entries = entriesOf(flat);
    if (!entries) return this.add(writeLeaf(this.section, flat, type, this.bsup));
    if (entries.rows.length === 1)
      return this.add({ kind: 'Const', value: { ...valueAt(flat, 0), type }, count: v.length });
    const values = this.add(writeLeaf(this.section, flatten(entryValues(flat, entries)), type, this.bsup));
    return this.add({
      kind: 'Dict',
      values,
      counts: this.words(entries.counts),
      index: this.section.raw(entries.codes),
      count: v.length,
    });
  }

  private add(d: Descriptor): number {
    return this.descriptors.push(d) - 1;
  }
  private words(values: Uint32Array): Segment {
    return this.section.blocks(blocks32(values), values.length * 4);
  }
  private offsets(offsets: Uint32Array, length: number): Segment {
    const own = new Uint32Array(length + 1);
    for (let i = 1; i <= length; i++) own[i] = offsets[i] - offsets[0];
    return this.words(own);
  }
}

interface TypeGroup {
  readonly code: number;
  readonly rows: Uint32Array;
}
/** Rows by type, types in order of first appearance. */
const byType = (
  codes: Uint32Array | undefined,
  length: number,
): { readonly tags: Uint32Array; readonly groups: readonly TypeGroup[] } => {
  const tags = new Uint32Array(length);
  if (!codes) return { tags, groups: length === 0 ? [] : [{ code: 0, rows: tags }] };
  const tagOf = new Map<number, number>();
  const counts: number[] = [];
  for (let i = 0; i < length; i++) {
    let tag = tagOf.get(codes[i]);
    if (tag === undefined) tagOf.set(codes[i], (tag = counts.push(0) - 1));
    tags[i] = tag;
    counts[tag]++;
  }
  const groups = [...tagOf.keys()].map((code, tag) => ({ code, rows: new Uint32Array(counts[tag]) }));
  counts.fill(0);
  for (let i = 0; i < length; i++) groups[tags[i]].rows[counts[tags[i]]++] = i;
  return { tags, groups };
};

/** The inner values of errors or named values. */
const insideOf = (v: Vector): Vector => {
  const flat = flatOf(v);
  assert(flat.form === 'error' || flat.form === 'named');
  return flat.inner;
};

/** Rows of one type in a form that is not dynamic. */
const flatOf = (v: Vector): Exclude<FlatVector, DynamicVector> => {
  const flat = flatten(v);
  if (flat.form !== 'dynamic') return flat;
  const { tags, slots, parts, length } = flat;
  const { groups } = byType(tags.subarray(0, length), length);
  if (groups.length === 1) return flatOf(take(parts[groups[0].code], slots.subarray(0, length)));
  const scattered = flatten(
    scatter(
      length,
      groups.map(({ code, rows }) => ({
        rows,
        values: take(
          parts[code],
          rows.map((row) => slots[row]),
        ),
      })),
    ),
  );
  assert(scattered.form !== 'dynamic', 'rows of one type are in vectors of one form');
  return scattered;
};
