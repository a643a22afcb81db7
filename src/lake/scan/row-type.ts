/** Of what types the rows of objects are, and what their fields are called, by their footers: no row is read. */
import type { Id, ObjectMeta } from '../lake.types.ts';
import { Fusion } from '../../vectors/fuse.ts';
import { charge } from '../../vectors/stop.ts';
import type { Type } from '../../vectors/type.ts';
import { type Layout, visitFields } from '../columns/layout.ts';
import type { ObjectReader } from '../objects/reader.ts';
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
/** Objects whose fields are kept, of those that have no more than so many. */
const knownMax = 20_000;
const knownFieldsMax = 1000;
/** Footers that are read at once. */
const footersAtOnce = 16;

/** `turn`: does a piece of the task's work, which charges what it makes. */
interface ContentOptions {
  readonly objectsMax: number;
  readonly known: KnownFields;
  readonly turn: <T>(work: () => T) => T;
}
/**
 * How many rows there are, and the fields that any of them has; these are undefined if there are no rows, or more than
 * `objectsMax` objects whose footers were not read before.
 */
export const rowContent = async (
  source: ScanSource,
  { objectsMax, known, turn }: ContentOptions,
): Promise<{ readonly rowCount: number; readonly fields: readonly ContentField[] | undefined }> => {
  const all = new FieldsGathered();
  let rowCount = 0;
  let read = 0;
  let cursor: number | undefined;
  do {
    const page = await source.page({ limit: objectsMax, packs: true, ...(cursor !== undefined && { cursor }) });
    const unread: ObjectMeta[] = [];
    for (const meta of page.objects) {
      rowCount += meta.count;
      const fields = known.get(meta.id);
      if (fields) all.addAll(fields);
      else unread.push(meta);
    }
    read += unread.length;
    if (read <= objectsMax) {
      for (let at = 0; at < unread.length; at += footersAtOnce) {
        await Promise.all(
          unread.slice(at, at + footersAtOnce).map(async (meta) => {
            const reader = await openReader(source, meta);
            turn(() => {
              note(meta.id, reader, all, known);
            });
          }),
        );
      }
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return { rowCount, fields: rowCount === 0 || read > objectsMax ? undefined : turn(() => all.fields) };
};
const note = (id: Id, reader: ObjectReader, all: FieldsGathered, known: KnownFields): void => {
  const own = shapesFields(reader.shapes);
  all.addAll(own);
  if (own.length > knownFieldsMax) return;
  if (known.size >= knownMax) known.clear();
  known.set(id, own);
};

/** Fields of the shapes of an object: thousands of small ones have the same shapes, and share their fields. */
const ofShapes = new WeakMap<readonly Layout[], readonly ContentField[]>();
const shapesFields = (shapes: readonly Layout[]): readonly ContentField[] => {
  let fields = ofShapes.get(shapes);
  if (fields) return fields;
  const gathered = new FieldsGathered();
  for (const shape of shapes)
    visitFields(shape, (name, type) => {
      gathered.add(name, type);
    });
  fields = gathered.fields;
  if (fields.length <= knownFieldsMax) ofShapes.set(shapes, fields);
  return fields;
};

/** What a field takes here, about. */
const fieldBytes = 96;
/** How many are charged at once. */
const chargedFields = 256;

/** The fields of several records, whose types are fused by name. */
class FieldsGathered {
  private readonly types = new Map<string, Type | Fusion>();

  add(name: string, type: Type): void {
    const known = this.types.get(name);
    if (known === type) return;
    if (known === undefined) {
      if (this.types.size % chargedFields === chargedFields - 1)
        charge(chargedFields * fieldBytes, 'the columns of a table');
      this.types.set(name, type);
    } else if (known instanceof Fusion) known.add(type);
    else this.types.set(name, fusionOf(known, type));
  }
  addAll(fields: readonly ContentField[]): void {
    for (const { name, type } of fields) this.add(name, type);
  }

  get fields(): readonly ContentField[] {
    return Array.from(this.types, ([name, type]) => ({ name, type: type instanceof Fusion ? type.type! : type }));
  }
}
const fusionOf = (first: Type, second: Type): Fusion => {
  const fusion = new Fusion(first);
  fusion.add(second);
  return fusion;
};
