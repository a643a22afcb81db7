/** A lake with its tables, without HTTP, and what an engine reads of them. */
import { onTestFinished } from 'vitest';
import type { IcebergCatalogue, IcebergMetadata } from '../../../src/iceberg/catalogue.types.ts';
import { LakeCatalogue } from '../../../src/iceberg/catalogue.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, LakeOptions, Pool } from '../../../src/lake/lake.types.ts';
import { openIcebergFiles, openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { readAvro } from '../formats/avro.ts';

type CatalogueParts = ConstructorParameters<typeof LakeCatalogue>[0];

/** A lake that is open, with a thread that loads and makes files. */
export interface TableLake {
  readonly lake: Lake;
  readonly workers: WorkerPool;
  readonly catalogue: LakeCatalogue;
  /** Loads SUP text; gives the commit. */
  load(pool: Pool, text: string, branch?: string): Promise<string>;
  close(): Promise<void>;
}

/** Opens the lake of a folder; faults that it or its tables report are thrown at the test's end. */
export const openTableLake = async (
  directory: string,
  options: Partial<Pick<CatalogueParts, 'waitMs' | 'graceMs' | 'render' | 'wrong'>> & Partial<LakeOptions> = {},
): Promise<TableLake> => {
  const faults: unknown[] = [];
  const report = (fault: unknown): void => {
    faults.push(fault);
  };
  const lake = await openLake({ directory, objects: openObjects(directory), report, ...options });
  const workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
  const catalogue = new LakeCatalogue({
    lake,
    render: (request) => workers.render(request),
    files: () => openIcebergFiles(directory),
    report,
    waitMs: 20_000,
    graceMs: 24 * 3_600_000,
    ...options,
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await catalogue.close();
    await workers.close();
    await lake.close();
    if (faults.length > 0) throw faults[0];
  };
  onTestFinished(close);
  return {
    lake,
    workers,
    catalogue,
    load: async (pool, text, branch = 'main') => {
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      const reply = await workers.load({ pool: pool.config, format: 'sup', body });
      return (await reply.settled(pool.load(branch, reply.objects))).commit;
    },
    close,
  };
};

/** A snapshot as metadata have it. */
export interface ReadSnapshot {
  readonly 'snapshot-id': number;
  readonly 'parent-snapshot-id'?: number;
  readonly 'sequence-number': number;
  readonly 'manifest-list': string;
  readonly 'schema-id': number;
  readonly summary: Readonly<Record<string, string>>;
}
/** What engines look at in metadata. */
export interface ReadMetadata {
  readonly 'current-snapshot-id': number;
  readonly 'table-uuid': string;
  readonly 'last-sequence-number': number;
  readonly 'last-updated-ms': number;
  readonly refs: Readonly<Record<string, { readonly 'snapshot-id': number }>>;
  readonly snapshots: readonly ReadSnapshot[];
  readonly 'snapshot-log': readonly { readonly 'timestamp-ms': number; readonly 'snapshot-id': number }[];
  readonly schemas: readonly {
    readonly 'schema-id': number;
    readonly fields: readonly { readonly id: number; readonly name: string; readonly type: unknown }[];
  }[];
  readonly 'current-schema-id': number;
}

/** The metadata of a table. */
export const loaded = async (
  catalogue: LakeCatalogue,
  pool: string,
  pin?: string,
): Promise<ReadMetadata & { readonly answer: IcebergMetadata }> => {
  const answer = await catalogue.load(pool, pin === undefined ? {} : { pin });
  if (answer === undefined || answer === 'unchanged') throw new Error(`table ${pool}: ${answer ?? 'none'}`);
  return { ...(JSON.parse(answer.json) as ReadMetadata), answer };
};

const scheme = 's3://lake/';
/** A file that metadata or manifests name. */
export const bytesAt = async (catalogue: Pick<IcebergCatalogue, 'file'>, location: string): Promise<Buffer> => {
  const file = await catalogue.file(location.slice(scheme.length));
  if (!file || !location.startsWith(scheme)) throw new Error(`${location} is not there`);
  const pieces: Uint8Array[] = [];
  for await (const piece of file.read(0, file.size)) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  if (bytes.length !== file.size) throw new Error(`${location}: ${bytes.length} bytes, not ${file.size}`);
  return bytes;
};

/** A file of a snapshot, as its manifest tells of it. */
export interface ReadEntry {
  readonly status: number;
  readonly snapshot: number;
  readonly path: string;
  readonly rows: number;
  readonly size: number;
}
/** All entries of a snapshot's manifests; lists and manifests agree in lengths and counts, or it throws. */
export const entriesOf = async (
  catalogue: Pick<IcebergCatalogue, 'file'>,
  snapshot: ReadSnapshot,
): Promise<readonly ReadEntry[]> => {
  const found: ReadEntry[] = [];
  const list = readAvro(await bytesAt(catalogue, snapshot['manifest-list']));
  for (const manifest of list.records) {
    const bytes = await bytesAt(catalogue, String(manifest['manifest_path']));
    if (bytes.length !== manifest['manifest_length']) throw new Error('another length than the list says');
    const entries = readAvro(bytes).records.map((entry): ReadEntry => {
      const file = entry['data_file'] as Readonly<Record<string, unknown>>;
      return {
        status: Number(entry['status']),
        snapshot: Number(entry['snapshot_id']),
        path: String(file['file_path']),
        rows: Number(file['record_count']),
        size: Number(file['file_size_in_bytes']),
      };
    });
    const kinds = ['existing', 'added', 'deleted'].map((kind, status) => ({
      files: manifest[`${kind}_files_count`] === entries.filter((entry) => entry.status === status).length,
      rows: manifest[`${kind}_rows_count`] === rowsIn(entries.filter((entry) => entry.status === status)),
    }));
    if (!kinds.every(({ files, rows }) => files && rows)) throw new Error('other counts than the list says');
    found.push(...entries);
  }
  return found;
};
/** Rows of these files. */
export const rowsIn = (entries: readonly ReadEntry[]): number => entries.reduce((n, { rows }) => n + rows, 0);
/** Files that a snapshot has. */
export const liveIn = (entries: readonly ReadEntry[]): readonly ReadEntry[] =>
  entries.filter(({ status }) => status !== 2);
