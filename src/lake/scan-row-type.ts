/** Of what types the rows of objects are, by their footers: no row is read. */
import { fuseTypes } from '../vectors/fuse.ts';
import type { Type } from '../vectors/type.ts';
import { openReader } from './scan-input.ts';
import type { ScanSource } from './scan.types.ts';

/** The fusion of the types of all rows, or undefined if there are none, or more objects than `objectsMax`. */
export const rowTypeOf = async (source: ScanSource, objectsMax: number): Promise<Type | undefined> => {
  let type: Type | undefined, count = 0, cursor: number | undefined;
  do {
    const page = await source.page({ limit: objectsMax + 1 - count, packs: true, ...(cursor !== undefined && { cursor }) });
    count += page.objects.length;
    if (count > objectsMax) return undefined;
    for (const meta of page.objects) {
      const { rowType } = await openReader(source, meta);
      type = type && rowType ? fuseTypes(type, rowType) : type ?? rowType;
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return type;
};
