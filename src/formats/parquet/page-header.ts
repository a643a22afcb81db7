/** Headers of pages: Thrift's compact protocol. */
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { messageOf } from '../../errors.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { encodings } from './values.ts';

/** Numbers of the kinds of pages. */
export const pageKind = { data: 0, index: 1, dictionary: 2, dataV2: 3 } as const;

/** What a page says of itself. */
export interface PageHeader {
  readonly kind: number;
  /** Before and after compression. */
  readonly bytes: number;
  readonly packedBytes: number;
  /** CRC-32 of what follows the header, as it is there; many writers leave it out. */
  readonly crc: number | undefined;
  readonly values: number;
  readonly encoding: number;
  readonly definitionEncoding: number;
  readonly repetitionEncoding: number;
  readonly definitionBytes: number;
  readonly repetitionBytes: number;
  readonly isCompressed: boolean;
}
type Fields = Readonly<Record<`field_${number}`, unknown>>;

/**
 * The header that these bytes begin with, and its length; undefined if they may end before it does, `isAll` if there
 * are no more. @throws BytesFault
 */
export const pageHeaderOf = (
  bytes: Uint8Array,
  isAll: boolean,
): { readonly header: PageHeader; readonly length: number } | undefined => {
  const reader = { view: new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  let fields: Fields;
  try {
    fields = deserializeTCompactProtocol(reader);
  } catch (cause) {
    // A text of its statistics may be longer than what is there: any fault may be that of the cut.
    if (!isAll || cause instanceof RangeError) return undefined;
    throw new BytesFault(`page header: ${messageOf(cause)}`, { cause });
  }
  return reader.offset > bytes.length ? undefined : { header: headerOf(fields), length: reader.offset };
};
const headerOf = (header: Fields): PageHeader => {
  const kind = numberIn(header, 1);
  const packedBytes = numberIn(header, 3);
  const inner = (header[`field_${kind === pageKind.data ? 5 : kind === pageKind.dictionary ? 7 : 8}`] ?? {}) as Fields;
  const isData = kind === pageKind.data;
  const isV2 = kind === pageKind.dataV2;
  if (packedBytes < 0) throw new BytesFault(`page of ${packedBytes} bytes`);
  return {
    kind,
    bytes: numberIn(header, 2),
    packedBytes,
    crc: header.field_4 === undefined ? undefined : numberIn(header, 4) >>> 0,
    values: kind === pageKind.index ? 0 : numberIn(inner, 1),
    encoding: isV2 ? numberIn(inner, 4) : isData ? numberIn(inner, 2) : encodings.plain,
    definitionEncoding: isData ? numberIn(inner, 3) : encodings.rle,
    repetitionEncoding: isData ? numberIn(inner, 4) : encodings.rle,
    definitionBytes: isV2 ? numberIn(inner, 5) : 0,
    repetitionBytes: isV2 ? numberIn(inner, 6) : 0,
    isCompressed: inner.field_7 !== false,
  };
};
const numberIn = (fields: Fields, field: number): number => {
  const x = fields[`field_${field}`];
  if (typeof x !== 'number' || !Number.isInteger(x)) throw new BytesFault('page header lacks a number');
  return x;
};
