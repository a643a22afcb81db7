/**
 * What the schema of a Parquet file says: a tree of columns with the levels at which their values exist.
 *
 * A level counts what is there of the optional and repeated fields on the way to a value; see "Dremel".
 */
import type { LogicalType, SchemaElement } from 'hyparquet';
import type { TimeUnit } from '../columns/types.ts';
import { BytesFault } from '../columns/type-bytes.ts';

/** What the bytes of a leaf mean. */
type Meaning =
  | {
      readonly kind:
        | 'null'
        | 'bool'
        | 'float16'
        | 'float32'
        | 'float64'
        | 'string'
        | 'bytes'
        | 'date'
        | 'int96'
        | 'uuid'
        | 'interval';
    }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean }
  | { readonly kind: 'timestamp' | 'time'; readonly unit: 'ms' | 'us' | 'ns' }
  /** Integers to Parquet: an Arrow schema beside its own says that they are durations. */
  | { readonly kind: 'duration'; readonly unit: TimeUnit }
  | { readonly kind: 'decimal'; readonly scale: number; readonly precision: number }
  | { readonly kind: 'fixed-bytes'; readonly size: number };
/** How the values of a leaf lie in its pages (`Type` of parquet.thrift). */
type Physical = 'BOOLEAN' | 'INT32' | 'INT64' | 'INT96' | 'FLOAT' | 'DOUBLE' | 'BYTE_ARRAY' | 'FIXED_LEN_BYTE_ARRAY';

/** A column without others inside; its values are there at level `definitionMax`. */
export interface Leaf {
  readonly kind: 'leaf';
  /** Of the column chunk in a row group. */
  readonly index: number;
  readonly physical: Physical;
  /** Of FIXED_LEN_BYTE_ARRAY. */
  readonly size: number;
  readonly meaning: Meaning;
  readonly definitionMax: number;
  readonly repetitionMax: number;
}
/** `definition`: the level from which on the value is not null. */
export interface Node {
  readonly name: string;
  readonly optional: boolean;
  readonly definition: number;
  readonly content: Content;
}
/** Items exist from level `itemDefinition` on and are apart by repetition levels up to `repetition`. */
interface Repeated {
  readonly itemDefinition: number;
  readonly repetition: number;
}
/** What a node is made of. */
export type Content =
  | Leaf
  | { readonly kind: 'struct'; readonly fields: readonly Node[] }
  | ({ readonly kind: 'list'; readonly item: Node } & Repeated)
  | ({ readonly kind: 'map'; readonly key: Node; readonly value: Node } & Repeated);

const depthMax = 100;

/** The columns of a file. @throws BytesFault */
export const planOf = (schema: readonly SchemaElement[]): readonly Node[] => {
  const reader = new SchemaReader(schema);
  const root = reader.next();
  const fields = reader.children(root, { definition: 0, repetition: 0, depth: 0 });
  reader.end();
  return fields;
};
/** The leaves below, in the order of the file. */
export const leavesOf = (node: Node): readonly Leaf[] => {
  const { content } = node;
  switch (content.kind) {
    case 'leaf':
      return [content];
    case 'struct':
      return content.fields.flatMap(leavesOf);
    case 'list':
      return leavesOf(content.item);
    case 'map':
      return [...leavesOf(content.key), ...leavesOf(content.value)];
  }
};

interface Levels {
  readonly definition: number;
  readonly repetition: number;
  readonly depth: number;
}

class SchemaReader {
  private readonly schema: readonly SchemaElement[];
  private at = 0;
  private leaves = 0;

  constructor(schema: readonly SchemaElement[]) {
    this.schema = schema;
  }

  next(): SchemaElement {
    const element = this.schema[this.at++];
    if (!element || typeof element.name !== 'string') throw new BytesFault('schema ends too early');
    return element;
  }
  end(): void {
    if (this.at !== this.schema.length) throw new BytesFault('schema has more elements than its tree');
  }
  children(parent: SchemaElement, levels: Levels): readonly Node[] {
    const count = parent.num_children ?? 0;
    if (count < 0 || count > this.schema.length - this.at)
      throw new BytesFault(`schema element with ${count} children`);
    return Array.from({ length: count }, () => this.node(this.next(), levels));
  }

  /** A field without annotation that is repeated is a list of its own. */
  private node(element: SchemaElement, levels: Levels): Node {
    if (levels.depth > depthMax) throw new BytesFault(`types nested deeper than ${depthMax}`);
    const below = { ...levels, depth: levels.depth + 1 };
    if (element.repetition_type !== 'REPEATED') return this.single(element, below);
    const item = { ...below, definition: levels.definition + 1, repetition: levels.repetition + 1 };
    return {
      name: element.name,
      optional: false,
      definition: levels.definition,
      content: this.listOf(this.required(element, item), item),
    };
  }
  private single(element: SchemaElement, levels: Levels): Node {
    const optional = element.repetition_type === 'OPTIONAL';
    const definition = levels.definition + (optional ? 1 : 0);
    return { name: element.name, optional, definition, content: this.content(element, { ...levels, definition }) };
  }
  /** A repeated element without the repetition. */
  private required(element: SchemaElement, levels: Levels): Node {
    return {
      name: element.name,
      optional: false,
      definition: levels.definition,
      content: this.content(element, levels),
    };
  }
  private listOf(item: Node, levels: Levels): Content {
    return { kind: 'list', item, itemDefinition: levels.definition, repetition: levels.repetition };
  }

  private content(element: SchemaElement, levels: Levels): Content {
    if (element.type) return this.leaf(element, levels);
    const annotation = element.logical_type?.type ?? element.converted_type;
    const child = element.num_children === 1 ? this.schema[this.at] : undefined;
    if (child?.repetition_type === 'REPEATED') {
      const below = { definition: levels.definition + 1, repetition: levels.repetition + 1, depth: levels.depth + 1 };
      if (annotation === 'LIST') return this.annotatedList(element, this.next(), below);
      if ((annotation === 'MAP' || annotation === 'MAP_KEY_VALUE') && !child.type && child.num_children === 2)
        return this.map(this.next(), below);
    }
    return { kind: 'struct', fields: this.children(element, levels) };
  }
  /**
   * The repeated group is a mere wrapper, unless it has several fields or a name that old writers gave to the items
   * themselves.
   */
  private annotatedList(list: SchemaElement, repeated: SchemaElement, levels: Levels): Content {
    const isItem =
      repeated.type ||
      repeated.num_children !== 1 ||
      repeated.name === 'array' ||
      repeated.name === `${list.name}_tuple`;
    if (isItem) return this.listOf(this.required(repeated, levels), levels);
    return this.listOf(this.node(this.next(), levels), levels);
  }
  private map(entries: SchemaElement, levels: Levels): Content {
    const [key, value] = this.children(entries, levels);
    return { kind: 'map', key, value, itemDefinition: levels.definition, repetition: levels.repetition };
  }
  private leaf(element: SchemaElement, levels: Levels): Leaf {
    const size = element.type_length ?? 0;
    if (element.type === 'FIXED_LEN_BYTE_ARRAY' && !(size >= 0 && size < 1 << 28))
      throw new BytesFault(`column ${element.name}: values of ${size} bytes`);
    return {
      kind: 'leaf',
      index: this.leaves++,
      physical: element.type as Physical,
      size,
      meaning: meaningOf(element),
      definitionMax: levels.definition,
      repetitionMax: levels.repetition,
    };
  }
}

const meaningOf = (element: SchemaElement): Meaning => {
  const logical = element.logical_type;
  const converted = element.converted_type;
  if (logical?.type === 'NULL') return { kind: 'null' };
  const decimal = decimalOf(element);
  switch (element.type) {
    case 'BOOLEAN':
      return { kind: 'bool' };
    case 'INT32':
      return decimal ?? int32Meaning(logical, converted);
    case 'INT64':
      return decimal ?? int64Meaning(logical, converted);
    case 'INT96':
      return { kind: 'int96' };
    case 'FLOAT':
      return { kind: 'float32' };
    case 'DOUBLE':
      return { kind: 'float64' };
    case 'BYTE_ARRAY': {
      if (decimal) return decimal;
      const isText =
        ['STRING', 'ENUM', 'JSON'].includes(logical?.type ?? '') || ['UTF8', 'ENUM', 'JSON'].includes(converted ?? '');
      return { kind: isText ? 'string' : 'bytes' };
    }
    default: {
      const size = element.type_length ?? 0;
      if (logical?.type === 'FLOAT16' && size === 2) return { kind: 'float16' };
      if (logical?.type === 'UUID' && size === 16) return { kind: 'uuid' };
      if (converted === 'INTERVAL' && size === 12) return { kind: 'interval' };
      return decimal ?? { kind: 'fixed-bytes', size };
    }
  }
};
const decimalOf = (element: SchemaElement): Meaning | undefined => {
  const logical = element.logical_type;
  if (logical?.type === 'DECIMAL')
    return { kind: 'decimal', scale: logical.scale ?? 0, precision: logical.precision ?? 0 };
  return element.converted_type === 'DECIMAL'
    ? { kind: 'decimal', scale: element.scale ?? 0, precision: element.precision ?? 0 }
    : undefined;
};
const units = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' } as const;
const int32Meaning = (logical: LogicalType | undefined, converted: string | undefined): Meaning => {
  if (logical?.type === 'DATE' || converted === 'DATE') return { kind: 'date' };
  if (logical?.type === 'TIME' || converted === 'TIME_MILLIS') return { kind: 'time', unit: 'ms' };
  return integerMeaning(logical, converted, 32);
};
const int64Meaning = (logical: LogicalType | undefined, converted: string | undefined): Meaning => {
  if (logical?.type === 'TIMESTAMP') return { kind: 'timestamp', unit: units[logical.unit] ?? 'ns' };
  if (logical?.type === 'TIME') return { kind: 'time', unit: units[logical.unit] ?? 'us' };
  if (converted === 'TIMESTAMP_MILLIS') return { kind: 'timestamp', unit: 'ms' };
  if (converted === 'TIMESTAMP_MICROS') return { kind: 'timestamp', unit: 'us' };
  if (converted === 'TIME_MICROS') return { kind: 'time', unit: 'us' };
  return integerMeaning(logical, converted, 64);
};
const integerMeaning = (logical: LogicalType | undefined, converted: string | undefined, width: 32 | 64): Meaning => {
  const named = /^(U?)INT_(8|16|32|64)$/.exec(converted ?? '');
  const given =
    logical?.type === 'INTEGER'
      ? { bits: logical.bitWidth, signed: logical.isSigned }
      : named
        ? { bits: Number(named[2]), signed: named[1] === '' }
        : undefined;
  const { bits, signed } = given ?? { bits: width, signed: true };
  if (width === 64 || !(bits === 8 || bits === 16 || bits === 32)) return { kind: 'int', bits: width, signed };
  return { kind: 'int', bits, signed };
};
