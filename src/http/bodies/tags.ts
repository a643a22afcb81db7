/** Entity tags (RFC 9110, 8.8.3). */

/**
 * Whether a header such as `If-None-Match` has a tag of what this key names: the key itself, weak, or with a dot and more
 * behind it, which is a certain form of it. Whoever sent it has the same answer already.
 */
export const matchesTag = (header: string | undefined, key: string): boolean => {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return (header.match(tags) ?? []).some((tag) => {
    const opaque = tag.replace(/^W\/"|^"|"$/g, '');
    return opaque === key || opaque.startsWith(`${key}.`);
  });
};
/** Whether the header `If-Match` has this very tag, which is a strong one. */
export const hasTag = (header: string, tag: string): boolean =>
  header.trim() === '*' || (header.match(tags) ?? []).some((each) => each === tag);

const tags = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
