/** What the main thread does of its memory when there is no work any more. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { returnPages } from '../../../src/workers/page-returns.ts';

const seen = vi.hoisted(() => [] as string[]);
vi.mock('../../../src/workers/collector.ts', () => ({
  collectLarge: () => undefined,
  noteResident: () => undefined,
  collectPause: () => seen.push('much'),
  collectRest: () => seen.push('all'),
}));
vi.mock('../../../src/allocator.ts', () => ({
  isOursToFix: () => false,
  keepFreed: () => undefined,
  giveBackPages: () => Promise.resolve(seen.push('pages')),
  giveBackMapped: () => Promise.resolve(),
}));

test('what is much goes some seconds after the last work, all of it after minutes, each once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  let begun = 0;
  const stop = returnPages({ residentBytesMax: Infinity, isBusy: () => false, begun: () => begun });
  onTestFinished(() => {
    stop();
    vi.useRealTimers();
  });
  const after = async (seconds: number): Promise<readonly string[]> => {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
    return seen.splice(0);
  };
  expect(await after(12)).toEqual([]);
  begun++;
  expect(await after(12)).toEqual([]);
  expect(await after(2)).toEqual(['much', 'pages']);
  expect(await after(300)).toEqual([]);
  expect(await after(60)).toEqual(['all', 'pages']);
  expect(await after(3600)).toEqual([]);
  begun++;
  expect(await after(14)).toEqual(['much', 'pages']);
});
