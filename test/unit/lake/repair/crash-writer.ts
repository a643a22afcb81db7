/**
 * A process that commits until it is killed, and tells each commit that was acknowledged: `node crash-writer.ts
 * DIRECTORY FIRST_KEY`.
 */
import { writeSync } from 'node:fs';
import { newId } from '../../../../src/lake/ksuid.ts';
import { openLake } from '../../../../src/lake/lake.ts';
import { openObjects } from '../../../../src/lake/objects/objects.ts';
import { sortKeyBytes } from '../../../../src/vectors/sort-key.ts';
import { intValue } from '../../../../src/vectors/value.ts';

const [directory, firstKey] = [process.argv[2]!, Number(process.argv[3])];
const objects = openObjects(directory);
const lake = await openLake({ directory, objects });
if (lake.pools().length === 0) await lake.createPool({ name: 'p', keys: [['k']] });
const pool = lake.pool('p');
let key = firstKey;
const client = async (): Promise<void> => {
  for (;;) {
    const own = key++;
    const bound = { text: String(own), sort: sortKeyBytes(intValue(own)) };
    const object = { id: newId(), count: 1, size: 4, min: bound, max: bound };
    const inline = own % 4 !== 0;
    if (!inline) await objects.put(object.id, Uint8Array.of(1, 2, 3, 4));
    const { commit } = await pool.load('main', [inline ? { ...object, inline: Uint8Array.of(1, 2, 3, 4) } : object]);
    writeSync(1, `${own} ${commit} ${object.id}\n`);
  }
};
await Promise.all(Array.from({ length: 8 }, client));
