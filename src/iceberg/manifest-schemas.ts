/** Avro's schemas of manifests and of lists of them, as Iceberg's format version 2 has their fields and ids. */

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly 'field-id': number;
  readonly default?: null;
}
const field = (id: number, name: string, type: unknown): Field => ({ name, type, 'field-id': id });
const optional = (id: number, name: string, type: unknown): Field => ({
  name,
  type: ['null', type],
  default: null,
  'field-id': id,
});
const record = (name: string, fields: readonly Field[]): object => ({ type: 'record', name, fields });
/** A map whose keys are ids of columns. */
const byColumn = (id: number, name: string, key: number, value: number, type: string): Field =>
  optional(id, name, {
    type: 'array',
    logicalType: 'map',
    items: record(`k${key}_v${value}`, [field(key, 'key', 'int'), field(value, 'value', type)]),
  });
const list = (id: number, name: string, element: number, type: string): Field =>
  optional(id, name, { type: 'array', items: type, 'element-id': element });

/** Entries of a manifest; manifests.ts writes their fields in this order. */
export const entrySchema = record('manifest_entry', [
  field(0, 'status', 'int'),
  optional(1, 'snapshot_id', 'long'),
  optional(3, 'sequence_number', 'long'),
  optional(4, 'file_sequence_number', 'long'),
  field(
    2,
    'data_file',
    record('r2', [
      field(134, 'content', 'int'),
      field(100, 'file_path', 'string'),
      field(101, 'file_format', 'string'),
      field(102, 'partition', record('r102', [])),
      field(103, 'record_count', 'long'),
      field(104, 'file_size_in_bytes', 'long'),
      byColumn(108, 'column_sizes', 117, 118, 'long'),
      byColumn(109, 'value_counts', 119, 120, 'long'),
      byColumn(110, 'null_value_counts', 121, 122, 'long'),
      byColumn(137, 'nan_value_counts', 138, 139, 'long'),
      byColumn(125, 'lower_bounds', 126, 127, 'bytes'),
      byColumn(128, 'upper_bounds', 129, 130, 'bytes'),
      optional(131, 'key_metadata', 'bytes'),
      list(132, 'split_offsets', 133, 'long'),
      list(135, 'equality_ids', 136, 'int'),
      optional(140, 'sort_order_id', 'int'),
    ]),
  ),
]);

/** Manifests in a list. */
export const listSchema = record('manifest_file', [
  field(500, 'manifest_path', 'string'),
  field(501, 'manifest_length', 'long'),
  field(502, 'partition_spec_id', 'int'),
  field(517, 'content', 'int'),
  field(515, 'sequence_number', 'long'),
  field(516, 'min_sequence_number', 'long'),
  field(503, 'added_snapshot_id', 'long'),
  field(504, 'added_files_count', 'int'),
  field(505, 'existing_files_count', 'int'),
  field(506, 'deleted_files_count', 'int'),
  field(512, 'added_rows_count', 'long'),
  field(513, 'existing_rows_count', 'long'),
  field(514, 'deleted_rows_count', 'long'),
  optional(507, 'partitions', {
    type: 'array',
    'element-id': 508,
    items: record('r508', [
      field(509, 'contains_null', 'boolean'),
      optional(518, 'contains_nan', 'boolean'),
      optional(510, 'lower_bound', 'bytes'),
      optional(511, 'upper_bound', 'bytes'),
    ]),
  }),
  optional(519, 'key_metadata', 'bytes'),
]);
