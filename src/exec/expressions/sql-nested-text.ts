/** Lists, structs and maps from text as SQL's casts read them: `[a, b]`, `{name: value}`, `{key=value}`. Elements are texts still; null is the word NULL without quotes. */

/** The text of an element; null stands for none. */
type Element = string | null;

/** The elements of `[..]`; undefined for what is no list. */
export const listOfText = (text: string): readonly Element[] | undefined => {
  const inside = between(text, '[', ']'), parts = inside === undefined ? undefined : split(inside, ',');
  const elements = parts?.map(elementOf);
  return elements?.every((x) => x !== undefined) ? elements : undefined;
};

/** The names or keys of `{..}` with what stands behind `sign`; undefined for what is no struct or map. */
export const entriesOfText = (text: string, sign: ':' | '='): readonly (readonly [Element, Element])[] | undefined => {
  const inside = between(text, '{', '}'), parts = inside === undefined ? undefined : split(inside, ',');
  if (!parts) return undefined;
  const entries: (readonly [Element, Element])[] = [];
  for (const part of parts) {
    const sides = split(part, sign, 2);
    const key = sides?.length === 2 ? elementOf(sides[0]!) : undefined, value = sides?.length === 2 ? elementOf(sides[1]!) : undefined;
    if (key === undefined || value === undefined) return undefined;
    entries.push([key, value]);
  }
  return entries;
};

const between = (text: string, open: string, close: string): string | undefined => {
  const plain = text.trim();
  return plain.length > 1 && plain.startsWith(open) && plain.endsWith(close) ? plain.slice(1, -1) : undefined;
};

const closing: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')' };
/** The parts between signs that stand outside of quotes and brackets, at most `most` of them; none for blanks alone. Undefined where brackets or quotes do not close. */
const split = (text: string, sign: string, most = Infinity): readonly string[] | undefined => {
  if (text.trim() === '') return [];
  const parts: string[] = [], open: string[] = [];
  let start = 0, quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '\\') i++;
    else if (quote !== '') quote = c === quote ? '' : quote;
    else if ((c === '"' || c === "'") && beginsElement(text, start, i, open.length)) quote = c;
    else if (closing[c] !== undefined) open.push(closing[c]);
    else if (c === open.at(-1)) open.pop();
    else if (c === sign && open.length === 0 && parts.length + 1 < most) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return quote === '' && open.length === 0 ? [...parts, text.slice(start)] : undefined;
};
/** A quote within a word is an ordinary character. */
const beginsElement = (text: string, start: number, at: number, depth: number): boolean => (depth > 0 ? /[\s,:=[{(]/.test(text[at - 1]!) : text.slice(start, at).trim() === '');

const elementOf = (part: string): Element | undefined => {
  const text = part.trim(), [first] = text;
  if (text === '') return undefined;
  if (/^null$/i.test(text)) return null;
  const isQuoted = text.length > 1 && (first === '"' || first === "'") && text.endsWith(first);
  // What is nested keeps its escapes for its own turn.
  if (first === '[' || first === '{') return text;
  return (isQuoted ? text.slice(1, -1) : text).replace(/\\(.)/gs, '$1');
};
