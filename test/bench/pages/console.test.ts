/** The console's benchmark at a small size: pages that watch see every event, times are printed, not judged. */
import { expect, test } from 'vitest';
import { lacksChromium } from '../../support/chromium.ts';
import { measureConsole } from './console.ts';

test.skipIf(lacksChromium())('a page that watches a busy lake shows every event', async () => {
  const { commitsASecond, cpuMsACommit, seen } = await measureConsole({
    commitsASecond: 100,
    rounds: 1,
    secondsARound: 0.4,
  });
  expect([...Object.values(commitsASecond), ...Object.values(cpuMsACommit)].every((n) => n > 0)).toBe(true);
  expect(seen).toEqual({ shown: 40, made: 40 });
});
