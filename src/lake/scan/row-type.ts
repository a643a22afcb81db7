/** Of what types the rows of objects are, and what their fields are called, by their footers: no row is read. */
import type { Id, ObjectMeta } from '../lake.types.ts';
import { Fusion, fuseTypes } from '../../vectors/fuse.ts';
import type { Type } from '../../vectors/type.ts';
import { openReader } from './input.ts';
import type { ScanSource } from './scan.types.ts';

/** The fusion of the types of all rows, or undefined if there are none, or more objects than `objectsMax`. */
export const rowTypeOf = async (source: ScanSource, objectsMax: number): Promise<Type | undefined> => {
  const fusion = new Fusion();
  let count = 0;
  let cursor: number | undefined;
  do {
    const page = await source.page({
      limit: objectsMax + 1 - count,
      packs: true,
      ...(cursor !== undefined && { cursor }),
    });
    count += page.objects.length;
    if (count > objectsMax) return undefined;
    for (const meta of page.objects) {
      const { rowType } = await openReader(source, meta);
      if (rowType) fusion.add(rowType);
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return fusion.type;
};

/** Fields of the rows by object, as far as they were asked for: objects never change. */
export type KnownFields = Map<Id, readonly ContentField[]>;
/** A field and the fusion of the types of its values. */
export interface ContentField {
  readonly name: string;
  readonly type: Type;
}
/** Objects whose fields are kept. */
const knownMax = 20_000;
/** Footers that are read at once. */
const footersAtOnce = 16;

/**
 * How many rows there are, and the fields that any of them has; these are undefined if there are no rows, or more than
 * `objectsMax` objects whose footers were not read before.
 */
export const rowContent = async (
  source: ScanSource,
  objectsMax: number,
  known: KnownFields,
): Promise<{ readonly rowCount: number; readonly fields: readonly ContentField[] | undefined }> => {
  const types = new Map<string, Type>();
  let rowCount = 0;
  let read = 0;
  let cursor: number | undefined;
  do {
    const page = await source.page({ limit: objectsMax, packs: true, ...(cursor !== undefined && { cursor }) });
    const unread: ObjectMeta[] = [];
    for (const meta of page.objects) {
      rowCount += meta.count;
      const fields = known.get(meta.id);
      if (fields) addFields(types, fields);
      else unread.push(meta);
    }
    read += unread.length;
    if (read <= objectsMax) {
      for (let at = 0; at < unread.length; at += footersAtOnce) {
        await Promise.all(
          unread.slice(at, at + footersAtOnce).map(async (meta) => {
            const fields = recordFields((await openReader(source, meta)).rowType);
            if (known.size >= knownMax) known.clear();
            known.set(meta.id, fields);
            addFields(types, fields);
          }),
        );
      }
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return {
    rowCount,
    fields: rowCount === 0 || read > objectsMax ? undefined : [...types].map(([name, type]) => ({ name, type })),
  };
};

const addFields = (types: Map<string, Type>, fields: readonly ContentField[]): void => {
  for (const { name, type } of fields) {
    const known = types.get(name);
    if (known !== type) types.set(name, known ? fuseTypes(known, type) : type);
  }
};

/** The fields of the records among the values of a type. */
const recordFields = (type: Type | undefined): readonly ContentField[] => {
  switch (type?.kind) {
    case 'record':
      return type.fields;
    case 'union': {
      const types = new Map<string, Type>();
      for (const member of type.members) addFields(types, recordFields(member));
      return [...types].map(([name, t]) => ({ name, type: t }));
    }
    case 'named':
      return recordFields(type.inner);
    default:
      return [];
  }
};
