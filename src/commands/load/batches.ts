/** Pieces of a text file that can be loaded by themselves: whole lines, with the header that the format needs. */
import type { FileHandle } from 'node:fs/promises';
import { LakeError } from '../../errors.ts';
import { type FormatName, formatNames, formatTable, openReader } from '../../formats/formats.ts';
import { read } from './marks.ts';

/** Formats whose lines can be read without those before them, but for a header: those of text that are read. */
const followed: readonly FormatName[] = formatNames.filter((name) => {
  const { isBinary, reader, readAs } = formatTable[name];
  return !isBinary && (reader ?? readAs) !== undefined;
});
export const isFollowed = (format: FormatName): boolean => followed.includes(format);

/** The format of what is in no format that is known by its name: JSON or Zeek if all of it reads so, else lines. */
export const formatOfLines = async (bytes: Uint8Array): Promise<FormatName> => {
  for (const format of ['zeek', 'json'] as const) if (await reads(format, bytes)) return format;
  return 'line';
};
/** The first line where that alone keeps lines from being JSON: what is left of one whose beginning is elsewhere. */
export const restOfLine = async (bytes: Uint8Array): Promise<Uint8Array | undefined> => {
  const end = bytes.indexOf(0x0a) + 1;
  const others = bytes.subarray(end);
  return end > 0 && (others.length === 0 || (await reads('json', others))) ? bytes.subarray(0, end) : undefined;
};
const reads = async (format: 'json' | 'zeek', bytes: Uint8Array): Promise<boolean> => {
  if (bytes[0] !== (format === 'zeek' ? 0x23 : 0x7b)) return false;
  try {
    let rows = 0;
    for await (const batch of await openReader(format, once(bytes))) rows += batch.length;
    return rows > 0;
  } catch (problem) {
    if (problem instanceof LakeError) return false;
    throw problem;
  }
};
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What a batch may be. */
export interface BatchLimits {
  readonly bytes: number;
  readonly lineBytes: number;
}

/**
 * The whole lines from a place on: as many as fit into a batch, or the first if that alone is longer. Empty: no line has
 * ended. `isLast`: nothing comes to the file any more, so that its end ends the last line. @throws Error for a line that
 * is too long
 */
export const linesFrom = async (
  file: FileHandle,
  from: number,
  { bytes: most, lineBytes }: BatchLimits,
  { format, isLast }: { readonly format: FormatName; readonly isLast: boolean },
): Promise<Buffer> => {
  const isCells = format === 'csv';
  for (let length = most; ; length = Math.min(length * 4, lineBytes + 1)) {
    const bytes = await read(file, from, length);
    const end = isCells ? recordsEnd(bytes) : bytes.lastIndexOf(0x0a) + 1;
    if (end > 0 && (bytes.length === length || !isLast)) return bytes.subarray(0, end);
    if (bytes.length < length) return isLast ? bytes : bytes.subarray(0, end);
    if (length > lineBytes) throw new Error(`byte ${from}: a line longer than ${lineBytes} bytes (option -batch.line)`);
  }
};

/** The end of the last line that does not end within quotes. */
const recordsEnd = (bytes: Uint8Array): number => {
  let isQuoted = false;
  let end = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === 0x22) isQuoted = !isQuoted;
    else if (bytes[i] === 0x0a && !isQuoted) end = i + 1;
  }
  return end;
};

/** What has to stand before lines that are not the first of the file. */
export const headerOf = async (
  file: FileHandle,
  before: number,
  format: FormatName,
  limits: BatchLimits,
): Promise<Buffer> => {
  if (before === 0 || !formatTable[format].hasHeader) return Buffer.alloc(0);
  const bytes = await read(file, 0, Math.min(before, limits.lineBytes));
  if (format !== 'zeek') return bytes.subarray(0, format === 'csv' ? firstRecord(bytes) : bytes.indexOf(0x0a) + 1);
  let end = 0;
  while (bytes[end] === 0x23) end = bytes.indexOf(0x0a, end) + 1;
  return bytes.subarray(0, end);
};
const firstRecord = (bytes: Uint8Array): number => {
  for (let end = bytes.indexOf(0x0a) + 1; end > 0; end = bytes.indexOf(0x0a, end) + 1) {
    const found = recordsEnd(bytes.subarray(0, end));
    if (found > 0) return found;
  }
  return 0;
};
