/**
 * A page that is read on, some entries at a time.
 *
 * Invariants: what is held of a page between two calls is its bytes as they were expanded, where its encoding can be
 * read on from any value; these are far fewer than what they become, so that the pages of all columns of a row group
 * can be held side by side; where they cannot, they are put into a scratch file (parked.ts) and read on from there.
 * Pages of lists, and those whose values build on each other, are decoded whole.
 *
 * Beside pages that were held decoded, of which most had to be let go and were read again for each 4,096 rows: a load of
 * 1,000,000 rows of 104 columns, in row groups of 122,880, 38 -> 16 s of processor time.
 */
import { unshared } from '../../vectors/shown-size.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, slice } from '../../vectors/vector.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { HybridReader, type Place, bitsFor } from './decode.ts';
import type { Losses } from '../columns/decimals.ts';
import type { ParkedPages } from './parked.ts';
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
  /** Bytes that are held in addition while entries are taken. */
  readonly fetched: number;
  /** Puts the bytes of its values away; absent: they are decoded. */
  park?(pages: ParkedPages): void;
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
  private readonly leaf: Leaf;
  private readonly definition: Place | undefined;
  private readonly place: Place;
  private readonly levels: HybridReader | undefined;
  private readonly values: PageValues;
  private parked: { readonly pages: ParkedPages; readonly at: number; readonly length: number } | undefined;
  constructor(parts: PageParts) {
    const { leaf, entries, definition, values } = parts;
    this.leaf = leaf;
    this.entries = entries;
    this.definition = definition;
    this.place = values;
    this.levels = definition && new HybridReader(definition, bitsFor(leaf.definitionMax));
    this.values = isLookedUp(parts.encoding) ? new CodedValues(parts) : plainValues(parts);
  }

  get bytes(): number {
    const { place, definition } = this;
    return place.bytes.length + (definition && definition.bytes !== place.bytes ? definition.bytes.length : 0);
  }
  get fetched(): number {
    return this.parked && !this.values.takeFrom ? this.parked.length : 0;
  }

  park(pages: ParkedPages): void {
    const { definition, place } = this;
    // Levels lie before the values.
    if (definition?.bytes.buffer === place.bytes.buffer) definition.bytes = definition.bytes.slice(0, definition.end);
    this.parked ??= { pages, at: pages.put(place.bytes), length: place.bytes.length };
    place.bytes = noBytes;
  }

  take(entries: number): Entries {
    const { leaf, levels } = this;
    const definition = levels && levelsOf(levels, entries, leaf.definitionMax);
    const count = definition ? countOf(definition, leaf.definitionMax) : entries;
    return { entries, definition, repetition: undefined, values: this.valuesOf(count) };
  }
  private valuesOf(count: number): Vector {
    const { parked, values, place } = this;
    if (!parked) return values.take(count);
    const { pages, at, length } = parked;
    if (values.takeFrom) return values.takeFrom(count, (from, size) => pages.read(at + from, size));
    place.bytes = pages.read(at, length);
    try {
      return values.take(count);
    } finally {
      place.bytes = noBytes;
    }
  }
}

const plainValues = (parts: PageParts): PageValues => {
  const { physical } = parts.leaf;
  return physical === 'BYTE_ARRAY' || physical === 'BOOLEAN' ? new TextValues(parts) : new PlainValues(parts, physical);
};

/** A page that was decoded whole. */
class WholePage implements OpenPage {
  readonly entries: number;
  readonly bytes: number;
  readonly fetched = 0;
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
  /** The same where only the bytes of these values are fetched, by their place in the page. */
  takeFrom?(count: number, fetch: Fetch): Vector;
}
type Fetch = (at: number, size: number) => Uint8Array;
const noBytes = new Uint8Array(0);

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

class TextValues implements PageValues {
  private readonly parts: PageParts;
  constructor(parts: PageParts) {
    this.parts = parts;
  }

  take(count: number): Vector {
    const { leaf, values, lost } = this.parts;
    return valuesVector(leaf, encodings.plain, values, count, lost);
  }
}

class PlainValues implements PageValues {
  private readonly parts: PageParts;
  private readonly size: number;
  constructor(parts: PageParts, physical: keyof typeof fixedBytes | 'FIXED_LEN_BYTE_ARRAY') {
    this.parts = parts;
    this.size = physical === 'FIXED_LEN_BYTE_ARRAY' ? parts.leaf.size : fixedBytes[physical];
  }

  take(count: number): Vector {
    // Vectors of numbers may look at the bytes that they are given.
    const { bytes } = this.parts.values;
    return this.takeFrom(count, (at, size) => new Uint8Array(bytes.subarray(at, at + size)));
  }
  takeFrom(count: number, fetch: Fetch): Vector {
    const { leaf, values: p, lost } = this.parts;
    const size = count * this.size;
    if (size > p.end - p.at) throw new BytesFault('page cut short');
    const bytes = fetch(p.at, size);
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
