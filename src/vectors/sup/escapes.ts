/** Escapes of strings between quotes (reference/formats/sup.md section 1). */

/** What stands for these letters behind a backslash. */
export const plainEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** A text whose escapes are known to be right, without them; it may have lone surrogates then. */
export const unescapedText = (raw: string): string =>
  raw.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (plainEscapes[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
