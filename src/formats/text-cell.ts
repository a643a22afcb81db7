/** Cells of text formats: bytes of unknown origin become valid strings. */
import { isUtf8 } from 'node:buffer';
import type { Builder } from '../vectors/builder.ts';
import { types } from '../vectors/type.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Appends bytes[start, end) as a string; what is no UTF-8 is replaced. */
export const appendText = (builder: Builder, bytes: Uint8Array, start: number, end: number): void => {
  let i = start;
  while (i < end && bytes[i]! < 0x80) i++;
  if (i === end || isUtf8(bytes.subarray(i, end))) builder.run(types.string, bytes, start, end);
  else builder.text(decoder.decode(bytes.subarray(start, end)));
};

/** The text of bytes[start, end). */
export const textOf = (bytes: Uint8Array, start: number, end: number): string => decoder.decode(bytes.subarray(start, end));
