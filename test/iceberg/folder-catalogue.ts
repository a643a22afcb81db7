/**
 * A catalogue over a folder of files that pyiceberg wrote (`fixture.py` says which), for tests of how a catalogue is
 * served: another one than the lake's own, whose tables are made of pools.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LakeError } from '../../src/errors.ts';
import type { IcebergCatalogue, IcebergEntry, IcebergTable } from '../../src/iceberg/catalogue.types.ts';

const fixture = fileURLToPath(new URL('fixture', import.meta.url));

/** The tables of the fixture by the names that they have there. */
export const eventsId = '2IBSvMhYnWjxsLu8lBH1SxLpTYm';
export const moviesId = '2IBSvOCwJJTcbVyfEHxGoBDxcKg';

interface Metadata {
  refs: Record<string, { 'snapshot-id': number }>;
  snapshots: { readonly 'snapshot-id': number; readonly 'timestamp-ms': number }[];
  'current-snapshot-id': number;
  'snapshot-log': { readonly 'snapshot-id': number; readonly 'timestamp-ms': number }[];
}

/** What was asked of it, for tests that look. */
export interface Asked {
  readonly pool: string;
  readonly pin: string | undefined;
  readonly etag: string | undefined;
}

/** Files cannot be read behind so many bytes. */
interface Unread {
  readonly after: number;
  readonly fault: Error;
}

/**
 * The fixture's tables. `tables`: others, with the fixture's files behind their ids, or those of `folder`.
 * `state.notReady`: renditions are being made.
 */
export const folderCatalogue = (
  tables: readonly IcebergTable[] = [
    { pool: eventsId, name: 'events' },
    { pool: moviesId, name: 'movies' },
  ],
  folder = fixture,
): IcebergCatalogue & {
  tablesNow: IcebergTable[];
  readonly asked: Asked[];
  fault: LakeError | undefined;
  unread: Unread | undefined;
} => {
  const file = (path: string): IcebergEntry => {
    const { size, mtime } = statSync(join(folder, path));
    const etag = createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex')
      .slice(0, 32);
    return { path, size, etag: `"${etag}"`, modified: mtime };
  };
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  const self = {
    tablesNow: [...tables],
    asked: [] as Asked[],
    fault: undefined as LakeError | undefined,
    unread: undefined as Unread | undefined,
    tables: () => self.tablesNow,
    wrongFiles: () => 0,
    load: async (pool: string, { pin, etag }: { readonly pin?: string; readonly etag?: string }) => {
      self.asked.push({ pool, pin, etag });
      if (self.fault) throw self.fault;
      const location = paths.find((path) => path.startsWith(`${pool}/metadata/`) && path.endsWith('.json'));
      if (!location) return undefined;
      const metadata = JSON.parse(readFileSync(join(folder, location), 'utf8')) as Metadata;
      if (pin !== undefined) {
        const ref = metadata.refs[pin];
        if (!ref) return undefined;
        metadata['current-snapshot-id'] = ref['snapshot-id'];
        metadata.refs = { main: ref };
        metadata['snapshot-log'] = metadata.snapshots.filter((each) => each['snapshot-id'] === ref['snapshot-id']);
      }
      const json = pin === undefined ? readFileSync(join(folder, location), 'utf8') : JSON.stringify(metadata);
      const digest = createHash('sha256')
        .update(`${pool} ${pin ?? ''} ${json.length}`)
        .digest('hex')
        .slice(0, 32);
      return etag === `"${digest}"` ? ('unchanged' as const) : { etag: `"${digest}"`, location, json, config: {} };
    },
    describe: async () => ({ setting: 'eager' as const, mapping: 'typed' as const, columns: [] }),
    file: async (path: string) => {
      if (!existsSync(join(folder, path))) return undefined;
      return {
        ...file(path),
        async *read(start: number, end: number) {
          const { unread } = self;
          const stop = Math.min(end, start + (unread?.after ?? Infinity));
          if (stop > start) yield* createReadStream(join(folder, path), { start, end: stop - 1 });
          if (unread) throw unread.fault;
        },
      };
    },
    list: async (prefix: string, { after = '', max }: { readonly after?: string; readonly max: number }) =>
      paths
        .filter((path) => path.startsWith(prefix) && path > after)
        .slice(0, max)
        .map(file),
  };
  return self;
};
