/** Text for a terminal: its width in columns, what must not reach it, colours. */

/** What puts a text into a colour or style. */
export interface Colors {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly cyan: (text: string) => string;
}
const plain = (text: string): string => text;
const painted =
  (code: number, end: number) =>
  (text: string): string =>
    text === '' ? '' : `\x1b[${code}m${text}\x1b[${end}m`;
/** Leaves texts as they are. */
export const noColors: Colors = { bold: plain, dim: plain, red: plain, green: plain, cyan: plain };
/** By escape sequences of the terminal. */
export const colors: Colors = {
  bold: painted(1, 22),
  dim: painted(2, 22),
  red: painted(31, 39),
  green: painted(32, 39),
  cyan: painted(36, 39),
};

/** Colours only for a terminal that can show them and a person who has not said no (https://no-color.org). */
export const colorsFor = (isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): Colors =>
  isTerminal && (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb' ? colors : noColors;

/**
 * Data must not move the cursor or change the terminal: control characters but tab and line feed are written as
 * escapes.
 */
export const harmless = (text: string): string =>
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const narrow = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ascii = /^[\x20-\x7e]*$/;

/** Columns that a character takes. */
const charWidth = (c: string): number => (narrow.test(c) ? 0 : wide.test(c) ? 2 : 1);

/** Columns that a text takes. */
export const textWidth = (text: string): number => {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const c of text) width += charWidth(c);
  return width;
};

/** The text in exactly that many columns: cut with an ellipsis, or filled up with blanks. */
export const fitted = (text: string, width: number, right: boolean): string => {
  const own = textWidth(text);
  if (own <= width) return right ? ' '.repeat(width - own) + text : text + ' '.repeat(width - own);
  let out = '';
  let used = 0;
  for (const c of text) {
    if (used + charWidth(c) > width - 1) break;
    out += c;
    used += charWidth(c);
  }
  return `${out}…${' '.repeat(Math.max(0, width - 1 - used))}`;
};
