/**
 * `npm run replays`: 5,000 mixed operations by 32 clients are recorded and replayed against the machines ten times, and
 * once against the whole service with the rows of every tip. `OPERATIONS`, `SEED` and `RUNS` change that; exit status 1
 * when anything comes out otherwise.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordMixedOperations, replayOnLake, replayTimes } from '../support/machines/replay-campaign.ts';
import { differenceText } from '../../src/recording/differences.ts';
import { seedOf } from '../support/random.ts';

const operations = Number(process.env['OPERATIONS'] ?? 5000);
const runs = Number(process.env['RUNS'] ?? 10);
const seed = seedOf(1);
const folder = mkdtempSync(join(tmpdir(), 'lake-replays-'));
const recording = join(folder, 'recording.ndjson');
let wrong = 0;
try {
  console.log(`${operations} operations of 32 clients, seed ${seed}`);
  const began = performance.now();
  const { statuses } = await recordMixedOperations({ recording, operations, clients: 32, seed });
  console.log(
    `done in ${Math.round(performance.now() - began)} ms; answers by status: ${JSON.stringify(statuses)}; ${statSync(recording).size} bytes of recording`,
  );
  const reports = await replayTimes(recording, runs);
  for (const { differences, differenceCount } of reports) {
    wrong += differenceCount;
    for (const difference of differences) console.log(differenceText(difference));
  }
  const { messages, actors, commits, events } = reports[0]!;
  console.log(
    `machines: ${messages} messages of ${actors} actors, ${commits} commits, ${events} events: the same ${reports.filter((r) => r.differenceCount === 0).length} times of ${runs}`,
  );
  const { status, printed } = replayOnLake(recording, join(folder, 'lake'));
  console.log(printed.trim());
  if (status !== 0) wrong++;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = wrong === 0 ? 0 : 1;
