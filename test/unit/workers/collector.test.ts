/** The collector at chosen moments: what threads do when the process takes much of its memory. */
import { afterAll, expect, test } from 'vitest';
import { getHeapStatistics } from 'node:v8';
import { collect, collectIdle, collectRead, noteResident } from '../../../src/workers/collector.ts';

afterAll(() => { noteResident(0, Infinity); });

const mb = 1 << 20;
/** Megabytes of buffers that are there once nobody's are given back, beside the thread, or after some turns. */
const left = async (none: number): Promise<number> => {
  for (let turn = 0; turn < 50 && getHeapStatistics().external_memory > none + 8 * mb; turn++) await new Promise((resolve) => { setTimeout(resolve, 2); });
  return (getHeapStatistics().external_memory - none) / mb;
};
/** Buffers that nobody keeps. */
const waste = (megabytes: number): void => { for (let i = 0; i < megabytes; i++) new Uint8Array(mb).fill(1); };

test('a task that reads columns gives back the buffers of those it has passed', async () => {
  collect();
  const none = getHeapStatistics().external_memory;
  noteResident(800, 1000);
  waste(24);
  collectRead(8 * mb);
  expect(await left(none)).toBeLessThanOrEqual(8);
});
test('a thread without a task gives back less than it otherwise leaves', async () => {
  collect();
  const none = getHeapStatistics().external_memory;
  noteResident(800, 1000);
  waste(24);
  collectIdle('usual');
  expect(await left(none)).toBeLessThanOrEqual(8);
});
