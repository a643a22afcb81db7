/**
 * The files of a table, as who serves them sees them. Data and metadata lie in the store, several small objects' in one
 * of its files; manifests are made when they are asked for.
 */
import { base62, idBuffer, parseId, zeroId } from '../lake/ksuid.ts';
import type { Id } from '../lake/lake.types.ts';
import type { ObjectStore } from '../lake/objects/objects.ts';
import type { IcebergEntry, IcebergFile } from './catalogue.types.ts';
import type { CheckedFile, CheckedPart, FileChecks } from './stored/checks.ts';
import { digestOf } from './stored/digest.ts';
import { type ManifestsOf, manifestsOf } from './manifests.ts';
import {
  type Rendition,
  type StoredMetadata,
  isCurrent,
  mappingVersions,
  mergedDigits,
  mergedOf,
  metadataOf,
  namesOf,
  readMerged,
  readMetadata,
  renditionsOf,
} from './rows.ts';
import type { Table } from './table.ts';

/** A table with where its files lie. */
export interface TableFiles {
  readonly table: Table;
  readonly store: ObjectStore;
  readonly checks: FileChecks;
  /** One of its files was made again, which may be another than manifests that were made before tell of. */
  readonly remade: () => void;
  /** Makes metadata again whose file is wrong, if they are still what they were. */
  readonly remakeMetadata: (digest: Id) => Promise<void>;
  /** The manifest list of a commit and its manifests of a generation, by name; undefined if it has none. */
  readonly manifests: (commit: Id, generation: number) => Promise<ReadonlyMap<string, Buffer> | undefined>;
}

/** Bytes that are read at once. */
const readBytes = 256 << 10;
const idShape = '[0-9A-Za-z]{27}';
const shapesOf = (version: number) => ({
  data: new RegExp(`^data/(${idShape})-${version}\\.parquet$`),
  merged: new RegExp(`^merged/(\\d{${mergedDigits}})-${version}\\.parquet$`),
  manifest: new RegExp(`^manifests/(${idShape})-${version}(?:-g(\\d{1,${mergedDigits}}))?(?:-[ade]\\d*)?\\.avro$`),
  metadata: /^metadata\/00000-([0-9a-f]{40})\.metadata\.json$/,
});
const nameShapes = { typed: shapesOf(mappingVersions.typed), variant: shapesOf(mappingVersions.variant) };

/** The file of a name below the table's folder. */
export const fileAt = async (files: TableFiles, name: string): Promise<IcebergFile | undefined> => {
  const { mapping } = files.table;
  const shapes = nameShapes[mapping];
  const key = `${base62(files.table.pool.config.id)}/${name}`;
  const data = idIn(shapes.data, name);
  if (data !== undefined) return storedFile(files, dataFile(files, key, data), dataEntry);
  const number = shapes.merged.exec(name)?.[1];
  if (number !== undefined) return storedFile(files, mergedFile(files, key, Number(number)), dataEntry);
  const digest = shapes.metadata.exec(name)?.[1];
  if (digest !== undefined)
    return storedFile(files, metadataFile(files, key, digest), (known) => metadataEntry(digest, known));
  const commit = idIn(shapes.manifest, name);
  const generation = Number(shapes.manifest.exec(name)?.[2] ?? 0);
  // What is to come may be another than it would be now.
  if (commit === undefined || generation > files.table.merged.generation) return undefined;
  const bytes = (await files.manifests(commit, generation))?.get(name);
  return bytes && made(bytes, commit);
};
const dataFile = ({ table, remade }: TableFiles, name: string, object: Id): CheckedFile<Rendition> => ({
  name,
  part: () => table.whole(object),
  remake: () => table.remake(object).finally(remade),
});
const mergedFile = ({ table, remade }: TableFiles, name: string, number: number): CheckedFile<CheckedPart> => ({
  name,
  part: () => {
    const merged = readMerged(table.pool, number);
    return merged && isCurrent(merged, table.mapping) ? { ...merged, at: 0 } : undefined;
  },
  remake: () => table.remakeMerged(number).finally(remade),
});
const metadataFile = (files: TableFiles, name: string, digest: Id): CheckedFile<CheckedPart & StoredMetadata> => ({
  name,
  part: () => {
    const known = readMetadata(files.table.pool, digest);
    return known && { ...known, file: digest, at: 0, digest };
  },
  remake: () => files.remakeMetadata(digest),
});
/** Ids have one spelling: others name no file. */
const idIn = (shape: RegExp, name: string): Id | undefined => {
  const text = shape.exec(name)?.[1];
  const id = text === undefined ? undefined : parseId(text);
  return id !== undefined && base62(id) === text ? id : undefined;
};

/** Files below a folder `root` whose paths begin with `prefix`, in order; manifests are in no list. */
export function* filesBelow(
  { table }: TableFiles,
  root: string,
  { prefix, after = '' }: { readonly prefix: string; readonly after?: string },
): IterableIterator<IcebergEntry> {
  const { mapping } = table;
  const names = namesOf(mapping);
  const isWanted = (path: string): boolean => path.startsWith(prefix) && path > after;
  const known = after.startsWith(`${root}data/`) ? idIn(nameShapes[mapping].data, after.slice(root.length)) : undefined;
  if (after < `${root}data0`)
    for (const { object, rendition } of renditionsOf(table.pool, known)) {
      const path = root + names.data(object);
      if (isCurrent(rendition, mapping) && isWanted(path)) yield { path, ...dataEntry(rendition) };
    }
  for (const { number, merged } of mergedOf(table.pool)) {
    const path = root + names.merged(number);
    if (merged && isCurrent(merged, mapping) && isWanted(path)) yield { path, ...dataEntry({ ...merged, at: 0 }) };
  }
  for (const { digest, stored } of metadataOf(table.pool)) {
    const path = root + names.metadata(digest);
    if (isWanted(path)) yield { path, ...metadataEntry(digest, stored) };
  }
}

type Entry = Omit<IcebergEntry, 'path'>;
/** One that is made again has the same bytes, and the same ETag, in another file. */
const dataEntry = ({ file, at, bytes, digest }: CheckedPart): Entry => ({
  size: bytes,
  etag: `"${digest ?? `${file}-${at}`}"`,
  modified: timeOfId(file),
});
const metadataEntry = (digest: Id, { bytes, ms }: { readonly bytes: number; readonly ms: number }): Entry => ({
  size: bytes,
  etag: `"${digest}"`,
  modified: new Date(ms),
});
/** Seconds from 1970 to where the times of ids begin. */
const idEpoch = 1_400_000_000;
const timeOfId = (id: Id): Date => new Date((idBuffer(id).readUInt32BE() + idEpoch) * 1000);

/** A file of the store, of which nothing is told before it is sound. */
const storedFile = async <T extends CheckedPart>(
  { store, checks }: TableFiles,
  file: CheckedFile<T>,
  entryOf: (part: T) => Entry,
): Promise<IcebergFile | undefined> => {
  const part = await checks.soundPart(file);
  return part && stored(store, entryOf(part), part.file, part.at);
};
const stored = (store: ObjectStore, entry: Entry, file: Id, at: number): IcebergFile => ({
  ...entry,
  async *read(start, end) {
    for (let from = start; from < end; from += readBytes)
      yield await store.readRange(file, at + from, Math.min(readBytes, end - from));
  },
});
const made = (bytes: Buffer, commit: Id): IcebergFile => ({
  size: bytes.length,
  etag: `"${digestOf(bytes)}"`,
  modified: timeOfId(commit === zeroId ? zeroId : commit),
  async *read(start, end) {
    yield bytes.subarray(start, end);
  },
});

/** Bytes of manifests that are kept, the newest commit's aside. */
const keptBytesMax = 64 << 20;

/** Manifests that were made, so that who reads a list finds what it names without more work. */
export class ManifestCache {
  /** The least recently used first. */
  private readonly kept = new Map<string, { readonly files: ReadonlyMap<string, Buffer>; readonly bytes: number }>();
  private readonly making = new Map<string, Promise<ReadonlyMap<string, Buffer> | undefined>>();
  private bytes = 0;

  async of(
    table: Table,
    { commit, generation }: ManifestsOf,
    location: string,
  ): Promise<ReadonlyMap<string, Buffer> | undefined> {
    const key = `${table.pool.config.id} ${table.mapping} ${commit} ${generation}`;
    const known = this.kept.get(key);
    if (known) {
      this.kept.delete(key);
      this.kept.set(key, known);
      return known.files;
    }
    let making = this.making.get(key);
    if (!making) {
      making = this.make(table, { commit, generation }, location, key).finally(() => this.making.delete(key));
      this.making.set(key, making);
    }
    return making;
  }
  /** A file of the table became another. */
  forget({ pool, mapping }: Pick<Table, 'pool' | 'mapping'>): void {
    for (const [key, { bytes }] of this.kept) {
      if (!key.startsWith(`${pool.config.id} ${mapping} `)) continue;
      this.kept.delete(key);
      this.bytes -= bytes;
    }
  }
  private async make(
    table: Table,
    of: ManifestsOf,
    location: string,
    key: string,
  ): Promise<ReadonlyMap<string, Buffer> | undefined> {
    const list = await manifestsOf(table, of, location);
    if (!list) return undefined;
    const files = new Map(list.map(({ name, bytes }) => [name, bytes]));
    const bytes = list.reduce((n, file) => n + file.bytes.length, 0);
    this.kept.set(key, { files, bytes });
    this.bytes += bytes;
    for (const [oldest, entry] of this.kept) {
      if (this.bytes <= keptBytesMax || oldest === key) break;
      this.kept.delete(oldest);
      this.bytes -= entry.bytes;
    }
    return files;
  }
}
