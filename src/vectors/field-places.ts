/**
 * Where a record's field stands. Records of thousands of fields are asked for each of them: one walk over the names for
 * each would take the square of their number.
 */

type Named = readonly { readonly name: string }[];

/** So few are walked over. */
const fewFields = 16;
/** As often a record is walked over before the places of its names are noted: most are asked for few. */
const walksMax = 8;

interface Known {
  walks: number;
  places: ReadonlyMap<string, number> | undefined;
}
const known = new WeakMap<Named, Known>();

/** The place of the field of that name; -1: there is none. */
export const fieldPlace = (fields: Named, name: string): number => {
  if (fields.length > fewFields) {
    const found = knownOf(fields);
    if (found.places) return found.places.get(name) ?? -1;
    if (++found.walks > walksMax) found.places = new Map(fields.map((f, i) => [f.name, i]));
  }
  for (let i = 0; i < fields.length; i++) if (fields[i]!.name === name) return i;
  return -1;
};
const knownOf = (fields: Named): Known => {
  let found = known.get(fields);
  if (!found) known.set(fields, (found = { walks: 0, places: undefined }));
  return found;
};
