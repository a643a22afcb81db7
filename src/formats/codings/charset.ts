/** Texts in other encodings than UTF-8, which all readers of text are given. */
import { LakeError } from '../../errors.ts';

/** @throws charset-unknown for a label that the Encoding Standard does not have */
const decoderOf = (charset: string): InstanceType<typeof TextDecoder> => {
  try {
    return new TextDecoder(charset);
  } catch {
    throw new LakeError('charset-unknown', { charset });
  }
};

/**
 * The label of the encoding if bytes have to be converted from it; undefined for UTF-8 and its subset ASCII.
 * @throws charset-unknown
 */
export const foreignCharset = (charset: string | undefined): string | undefined => {
  if (charset === undefined || /^(?:us-)?ascii$/i.test(charset)) return undefined;
  const { encoding } = decoderOf(charset);
  return encoding === 'utf-8' ? undefined : encoding;
};

/** The text as UTF-8: from `charset`, else from UTF-16 where it begins with that encoding's byte order mark. */
export async function* asUtf8(input: AsyncIterable<Uint8Array>, charset?: string): AsyncGenerator<Uint8Array> {
  let decoder = charset === undefined ? undefined : decoderOf(charset);
  let head: Uint8Array = new Uint8Array(0);
  // Of UTF-16 the byte order mark says which one it is, whatever was declared (RFC 2781, 3.2).
  let isKnown = charset !== undefined && !charset.startsWith('utf-16');
  for await (const chunk of input) {
    let bytes = chunk;
    if (!isKnown) {
      bytes = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      if (bytes.length < 2) {
        head = bytes;
        continue;
      }
      isKnown = true;
      const utf16 = utf16Of(bytes);
      if (utf16 !== undefined) decoder = decoderOf(utf16);
    }
    if (decoder) bytes = utf8.encode(decoder.decode(bytes, { stream: true }));
    if (bytes.length > 0) yield bytes;
  }
  if (!isKnown && head.length > 0) yield decoder ? utf8.encode(decoder.decode(head, { stream: true })) : head;
  const rest = decoder && utf8.encode(decoder.decode());
  if (rest && rest.length > 0) yield rest;
}
const utf8 = new TextEncoder();

const utf16Of = ([first, second]: Uint8Array): string | undefined => {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
};
