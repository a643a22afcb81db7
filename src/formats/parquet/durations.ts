/**
 * Durations in Parquet files, which has no type for them: writers of Arrow store integers of 64 bits, and say what they
 * are in the Arrow schema that they keep beside.
 */
import type { FileMetaData } from 'hyparquet';
import { storedSchema, storedSchemaKey } from '../arrow-schema/stored.ts';
import type { Column } from '../columns/types.ts';
import type { Content, Node } from './plan.ts';

/** The columns with durations where the file's Arrow schema, if it has one, has durations. */
export const withDurations = (
  columns: readonly Node[],
  { key_value_metadata: pairs }: Pick<FileMetaData, 'key_value_metadata'>,
): readonly Node[] => {
  const text = pairs?.find(({ key }) => key === storedSchemaKey)?.value;
  const stored = text === undefined ? undefined : storedSchema(text);
  return stored ? fieldsWith(columns, stored) : columns;
};

/** Fields are the same ones in the same order; where they are not, the file's own schema holds. */
const fieldsWith = (fields: readonly Node[], stored: readonly Column[]): readonly Node[] =>
  fields.length === stored.length && fields.every(({ name }, k) => name === stored[k].name)
    ? fields.map((node, k) => nodeWith(node, stored[k]))
    : fields;
const nodeWith = (node: Node, { type }: Column): Node => ({ ...node, content: contentWith(node.content, type) });

const contentWith = (content: Content, type: Column['type']): Content => {
  switch (content.kind) {
    case 'leaf': {
      const { meaning, physical } = content;
      const isInteger = physical === 'INT64' && meaning.kind === 'int' && meaning.signed;
      return isInteger && type.kind === 'duration'
        ? { ...content, meaning: { kind: 'duration', unit: type.unit } }
        : content;
    }
    case 'struct':
      return type.kind === 'struct' ? { ...content, fields: fieldsWith(content.fields, type.fields) } : content;
    case 'list':
      return type.kind === 'list' || type.kind === 'fixed-list'
        ? { ...content, item: nodeWith(content.item, type.item) }
        : content;
    case 'map':
      return type.kind === 'map'
        ? { ...content, key: nodeWith(content.key, type.key), value: nodeWith(content.value, type.value) }
        : content;
  }
};
