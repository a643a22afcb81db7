/** Search terms: text, patterns and values anywhere inside of a row (reference/language/grammar.md section 8). */
import { textToBytes } from '../../vectors/texts/codec.ts';
import { type Type, types, underType } from '../../vectors/type.ts';
import { type Value, stringValue, bytesData } from '../../vectors/value.ts';
import { type BytesVector, type RecordVector, type Vector, bools, flatten, ofForm } from '../../vectors/vector.ts';
import { constantOf } from '../../vectors/builder.ts';
import { kinds, kindsOf, mayBeError } from '../operators/rows/kinds.ts';
import { compareVectors } from './compare.ts';
import { areTimeTexts, isOfTimeText } from '../../vectors/texts/times.ts';
import { testRows } from './regexp.ts';
import { truth, truthOf } from './rows.ts';
import { walk, type Codes } from './walk.ts';

/** Rows of a string vector that contain something; undefined for none. */
type TextSearch = (v: BytesVector) => Uint8Array | undefined;

/** Rows with `text` in a string or a field name at any depth, whatever the letters' case. */
export const searchText = (v: Vector, search: TextSearch, test: (text: string) => boolean): Vector =>
  outsideErrors(v, textCodes(v, search, test));
/** The same, where errors are values like others. */
export const searchAllText = (v: Vector, search: TextSearch, test: (text: string) => boolean): Vector =>
  bools(textCodes(v, search, test));
const textCodes = (v: Vector, search: TextSearch, test: (text: string) => boolean): Codes =>
  walk(v, {
    most: 1,
    intoErrors: true,
    remembered: rememberedFor(test),
    visit: (node) => {
      if (node.form === 'record') return namesOf(node, test);
      if (node.form === 'list' || node.form === 'map')
        return typeNames(node.type, test) ? filled(node.length) : undefined;
      return node.form === 'bytes' && node.type === types.string ? search(node) : undefined;
    },
  });
/** What is an error itself is not searched; errors inside of values are. */
const outsideErrors = (v: Vector, found: Codes): Vector => {
  const kindOf = mayBeError(v) ? kindsOf(v) : undefined;
  if (kindOf) for (let i = 0; i < v.length; i++) if (kindOf[i] > kinds.null) found[i] = 0;
  return bools(found);
};
const rememberedByTest = new WeakMap<(text: string) => boolean, WeakMap<Vector, Codes>>();
/** What has been found in dictionaries for a test, as long as its query runs. */
const rememberedFor = (test: (text: string) => boolean): WeakMap<Vector, Codes> => {
  let known = rememberedByTest.get(test);
  if (!known) rememberedByTest.set(test, (known = new WeakMap()));
  return known;
};
const filled = (length: number): Codes => new Uint8Array(length).fill(1);

const namesOf = (node: RecordVector, test: (text: string) => boolean): Codes | undefined =>
  node.fields.some((f) => test(f.name)) ? filled(node.length) : undefined;
/** Whether a type has records with such a field name inside; what the values have is found by walking them. */
const typeNames = (type: Type, test: (text: string) => boolean): boolean => {
  const t = underType(type);
  switch (t.kind) {
    case 'record':
      return t.fields.some((f) => test(f.name) || typeNames(f.type, test));
    case 'array':
    case 'set':
      return typeNames(t.element, test);
    case 'map':
      return typeNames(t.key, test) || typeNames(t.value, test);
    case 'union':
      return t.members.some((m) => typeNames(m, test));
    case 'error':
      return typeNames(t.inner, test);
    default:
      return false;
  }
};

/** Rows with an equal value at any depth, or the value's text in a string. A network also finds the addresses in it. */
export const searchValue = (v: Vector, value: Value, search: TextSearch): Vector => {
  const wanted = constantOf(value, 1);
  const type = underType(value.type);
  return outsideErrors(
    v,
    walk(v, {
      most: 1,
      intoErrors: true,
      visit: (node) => {
        if (node.form === 'bytes' && node.type === types.string) return type === types.net ? undefined : search(node);
        if (node.form === 'bytes' && node.type === types.ip && type === types.net)
          return addressesIn(node, bytesData(value.data));
        if (node.form === 'null' || node.form === 'error') return undefined;
        if (node.form === 'enum') return undefined;
        const codes = truthOf(compareVectors('==', node, { ...wanted, length: node.length } as Vector, node.length));
        return codes.map((c) => (c === truth.true ? 1 : 0));
      },
    }),
  );
};

/** Rows of an ip vector inside of a network (address then mask). */
export const addressesIn = (v: BytesVector, net: Uint8Array): Codes => {
  const out = new Uint8Array(v.length);
  const size = net.length / 2;
  for (let i = 0; i < v.length; i++) {
    const start = v.offsets[i];
    if (v.offsets[i + 1] - start !== size) continue;
    let k = 0;
    while (k < size && (v.bytes[start + k] & net[size + k]) === net[k]) k++;
    if (k === size) out[i] = 1;
  }
  return out;
};

/** Searches for text in any case: bytes for ASCII text, decoded strings beyond. */
export const foldedSearch = (text: string): TextSearch => {
  const lower = text.toLowerCase();
  if (!/^[\u0000-\u007f]*$/.test(lower)) return (v) => testRows(v, (s) => s.toLowerCase().includes(lower));
  const wanted = textToBytes(lower);
  const anchor = caselessRun(wanted);
  const search: TextSearch =
    anchor.end - anchor.start >= 3
      ? (v) => searchFrom(v, wanted, anchor)
      : wanted.length >= skippingMin
        ? skippingSearch(wanted)
        : (v) => searchBytes(v, wanted);
  return isOfTimeText(lower) ? search : (v) => (areTimeTexts(v) ? undefined : search(v));
};
/** The test for field names. */
export const foldedTest = (text: string): ((name: string) => boolean) => {
  const lower = text.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
};

const lowerTable = Uint8Array.from({ length: 256 }, (_, b) => (b >= 65 && b <= 90 ? b + 32 : b));
/** Bytes from rare to frequent in text; what is not listed counts as rare. */
const frequent = 'zqxjkvbywgpfmucdlhrsnioate0123456789/.- "';
/** The place of the byte of the text that is the rarest in other text. */
const rarest = (wanted: Uint8Array): number => {
  let best = 0;
  for (let k = 1; k < wanted.length; k++)
    if (frequent.indexOf(String.fromCharCode(wanted[k])) < frequent.indexOf(String.fromCharCode(wanted[best])))
      best = k;
  return best;
};
/**
 * One run over all bytes of the rows: where the rarest byte fits, the rest is compared, and the place is looked up in
 * the offsets.
 */
const searchBytes = (v: BytesVector, wanted: Uint8Array): Uint8Array => {
  const out = new Uint8Array(v.length);
  const size = wanted.length;
  if (size === 0) return out.fill(1);
  const { bytes, offsets, length } = v;
  const pivot = rarest(wanted);
  const first = wanted[pivot];
  // Setting one bit makes a letter small; it also maps a few other bytes, which the comparison then refuses.
  const fold = first >= 97 && first <= 122 ? 0x20 : 0;
  let row = 0;
  const start = offsets[0] ?? 0;
  const last = (offsets[length] ?? 0) - size + pivot;
  for (let at = start + pivot; at <= last; at++) {
    if ((bytes[at] | fold) !== first) continue;
    const from = at - pivot;
    let k = 0;
    while (k < size && lowerTable[bytes[from + k]] === wanted[k]) k++;
    if (k < size) continue;
    while (offsets[row + 1] <= from) row++;
    if (from + size > offsets[row + 1]) continue;
    out[row] = 1;
    at = offsets[row + 1] - 1 + pivot;
  }
  return out;
};

/** Texts from so many bytes on are searched for in leaps. */
const skippingMin = 4;
/** As `searchBytes`, by Horspool's way: the byte under the text's end tells how far it can be moved at once. */
const skippingSearch = (wanted: Uint8Array): TextSearch => {
  const size = wanted.length;
  const end = size - 1;
  const leaps = new Uint8Array(256).fill(Math.min(size, 255));
  // The last byte is 0, so that a loop stops there; how far it leaps from there is told apart.
  for (let k = 0; k <= end; k++)
    for (let b = 0; b < 256; b++) if (lowerTable[b] === wanted[k]) leaps[b] = Math.min(end - k, 255);
  let again = Math.min(size, 255);
  for (let k = 0; k < end; k++) if (wanted[k] === wanted[end]) again = Math.min(end - k, 255);
  return (v) => {
    const { bytes, offsets, length } = v;
    const stop = offsets[length] ?? 0;
    let row = 0;
    let out: Uint8Array | undefined;
    for (let at = (offsets[0] ?? 0) + end; at < stop; ) {
      const leap = leaps[bytes[at]];
      if (leap !== 0) {
        at += leap;
        continue;
      }
      const from = at - end;
      let k = 0;
      while (k < end && lowerTable[bytes[from + k]] === wanted[k]) k++;
      at += again;
      if (k < end) continue;
      while (offsets[row + 1] <= from) row++;
      if (from + size > offsets[row + 1]) continue;
      out ??= new Uint8Array(length);
      out[row] = 1;
      at = Math.max(at, offsets[row + 1] + end);
    }
    return out;
  };
};

interface Run {
  readonly start: number;
  readonly end: number;
}
/** The longest run of bytes that are no letters. */
const caselessRun = (wanted: Uint8Array): Run => {
  let best: Run = { start: 0, end: 0 };
  for (let start = 0, at = 0; at <= wanted.length; at++) {
    if (at < wanted.length && !(wanted[at] >= 97 && wanted[at] <= 122)) continue;
    if (at - start > best.end - best.start) best = { start, end: at };
    start = at + 1;
  }
  return best;
};
/**
 * As `searchBytes`, by way of a run in the text that has one case only: Node finds that faster than a loop here does.
 */
const searchFrom = (v: BytesVector, wanted: Uint8Array, run: Run): Uint8Array | undefined => {
  const { offsets, length } = v;
  const size = wanted.length;
  const end = offsets[length] ?? 0;
  const bytes = Buffer.from(v.bytes.buffer, v.bytes.byteOffset, v.bytes.length);
  const anchor = wanted.subarray(run.start, run.end);
  let row = 0;
  let out: Uint8Array | undefined;
  for (
    let at = bytes.indexOf(anchor, (offsets[0] ?? 0) + run.start);
    at >= 0 && at < end;
    at = bytes.indexOf(anchor, at + 1)
  ) {
    const from = at - run.start;
    let k = 0;
    while (k < size && lowerTable[bytes[from + k]] === wanted[k]) k++;
    if (k < size) continue;
    while (offsets[row + 1] <= from) row++;
    if (from + size > offsets[row + 1]) continue;
    out ??= new Uint8Array(length);
    out[row] = 1;
    at = offsets[row + 1] - 1;
  }
  return out;
};

/** Rows of any vector that are strings passing the test or have such strings or names inside. */
export const searchPattern = (v: Vector, test: (text: string) => boolean): Vector =>
  searchText(v, (node) => testRows(node, test), test);

/**
 * LIKE by its rows that match: whether a string, or a string or field name inside of a value, does; false for null and
 * errors.
 */
export const likeSearch = (rows: (v: BytesVector) => Uint8Array): ((v: Vector) => Vector) => {
  const test = (name: string): boolean => rows(ofForm(flatten(constantOf(stringValue(name), 1)), 'bytes'))[0] === 1;
  return (v) => searchText(v, rows, test);
};

/** Whether any of the rows of `v` is an address inside of the row's network; for cidr_match with nets that vary. */
export const anyAddressIn = (v: Vector, net: Uint8Array): boolean =>
  walk(v, {
    most: 1,
    intoErrors: true,
    visit: (node) => (node.form === 'bytes' && node.type === types.ip ? addressesIn(node, net) : undefined),
  })[0] === 1;
