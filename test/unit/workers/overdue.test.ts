/** Tasks that go on after their cancel: how long they may. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { endOverdue } from '../../../src/workers/overdue.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Seconds after which a task is ended that stays for so long, in a process that has this share of a processor. */
const endedAfter = (share: number, staysFor = Infinity): number | undefined => {
  const start = Date.now();
  let ended: number | undefined;
  endOverdue({
    ms: 10_000,
    isThere: () => Date.now() - start < staysFor,
    end: () => {
      ended = (Date.now() - start) / 1000;
    },
    processorMs: () => (Date.now() - start) * share,
  });
  vi.advanceTimersByTime(600_000);
  return ended;
};

describe('a cancelled task that does not stop', () => {
  test('is ended after its time where the process has processors', () => {
    expect([endedAfter(2), endedAfter(1), endedAfter(0.5)]).toEqual([10, 10, 10]);
  });
  test('has the same of a processor on a busy machine', () => {
    expect([endedAfter(0.3), endedAfter(0.1)]).toEqual([20, 50]);
  });
  test('is ended in the end', () => {
    expect([endedAfter(0.01), endedAfter(0)]).toEqual([60, 60]);
  });
  test('is left alone when it has stopped', () => {
    expect([endedAfter(1, 9000), endedAfter(0.1, 45_000)]).toEqual([undefined, undefined]);
  });
});
