/** What the main thread does of its memory when there is no work any more. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { returnPages } from '../../../src/workers/page-returns.ts';

test('what is much goes some seconds after the last work, all of it after minutes, each once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const seen: string[] = [];
  let begun = 0;
  const stop = returnPages({
    residentBytesMax: Infinity,
    isBusy: () => false,
    begun: () => begun,
    collect: { much: () => seen.push('much'), all: () => seen.push('all') },
  });
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
  expect(await after(2)).toEqual(['much']);
  expect(await after(300)).toEqual([]);
  expect(await after(60)).toEqual(['all']);
  expect(await after(3600)).toEqual([]);
  begun++;
  expect(await after(14)).toEqual(['much']);
});
