/**
 * `lake fsck`: checks a lake that no service has open: every record of the log, every row of the tables against it,
 * every block of every data object against its checksum, and what they say of each other. Changes nothing unless it is
 * asked to repair. Exit status 0 for a sound lake, 1 for a damaged one; after `-repair` 0 when the lake is sound again
 * and nothing was lost, 1 when something was.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LakeError } from '../errors.ts';
import { parseFsck } from '../config/fsck.ts';
import type { StoreAddress } from '../config/store.ts';
import { type WrongStored, wrongStored } from '../iceberg/stored/look-over.ts';
import { plural } from '../lake/commits/messages.ts';
import { checkThere, type DamagedFile, fsck, type FsckOptions, type FsckReport } from '../lake/repair/fsck.ts';
import type { ObjectMeta } from '../lake/lake.types.ts';
import { openObject, sourceOfBytes } from '../lake/objects/reader.ts';
import { openLakeObjects } from '../lake/objects/fetched.ts';
import { moveObject, type ObjectStore, openIcebergFiles, openObjects } from '../lake/objects/objects.ts';
import { rowsOfPool } from '../lake/pool/derived.ts';
import { soundPools } from '../lake/repair/sound-rows.ts';
import type { Tables } from '../lake/tables/tables.ts';
import { repair } from '../lake/repair/repair.ts';
import type { CommandIo } from './io.ts';
import { faultOfKeys, keysName } from './key-file.ts';
import { lakeFolder } from './lake-folder.ts';

/** Runs the command; gives its exit status. */
export const fsckCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = parseFsck(argv, process.env);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  if (config.store) return checkBucket(config.store, io);
  const directory = lakeFolder(io.cwd, config.lakeDirectory);
  // What opens the objects makes their folder.
  checkThere(directory);
  const files = openObjects(directory);
  const print = (lines: readonly string[]): Promise<void> => io.write(Buffer.from([...lines, ''].join('\n')));
  const options: FsckOptions = {
    directory,
    files,
    besides: async (tables) => [...keysFault(directory), ...(tables ? await icebergFaults(directory, tables) : [])],
    checkObject: (object: ObjectMeta) => faultOf(object, files),
  };
  try {
    if (!config.repair) {
      const report = await fsck(options);
      await print(reportLines(directory, report));
      return report.faultCount === 0 ? 0 : 1;
    }
    const { before, after, lost, kept } = await repair({
      ...options,
      keepFile: (id, folder) => moveObject(directory, id, folder),
    });
    await print(reportLines(directory, before));
    if (!after) return 0;
    await print([
      '',
      'repaired:',
      ...reportLines(directory, after),
      ...(lost.length > 0 ? ['lost:', ...lost] : ['nothing is lost']),
      `what was there before is kept in ${kept}`,
    ]);
    return after.faultCount === 0 && lost.length === 0 ? 0 : 1;
  } finally {
    files.close();
  }
};

/** A folder is made from the bucket and looked over like any other, but that its objects are the bucket's. */
const checkBucket = async (store: StoreAddress, io: CommandIo): Promise<number> => {
  const { addressOf } = await import('./store.ts');
  const { openBucket } = await import('../store/s3.ts');
  const { bucketFiles } = await import('../lake/store/clone.ts');
  const { copyFromBucket } = await import('../lake/store/open-bucket.ts');
  const { baseKey, newestBaseKey } = await import('../lake/store/segments.ts');
  const address = await addressOf(store);
  const bucket = openBucket(address);
  const directory = mkdtempSync(join(tmpdir(), 'lake-fsck-'));
  const files = openLakeObjects(directory, address, 'fsck');
  try {
    const { unnamed, passed = [] } = await copyFromBucket(bucket, directory);
    const report = await fsck({
      directory,
      files: bucketFiles(bucket),
      checkObject: async (object) => {
        try {
          return await faultOf(object, files);
        } finally {
          // The next one may be as long as the disk has room for.
          await files.delete(object.id);
        }
      },
      besides: () => [
        ...passed.map(({ base, fault }) => ({
          name: baseKey(base),
          fault,
          loss: 'nothing: what is before it was read in its place',
        })),
        ...(unnamed?.isDamaged
          ? [{ name: newestBaseKey, fault: unnamed.fault, loss: 'nothing: the newest base was found by a listing' }]
          : []),
      ],
    });
    // A writer that was killed may not have named its first base yet.
    const notes = unnamed && !unnamed.isDamaged ? [`${newestBaseKey}: ${unnamed.fault}; the next writer puts it`] : [];
    const lines = reportLines(bucket.name, { ...report, notes: [...report.notes, ...notes] });
    await io.write(Buffer.from([...lines, ''].join('\n')));
    return report.faultCount === 0 ? 0 : 1;
  } finally {
    files.close();
    bucket.close();
    rmSync(directory, { recursive: true, force: true });
  }
};

const reportLines = (directory: string, report: FsckReport): readonly string[] => {
  const rows = Object.entries(report.rows).map(([table, count]) => `  ${table.padEnd(14)}${count}`);
  const { log } = report;
  return [
    `${directory}: ${plural(report.pools, 'pool')}, ${plural(report.commits, 'commit')}, ${plural(report.objects, 'data object')}, ${plural(report.orphans, 'file')} that no table names`,
    ...(rows.length > 0 ? ['rows:', ...rows] : []),
    ...(log
      ? [
          `log: ${plural(log.records, 'record')}, up to record ${log.last}${log.bases.length > 0 ? `; base up to record ${log.bases.join(', ')}` : ''}`,
        ]
      : []),
    ...report.notes,
    ...report.faults,
    ...(report.faultCount > report.faults.length ? [`... and ${report.faultCount - report.faults.length} more`] : []),
    ...(report.affected.length > 0 ? ['affected:', ...report.affected] : []),
    report.faultCount === 0 ? 'sound' : `damaged: ${plural(report.faultCount, 'fault')}`,
  ];
};

/** Keys are the commands', not the lake's. */
const keysFault = (directory: string): readonly DamagedFile[] => {
  const fault = faultOfKeys(directory);
  return fault === undefined
    ? []
    : [
        {
          name: keysName,
          fault: `it is damaged: ${fault}`,
          loss: 'the keys of the lake: nobody has one until they are made again (lake key add)',
        },
      ];
};

/** Files of Iceberg tables that are there and not what the tables say they are: what is made again from data objects. */
const icebergFaults = async (directory: string, tables: Tables): Promise<readonly DamagedFile[]> => {
  if (!existsSync(join(directory, 'iceberg'))) return [];
  const store = openIcebergFiles(directory);
  try {
    const faults: DamagedFile[] = [];
    for (const { id, name: pool } of soundPools(tables))
      for (const { file, name } of await wrongStored(rowsOfPool(tables, id), store).catch(ofSoundRows))
        faults.push({
          name: join('iceberg', file.slice(-2), file),
          fault: `it is not the file that was written for ${name} of table ${pool}; it is made again when it is asked for`,
        });
    return faults;
  } finally {
    store.close();
  }
};

/** A damaged row is a fault of the tables, told of there: which files its pool has is not known. */
const ofSoundRows = (fault: unknown): readonly WrongStored[] => {
  if (fault instanceof LakeError && fault.code === 'table-corrupt') return [];
  throw fault;
};

/** Reads the whole object; what is wrong with it, if anything. @throws what a reader of it would be told */
const faultOf = async (object: ObjectMeta, files: ObjectStore): Promise<string | undefined> => {
  const source = object.inline
    ? sourceOfBytes(object.id, object.inline)
    : {
        id: object.id,
        size: object.size,
        read: (offset: number, length: number) => files.readRange(object.id, offset, length),
      };
  const reader = await openObject(source);
  if (reader.count !== object.count) return `it has ${reader.count} records, the tables say ${object.count}`;
  for (let block = 0; block < reader.blocks.length; block++) await reader.read(block);
  return undefined;
};
