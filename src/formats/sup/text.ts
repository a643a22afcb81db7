/** Strings between quotes, as bytes of the text. */

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const plain: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The text of bytes[start, end) between quotes, whose escapes are known to be right: NFC, lone surrogates replaced. */
export const supStringText = (bytes: Uint8Array, start: number, end: number): string => {
  const raw = decoder.decode(bytes.subarray(start, end));
  if (!raw.includes('\\')) return raw.normalize('NFC');
  return raw
    .replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, hex: string | undefined, letter: string) =>
      hex === undefined ? (plain[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .toWellFormed()
    .normalize('NFC');
};
