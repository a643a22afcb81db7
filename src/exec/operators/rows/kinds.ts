/** What a row is apart from its value: null, missing, quiet, another error. Names and unions are looked through. */
import { someForm } from '../../../vectors/forms.ts';
import { onlyMember } from '../../../vectors/unions.ts';
import { type Vector, type FlatVector, flatten } from '../../../vectors/vector.ts';
import { codesAt } from '../../expressions/rows.ts';

/** The kinds as `kindsOf` tells them. `error`: any error but missing and quiet. */
export const kinds = { value: 0, null: 1, missing: 2, quiet: 3, error: 4 } as const;

/** A kind for each row, or undefined if all are values. */
export const kindsOf = (v: Vector): Uint8Array | undefined => {
  switch (v.form) {
    case 'number':
    case 'bool':
    case 'bytes':
    case 'type':
    case 'enum':
    case 'record':
    case 'list':
    case 'map':
      return undefined;
    case 'null':
      return new Uint8Array(v.length).fill(kinds.null);
    case 'error':
      return errorKinds(v.inner, v.length);
    case 'named':
      return kindsOf(v.inner);
    case 'constant': {
      const inner = kindsOf(v.inner);
      return inner && new Uint8Array(v.length).fill(inner[0]);
    }
    case 'dictionary': {
      const inner = kindsOf(v.values);
      return inner && codesAt(inner, v.codes, v.length);
    }
    case 'selected': {
      const inner = kindsOf(v.base);
      return inner && codesAt(inner, v.index, v.length);
    }
    case 'dynamic':
      return tagged(v.tags, v.slots, v.parts, v.length);
    case 'union': {
      const member = onlyMember(v);
      return member ? kindsOf(member) : tagged(v.tags, v.slots, v.members, v.length);
    }
  }
};
/** Whether rows could be errors: a quick look at the forms. */
export const mayBeError = (v: Vector): boolean => someForm(v, ({ form }) => form === 'error');
/** Whether rows could be quiet: those of other shapes, which are missing, are told without looking at them. */
export const mayBeQuiet = (v: Vector): boolean => {
  switch (v.form) {
    case 'error':
      return true;
    case 'constant':
      return kindsOf(v.inner)?.[0] === kinds.quiet;
    case 'named':
      return mayBeQuiet(v.inner);
    case 'dictionary':
      return mayBeQuiet(v.values);
    case 'selected':
      return mayBeQuiet(v.base);
    case 'dynamic':
      return v.parts.some(mayBeQuiet);
    case 'union':
      return v.members.some(mayBeQuiet);
    default:
      return false;
  }
};
const tagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
): Uint8Array | undefined => {
  const tables = parts.map(kindsOf);
  if (tables.every((t) => t === undefined)) return undefined;
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = tables[tags[i]]?.[slots[i]] ?? kinds.value;
  return out;
};

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const missingBytes = bytesOf('missing');
const quietBytes = bytesOf('quiet');

const errorKinds = (inner: Vector, length: number): Uint8Array => {
  const out = new Uint8Array(length).fill(kinds.error);
  if (inner.form === 'constant') return length > 0 ? out.fill(errorKinds(inner.inner, 1)[0]) : out;
  if (inner.form === 'dynamic') return errorPartKinds(inner.tags, inner.slots, inner.parts, out);
  const flat: FlatVector = inner.form === 'dictionary' || inner.form === 'selected' ? flatten(inner) : inner;
  if (flat.form === 'dynamic') return errorPartKinds(flat.tags, flat.slots, flat.parts, out);
  if (flat.form !== 'bytes' || flat.type.name !== 'string') return out;
  for (let i = 0; i < length; i++) {
    if (isRun(flat.bytes, flat.offsets[i], flat.offsets[i + 1], missingBytes)) out[i] = kinds.missing;
    else if (isRun(flat.bytes, flat.offsets[i], flat.offsets[i + 1], quietBytes)) out[i] = kinds.quiet;
  }
  return out;
};
const errorPartKinds = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  out: Uint8Array,
): Uint8Array => {
  const tables = parts.map((p) => errorKinds(p, p.length));
  for (let i = 0; i < out.length; i++) out[i] = tables[tags[i]][slots[i]];
  return out;
};
const isRun = (bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean => {
  if (end - start !== wanted.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
};

/** The rows whose kind is not `left out`, or undefined if that is all of them. */
export const rowsWithout = (v: Vector, ...leftOut: readonly number[]): Uint32Array | undefined => {
  const table = kindsOf(v);
  if (!table) return undefined;
  const rows = new Uint32Array(v.length);
  let n = 0;
  for (let i = 0; i < v.length; i++) {
    rows[n] = i;
    n += Number(!leftOut.includes(table[i]));
  }
  return n === v.length ? undefined : rows.subarray(0, n);
};
