/** Numbers of the Arrow IPC format (format/Message.fbs and Schema.fbs of Apache Arrow). */
export const typeCode = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  union: 14,
  fixedBinary: 15,
  fixedList: 16,
  map: 17,
  duration: 18,
  largeBinary: 19,
  largeUtf8: 20,
  largeList: 21,
  runEnd: 22,
  binaryView: 23,
  utf8View: 24,
  listView: 25,
  largeListView: 26,
} as const;
/** What the header of a message is (`MessageHeader`). */
export const headerCode = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;
/** Stands before the length of a message's metadata; streams before 0.15 have the length alone. */
export const continuation = 0xffffffff;
/** Version V5 of the metadata; V4 gave unions a validity bitmap. */
export const metadataVersion = 4;

/** Keys of a field's metadata, and the extension that says that sixteen bytes are a uuid. */
export const extensionKey = 'ARROW:extension:name',
  extensionMetadata = 'ARROW:extension:metadata',
  uuidExtension = 'arrow.uuid';
