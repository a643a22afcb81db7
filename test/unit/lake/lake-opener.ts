/**
 * A process that opens a lake, making its tables small, and closes it, makes and deletes tags of pool `p` in between or
 * resets its branch main, or repairs it: `node --import tsx lake-opener.ts DIRECTORY [tags|reset|repair]`. Tests end it by a signal in between.
 */
import { zeroId } from '../../../src/lake/ksuid.ts';
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
  if (what === 'tags') {
    const pool = lake.pool('p');
    for (let i = 0; i < 2; i++) {
      await pool.createTag('made', pool.branch('main').commit);
      await pool.deleteTag(i === 0 ? 'made' : 'there');
    }
    await pool.deleteTag('made');
  }
  if (what === 'protect') await lake.pool('p').protect('main', { reset: 'nobody' });
  if (what === 'reset') {
    const pool = lake.pool('p');
    const tip = pool.branch('main').commit;
    await pool.reset('main', zeroId);
    await pool.reset('main', tip);
    await pool.reset('main', zeroId);
  }
  await lake.close();
}
process.stdout.write('closed\n');
