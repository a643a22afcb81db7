/**
 * A process whose files may not grow beyond a limit (`ulimit -f`): it commits until its store fails, then says what
 * still works, as JSON.
 */
import { newId } from '../../../../src/lake/ksuid.ts';
import { openLake } from '../../../../src/lake/lake.ts';
import { openObjects } from '../../../../src/lake/objects/objects.ts';
import { nullSortKey } from '../../../../src/vectors/sort-key.ts';

process.on('SIGXFSZ', () => undefined);
const directory = process.argv[2]!;
const lake = await openLake({ directory, objects: openObjects(directory) });
await lake.createPool({ name: 'p' });
const pool = lake.pool('p');
const bound = { text: 'null', sort: nullSortKey };
const load = () =>
  pool.load('main', [{ id: newId(), count: 1, size: 50_000, min: bound, max: bound, inline: new Uint8Array(50_000) }]);
const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'done';
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
};
let acknowledged = 0;
let code = 'done';
while (code === 'done') {
  code = await codeOf(load());
  if (code === 'done') acknowledged++;
}
const after = [
  await codeOf(load()),
  await codeOf(pool.merge('main', 'main')),
  await codeOf(lake.createPool({ name: 'q' })),
];
const snapshot = await lake.openSnapshot('p', 'main');
const status = lake.status();
const read = snapshot.page({ limit: 1000 }).objects.filter((o) => o.inline?.length === 50_000).length;
snapshot.release();
await lake.close();
process.stdout.write(JSON.stringify({ code, acknowledged, after, read, status }));
