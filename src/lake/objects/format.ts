/**
 * The bytes of a data object, from front to back; all numbers little-endian, `n` is a LEB128 number:
 *
 * - header: `LAKEOBJ1` (8 bytes);
 * - for each block of rows: segments of its columns, each at a multiple of 8, in the order of its directory;
 * - for each dictionary: its segments, likewise;
 * - footer: n version, byte flags (1: zone maps, 2: segments may be compressed, 4:
 *   the footer ends with the object's id), n rows, n length of the schema, schema (n types and their
 *   definitions, n layouts and themselves), n dictionaries (n entries, then unless 0: n type, n place / 8, n length /
 *   8, n and bytes of its directory), n blocks (n rows, n layout, n place / 8, n length / 8, n directory length, n and
 *   bytes of the first row's sort key, the same of the last row's), then the directories of the blocks, then, if origins
 *   of rows are known, n place / 8, n length and checksum (4 bytes) of them (objects/origins.ts), which lie before the
 *   footer, then, in a file (flag 4), the object's id (20 bytes), before which unknown origins have the place `noOrigins`;
 *   who does not know of either need not read so far;
 * - trailer: length of the footer (4 bytes), checksum of the footer (4 bytes), `LAKEOBJ1`.
 *
 * A directory describes a column by its encoding and the lengths and checksums of its segments (columns/encode.ts,
 * columns/decode.ts).
 */
/**
 * An object is of the version that brought the newest of what is in it: times as text in numbers, filters of values,
 * pairs of bytes, compressed segments, decimals and wide times in units (columns/encode.ts).
 */
export const plainVersion = 1,
  timesVersion = 2,
  pairsVersion = 3,
  compressedVersion = 4,
  spansVersion = 5;
/** The newest one. */
export const formatVersion = spansVersion;
/** Flags of a footer. */
export const footerFlags = { statistics: 1, compressed: 2, named: 4 } as const;
/** Where origins are that an object does not have: behind its end, where no version looks for them. */
export const noOrigins = 2 ** 40;
/** The first and the last 8 bytes of every object. */
export const magic: Uint8Array = new TextEncoder().encode('LAKEOBJ1');
/** All that comes before the first segment. */
export const header = magic;
/** Bytes of the trailer. */
export const trailerLength = 16;
/**
 * Rows of a block, at most. Measured: with 8,192 the work that is done once a block and shape took as long as the rows'
 * own; with 65,536 the blocks that a key range cuts, and the first row, cost more than is gained.
 */
export const blockRowsMax = 32_768;
/** Objects below this length live inside the lake's tables. */
export const inlineBytesMax = 64 << 10;
