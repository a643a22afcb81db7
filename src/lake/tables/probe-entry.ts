/**
 * Reads all tables of a lake in a process of its own, which probe.ts starts: a damaged LMDB file ends its reader by a
 * signal. Prints one JSON line, the rows by table and the faults found, or the rows themselves.
 */
import { writeSync } from 'node:fs';
import type { RowLine, TablesReport } from './probe.ts';
import { openIndex, type TableName, tableNames } from './tables.ts';
import { hasTable } from './versions.ts';

const faultsMax = 1000;

const walk = async (directory: string, look: boolean): Promise<void> => {
  const tables = openIndex(directory);
  const faults: string[] = [];
  const rows: Record<string, number> = {};
  const version = tables.version();
  const record = tables.place()?.number;
  for (const name of tableNames) {
    const found = (rows[name] = tables.verify(
      name,
      (fault) => {
        if (faults.length < faultsMax) faults.push(fault);
      },
      look,
    ));
    const counted = tables.count(name);
    // Pages that are lost take rows along that no checksum is missed by.
    // So does a table whose own name is damaged: it is as if it had never been.
    if (hasTable(version, name) && !tables.isThere(name)) faults.push(`table ${name}: it is not there`);
    if (found !== counted) faults.push(`table ${name}: ${found} rows are found, there should be ${counted}`);
  }
  await tables.close();
  process.stdout.write(
    `${JSON.stringify({ rows, version, ...(record !== undefined && { record }), faults } satisfies TablesReport)}\n`,
  );
};

/** Prints the sound rows of these tables, a line each behind one that names the table. `reverse`: the first from its end. */
const print = async (directory: string, names: readonly TableName[], reverse: boolean): Promise<void> => {
  const tables = openIndex(directory);
  for (const [i, name] of names.entries()) {
    writeLine([name]);
    for (const { key, payload } of tables.soundRows(name, { reverse: reverse && i === 0 }))
      writeLine([name, key.toString('base64'), payload.toString('base64')]);
  }
  await tables.close();
};
/** At once, since the next row may end the process. */
const writeLine = (line: RowLine): void => {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
};

/** `DIRECTORY [look]`, or `DIRECTORY rows NAMES [reverse]`. */
const run = async ([directory = '.', what, names = '', order]: readonly string[]): Promise<void> => {
  if (what === 'rows') await print(directory, names.split(',') as TableName[], order === 'reverse');
  else await walk(directory, what === 'look');
};

void run(process.argv.slice(2));
