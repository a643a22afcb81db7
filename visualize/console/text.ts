/** Texts for people: figures, times, and names that cannot play tricks on who reads them. */

const number = new Intl.NumberFormat('en-US');
/** `1,234,567`. */
export const count = (n: number): string => number.format(n);
/** `1 record`, `2,000 records`. */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${number.format(n)} ${n === 1 ? one : many}`;

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
/** In steps of 1000: `1.5 MB`. */
export const bytes = (n: number): string => {
  let size = n;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 || size >= 99.5 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
};
/** Milliseconds as `12 ms`, `1.2 s`, `2 min 3 s`. */
export const duration = (ms: number): string => {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const tenths = Math.round(ms / 100);
  const seconds = Math.round(ms / 1000);
  return tenths < 600 ? `${(tenths / 10).toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

const two = (n: number): string => String(n).padStart(2, '0');
/** `2026-11-21 14:05:09` in the reader's time zone. */
export const dateTime = (text: string): string => {
  const date = new Date(text);
  return Number.isNaN(date.getTime())
    ? text
    : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};
/** `3 minutes ago`; the date when that is long past. */
export const ago = (text: string, now: number): string => {
  const seconds = (now - Date.parse(text)) / 1000;
  if (!(seconds < 30 * 86_400)) return dateTime(text).slice(0, 10);
  if (seconds < 45) return 'just now';
  if (seconds < 3570) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  return seconds < 84_600
    ? `${Math.max(1, Math.round(seconds / 3600))} h ago`
    : `${counted(Math.max(1, Math.round(seconds / 86_400)), 'day')} ago`;
};

/** Ids are shown by their middle: what they begin with is the time, which neighbours share. */
export const shortId = (id: string): string => id.replace(/^0x/, '').slice(8, 16);

const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The id that 27 characters of base 62 say; undefined if they say more than 20 bytes. */
const idOf = (text: string): string | undefined => {
  let value = 0n;
  for (const char of text) value = value * 62n + BigInt(base62Digits.indexOf(char));
  const hex = value.toString(16).padStart(40, '0');
  return hex.length === 40 ? `0x${hex}` : undefined;
};
/**
 * Where the service writes ids in messages of commits and in errors: `reverted commit X`, `picked commits X..Y`, a line
 * of an object, a list of objects after a colon. Names stand in quotes, and are none.
 */
const writtenIds =
  /(?<=\bcommits? |: |, |\.\.|^ {2,4}|\n {2,4})([0-9A-Za-z]{27})(?=$|[\n:,]|\.\.| cannot | \d+ records? in )/g;
/** A text of the service in pieces: what stands between ids, and the ids as the console has them, `0x` and 40 digits. */
export const idPieces = (text: string): readonly (string | { readonly id: string })[] =>
  text.split(writtenIds).flatMap((piece, i): readonly (string | { readonly id: string })[] => {
    const id = i % 2 === 1 ? idOf(piece) : undefined;
    return id === undefined ? (piece === '' ? [] : [piece]) : [{ id }];
  });
/** The text with its ids by their telling parts. */
export const withShortIds = (text: string): string =>
  idPieces(text)
    .map((piece) => (typeof piece === 'string' ? piece : shortId(piece.id)))
    .join('');

/** Characters that are not seen, or that turn the text around them. */
const unseen =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff0-\ufffb]/gu;
const picture = (char: string): string => {
  const code = char.codePointAt(0)!;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  // Parts of emoji and of scripts that need them: they turn nothing around.
  if (code === 0x200d || code === 0x200c || (code >= 0xfe00 && code <= 0xfe0f)) return char;
  return code === 0x7f ? '\u2421' : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
};
/** The text with unseen characters made visible, cut to a length that a page can draw. */
export const visible = (text: string, max = 300): string => {
  const cut =
    text.length > max
      ? `${text
          .slice(0, max)
          .toWellFormed()
          .replace(/\ufffd$/, '')}…`
      : text;
  return cut.toWellFormed().replace(unseen, picture);
};
/** As `visible`; what is too long is cut in its middle: names that a script made differ at their ends. */
export const visibleName = (text: string, max = 300): string => {
  if (text.length <= max) return visible(text);
  const tail = text
    .slice(-Math.floor(max / 3))
    .toWellFormed()
    .replace(/^\ufffd/, '');
  return `${visible(text, max - Math.floor(max / 3))}${visible(tail)}`;
};
/** The text of a name with the blanks that it begins or ends with made visible. */
export const visibleEnds = (text: string): string =>
  text.replace(/^ +| +$/g, (blanks) => '\u2423'.repeat(blanks.length));
/** The same for texts of several lines. */
export const visibleLines = (text: string, max = 10_000): string =>
  (text.length > max ? `${text.slice(0, max)}…` : text)
    .toWellFormed()
    .replace(/\r\n/g, '\n')
    .replace(unseen, (char) => (char === '\n' || char === '\t' ? char : picture(char)));

/** What `fetch` says of a connection that it cannot make or keep differs by browser, and tells nobody anything. */
export const faultText = (error: unknown): string =>
  error instanceof TypeError && /fetch|network|load failed/i.test(error.message)
    ? 'The service cannot be reached.'
    : error instanceof Error
      ? error.message
      : String(error);
