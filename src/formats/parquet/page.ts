/**
 * The bytes of a page of a column, expanded: where its levels and values lie.
 *
 * Invariant: what a page comes to is charged before it is made, by the number of values that it claims.
 */
import { type Codec, expand } from '../codings/block-codecs.ts';
import type { ReadMemory } from '../read-memory.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Place } from './decode.ts';
import { type OpenPage, type PageParts, openPage } from './open-page.ts';
import { type PageHeader, pageKind } from './page-header.ts';
import type { Losses } from '../columns/decimals.ts';
import type { Leaf } from './plan.ts';
import { encodings, valuesVector } from './values.ts';

const pageValuesMax = 1 << 25;
const pageBytesMax = 1 << 29;
/**
 * What a value takes while it is made beside the bytes of its page, with its levels: words, and the number that they
 * become; or a code.
 */
const valueBytes = { plain: 18, coded: 6 };

/** What pages of one column have in common. */
export interface PageContext {
  readonly leaf: Leaf;
  readonly codec: Codec | 'none';
  readonly memory: ReadMemory /** Of the column, in errors. */;
  readonly name: string;
  readonly lost?: Losses | undefined;
}

/** The values of a dictionary's page. @throws BytesFault, LakeError format-memory */
export const readDictionary = (header: PageHeader, packed: Uint8Array, context: PageContext): Vector => {
  if (!(header.values >= 0 && header.values <= pageValuesMax)) throw new BytesFault(`dictionary of ${header.values}`);
  return charged(header, packed, context, (hold) =>
    valuesVector(
      context.leaf,
      encodings.plain,
      placeOf(expanded(packed, header.bytes, context), hold),
      header.values,
      context.lost,
    ),
  );
};

/**
 * A page of data, to read on. `dictionary`: asked for if its values are looked up. @throws BytesFault, LakeError
 * format-memory
 */
export const readPage = (
  header: PageHeader,
  packed: Uint8Array,
  context: PageContext,
  dictionary: () => Vector | undefined,
): OpenPage => {
  if (!(header.values >= 0 && header.values <= pageValuesMax)) throw new BytesFault(`page of ${header.values} values`);
  return charged(header, packed, context, (hold) =>
    openPage((header.kind === pageKind.data ? pageV1 : pageV2)({ header, packed, context, dictionary, hold })),
  );
};

type Hold = (bytes: number) => void;
/** Holds the bytes that work on a page takes, as long as it takes. */
const charged = <T>(
  header: PageHeader,
  packed: Uint8Array,
  { leaf, codec, memory, name }: PageContext,
  work: (hold: Hold) => T,
): T => {
  const isCoded = header.encoding === encodings.dictionary || header.encoding === encodings.plainDictionary;
  // Strings are copied out of what was expanded.
  const copies = leaf.physical === 'BYTE_ARRAY' && !isCoded ? 2 : 1;
  let held = 0;
  const hold = (bytes: number): void => {
    memory.hold(bytes, {
      format: 'parquet',
      what: `page of ${header.bytes} bytes and ${header.values} values, column ${name},`,
    });
    held += bytes;
  };
  try {
    if (codec !== 'none' && header.bytes < 0) throw new BytesFault(`page of ${header.bytes} bytes`);
    hold(packed.length + Math.max(0, header.bytes) * copies + header.values * valueBytes[isCoded ? 'coded' : 'plain']);
    if (codec !== 'none' && header.bytes > pageBytesMax) throw new BytesFault(`page of ${header.bytes} bytes`);
    return work(hold);
  } finally {
    memory.free(held);
  }
};

interface PageWork {
  readonly header: PageHeader;
  readonly packed: Uint8Array;
  readonly context: PageContext;
  readonly dictionary: () => Vector | undefined;
  readonly hold: Hold;
}
const pageV1 = ({ header, packed, context, dictionary, hold }: PageWork): PageParts => {
  const { leaf, lost } = context;
  const p = placeOf(expanded(packed, header.bytes, context), hold);
  const repetition = leaf.repetitionMax > 0 ? counted(p, header.repetitionEncoding) : undefined;
  const definition = leaf.definitionMax > 0 ? counted(p, header.definitionEncoding) : undefined;
  return {
    leaf,
    encoding: header.encoding,
    entries: header.values,
    repetition,
    definition,
    values: p,
    dictionary,
    lost,
  };
};
const pageV2 = ({ header, packed, context, dictionary, hold }: PageWork): PageParts => {
  const { leaf, lost } = context;
  const { repetitionBytes, definitionBytes } = header;
  const levelBytes = repetitionBytes + definitionBytes;
  if (repetitionBytes < 0 || definitionBytes < 0 || levelBytes > packed.length || levelBytes > header.bytes)
    throw new BytesFault('page cut short');
  const rest = packed.subarray(levelBytes);
  const bytes = header.isCompressed ? expanded(rest, header.bytes - levelBytes, context) : rest;
  const levels = bytes === rest ? packed : packed.slice(0, levelBytes);
  return {
    leaf,
    encoding: header.encoding,
    entries: header.values,
    repetition: leaf.repetitionMax > 0 ? { bytes: levels, at: 0, end: repetitionBytes } : undefined,
    definition: leaf.definitionMax > 0 ? { bytes: levels, at: repetitionBytes, end: levelBytes } : undefined,
    values: placeOf(bytes, hold),
    dictionary,
    lost,
  };
};

const expanded = (packed: Uint8Array, size: number, { codec }: PageContext): Uint8Array =>
  codec === 'none' ? packed : expand(codec, packed, size);

const placeOf = (bytes: Uint8Array, hold: Hold): Place => ({ bytes, at: 0, end: bytes.length, hold });
/** Levels of a page of version 1 have their size before them. */
const counted = (p: Place, encoding: number): Place => {
  if (encoding !== encodings.rle) throw new BytesFault(`levels in encoding ${encoding}`);
  if (p.end - p.at < 4) throw new BytesFault('page cut short');
  const { bytes, at } = p;
  const size = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
  if (size < 0 || size > p.end - at - 4) throw new BytesFault('page cut short');
  p.at = at + 4 + size;
  return { bytes, at: at + 4, end: p.at };
};
