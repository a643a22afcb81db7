/**
 * The schema that columns are written under: elements of the file's tree, and for each column what its parts are and at
 * which levels.
 */
import type { SchemaElement } from 'hyparquet';
import { LakeError } from '../../errors.ts';
import type { Column, ColumnType, TimeUnit } from '../columns/types.ts';

/** What errors call the writer. */
export const writerName = 'parquetio';

/** What a leaf is written as. */
export interface LeafOut {
  readonly kind: 'leaf';
  readonly type: ColumnType;
  readonly physical: 'BOOLEAN' | 'INT32' | 'INT64' | 'FLOAT' | 'DOUBLE' | 'BYTE_ARRAY' | 'FIXED_LEN_BYTE_ARRAY';
  /** Of FIXED_LEN_BYTE_ARRAY. */
  readonly size: number;
  /** Integers compare as unsigned ones. */
  readonly unsigned: boolean;
  readonly path: readonly string[];
  readonly definitionMax: number;
  readonly repetitionMax: number;
}
/** A column or a part of one. `nullable`: it has a definition level of its own. */
export interface NodeOut {
  readonly nullable: boolean;
  readonly content: ContentOut;
}
/** What a node is written as. `repetition`: the level at which an item after the first one repeats. */
type ContentOut =
  | LeafOut
  | { readonly kind: 'struct'; readonly fields: readonly NodeOut[] }
  /** `size`: all lists have that many items. */
  | { readonly kind: 'list'; readonly item: NodeOut; readonly repetition: number; readonly size?: number }
  | { readonly kind: 'map'; readonly key: NodeOut; readonly value: NodeOut; readonly repetition: number };

/** The tree of elements, depth first from its root on, and a node for each column. */
export interface SchemaOut {
  readonly elements: readonly SchemaElement[];
  readonly nodes: readonly NodeOut[];
}

/** @throws LakeError `write-columns-unsupported` */
export const schemaOf = (columns: readonly Column[]): SchemaOut => {
  const elements: SchemaElement[] = [{ name: 'schema', num_children: columns.length }];
  const nodes = columns.map((c) => addNode(c, { elements, path: [], definition: 0, repetition: 0 }));
  return { elements, nodes };
};

interface Place {
  readonly elements: SchemaElement[];
  readonly path: readonly string[];
  readonly definition: number;
  readonly repetition: number;
}

const addNode = (column: Column, place: Place): NodeOut => {
  const { nullable, name, id } = column;
  const repetition_type = nullable ? ('OPTIONAL' as const) : ('REQUIRED' as const);
  const below = { ...place, path: [...place.path, name], definition: place.definition + (nullable ? 1 : 0) };
  const head = { name, repetition_type, ...(id !== undefined && { field_id: id }) };
  return { nullable, content: addContent(column.type, head, below) };
};

const addContent = (
  type: ColumnType,
  head: Pick<SchemaElement, 'name' | 'repetition_type' | 'field_id'>,
  place: Place,
): ContentOut => {
  const { elements } = place;
  switch (type.kind) {
    case 'struct':
      elements.push({
        ...head,
        num_children: type.fields.length,
        ...(type.meaning === 'variant' && { logical_type: { type: 'VARIANT' } }),
      });
      return { kind: 'struct', fields: type.fields.map((f) => addNode(f, place)) };
    case 'list':
    case 'fixed-list': {
      elements.push({ ...head, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } });
      elements.push({ name: 'list', repetition_type: 'REPEATED', num_children: 1 });
      const inner = {
        ...place,
        path: [...place.path, 'list'],
        definition: place.definition + 1,
        repetition: place.repetition + 1,
      };
      const item = addNode({ ...type.item, name: 'element' }, inner);
      return {
        kind: 'list',
        item,
        repetition: inner.repetition,
        ...(type.kind === 'fixed-list' && { size: type.size }),
      };
    }
    case 'map': {
      elements.push({ ...head, num_children: 1, converted_type: 'MAP', logical_type: { type: 'MAP' } });
      elements.push({ name: 'key_value', repetition_type: 'REPEATED', num_children: 2 });
      const inner = {
        ...place,
        path: [...place.path, 'key_value'],
        definition: place.definition + 1,
        repetition: place.repetition + 1,
      };
      const key = addNode({ ...type.key, name: 'key' }, inner);
      const value = addNode({ ...type.value, name: 'value' }, inner);
      return { kind: 'map', key, value, repetition: inner.repetition };
    }
    default: {
      const leaf = leafOf(type);
      const { size, physical, unsigned, ...annotation } = leaf;
      elements.push({
        ...head,
        type: physical,
        ...(physical === 'FIXED_LEN_BYTE_ARRAY' && { type_length: size }),
        ...annotation,
      });
      return {
        kind: 'leaf',
        type,
        physical,
        size,
        unsigned,
        path: place.path,
        definitionMax: place.definition,
        repetitionMax: place.repetition,
      };
    }
  }
};

type Annotated = Pick<LeafOut, 'physical' | 'size' | 'unsigned'> &
  Pick<SchemaElement, 'logical_type' | 'converted_type' | 'precision' | 'scale'>;
const plain = (
  physical: LeafOut['physical'],
  annotation: Pick<SchemaElement, 'logical_type' | 'converted_type'> = {},
): Annotated => ({ physical, size: 0, unsigned: false, ...annotation });

const leafOf = (type: ColumnType): Annotated => {
  switch (type.kind) {
    case 'null':
      return plain('INT32', { logical_type: { type: 'NULL' } });
    case 'bool':
      return plain('BOOLEAN');
    // The converted type alone: the library writes the width of the logical one in a way that pyarrow refuses.
    case 'int':
      return {
        ...plain(type.bits === 64 ? 'INT64' : 'INT32', { converted_type: `${type.signed ? '' : 'U'}INT_${type.bits}` }),
        unsigned: !type.signed,
      };
    case 'float': {
      if (type.bits === 16) return { ...plain('FIXED_LEN_BYTE_ARRAY', { logical_type: { type: 'FLOAT16' } }), size: 2 };
      return plain(type.bits === 32 ? 'FLOAT' : 'DOUBLE');
    }
    case 'date':
      return plain('INT32', { converted_type: 'DATE', logical_type: { type: 'DATE' } });
    case 'timestamp':
      return plain('INT64', timeAnnotation('TIMESTAMP', type.unit));
    case 'time':
      return plain(type.unit === 's' || type.unit === 'ms' ? 'INT32' : 'INT64', timeAnnotation('TIME', type.unit));
    case 'binary':
      return type.text
        ? plain('BYTE_ARRAY', { converted_type: 'UTF8', logical_type: { type: 'STRING' } })
        : plain('BYTE_ARRAY');
    case 'fixed-binary': {
      const meaning =
        type.meaning === 'uuid'
          ? { logical_type: { type: 'UUID' as const } }
          : type.meaning === 'interval'
            ? { converted_type: 'INTERVAL' as const }
            : {};
      return { ...plain('FIXED_LEN_BYTE_ARRAY', meaning), size: type.size };
    }
    // Whole numbers of 256 bits are not written.
    case 'decimal':
      return type.bits === 256 && type.inWords ? unsupported(type) : decimalLeaf(type);
    default:
      return unsupported(type);
  }
};
const unsupported = (type: ColumnType): never => {
  throw new LakeError('write-columns-unsupported', {
    writer: writerName,
    fault: `not implemented: support for ${arrowName(type)}`,
  });
};
/** As short as the digits allow. */
const decimalLeaf = ({ bits, precision, scale }: ColumnType & { readonly kind: 'decimal' }): Annotated => {
  const physical = precision <= 9 ? 'INT32' : precision <= 18 ? 'INT64' : 'FIXED_LEN_BYTE_ARRAY';
  return {
    ...plain(physical, { converted_type: 'DECIMAL', logical_type: { type: 'DECIMAL', precision, scale } }),
    size: physical === 'FIXED_LEN_BYTE_ARRAY' ? bits / 8 : 0,
    precision,
    scale,
  };
};
/** A time of day is that of no zone; moments are those of UTC. */
const timeAnnotation = (
  type: 'TIME' | 'TIMESTAMP',
  unit: TimeUnit,
): Pick<SchemaElement, 'logical_type' | 'converted_type'> => {
  const logical_type = {
    type,
    isAdjustedToUTC: type === 'TIMESTAMP',
    unit: unit === 'ns' ? 'NANOS' : unit === 'us' ? 'MICROS' : 'MILLIS',
  } as const;
  return unit === 'ns'
    ? { logical_type }
    : { logical_type, converted_type: unit === 'us' ? `${type}_MICROS` : `${type}_MILLIS` };
};
const arrowName = (type: ColumnType): string => {
  switch (type.kind) {
    case 'union':
      return 'DENSE_UNION';
    case 'decimal':
      return `DECIMAL${type.bits}`;
    case 'interval':
      return `INTERVAL_${{ month: 'MONTHS', 'day-time': 'DAY_TIME', 'month-day-nano': 'MONTH_DAY_NANO' }[type.unit]}`;
    default:
      return type.kind.toUpperCase();
  }
};
