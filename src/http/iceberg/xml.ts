/** Documents of S3: elements, texts and lists of elements. */

/** A text or number, what is inside, or several of one name; what is undefined is left out. */
export type XmlValue = string | number | undefined | readonly XmlValue[] | { readonly [name: string]: XmlValue };

/** A document with this root. */
export const xml = (root: string, value: XmlValue, namespace?: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace === undefined ? '' : ` xmlns="${namespace}"`}>${contentOf(value)}</${root}>\n`;

/** That of lists. */
export const s3Namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';

const element = (name: string, value: XmlValue): string => {
  if (value === undefined) return '';
  if (isList(value)) return value.map((each) => element(name, each)).join('');
  return `<${name}>${contentOf(value)}</${name}>`;
};
const contentOf = (value: XmlValue): string => {
  if (value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapedText(String(value));
  if (isList(value)) return value.map(contentOf).join('');
  return Object.entries(value)
    .map(([name, each]) => element(name, each))
    .join('');
};
const isList = (value: XmlValue): value is readonly XmlValue[] => Array.isArray(value);

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** What needs no second look: nearly all texts. */
const plainText = /^[\t\n !#-%'-;=?-~]*$/;
/** What XML 1.0 cannot hold in any form is U+FFFD. */
const escapedText = (text: string): string => (plainText.test(text) ? text : withEscapes(text));
const withEscapes = (text: string): string =>
  text
    .replace(/[&<>"]/g, (character) => entities[character])
    .replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('\r', '&#13;');
