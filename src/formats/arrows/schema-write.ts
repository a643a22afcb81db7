/** The schema message of an Arrow stream. */
import type { Column, ColumnType } from '../columns/types.ts';
import { type FlatField, type FlatObject, bool, flatBytes, int16, int32, int64, uint8 } from './flat-write.ts';
import {
  extensionKey,
  extensionMetadata,
  headerCode,
  metadataVersion,
  typeCode,
  uuidExtension,
} from '../arrow-schema/ipc.ts';

/** The metadata of a message. */
export const messageBytes = (kind: keyof typeof headerCode, header: FlatObject, bodyLength: number): Uint8Array =>
  flatBytes({ table: [int16(metadataVersion), uint8(headerCode[kind]), header, int64(bodyLength)] });

/** The header of a schema message; bodies are little-endian. */
export const schemaHeader = (columns: readonly Column[]): FlatObject => ({
  table: [int16(0), { tables: columns.map(field) }],
});

const field = (c: Column): FlatObject => {
  const { code, type } = typeOf(c.type);
  return {
    table: [
      { text: c.name },
      bool(c.nullable),
      uint8(code),
      { table: type },
      undefined,
      { tables: childrenOf(c.type).map(field) },
      ...extensionOf(c.type),
    ],
  };
};

const extensionOf = (type: ColumnType): readonly FlatField[] =>
  type.kind === 'fixed-binary' && type.meaning === 'uuid'
    ? [
        {
          tables: [
            { table: [{ text: extensionKey }, { text: uuidExtension }] },
            { table: [{ text: extensionMetadata }, { text: '' }] },
          ],
        },
      ]
    : [];

const childrenOf = (type: ColumnType): readonly Column[] => {
  switch (type.kind) {
    case 'list':
    case 'fixed-list':
      return [{ ...type.item, name: 'item' }];
    case 'struct':
      return type.fields;
    case 'map':
      return [
        {
          name: 'entries',
          nullable: false,
          type: {
            kind: 'struct',
            fields: [
              { ...type.key, name: 'key' },
              { ...type.value, name: 'value' },
            ],
          },
        },
      ];
    case 'union':
      return type.members.map((m, k) => ({ ...m, name: String(k) }));
    default:
      return [];
  }
};

const units = { s: 0, ms: 1, us: 2, ns: 3 } as const;
const typeOf = (type: ColumnType): { readonly code: number; readonly type: readonly FlatField[] } => {
  switch (type.kind) {
    case 'null':
      return { code: typeCode.null, type: [] };
    case 'bool':
      return { code: typeCode.bool, type: [] };
    case 'int':
      return { code: typeCode.int, type: [int32(type.bits), bool(type.signed)] };
    case 'float':
      return { code: typeCode.float, type: [int16({ 16: 0, 32: 1, 64: 2 }[type.bits])] };
    case 'decimal':
      return { code: typeCode.decimal, type: [int32(type.precision), int32(type.scale), int32(type.bits)] };
    case 'date':
      return { code: typeCode.date, type: [int16(type.unit === 'day' ? 0 : 1)] };
    case 'time':
      return {
        code: typeCode.time,
        type: [int16(units[type.unit]), int32(type.unit === 's' || type.unit === 'ms' ? 32 : 64)],
      };
    case 'timestamp':
      return { code: typeCode.timestamp, type: [int16(units[type.unit]), { text: 'UTC' }] };
    case 'duration':
      return { code: typeCode.duration, type: [int16(units[type.unit])] };
    case 'interval':
      return { code: typeCode.interval, type: [int16({ month: 0, 'day-time': 1, 'month-day-nano': 2 }[type.unit])] };
    case 'binary': {
      const isLarge = type.layout === 'large';
      return {
        code: type.text
          ? isLarge
            ? typeCode.largeUtf8
            : typeCode.utf8
          : isLarge
            ? typeCode.largeBinary
            : typeCode.binary,
        type: [],
      };
    }
    case 'fixed-binary':
      return type.meaning === 'interval'
        ? typeOf({ kind: 'interval', unit: 'month-day-nano' })
        : { code: typeCode.fixedBinary, type: [int32(type.size)] };
    case 'list':
      return { code: type.layout === 'large' ? typeCode.largeList : typeCode.list, type: [] };
    case 'fixed-list':
      return { code: typeCode.fixedList, type: [int32(type.size)] };
    case 'struct':
      return { code: typeCode.struct, type: [] };
    case 'map':
      return { code: typeCode.map, type: [bool(false)] };
    case 'union':
      return { code: typeCode.union, type: [int16(type.dense ? 1 : 0), { int32s: type.codes }] };
    case 'run-end':
      return { code: typeCode.runEnd, type: [] };
  }
};
