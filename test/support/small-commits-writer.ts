/** Makes the lake of small-commits.ts: `node --import tsx small-commits-writer.ts DIRECTORY COMMITS`. */
import { openLake } from '../../src/lake/lake.ts';
import { sortIntoObjects } from '../../src/lake/load/sort.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { intValue, recordValue, stringValue } from '../../src/vectors/value.ts';

const make = async (directory: string, commits: number): Promise<void> => {
  const objects = openObjects(directory);
  const lake = await openLake({ directory, objects });
  await lake.createPool({ name: 'p', keys: [['k']] });
  const pool = lake.pool('p');
  const waiting: Promise<unknown>[] = [];
  for (let k = 0; k < commits; k++) {
    const batch = vectorOf([
      recordValue([
        { name: 'k', value: intValue(k) },
        { name: 'text', value: stringValue(`row ${k}`) },
      ]),
    ]);
    const { objects: made } = await sortIntoObjects(once(batch), {
      keys: [['k']],
      order: 'asc',
      threshold: 1 << 20,
      memoryBytesMax: 1 << 20,
      objects,
      spill: () => {
        throw new Error('one row needs no runs');
      },
    });
    waiting.push(pool.load('main', made));
    // They are committed as groups.
    if (waiting.length === 512) await Promise.all(waiting.splice(0));
  }
  await Promise.all(waiting);
  await lake.close();
};

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

await make(process.argv[2]!, Number(process.argv[3]));
