/**
 * A process that commits small objects and packs them until it is killed: `node --import tsx pack-writer.ts DIRECTORY
 * FIRST-KEY`. Prints the key of each commit that was acknowledged.
 */
import { openLake } from '../../../src/lake/lake.ts';
import { ObjectCutter } from '../../../src/lake/objects/cutter.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import { runSmallLoad } from '../../../src/workers/load/small.ts';

const [directory, first] = process.argv.slice(2) as [string, string];
const objects = openObjects(directory);
const keys = [['k']];
const order = 'asc' as const;
const threshold = 1 << 20;
const lake = await openLake({
  directory,
  objects,
  packs: {
    objectsMin: 10,
    prepare: async (small) => {
      const cutter = new ObjectCutter({ keys, order }, objects, threshold);
      cutter.expect(small.length, 100);
      for await (const batch of scanObjects(
        { keys, order, objects, page: () => ({ objects: small }) },
        { ordered: true },
      ))
        cutter.add(batch);
      return { adds: (await cutter.finish()).objects };
    },
  },
});
const packingMs = 500;
if (lake.pools().length === 0) await lake.createPool({ name: 'p', keys });
for (let k = Number(first); ; k++) {
  const made = await runSmallLoad(
    { pool: { keys, order, threshold }, format: 'json', body: Buffer.from(JSON.stringify({ k, text: `row ${k}` })) },
    { objects, readLimits: {} },
  );
  await lake.pool('p').load('main', made.objects);
  process.stdout.write(`${k}\n`);
  // A branch that is written to all the time is left alone by the packer.
  if (k % 30 === 29)
    await new Promise((resolve) => {
      setTimeout(resolve, packingMs);
    });
}
