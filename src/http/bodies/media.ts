/**
 * Media types of headers, read as the reference does: parameters and letter case do not matter, and faults are told in
 * its parser's words.
 */

/** Type and subtype in lower case, or what is wrong with the text. */
type MediaType = { readonly type: string } | { readonly fault: string };

/** The parameter `charset`, undefined without one. */
export const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType ?? '')?.[1];

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+/;

/** Reads one media type. A type without a slash is let through: it is unknown, not malformed. */
export const parseMediaType = (text: string): MediaType => {
  const semicolon = text.indexOf(';');
  const base = (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase();
  const major = token.exec(base)?.[0];
  if (major === undefined) return { fault: 'no media type' };
  let rest = base.slice(major.length);
  if (rest === '') return { type: base };
  if (!rest.startsWith('/')) return { fault: 'expected slash after first token' };
  rest = rest.slice(1);
  const minor = token.exec(rest)?.[0];
  if (minor === undefined) return { fault: 'expected token after slash' };
  if (minor.length !== rest.length) return { fault: 'unexpected content after media subtype' };
  return { type: base };
};
