/** What vectors take: bytes of their arrays, and how many vectors a vector is made of. */
import { charge } from './stop.ts';
import { bytesUnwritten } from './texts/times.ts';
import { type RecordVector, type Vector, itemsOf, vectorBytes } from './vector.ts';

/** Bytes that the vector's own arrays hold, views counted by what they show; for budgets. */
export const sizeOf = (v: Vector): number => {
  switch (v.form) {
    case 'number':
      return v.length * 8;
    case 'bool':
      return v.length;
    case 'bytes':
      return v.length * 4 + (v.length ? (bytesUnwritten(v) ?? v.offsets[v.length]! - v.offsets[0]!) : 0);
    case 'null':
      return 0;
    case 'type':
    case 'enum':
      return v.length * 4;
    case 'record': {
      let bytes = 0;
      for (const f of v.fields) bytes += sizeOf(f.values) + (f.present ? v.length : 0);
      return bytes;
    }
    case 'list':
      return v.length * 4 + sizeOf(itemsOf(v, v.items));
    case 'map':
      return v.length * 4 + sizeOf(itemsOf(v, v.keys)) + sizeOf(itemsOf(v, v.values));
    case 'union':
      return v.members.reduce((n, m) => n + sizeOf(m), v.length * 8);
    case 'dynamic':
      return v.parts.reduce((n, m) => n + sizeOf(m), v.length * 8);
    case 'error':
    case 'named':
    case 'constant':
      return sizeOf(v.inner);
    case 'dictionary':
      return v.length * 4 + sizeOf(v.values);
    case 'selected':
      return v.length * 4 + sizeOf(v.base);
  }
};

/** Records of so many vectors are counted once: they may be in others many times, at many levels. */
const vectorsCounted = 64;
const vectorCounts = new WeakMap<RecordVector, number>();
/** How many vectors a vector is made of; one that is in it several times counts as often. */
export const vectorsIn = (v: Vector): number => {
  switch (v.form) {
    case 'record': {
      const known = vectorCounts.get(v);
      if (known !== undefined) return known;
      let n = 1;
      for (const f of v.fields) n += vectorsIn(f.values);
      if (n > vectorsCounted) vectorCounts.set(v, n);
      return n;
    }
    case 'list':
      return 1 + vectorsIn(v.items);
    case 'map':
      return 1 + vectorsIn(v.keys) + vectorsIn(v.values);
    case 'union':
      return v.members.reduce((n, m) => n + vectorsIn(m), 1);
    case 'dynamic':
      return v.parts.reduce((n, m) => n + vectorsIn(m), 1);
    case 'error':
    case 'named':
    case 'constant':
      return 1 + vectorsIn(v.inner);
    case 'dictionary':
      return 1 + vectorsIn(v.values);
    case 'selected':
      return 1 + vectorsIn(v.base);
    default:
      return 1;
  }
};

/** So many vectors are not worth a charge. */
const fewVectors = 1024;
/** Bytes that the vectors of a vector take beside their rows, where they are many. */
export const columnsSize = (v: Vector): number => {
  const vectors = vectorsIn(v);
  return vectors > fewVectors ? vectors * vectorBytes : 0;
};
/** The record, whose columns are charged if they are many: by columns within columns few expressions make very many. */
export const chargedRecord = (v: RecordVector): RecordVector => {
  charge(columnsSize(v), 'a record');
  return v;
};
