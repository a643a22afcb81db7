/** What the thread that makes the files of a table, and the main thread, which has its columns, tell each other. */
import type { Id, ObjectMeta } from '../lake/lake.types.ts';
import type { TableColumn } from './columns.ts';
import type { Mapping } from './kinds.ts';
import type { FileFigures } from './rendition.ts';

/** The columns that the rows of each object need, as its survey found; `known`: columns of the table it began with. */
export interface WantedColumns {
  readonly known: number;
  readonly objects: readonly (readonly TableColumn[])[];
}
/**
 * All columns of the table, durable by now, and the ids of those that each object is to have; `undefined`: with columns
 * that came since, the survey would have found others, and is to be made again.
 */
export interface GivenColumns {
  readonly table: readonly TableColumn[];
  readonly objects: readonly (readonly number[])[] | undefined;
}

/** A Parquet file, in a file of the store from byte `at` on. */
export interface RenderedPart {
  readonly at: number;
  readonly figures: FileFigures;
}
/** A file that is durable. `columns`: those that the table had when it was written; `parts`: in order. */
export interface RenderedFile {
  readonly file: Id;
  readonly columns: number;
  readonly parts: readonly RenderedPart[];
}

/** What is to be made into one file of the store: a Parquet file of each object, or one of them all. */
export interface RenderRequest {
  readonly objects: readonly ObjectMeta[];
  readonly isMerged: boolean;
  readonly mapping: Mapping;
  readonly table: readonly TableColumn[];
  /** Makes columns durable before rows are written under their ids. */
  readonly register: (wanted: WantedColumns) => Promise<GivenColumns>;
  readonly signal?: AbortSignal;
}
