/** What is read of the documents that stores answer with: texts of elements that have no others inside. */

/** The text of the first element of this name; undefined if there is none. */
export const elementOf = (text: string, name: string): string | undefined => {
  const start = text.indexOf(`<${name}>`);
  if (start < 0) return undefined;
  const from = start + name.length + 2;
  const end = text.indexOf(`</${name}>`, from);
  return end < 0 ? undefined : plain(text.slice(from, end));
};
/** What is inside of all elements of this name, which has none of its own name inside. */
export const partsOf = (text: string, name: string): readonly string[] =>
  text
    .split(`<${name}>`)
    .slice(1)
    .map((part) => part.split(`</${name}>`, 1)[0]!);

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const plain = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities[name] ?? all;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
