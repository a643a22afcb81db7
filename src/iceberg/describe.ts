/** Where the values of a pool's fields are in its table, and why. */
import type { IcebergColumn } from './catalogue.types.ts';
import { type TableColumn, ColumnSet, restName } from './columns.ts';
import { partsOf } from './kinds.ts';
import { icebergType } from './schema.ts';

/** A line for each column, parts of lists and maps too. */
export const describeColumns = (columns: readonly TableColumn[]): readonly IcebergColumn[] => {
  const set = new ColumnSet(columns);
  const below = (parent: number): readonly TableColumn[] => set.below(parent);
  return columns.map((column) => {
    const note = noteOf(column, set);
    return {
      path: pathOf(column, set, partOfPath),
      type: column.kind,
      column: pathOf(column, set, ({ name }) => name),
      iceberg: typeText(icebergType(column, below)),
      ...(note !== undefined && { note }),
    };
  });
};
const partOfPath = ({ role, field }: TableColumn): string =>
  role === 'field' ? field : role === 'rest' ? '' : `[${role}]`;
const pathOf = (column: TableColumn, set: ColumnSet, part: (column: TableColumn) => string): string => {
  const parent = set.at(column.parent);
  return parent ? `${pathOf(parent, set, part)}.${part(column)}` : part(column);
};
const typeText = (type: ReturnType<typeof icebergType>): string => {
  if (typeof type === 'string') return type;
  switch (type.type) {
    case 'struct':
      return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`;
    case 'list':
      return `list<${typeText(type.element)}>`;
    case 'map':
      return `map<${typeText(type.key)}, ${typeText(type.value)}>`;
  }
};

const notes: Readonly<Record<string, string>> = {
  uint64: 'no integer of a table holds it',
  ns: 'nanoseconds since 1970 of times with digits beyond microseconds',
  duration: 'nanoseconds',
  ip: 'text: tables have no addresses',
  net: 'text: tables have no networks',
  type: 'text: tables have no types',
  enum: 'text: the symbol',
  error: 'the message of an error, or as JSON what it is around of',
  json: 'JSON text: a table has no column for it',
};
/** What a variant has no type for is said here, wherever it is. */
const variantRule =
  'durations, addresses, networks, types and enums are strings, errors {"error": ..}, sets arrays, maps objects';
const variantNote = ({ name }: TableColumn): string =>
  name.endsWith('__variant') ? `values of other kinds than the first one: ${variantRule}` : variantRule;
const noteOf = (column: TableColumn, set: ColumnSet): string | undefined => {
  if (column.role === 'rest')
    return `JSON text in ${restName}: rows that are no records, and fields for which the table has no room`;
  const parts = partsOf(column.kind);
  const own = parts.form === 'scalar' ? notes[parts.kind] : parts.form === 'variant' ? variantNote(column) : undefined;
  const isMixed =
    column.role === 'field' &&
    set
      .below(column.parent)
      .some(({ id, field, role }) => id < column.id && role === 'field' && field === column.field);
  const mixed =
    isMixed && parts.form !== 'scalar' ? 'values of another kind are in the column of the field’s name' : undefined;
  const sibling =
    isMixed && own === undefined ? 'the field has values of several kinds, each in a column of its own' : mixed;
  const renamed =
    !isMixed && column.role === 'field' && column.name !== column.field && own === undefined
      ? column.field.includes('\0')
        ? 'engines end a name at a NUL'
        : 'another column, or an engine, has the name'
      : undefined;
  return own ?? sibling ?? renamed;
};
