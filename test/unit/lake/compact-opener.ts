/** A process that opens a lake, making its tables small, and closes it: `node --import tsx compact-opener.ts DIRECTORY`. Tests end it by a signal in between. */
import { openLake } from '../../../src/lake/lake.ts';
import { openObjects } from '../../../src/lake/objects.ts';

const [directory] = process.argv.slice(2) as [string];
const lake = await openLake({ directory, objects: openObjects(directory), compactBytesMin: 1, report: (fault) => { throw fault; } });
await lake.close();
process.stdout.write('closed\n');
