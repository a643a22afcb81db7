/**
 * A table's metadata as Iceberg's format version 2 has them, or 3 where it has variants: the same table gives the same
 * text. Of version 3 it is like one that was of version 2 before: its rows have no ids, which such tables may lack.
 */
import { createHash } from 'node:crypto';
import { type TableColumn, ColumnSet } from './columns.ts';
import type { Mapping } from './kinds.ts';
import { mappingVersions } from './rows.ts';
import { icebergFields } from './schema.ts';
import { type Snapshot, snapshotJson } from './snapshots.ts';

/** So many schemas of the past are told; older snapshots have the oldest of them, which has more columns. */
const schemasMax = 64;
/** The greatest id of a partition's field where there are none: they begin at 1000. */
const lastPartitionId = 999;

/** Spark's other reader (Iceberg 1.12) refuses variants that are shredded. */
const variantProperties = { 'read.parquet.vectorization.enabled': 'false' };

/** What a table's metadata are made of. */
export interface MetadataParts {
  /** What makes it another table than others: its pool, and the ref that it is pinned to. */
  readonly identity: string;
  readonly location: string;
  readonly mapping: Mapping;
  readonly columns: readonly TableColumn[];
  /** The oldest first; each once. */
  readonly snapshots: readonly Snapshot[];
  /** The snapshots of the head that is served, the oldest first. */
  readonly log: readonly Snapshot[];
  readonly refs: readonly { readonly name: string; readonly snapshot: number; readonly type: 'branch' | 'tag' }[];
  /** Milliseconds since 1970. */
  readonly madeMs: number;
}

/** The text of the metadata. */
export const metadataJson = (parts: MetadataParts): string => {
  const { location, mapping, columns, snapshots, log, refs, madeMs } = parts;
  const lengths = [...new Set(snapshots.map(({ schema }) => schema))].filter((n) => n > 0).sort((a, b) => a - b);
  const kept = lengths.slice(-schemasMax);
  const schemaOf = (length: number): number => kept.find((n) => n >= length) ?? columns.length;
  const ids = [...new Set([...kept, columns.length])];
  const current = log.at(-1);
  const told = snapshots.map((snapshot) => ({ ...snapshot, schema: schemaOf(snapshot.schema) }));
  return JSON.stringify({
    'format-version': mapping === 'variant' ? 3 : 2,
    'table-uuid': uuidOf(parts.identity),
    location,
    'last-sequence-number': snapshots.reduce((n, { sequence }) => Math.max(n, sequence), 0),
    'last-updated-ms': snapshots.reduce((n, { ms }) => Math.max(n, ms), madeMs),
    'last-column-id': columns.length,
    'current-schema-id': columns.length,
    schemas: ids.map((length) => schemaJson(columns, length)),
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': lastPartitionId,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: {
      'lake.mapping': String(mappingVersions[mapping]),
      ...(mapping === 'variant' && variantProperties),
    },
    ...(mapping === 'variant' && { 'next-row-id': 0 }),
    'current-snapshot-id': current?.id ?? -1,
    refs: Object.fromEntries(refs.map(({ name, snapshot, type }) => [name, { 'snapshot-id': snapshot, type }])),
    snapshots: told.map((snapshot) => snapshotJson(snapshot, location)),
    'snapshot-log': log.map(({ id, ms }) => ({ 'timestamp-ms': ms, 'snapshot-id': id })),
    'metadata-log': [],
    statistics: [],
    'partition-statistics': [],
  });
};

/** The first `length` columns of a table as a schema, whose id is their number. */
export const schemaJson = (columns: readonly TableColumn[], length: number): object => {
  const set = new ColumnSet(columns.slice(0, length));
  return { type: 'struct', 'schema-id': length, fields: icebergFields((parent) => set.below(parent)) };
};

/** A UUID that follows from a name (version 8, of RFC 9562). */
const uuidOf = (name: string): string => {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};
