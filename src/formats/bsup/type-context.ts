/**
 * The types of one segment of a BSUP stream: what a reader has been told (`ReadTypes`), what a writer has told
 * (`WrittenTypes`). Ids from 30 on count the definitions; the end of the segment forgets them.
 */
import { arrayType, enumType, errorType, mapType, setType, type Type } from '../../vectors/type.ts';
import { ByteWriter } from '../../vectors/value.ts';
import {
  BytesFault,
  type Cursor,
  checkedNamed,
  checkedRecord,
  checkedUnion,
  primitiveOf,
  times,
} from '../columns/type-bytes.ts';
import { typeFault } from '../../vectors/type-limits.ts';

const firstId = 30;
/** Most types that one segment may define, and most components (fields, members, symbols) of all of them. */
const typesMax = 100_000;
const componentsOfAllMax = 1_000_000;

/** Types by id, as the types frames of a segment define them. */
export class ReadTypes {
  private readonly defined: Type[] = [];
  private components = 0;
  private readonly nestingMax: number;
  constructor(nestingMax: number) {
    this.nestingMax = nestingMax;
  }

  /** @throws BytesFault for an id that no definition has */
  lookUp(id: number): Type {
    if (id < firstId) return primitiveOf(id);
    const type = this.defined[id - firstId];
    if (!type) throw new BytesFault(`bsupio: no type found for type id ${id}`);
    return type;
  }

  /** Reads the definitions of a types frame. @throws BytesFault */
  define(cursor: Cursor): void {
    while (cursor.at < cursor.end) {
      const type = this.definition(cursor);
      const fault = typeFault(type, this.nestingMax);
      if (fault !== undefined) throw new BytesFault(fault);
      if (this.defined.length >= typesMax) throw new BytesFault(`too many types (limit ${typesMax})`);
      this.defined.push(type);
    }
  }

  private definition(cursor: Cursor): Type {
    const next = (): Type => this.lookUp(cursor.uvarint());
    const code = cursor.byte();
    switch (code) {
      case 0:
        return checkedRecord(
          this.many(cursor, 'fields', () => ({ name: cursor.name(), type: next(), optional: flag(cursor) })),
        );
      case 1:
        return arrayType(next());
      case 2:
        return setType(next());
      case 3: {
        const key = next();
        return mapType(key, next());
      }
      case 4:
        return checkedUnion(this.many(cursor, 'members', next));
      case 5:
        return enumType(this.many(cursor, 'symbols', () => cursor.name()));
      case 6:
        return errorType(next());
      case 7: {
        const name = cursor.name();
        return checkedNamed(name, next());
      }
      default:
        throw new BytesFault(`unknown BSUP typedef code: ${code}`);
    }
  }

  private many<T>(cursor: Cursor, what: string, make: () => T): T[] {
    const n = cursor.count(what);
    this.components += n;
    if (this.components > componentsOfAllMax)
      throw new BytesFault(`too many components of types (limit ${componentsOfAllMax})`);
    return times(n, make);
  }
}

const flag = (cursor: Cursor): boolean => {
  const b = cursor.byte();
  if (b > 1) throw new BytesFault(`malformed BSUP typedef: optional flag ${b}`);
  return b === 1;
};

/** Ids of the types of a segment, and the definitions that have to go out before values of these types. */
export class WrittenTypes {
  private readonly ids = new Map<Type, number>();
  /** Definitions that no types frame has yet. */
  readonly pending = new ByteWriter();

  /** Types that the segment has so far. */
  get count(): number {
    return this.ids.size;
  }

  /** The id of the type; it and its parts are defined first where they are not yet. */
  idOf(type: Type): number {
    if (type.kind === 'primitive') return type.id;
    let id = this.ids.get(type);
    if (id === undefined) {
      this.define(type);
      id = firstId + this.ids.size;
      this.ids.set(type, id);
    }
    return id;
  }

  /** The segment has ended. */
  clear(): void {
    this.ids.clear();
    this.pending.length = 0;
  }

  private define(type: Exclude<Type, { kind: 'primitive' }>): void {
    const out = this.pending;
    switch (type.kind) {
      case 'record': {
        const ids = type.fields.map((f) => this.idOf(f.type));
        out.byte(0);
        out.uvarint(ids.length);
        type.fields.forEach((f, i) => {
          out.text(f.name);
          out.uvarint(ids[i]);
          out.byte(f.optional ? 1 : 0);
        });
        return;
      }
      case 'array':
        return this.wrap(1, [type.element]);
      case 'set':
        return this.wrap(2, [type.element]);
      case 'map':
        return this.wrap(3, [type.key, type.value]);
      case 'union': {
        const ids = type.members.map((m) => this.idOf(m));
        out.byte(4);
        out.uvarint(ids.length);
        for (const id of ids) out.uvarint(id);
        return;
      }
      case 'enum':
        out.byte(5);
        out.uvarint(type.symbols.length);
        for (const s of type.symbols) out.text(s);
        return;
      case 'error':
        return this.wrap(6, [type.inner]);
      case 'named': {
        const id = this.idOf(type.inner);
        out.byte(7);
        out.text(type.name);
        out.uvarint(id);
      }
    }
  }
  private wrap(code: number, parts: readonly Type[]): void {
    const ids = parts.map((p) => this.idOf(p));
    this.pending.byte(code);
    for (const id of ids) this.pending.uvarint(id);
  }
}
