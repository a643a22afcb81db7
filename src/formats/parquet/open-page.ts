/**
 * A page that is read on, some entries at a time.
 *
 * Invariants: what is held of a page between two calls is its bytes as they were expanded, where its encoding can be
 * read on from any value; these are far fewer than what they become, so that the pages of all columns of a row group
 * can be held side by side. Pages of lists, and those whose values build on each other, are decoded whole.
 *
 * Beside pages that were held decoded, of which most had to be let go and were read again for each 4,096 rows: a load of
 * 1,000,000 rows of 104 columns, in row groups of 122,880, 38 -> 16 s of processor time.
 */
import { unshared } from '../../vectors/shown-size.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, slice } from '../../vectors/vector.ts';
import { BytesFault } from '../type-bytes.ts';
import { HybridReader, type Place, bitsFor } from './decode.ts';
import type { Losses } from '../decimals.ts';
import type { Leaf } from './plan.ts';
import { encodings, noValues, valuesVector } from './values.ts';

/**
 * A level of definition and one of repetition for each entry (none: all the highest, or all 0), and the values in
 * order.
 */
export interface Entries {
  readonly entries: number;
  readonly definition: Uint8Array | undefined;
  readonly repetition: Uint8Array | undefined;
  readonly values: Vector;
}

/** A page in work. */
export interface OpenPage {
  readonly entries: number;
  /** Levels of repetition of all entries; none if they are all 0. */
  readonly repetition: Uint8Array | undefined;
  /** Bytes that are held. */
  readonly bytes: number;
  /** The next entries, which are there and belong to who took them. @throws BytesFault */
  take(entries: number): Entries;
}

/** Where the levels and values of a page lie; without levels, all are the highest, or 0. */
export interface PageParts {
  readonly leaf: Leaf;
  readonly encoding: number;
  readonly entries: number;
  readonly definition: Place | undefined;
  readonly repetition: Place | undefined;
  readonly values: Place;
  /** Asked for if values are looked up. */
  readonly dictionary: () => Vector | undefined;
  readonly lost?: Losses | undefined;
}

/** @throws BytesFault */
export const openPage = (parts: PageParts): OpenPage =>
  parts.repetition || !isReadOn(parts) ? new WholePage(parts) : new FlatPage(parts);

const isLookedUp = (encoding: number): boolean =>
  encoding === encodings.dictionary || encoding === encodings.plainDictionary;
const isReadOn = ({ leaf, encoding }: PageParts): boolean =>
  isLookedUp(encoding) || (encoding === encodings.plain && leaf.physical !== 'BOOLEAN' && leaf.meaning.kind !== 'null');

/** A page of a column outside of lists. */
class FlatPage implements OpenPage {
  readonly repetition = undefined;
  readonly entries: number;
  readonly bytes: number;
  private readonly leaf: Leaf;
  private readonly levels: HybridReader | undefined;
  private readonly values: PageValues;
  constructor(parts: PageParts) {
    const { leaf, entries, definition, values } = parts;
    this.leaf = leaf;
    this.entries = entries;
    this.bytes = values.bytes.length + (definition && definition.bytes !== values.bytes ? definition.bytes.length : 0);
    this.levels = definition && new HybridReader(definition, bitsFor(leaf.definitionMax));
    this.values = isLookedUp(parts.encoding) ? new CodedValues(parts) : new PlainValues(parts);
  }

  take(entries: number): Entries {
    const { leaf, levels } = this;
    const definition = levels && levelsOf(levels, entries, leaf.definitionMax);
    const count = definition ? countOf(definition, leaf.definitionMax) : entries;
    return { entries, definition, repetition: undefined, values: this.values.take(count) };
  }
}

/** A page that was decoded whole. */
class WholePage implements OpenPage {
  readonly entries: number;
  readonly bytes: number;
  readonly repetition: Uint8Array | undefined;
  private readonly definition: Uint8Array | undefined;
  private readonly leaf: Leaf;
  private readonly values: Vector;
  private at = { entries: 0, values: 0 };
  constructor(parts: PageParts) {
    const { leaf, entries, definition, repetition } = parts;
    this.leaf = leaf;
    this.entries = entries;
    this.repetition = repetition && allLevels(repetition, entries, leaf.repetitionMax);
    this.definition = definition && allLevels(definition, entries, leaf.definitionMax);
    const count = this.definition ? countOf(this.definition, leaf.definitionMax) : entries;
    this.values = isLookedUp(parts.encoding)
      ? new CodedValues(parts).take(count)
      : valuesVector(leaf, parts.encoding, parts.values, count, parts.lost);
    this.bytes = entriesBytes({ definition: this.definition, repetition: this.repetition, values: this.values });
  }

  take(entries: number): Entries {
    const from = this.at;
    const to = from.entries + entries;
    const definition = this.definition?.subarray(from.entries, to);
    const count = definition ? countOf(definition, this.leaf.definitionMax) : entries;
    const shown = slice(this.values, from.values, from.values + count);
    this.at = { entries: to, values: from.values + count };
    return {
      entries,
      definition,
      repetition: this.repetition?.subarray(from.entries, to),
      // Rows that wait would hold each page that they begin or end in, and the page once more when it was let go and
      // read again: with many columns these are far more than the rows.
      values: entries < this.entries ? unshared(shown) : shown,
    };
  }
}

/** Values of a page, those behind the ones that were taken. */
interface PageValues {
  take(count: number): Vector;
}

class CodedValues implements PageValues {
  private readonly parts: PageParts;
  private codes: HybridReader | undefined;
  constructor(parts: PageParts) {
    this.parts = parts;
  }

  take(count: number): Vector {
    const { leaf, values: p, dictionary } = this.parts;
    const values = dictionary();
    if (!values && count > 0) throw new BytesFault('dictionary is missing');
    if (!values) return noValues(leaf);
    const codes = new Uint32Array(count);
    if (count > 0) {
      this.codes ??= new HybridReader(p, widthOf(p));
      this.codes.next(codes);
      checkCodes(codes, values.length);
    }
    return { form: 'dictionary', length: count, codes, values };
  }
}
/** The bits of codes stand before them. */
const widthOf = (p: Place): number => {
  if (p.at >= p.end) throw new BytesFault('page cut short');
  return p.bytes[p.at++];
};
const checkCodes = (codes: Uint32Array, size: number): void => {
  for (let i = 0; i < codes.length; i++)
    if (codes[i] >= size) throw new BytesFault(`index ${codes[i]} into a dictionary of ${size}`);
};

/** Bytes of a value of a fixed size. */
const fixedBytes = { INT32: 4, FLOAT: 4, INT64: 8, DOUBLE: 8, INT96: 12 } as const;

class PlainValues implements PageValues {
  private readonly parts: PageParts;
  constructor(parts: PageParts) {
    this.parts = parts;
  }

  take(count: number): Vector {
    const { leaf, values: p, lost } = this.parts;
    if (leaf.physical === 'BYTE_ARRAY' || leaf.physical === 'BOOLEAN')
      return valuesVector(leaf, encodings.plain, p, count, lost);
    const size = count * (leaf.physical === 'FIXED_LEN_BYTE_ARRAY' ? leaf.size : fixedBytes[leaf.physical]);
    if (size > p.end - p.at) throw new BytesFault('page cut short');
    // Vectors of numbers may look at the bytes that they are given.
    const bytes = new Uint8Array(p.bytes.subarray(p.at, p.at + size));
    p.at += size;
    return valuesVector(leaf, encodings.plain, { bytes, at: 0, end: size, hold: p.hold }, count, lost);
  }
}

const allLevels = (p: Place, count: number, max: number): Uint8Array => {
  const out = new Uint8Array(count);
  new HybridReader(p, bitsFor(max)).next(out);
  checkLevels(out, max);
  return out;
};
/** The next levels; undefined if they are all the highest. */
const levelsOf = (reader: HybridReader, count: number, max: number): Uint8Array | undefined => {
  if (reader.passed(count, max)) return undefined;
  const out = new Uint8Array(count);
  reader.next(out);
  checkLevels(out, max);
  return out;
};
const checkLevels = (levels: Uint8Array, max: number): void => {
  for (let i = 0; i < levels.length; i++) if (levels[i] > max) throw new BytesFault(`level ${levels[i]} of ${max}`);
};
/** How many entries have this level. */
const countOf = (levels: Uint8Array, level: number): number => {
  let count = 0;
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) count++;
  return count;
};

/** What entries take; dictionaries are counted where they are held. */
export const entriesBytes = ({ definition, repetition, values }: Omit<Entries, 'entries'>): number =>
  (definition?.length ?? 0) +
  (repetition?.length ?? 0) +
  (values.form === 'dictionary' ? values.length * 4 : sizeOf(values));
