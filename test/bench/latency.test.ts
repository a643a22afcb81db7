/** The latency benchmark at a small size: its answers are checked, its times printed, not judged. */
import { expect, test } from 'vitest';
import { measureCommits, measureLatency } from './latency.ts';

test('GETs are answered while a load and two scans run, and everything is there afterwards', async () => {
  const { rows, gets, loopLateMs, scans, counts } = await measureLatency(30_000);
  expect(counts).toEqual([rows, rows]);
  expect([
    gets.whileLoading.length > 1,
    gets.whileLoadingAndScanning.length > 1,
    scans >= 2,
    Number.isFinite(loopLateMs.p99),
  ]).toEqual([true, true, true, true]);
});
test('small commits of one client and of 64 are all there', async () => {
  expect((await measureCommits({ inTurn: 100, atOnce: 640 })).rows).toBe(740);
});
