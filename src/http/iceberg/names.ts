/**
 * What pools and their states are called in the catalogue.
 *
 * - A character of a pool's name that is no ASCII letter or digit, `_` or `-` is written `_x` and its code point in four
 *   or more hexadecimal digits and `_`, as SQL/XML does (ISO 9075-14): `a.b` is `a_x002e_b`. So is an `_`
 *   before x and four such digits. No two pools have the same name then.
 * - Engines ask for what they listed, for what somebody wrote, or (Trino) for that in lower case: all are found, the
 *   listed one first, and the last where it is of one pool alone.
 * - A warehouse is `lake`, or `lake@REF`. Its prefix in paths is the same, with REF written so: some engines put it into
 *   URLs as it is.
 */
import type { IcebergTable } from '../../iceberg/catalogue.types.ts';

/** The only namespace, the warehouse and the bucket. */
export const lakeName = 'lake';

const kept = /[A-Za-z0-9_-]/;
const escaped = /_x([0-9a-f]{4,6})_/g;

/** The name of a table for a pool of this name. */
export const escapedName = (name: string): string => {
  let out = '';
  let at = 0;
  for (const character of name) {
    const reads = character === '_' && /^_x[0-9a-f]{4}/.test(name.slice(at, at + 6));
    out += kept.test(character) && !reads ? character : escapeOf(character);
    at += character.length;
  }
  return out;
};
const escapeOf = (character: string): string => `_x${character.codePointAt(0)!.toString(16).padStart(4, '0')}_`;
const unescaped = (name: string): string =>
  name.replaceAll(escaped, (whole, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code > 0x10_ffff ? whole : String.fromCodePoint(code);
  });

/** The table that is meant; undefined: none, or several. */
export const tableNamed = (tables: readonly IcebergTable[], asked: string): IcebergTable | undefined => {
  const exact = tables.find(({ name }) => escapedName(name) === asked) ?? tables.find(({ name }) => name === asked);
  if (exact) return exact;
  const lower = asked.toLowerCase();
  const alike = tables.filter(({ name }) => [name, escapedName(name)].some((n) => n.toLowerCase() === lower));
  return alike.length === 1 ? alike[0] : undefined;
};

/** All tables, or each as it was at `pin`. */
export interface Warehouse {
  readonly pin?: string;
}
/** Undefined for what is none. */
export const warehouseNamed = (text: string): Warehouse | undefined => {
  if (text === lakeName) return {};
  const start = `${lakeName}@`;
  return text.startsWith(start) && text.length > start.length ? { pin: text.slice(start.length) } : undefined;
};
/** What stands for it in paths. */
export const prefixOf = ({ pin }: Warehouse): string =>
  pin === undefined ? lakeName : `${lakeName}@${escapedName(pin)}`;
/** The same from there. */
export const warehouseOfPrefix = (prefix: string): Warehouse | undefined => {
  const warehouse = warehouseNamed(prefix);
  return warehouse?.pin === undefined ? warehouse : { pin: unescaped(warehouse.pin) };
};
