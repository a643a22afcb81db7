/**
 * What an Iceberg catalogue of the lake's pools is, to who serves it: tables, their metadata, and the files that the
 * metadata names. Nothing here writes.
 *
 * - A file that metadata names is whole, and stays as it is while it is there.
 * - Locations are absolute: `s3://lake/<path>`, with paths as `file` takes them.
 * - ETags are strong, of the content, and in quotes as in headers.
 */
import type { Mapping } from './kinds.ts';

/** A pool as a table. */
export interface IcebergTable {
  /** Id of the pool: a KSUID's text. */
  readonly pool: string;
  /** Name of the pool. */
  readonly name: string;
}

/** A table's metadata as they are now. */
export interface IcebergMetadata {
  readonly etag: string;
  /** Path below the bucket: `<poolid>/metadata/<name>`. */
  readonly location: string;
  readonly json: string;
  /** What clients are to be told beside them. */
  readonly config: Readonly<Record<string, string>>;
}

/** A file below the bucket. */
export interface IcebergFile {
  readonly size: number;
  readonly etag: string;
  readonly modified: Date;
  /** Bytes from `start` to before `end`. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}
/** A file in a list of files. */
export interface IcebergEntry {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
  readonly modified: Date;
}

/** `off`: no table. `lazy`: files are made when somebody asks. `eager`: after each commit. */
export type IcebergSetting = 'off' | 'lazy' | 'eager';

/** Where the values of a pool's column are. */
export interface IcebergColumn {
  /** In the pool, with dots. */
  readonly path: string;
  /** Its type in the pool. */
  readonly type: string;
  /** Its column in the table, with dots. */
  readonly column: string;
  /** Its type in the table. */
  readonly iceberg: string;
  /** Why it is not where one would look for it, or not of its own type. */
  readonly note?: string;
}
export interface IcebergDescription {
  readonly setting: IcebergSetting;
  readonly mapping: Mapping;
  readonly columns: readonly IcebergColumn[];
}

/** The tables of a lake and their files. */
export interface IcebergCatalogue {
  /** Pools whose setting is not off, by name. */
  tables(): readonly IcebergTable[];
  /** Files that were found to be wrong since the start. */
  wrongFiles(): number;
  /**
   * Metadata of a table, with all refs, or pinned to `pin`: a branch, tag, commit or time. Undefined: no such table or
   * ref. @throws iceberg-not-ready when files are still being made beyond the bound
   */
  load(
    pool: string,
    options: { readonly pin?: string; readonly etag?: string; readonly signal?: AbortSignal },
  ): Promise<IcebergMetadata | 'unchanged' | undefined>;
  describe(pool: string): Promise<IcebergDescription>;
  /**
   * Undefined: there is none. Paths are `<poolid>/{metadata,manifests,merged,data}/<name>`, and anything else is no file's.
   */
  file(path: string): Promise<IcebergFile | undefined>;
  /** Files below a prefix, in order of their paths, those behind a path. */
  list(prefix: string, options: { readonly after?: string; readonly max: number }): Promise<readonly IcebergEntry[]>;
}
