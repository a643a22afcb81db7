/** What is made of texts of data, such as patterns, paths and formats, so that it is made once for many rows. */

/**
 * Texts of data must not fill the memory: so many are remembered, of so many characters each at most, and the last that
 * was longer, up to what patterns may have.
 */
const textsMax = 500;
const lengthMax = 1000;
const longMax = 100_000;

export const remembered = <T extends object>(make: (text: string) => T): ((text: string) => T) => {
  const known = new Map<string, T>();
  let long: { readonly text: string; readonly made: T } | undefined;
  return (text) => {
    if (text.length > longMax) return make(text);
    if (text.length > lengthMax) {
      if (long?.text !== text) long = { text, made: make(text) };
      return long.made;
    }
    let found = known.get(text);
    if (found === undefined) {
      if (known.size >= textsMax) known.clear();
      known.set(text, (found = make(text)));
    }
    return found;
  };
};
