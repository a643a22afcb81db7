/**
 * A process that opens a lake, making its tables small, and closes it, or repairs it: `node --import tsx lake-opener.ts
 * DIRECTORY [repair]`. Tests end it by a signal in between.
 */
import { openLake } from '../../../src/lake/lake.ts';
import { moveObject, openObjects } from '../../../src/lake/objects/objects.ts';
import { repair } from '../../../src/lake/repair/repair.ts';

const [directory, what] = process.argv.slice(2) as [string, string?];
if (what === 'repair')
  await repair({
    directory,
    files: openObjects(directory),
    keepFile: (id, folder) => moveObject(directory, id, folder),
  });
else {
  const lake = await openLake({
    directory,
    objects: openObjects(directory),
    compactBytesMin: 1,
    report: (fault) => {
      throw fault;
    },
  });
  await lake.close();
}
process.stdout.write('closed\n');
