/** Strings between quotes, as bytes of the text. */
import { bytesToText, changeBetweenBytes } from '../../vectors/texts/codec.ts';
import { unescapedText } from '../../vectors/sup/escapes.ts';

/**
 * The text of bytes[start, end) between quotes, whose escapes are known to be right: NFC, lone surrogates replaced;
 * bytes that are no UTF-8 are kept (vectors/texts/codec.ts).
 */
export const supStringText = (bytes: Uint8Array, start: number, end: number): string => {
  const raw = bytesToText(bytes.subarray(start, end));
  const text = raw.includes('\\') ? changeBetweenBytes(raw, unescapedText) : raw;
  return text.normalize('NFC');
};
