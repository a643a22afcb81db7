/** Key rotation, small: some sequences. `npm run campaign -- rotation -seeds A..B` runs many. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { seedOf } from '../support/random.ts';
import { runRotation } from './rotation.ts';

const runs = Number(process.env['RUNS'] ?? 20);

test(`${runs} sequences of key sets: who is forgotten there is forgotten here, and nobody else`, {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-rotation-'));
  const seed = seedOf(1);
  const sums: Record<string, number> = {};
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  console.log(`rotation: seed ${seed}`);
  for (let n = 0; n < runs; n++) {
    for (const [what, count] of Object.entries(await runRotation(folder, seed + n)))
      sums[what] = (sums[what] ?? 0) + count;
  }
  for (const what of ['asked', 'let in', 'refused', 'key sets']) expect(sums[what], what).toBeGreaterThan(runs);
});
