/** Warnings of a service, as its header says them. */

/**
 * The texts of a header `Warning`: values `299 - "text"` (RFC 7234, 5.5), whose characters beyond printable ASCII are
 * percent-encoded.
 */
export const warningsOf = (header: string | null): readonly string[] =>
  [...(header ?? '').matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    decoded(text.replace(/\\(.)/g, '$1')),
  );
const decoded = (text: string): string =>
  text.replace(/(?:%[0-9A-F]{2})+/g, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
