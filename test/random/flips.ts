/**
 * Compressed bodies with one bit flipped: what a checksum covers is an error or the very same rows, never others.
 *
 * Bodies: every content coding over several formats, Parquet with each page codec and page checksums, Arrow with
 * compressed buffers, LZ4 frames with all of their checksums.
 */
import { readFileSync } from 'node:fs';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { parquetMetadata } from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { LakeError } from '../../src/errors.ts';
import { expand } from '../../src/formats/codings/block-codecs.ts';
import { type ContentCoding, decoded } from '../../src/formats/codings/encoding.ts';
import { type FormatName, openReader } from '../../src/formats/formats.ts';
import { encodeLz4 } from '../../src/formats/codings/lz4.ts';
import { BytesFault } from '../../src/formats/columns/type-bytes.ts';
import { xxh32 } from '../../src/formats/codings/xxh.ts';
import { intValue, recordValue, stringValue } from '../../src/vectors/value.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { valueAt } from '../../src/vectors/vector.ts';
import { pieces, written } from '../support/formats/convert.ts';

/** `read` gives the rows as text. `covers`: whether a checksum, or what the format says twice, covers this byte. */
interface Body {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly read: (bytes: Uint8Array) => Promise<string> | string;
  readonly covers: (byte: number) => boolean;
}
/** What came of a flip; `wrong`: other rows than those that were written, where a checksum covers them. */
export type FlipEnd = 'refused' | 'same' | 'other, no checksum' | 'wrong';

const samples = JSON.parse(readFileSync(new URL('flip-samples.json', import.meta.url), 'utf8')) as Readonly<
  Record<'zstd' | 'parquet' | 'arrow', Readonly<Record<string, string>>>
>;
const sample = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

const expandedMax = 1 << 24;
/** Bodies come in pieces, since what is at an end differs from what is behind it. */
const pieceBytes = 50;
const rowsOf = async (bytes: Uint8Array, format: FormatName, coding?: ContentCoding): Promise<string> => {
  const plain = coding
    ? decoded(pieces(bytes, pieceBytes), { codings: [coding], bytesMax: expandedMax })
    : pieces(bytes, pieceBytes);
  const rows: string[] = [];
  for await (const batch of await openReader(format, plain))
    for (let i = 0; i < batch.length; i++) rows.push(supText(valueAt(batch, i)));
  return rows.join('\n');
};

const values = Array.from({ length: 12 }, (_, i) =>
  recordValue([
    { name: 'k', value: intValue(i) },
    { name: 'amount', value: intValue(100 * ((i % 3) + 1)) },
    { name: 'city', value: stringValue(['Oslo', 'Rome', 'Wien'][i % 3]!) },
  ]),
);
/** Of the skippable frame in the sample. */
const skippableBytes = 12;
const always = (): boolean => true;
const never = (): boolean => false;

const coded = (): readonly Body[] => {
  const formats: readonly FormatName[] = ['json', 'csv', 'sup', 'line', 'bsup', 'jsup'];
  const bodies: Body[] = [];
  const halves = (plain: Uint8Array): Uint8Array =>
    Buffer.concat([gzipSync(plain.subarray(0, plain.length >> 1)), gzipSync(plain.subarray(plain.length >> 1))]);
  for (const format of formats) {
    const plain = format === 'line' ? Buffer.from('{"amount":100}\nsecond line\n') : written(values, format);
    const read = (coding: ContentCoding) => (bytes: Uint8Array) => rowsOf(bytes, format, coding);
    bodies.push(
      { name: `gzip ${format}`, bytes: gzipSync(plain), read: read('gzip'), covers: always },
      { name: `gzip of two members ${format}`, bytes: halves(plain), read: read('gzip'), covers: always },
      {
        name: `gzip padded with zeros ${format}`,
        bytes: Buffer.concat([gzipSync(plain), Buffer.alloc(60)]),
        read: read('gzip'),
        covers: always,
      },
      { name: `deflate ${format}`, bytes: deflateSync(plain), read: read('deflate'), covers: always },
      { name: `bare deflate ${format}`, bytes: deflateRawSync(plain), read: read('deflate'), covers: never },
      { name: `brotli ${format}`, bytes: brotliCompressSync(plain), read: read('br'), covers: never },
    );
  }
  for (const [name, text] of Object.entries(samples.zstd)) {
    // A skippable frame has no checksum: with another length it may skip what is behind it.
    const covers = name.includes('skippable') ? (byte: number) => byte >= skippableBytes : always;
    for (const format of ['json', 'line'] as const)
      bodies.push({
        name: `${name} ${format}`,
        bytes: sample(text),
        read: (bytes) => rowsOf(bytes, format, 'zstd'),
        covers,
      });
  }
  return bodies;
};

/** The bytes of pages, which a page's checksum covers; their headers and the footer have none. */
const pagesOf = (file: Uint8Array): readonly (readonly [number, number])[] => {
  const buffer = new Uint8Array(file).buffer;
  const ranges: [number, number][] = [];
  for (const { columns } of parquetMetadata(buffer).row_groups) {
    for (const { meta_data: meta } of columns) {
      const reader = {
        view: new DataView(buffer),
        offset: Number(meta!.dictionary_page_offset ?? meta!.data_page_offset),
      };
      const end = reader.offset + Number(meta!.total_compressed_size);
      while (reader.offset < end) {
        const { field_3: bytes } = deserializeTCompactProtocol(reader) as { readonly field_3: number };
        ranges.push([reader.offset, reader.offset + bytes]);
        reader.offset += bytes;
      }
    }
  }
  return ranges;
};

const frameBytes = 400;
/** An LZ4 frame with its size and all checksums, in two blocks, the second stored. */
const lz4Frame = (): { readonly content: Uint8Array; readonly frame: Uint8Array } => {
  const content = Buffer.from('{"amount":100}\n'.repeat(40)).subarray(0, frameBytes);
  const half = frameBytes / 2;
  const packed = Buffer.alloc(frameBytes);
  const number = (n: number): Buffer => {
    const out = Buffer.alloc(4);
    out.writeUInt32LE(n >>> 0);
    return out;
  };
  const descriptor = Buffer.concat([
    Buffer.from([0x40 | 0x20 | 0x10 | 0x08 | 0x04, 0x40]),
    number(frameBytes),
    number(0),
  ]);
  const first = packed.subarray(0, encodeLz4(content, 0, half, packed, 0, packed.length));
  const second = content.subarray(half);
  const frame = Buffer.concat([
    number(0x184d2204),
    descriptor,
    Buffer.from([(xxh32(descriptor) >>> 8) & 0xff]),
    number(first.length),
    first,
    number(xxh32(first)),
    number(second.length | 0x8000_0000),
    second,
    number(xxh32(second)),
    number(0),
    number(xxh32(content)),
  ]);
  return { content, frame };
};

/** All bodies, the same each time. */
export const flipBodies = (): readonly Body[] => {
  const { frame } = lz4Frame();
  return [
    ...coded(),
    ...Object.entries(samples.parquet).map(([name, text]): Body => {
      const bytes = sample(text);
      const pages = pagesOf(bytes);
      return {
        name: `parquet, pages ${name}`,
        bytes,
        read: (flipped) => rowsOf(flipped, 'parquet'),
        covers: (byte) => pages.some(([start, end]) => start <= byte && byte < end),
      };
    }),
    // Writers of Arrow leave the checksums of its frames out.
    ...Object.entries(samples.arrow).map(
      ([name, text]): Body => ({
        name: `arrow, buffers ${name}`,
        bytes: sample(text),
        read: (flipped) => rowsOf(flipped, 'arrows'),
        covers: never,
      }),
    ),
    {
      name: 'lz4 frame',
      bytes: frame,
      read: (flipped) => Buffer.from(expand('lz4-frame', flipped, frameBytes)).toString('hex'),
      covers: always,
    },
    {
      name: 'zstd block',
      bytes: sample(samples.zstd['zstd checksum, streamed']!),
      read: (flipped) => Buffer.from(expand('zstd', flipped, 422)).toString('hex'),
      covers: always,
    },
  ];
};

/** What comes of a body with one bit flipped. Whatever is thrown that is no clear refusal comes out. */
export const endOfFlip = async (body: Body, bit: number, sound: string): Promise<FlipEnd> => {
  const bytes = new Uint8Array(body.bytes);
  const at = bit >> 3;
  bytes[at]! ^= 1 << (bit & 7);
  let found: string;
  try {
    found = await body.read(bytes);
  } catch (error) {
    if (error instanceof BytesFault || (error instanceof LakeError && error.status < 500)) return 'refused';
    throw error;
  }
  if (found === sound) return 'same';
  return body.covers(at) ? 'wrong' : 'other, no checksum';
};
