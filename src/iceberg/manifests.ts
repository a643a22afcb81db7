/**
 * The manifests of a commit: which files it has, which it added, which it took away.
 *
 * They follow from the commit and from what is known of the files of its objects, byte by byte, and neither ever
 * changes: so they are made when they are read, and a commit costs nothing for them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { avroFile, AvroWriter } from './avro.ts';
import { snapshotId } from './snapshots.ts';
import { base62, zeroId } from '../lake/ksuid.ts';
import type { Id } from '../lake/lake.types.ts';
import { schemaJson } from './metadata.ts';
import { entrySchema, listSchema } from './manifest-schemas.ts';
import type { Mapping } from './kinds.ts';
import type { ColumnFigures } from './rendition.ts';
import { type Rendition, namesOf, readMerged } from './rows.ts';
import type { Table } from './table.ts';

/** Entries of a manifest of what was there before. */
const entriesMax = 1000;
const status = { existing: 0, added: 1, deleted: 2 } as const;
type Status = keyof typeof status;

/** A file of a table that is not on disk. */
interface MadeFile {
  readonly name: string;
  readonly bytes: Buffer;
}
interface Manifest extends MadeFile {
  readonly status: Status;
  readonly files: number;
  readonly rows: number;
}

/** A commit, and up to which merged file its manifests may name them. */
export interface ManifestsOf {
  readonly commit: Id;
  readonly generation: number;
}
/** What a manifest has: objects, or merged files by number. */
type Named = Id | number;

/** The manifest list of a commit and its manifests; undefined if an object of it has no file. `location`: the table's. */
export const manifestsOf = async (
  table: Table,
  { commit, generation }: ManifestsOf,
  location: string,
): Promise<readonly MadeFile[] | undefined> => {
  if (commit === zeroId)
    return [listOf({ commit, generation, mapping: table.mapping, sequence: 0, parent: undefined, location }, [])];
  const known = table.pool.commit(commit);
  if (!known) return undefined;
  const added = new Set(known.adds);
  const objects = new Set<Id>();
  for (const { id } of await table.pool.objects(commit)) if (!added.has(id)) objects.add(id);
  const cover = table.merged.cover(objects, added, generation);
  const existing: readonly Named[] = [...cover.merged.map(({ number }) => number), ...cover.objects];
  const { mapping } = table;
  const place = { commit, generation, mapping, sequence: known.height, parent: known.parent, location };
  const wanted: { readonly part: string; readonly status: Status; readonly files: readonly Named[] }[] = [
    { part: 'a', status: 'added', files: known.adds },
    // What has no file any more is left out: nobody is to read it.
    { part: 'd', status: 'deleted', files: known.deletes.filter((id) => table.rendition(id)) },
  ];
  for (let at = 0; at < existing.length; at += entriesMax)
    wanted.push({
      part: `e${at / entriesMax}`,
      status: 'existing',
      files: existing.slice(at, at + entriesMax),
    });
  const made: Manifest[] = [];
  for (const { part, status: kind, files } of wanted) {
    if (files.length === 0) continue;
    const manifest = manifestOf(table, place, { kind, part, files });
    if (!manifest) return undefined;
    made.push(manifest);
    await nextTurn();
  }
  return [listOf(place, made), ...made];
};

/** Where manifests belong. */
interface ManifestPlace {
  readonly commit: Id;
  readonly generation: number;
  readonly mapping: Mapping;
  readonly sequence: number;
  readonly parent: Id | undefined;
  readonly location: string;
}

const manifestOf = (
  table: Table,
  place: ManifestPlace,
  { kind, part, files }: { readonly kind: Status; readonly part: string; readonly files: readonly Named[] },
): Manifest | undefined => {
  const out = new AvroWriter();
  let rows = 0;
  let schema = 0;
  for (const named of files) {
    const rendition = typeof named === 'number' ? readMerged(table.pool, named) : table.whole(named);
    if (!rendition) return undefined;
    schema = Math.max(schema, rendition.schema);
    rows += rendition.rows;
    writeEntry(out, place, kind, named, rendition);
  }
  const bytes = avroFile({
    schema: entrySchema,
    metadata: {
      schema: JSON.stringify(schemaJson(table.columns, schema)),
      'schema-id': String(schema),
      'partition-spec': '[]',
      'partition-spec-id': '0',
      'format-version': '2',
      content: 'data',
    },
    count: files.length,
    records: out.done(),
  });
  return {
    name: namesOf(place.mapping).manifest(place.commit, place.generation, part),
    bytes,
    status: kind,
    files: files.length,
    rows,
  };
};

/** What manifests tell of files. */
type FileRow = Omit<Rendition, 'at'>;
/** What came with earlier commits has the first place of all: nothing is to be compared with it. */
const earlierSequence = 0;
const writeEntry = (out: AvroWriter, place: ManifestPlace, kind: Status, named: Named, rendition: FileRow): void => {
  const isOwn = kind !== 'existing';
  out.long(status[kind]);
  out.branch(true);
  out.long(snapshotId(isOwn ? place.commit : typeof named === 'number' ? rendition.file : named));
  for (let k = 0; k < 2; k++) {
    out.branch(true);
    out.long(kind === 'added' ? place.sequence : earlierSequence);
  }
  const names = namesOf(place.mapping);
  const name = typeof named === 'number' ? names.merged(named) : names.data(named);
  writeFile(out, `${place.location}/${name}`, rendition);
};
const writeFile = (out: AvroWriter, path: string, { rows, bytes, columns }: FileRow): void => {
  out.long(0);
  out.string(path);
  out.string('PARQUET');
  out.long(rows);
  out.long(bytes);
  const longs = (of: (column: ColumnFigures) => number): void => {
    writeMap(out, columns, (column) => {
      out.long(of(column));
    });
  };
  const blobs = (of: (column: ColumnFigures) => string | undefined): void => {
    writeMap(
      out,
      columns.filter((column) => of(column) !== undefined),
      (column) => {
        out.blob(Buffer.from(of(column) ?? '', 'base64'));
      },
    );
  };
  longs((column) => column.bytes);
  longs((column) => column.values);
  longs((column) => column.nulls);
  out.branch(false);
  blobs((column) => column.lower);
  blobs((column) => column.upper);
  for (let k = 0; k < 4; k++) out.branch(false);
};
const writeMap = (out: AvroWriter, columns: readonly ColumnFigures[], value: (column: ColumnFigures) => void): void => {
  out.branch(true);
  out.array(columns, (column) => {
    out.long(column.id);
    value(column);
  });
};

const listOf = (
  { commit, generation, mapping, sequence, parent, location }: ManifestPlace,
  manifests: readonly Manifest[],
): MadeFile => {
  const out = new AvroWriter();
  for (const manifest of manifests) {
    out.string(`${location}/${manifest.name}`);
    out.long(manifest.bytes.length);
    out.long(0);
    out.long(0);
    out.long(sequence);
    out.long(manifest.status === 'added' ? sequence : earlierSequence);
    out.long(snapshotId(commit));
    const of = (kind: Status, n: number): void => {
      out.long(manifest.status === kind ? n : 0);
    };
    for (const n of [manifest.files, manifest.rows]) {
      of('added', n);
      of('existing', n);
      of('deleted', n);
    }
    out.branch(false);
    out.branch(false);
  }
  const bytes = avroFile({
    schema: listSchema,
    metadata: {
      'snapshot-id': String(snapshotId(commit)),
      'parent-snapshot-id': parent === undefined || parent === zeroId ? 'null' : String(snapshotId(parent)),
      'sequence-number': String(sequence),
      'format-version': '2',
      'lake.commit': base62(commit),
    },
    count: manifests.length,
    records: out.done(),
  });
  return { name: namesOf(mapping).manifestList(commit, generation), bytes };
};
