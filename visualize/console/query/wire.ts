/**
 * Values as they stand in a JSUP answer: the JSON of a value beside its type. Nothing is decoded before it is shown,
 * and nothing is rounded: numbers and times stay their texts.
 *
 * - A type is defined once a channel by an id and referred to later, also by values of the type `type`; a table holds
 *   those of one channel.
 * - `null` stands for a null in any type; a union's value is `[member, value]`; a record with optional fields begins
 *   with the positions, among those, of the absent ones.
 */
import { placesOf } from '../../../src/client/jsup.ts';
import type { FieldType, RecordType, Type } from '../../../src/client/types.ts';

type Json = Readonly<Record<string, unknown>>;

/** A value with its type. */
export interface Cell {
  readonly type: Type;
  readonly json: unknown;
  readonly table: TypeTable;
}

const primitives = new Map<string, Type>();
/** The one object of a primitive type. */
export const primitive = (name: string): Type => {
  let type = primitives.get(name);
  if (!type) primitives.set(name, (type = { kind: 'primitive', name }));
  return type;
};

/** The types of one channel by their ids. */
export class TypeTable {
  private readonly typesById = new Map<number, Type>();

  /** The type that its JSON defines or refers to. @throws Error when the answer is malformed */
  read(json: unknown): Type {
    const object = json as Json;
    const id = object['id'];
    if (object['kind'] === 'ref') return this.byId(Number(id));
    const type = this.defined(object);
    if (typeof id === 'number') this.typesById.set(id, type);
    return type;
  }
  byId(id: number): Type {
    const type = this.typesById.get(id);
    if (!type) throw new Error(`the answer refers to a type that it does not define: ${id}`);
    return type;
  }

  private defined(json: Json): Type {
    switch (json['kind']) {
      case 'primitive':
        return primitive(String(json['name']));
      case 'record':
        return {
          kind: 'record',
          fields: ((json['fields'] ?? []) as readonly Json[]).map(
            (field): FieldType => ({
              name: String(field['name']),
              type: this.read(field['type']),
              optional: field['opt'] === true,
            }),
          ),
        };
      case 'array':
      case 'set':
        return { kind: json['kind'], type: this.read(json['type']) };
      case 'map':
        return { kind: 'map', key: this.read(json['key_type']), value: this.read(json['val_type']) };
      case 'union':
        return { kind: 'union', types: (json['types'] as readonly unknown[]).map((each) => this.read(each)) };
      case 'enum':
        return { kind: 'enum', symbols: (json['symbols'] as readonly unknown[]).map(String) };
      case 'error':
        return { kind: 'error', type: this.read(json['type']) };
      case 'named':
        return { kind: 'named', name: String(json['name']), type: this.read(json['type']) };
      default:
        throw new Error(`the answer has an unknown kind of type: ${String(json['kind'])}`);
    }
  }
}

/** Whether values of the type may hold types, which define ids. */
export const holdsTypes = (type: Type): boolean => {
  switch (type.kind) {
    case 'primitive':
      return type.name === 'type';
    case 'record':
      return type.fields.some((field) => holdsTypes(field.type));
    case 'map':
      return holdsTypes(type.key) || holdsTypes(type.value);
    case 'union':
      return type.types.some(holdsTypes);
    case 'enum':
      return false;
    default:
      return holdsTypes(type.type);
  }
};

/** Without names and unions: what the value is. */
export const plain = (cell: Cell): Cell => {
  let { type, json } = cell;
  while (type.kind === 'named' || type.kind === 'union') {
    if (type.kind === 'named') type = type.type;
    else if (json === null) type = primitive('null');
    else {
      const [tag, inner] = json as readonly [unknown, unknown];
      type = type.types[Number(tag)];
      json = inner;
    }
  }
  return type === cell.type ? cell : { type, json, table: cell.table };
};
/** Whether a value is a null. A record is none, even where `null` stands for it. */
export const isNull = (cell: Cell): boolean => cell.json === null && cell.type.kind !== 'record';

interface Layout {
  readonly places: ReadonlyMap<string, number>;
  readonly hasOptional: boolean;
  /** How many fields before each one are optional. */
  readonly optionalBefore: readonly number[];
}
const layouts = new WeakMap<RecordType, Layout>();
const layoutOf = (type: RecordType): Layout => {
  let layout = layouts.get(type);
  if (!layout) {
    let count = 0;
    const optionalBefore = type.fields.map((field) => (field.optional ? count++ : count));
    layouts.set(
      type,
      (layout = {
        places: new Map(type.fields.map((field, i) => [field.name, i])),
        hasOptional: count > 0,
        optionalBefore,
      }),
    );
  }
  return layout;
};

/**
 * Where the field at `place` stands in the JSON of a record with optional ones; undefined if it is absent. Records have
 * thousands of fields, of which a table asks one by one: the absent ones, listed in order, are searched.
 */
const placeAmong = ({ fields }: RecordType, layout: Layout, values: readonly unknown[], place: number) => {
  const absent = (values[0] ?? []) as readonly unknown[];
  const optional = layout.optionalBefore[place];
  let low = 0;
  for (let high = absent.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (Number(absent[middle]) < optional) low = middle + 1;
    else high = middle;
  }
  const isAbsent = fields[place].optional && low < absent.length && Number(absent[low]) === optional;
  return isAbsent ? undefined : 1 + place - low;
};

/** The field of a record; undefined where there is none. */
export const fieldOf = (cell: Cell, name: string): Cell | undefined => {
  const { type, json, table } = plain(cell);
  if (type.kind !== 'record' || json === null) return undefined;
  const layout = layoutOf(type);
  const place = layout.places.get(name);
  if (place === undefined) return undefined;
  const values = json as readonly unknown[];
  const at = layout.hasOptional ? placeAmong(type, layout, values, place) : place;
  return at === undefined ? undefined : { type: type.fields[place].type, json: values[at], table };
};

/**
 * A part of a value: a record's field (`cell` is undefined where an optional one is absent), an element, an entry of a
 * map.
 */
export interface Part {
  readonly field?: FieldType;
  readonly key?: Cell;
  readonly cell: Cell | undefined;
}

/** The parts of a record, list, map or error, in order; none of anything else. */
export const partsOf = (cell: Cell): readonly Part[] => {
  const { type, json, table } = plain(cell);
  if (json === null) return [];
  switch (type.kind) {
    case 'record': {
      const values = json as readonly unknown[];
      const places = layoutOf(type).hasOptional ? placesOf(type.fields, values) : undefined;
      return type.fields.map((field, i) => {
        const at = places ? places[i] : i;
        return { field, cell: at === undefined ? undefined : { type: field.type, json: values[at], table } };
      });
    }
    case 'array':
    case 'set':
      return (json as readonly unknown[]).map((each) => ({ cell: { type: type.type, json: each, table } }));
    case 'map':
      return (json as readonly (readonly [unknown, unknown])[]).map(([key, value]) => ({
        key: { type: type.key, json: key, table },
        cell: { type: type.value, json: value, table },
      }));
    case 'error':
      return [{ cell: { type: type.type, json, table } }];
    default:
      return [];
  }
};
