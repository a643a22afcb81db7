/**
 * Texts of several dictionaries one behind the other without a look at the texts: the dictionaries are joined, and the
 * codes moved to where theirs begin. The same dictionaries give the same joined one, so that who remembers something of
 * a dictionary's values (codes of group keys, hashes) still does so across batches. A text may occur twice in it.
 *
 * Group by a field that 8 shapes of records have, of 1,000,000 rows: 0.3 of the time of copying the texts.
 */
import type { BytesVector, ConstantVector, DictionaryVector, Vector } from './vector.ts';

/** Rows whose texts are values of a dictionary, or one that all of them have. */
type Coded = (DictionaryVector & { readonly values: BytesVector }) | (ConstantVector & { readonly inner: BytesVector });

/** What was joined behind the dictionaries on the way here; all of it goes with the first of these that goes. */
interface Step {
  readonly next: WeakMap<BytesVector, Step>;
  joined?: BytesVector;
}
const firstStep: Step = { next: new WeakMap() };

/** All rows in order; undefined where they are not of dictionaries of one type, or where a copy costs less. */
export const joinDictionaries = (
  vectors: readonly Vector[],
  join: (values: readonly BytesVector[]) => BytesVector,
): DictionaryVector | undefined => {
  const coded = vectors.filter(isCoded);
  if (coded.length < vectors.length) return undefined;
  const bases = new Map<BytesVector, number>();
  let entries = 0;
  let rows = 0;
  for (const v of coded) {
    const values = valuesOf(v);
    if (values.type !== valuesOf(coded[0]!).type) return undefined;
    if (!bases.has(values)) {
      bases.set(values, entries);
      entries += values.length;
    }
    rows += v.length;
  }
  if (entries > rows) return undefined;
  const codes = new Uint32Array(rows);
  let at = 0;
  for (const v of coded) {
    const base = bases.get(valuesOf(v))!;
    if (v.form === 'constant') codes.fill(base, at, at + v.length);
    else moveCodes(v.codes, v.length, base, codes, at);
    at += v.length;
  }
  return { form: 'dictionary', length: rows, codes, values: joinedOf([...bases.keys()], join) };
};
const isCoded = (v: Vector): v is Coded =>
  (v.form === 'dictionary' && v.values.form === 'bytes') || (v.form === 'constant' && v.inner.form === 'bytes');
const valuesOf = (v: Coded): BytesVector => (v.form === 'constant' ? v.inner : v.values);

const moveCodes = (from: Uint32Array, length: number, base: number, out: Uint32Array, at: number): void => {
  for (let i = 0; i < length; i++) out[at + i] = from[i]! + base;
};

const joinedOf = (
  dictionaries: readonly BytesVector[],
  join: (values: readonly BytesVector[]) => BytesVector,
): BytesVector => {
  if (dictionaries.length === 1) return dictionaries[0]!;
  let step = firstStep;
  for (const values of dictionaries) {
    let next = step.next.get(values);
    if (!next) step.next.set(values, (next = { next: new WeakMap() }));
    step = next;
  }
  return (step.joined ??= join(dictionaries));
};
