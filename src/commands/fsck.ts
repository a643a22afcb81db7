/**
 * `lake fsck`: checks a lake that no service has open: every row of the tables and every block of every data object against its checksum. Changes nothing.
 * Exit status 0 for a sound lake, 1 for a damaged one.
 */
import { resolve as resolvePath } from 'node:path';
import { parseFsck } from '../config.ts';
import { fsck } from '../lake/fsck.ts';
import type { ObjectMeta } from '../lake/lake.types.ts';
import { openObject, sourceOfBytes } from '../lake/object-reader.ts';
import { type ObjectStore, openObjects } from '../lake/objects.ts';
import type { CommandIo } from './io.ts';

export const fsckCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = parseFsck(argv, process.env);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  const directory = resolvePath(io.cwd, config.lakeDirectory);
  const files = openObjects(directory);
  const report = await fsck({ directory, files, checkObject: (object) => faultOf(object, files) });
  files.close();
  const rows = Object.entries(report.rows).map(([table, count]) => `  ${table.padEnd(14)}${count}`);
  await io.write(Buffer.from([
    `${directory}: ${count(report.pools, 'pool')}, ${count(report.commits, 'commit')}, ${count(report.objects, 'data object')}, ${count(report.orphans, 'file')} that no table names`,
    ...(rows.length > 0 ? ['rows:', ...rows] : []),
    ...report.faults,
    ...(report.faultCount > report.faults.length ? [`... and ${report.faultCount - report.faults.length} more`] : []),
    report.faultCount === 0 ? 'sound' : `damaged: ${count(report.faultCount, 'fault')}`, '',
  ].join('\n')));
  return report.faultCount === 0 ? 0 : 1;
};

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** Reads the whole object; what is wrong with it, if anything. */
const faultOf = async (object: ObjectMeta, files: ObjectStore): Promise<string | undefined> => {
  try {
    const source = object.inline ? sourceOfBytes(object.id, object.inline)
      : { id: object.id, size: object.size, read: (offset: number, length: number) => files.readRange(object.id, offset, length) };
    const reader = await openObject(source);
    if (reader.count !== object.count) return `it has ${reader.count} records, the tables say ${object.count}`;
    for (let block = 0; block < reader.blocks.length; block++) await reader.read(block);
    return undefined;
  } catch (problem) {
    return problem instanceof Error ? problem.message : String(problem);
  }
};
