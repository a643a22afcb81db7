/**
 * Lists, structs and maps from text as SQL's casts read them: `[a, b]`, `{a, b}`, `{name: value}`, `{key=value}`,
 * `(a, b)`. Elements are texts still.
 *
 * Invariants:
 * - Quotes, single or double, may stand anywhere in an element: what is between them is taken as it is, but for a
 *   backslash, which takes the next character.
 * - Outside of quotes a backslash is one, but in front of a quote; blanks around an element count for nothing; NULL is
 *   null, and nothing at all the empty text.
 */

/** The text of an element; null stands for none. */
type Element = string | null;

/** The elements of `[..]`, or of PostgreSQL's `{..}`; undefined for what is no list. */
export const listOfText = (text: string): readonly Element[] | undefined =>
  elementsBetween(text, '[', ']') ?? elementsBetween(text, '{', '}');

/** The elements of a struct without names, `(..)`; a comma may stand behind the last one. */
export const rowOfText = (text: string): readonly Element[] | undefined => {
  const elements = elementsBetween(text, '(', ')');
  return elements && elements.length > 1 && elements.at(-1) === '' && /,\s*\)\s*$/.test(text)
    ? elements.slice(0, -1)
    : elements;
};
const elementsBetween = (text: string, open: string, close: string): readonly Element[] | undefined => {
  const inside = between(text, open, close);
  return inside === undefined ? undefined : split(inside, ',')?.map(elementOf);
};

/** The names or keys of `{..}` with what stands behind `sign`; undefined for what is no struct or map. */
export const entriesOfText = (text: string, sign: ':' | '='): readonly (readonly [Element, Element])[] | undefined => {
  const inside = between(text, '{', '}');
  const parts = inside === undefined ? undefined : split(inside, ',');
  if (!parts) return undefined;
  const entries: (readonly [Element, Element])[] = [];
  for (const part of parts) {
    const [key, value] = split(part, sign, 2) ?? [];
    if (key === undefined || value === undefined) return undefined;
    entries.push([elementOf(key), elementOf(value)]);
  }
  return entries;
};

const between = (text: string, open: string, close: string): string | undefined => {
  const plain = text.trim();
  return plain.length > 1 && plain.startsWith(open) && plain.endsWith(close) ? plain.slice(1, -1) : undefined;
};

const closing: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')' };
const isQuote = (c: string | undefined): boolean => c === '"' || c === "'";
/**
 * The parts between signs that stand outside of quotes and brackets, at most `most` of them; none for blanks alone.
 * Undefined where brackets or quotes do not close.
 */
const split = (text: string, sign: string, most = Infinity): readonly string[] | undefined => {
  if (text.trim() === '') return [];
  const parts: string[] = [];
  const open: string[] = [];
  let start = 0;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\' && (quote !== '' || isQuote(text[i + 1]))) i++;
    else if (quote !== '') quote = c === quote ? '' : quote;
    else if (isQuote(c)) quote = c;
    else if (closing[c] !== undefined) open.push(closing[c]);
    else if (c === open.at(-1)) open.pop();
    else if (c === sign && open.length === 0 && parts.length + 1 < most) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return quote === '' && open.length === 0 ? [...parts, text.slice(start)] : undefined;
};

const elementOf = (part: string): Element => {
  const text = part.trim();
  const [first] = text;
  if (/^null$/i.test(text)) return null;
  // What is nested keeps its quotes for its own turn.
  return first !== undefined && closing[first] !== undefined ? text : unquoted(text);
};
const unquoted = (text: string): string => {
  let out = '';
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\' && (quote !== '' || isQuote(text[i + 1]))) out += text[++i] ?? '';
    else if (quote === '' && isQuote(c)) quote = c;
    else if (c === quote) quote = '';
    else out += c;
  }
  return out;
};
