import { describe, expect, test } from 'vitest';
import { Pace, slowest } from '../../../src/http/connections/pace.ts';

/** A pace on a clock of its own. */
const paced = (
  rateMin: number,
): { readonly pace: Pace; readonly after: (ms: number, bytes?: number) => number | undefined } => {
  let now = 0;
  const pace = new Pace('body', rateMin, () => now);
  pace.waits();
  return {
    pace,
    after: (ms, bytes) => {
      now += ms;
      const rate = pace.slowRate();
      if (bytes !== undefined) {
        pace.went(bytes);
        pace.waits();
      }
      return rate;
    },
  };
};

describe('a pace', () => {
  test('nothing is said of a client that is new', () => {
    const { after } = paced(100);
    expect([after(1000), after(3999), after(1)]).toEqual([undefined, undefined, 0]);
  });
  test('one that drips is slow, one that sends enough is not', () => {
    const drip = paced(100);
    const enough = paced(100);
    let slow: (number | undefined)[] = [];
    let fast: (number | undefined)[] = [];
    for (let i = 0; i < 20; i++) {
      slow.push(drip.after(1000, 1));
      fast.push(enough.after(1000, 150));
    }
    expect(slow.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
    expect(slow.slice(5).every((rate) => rate !== undefined && rate <= 1)).toBe(true);
    expect(new Set(fast)).toEqual(new Set([undefined]));
  });
  test('what was sent long ago does not count', () => {
    const { after } = paced(1000);
    expect(after(10, 1_000_000)).toBeUndefined();
    expect(after(6000, 0)).toBeUndefined();
    after(6000, 0);
    expect(after(6000, 0)).toBe(0);
  });
  test('time in which the client is not waited for does not count', () => {
    let now = 0;
    const pace = new Pace('answer', 100, () => now);
    for (let i = 0; i < 30; i++) {
      now += 1000;
      pace.waits();
      now += 10;
      expect(pace.slowRate()).toBeUndefined();
      pace.went(2);
    }
    now += 60_000;
    expect(pace.slowRate()).toBeUndefined();
  });
  test('without a least rate nobody is slow', () => {
    const { after } = paced(0);
    expect(after(1_000_000)).toBeUndefined();
  });
  test('the slowest is found; what it is told has its rate', () => {
    const rates = [undefined, 7.5, 3, 9];
    const one = slowest(rates, (rate) => ({ slowRate: () => rate }));
    expect([one, slowest([], () => undefined), slowest([undefined], () => undefined)]).toEqual([
      3,
      undefined,
      undefined,
    ]);
    const { pace, after } = paced(100);
    for (let i = 0; i < 8; i++) after(1000, 4);
    after(500);
    expect(new Pace('answer', 100).tooSlow()).toMatchObject({
      code: 'answer-slow',
      message: 'client reads too slowly: 0 bytes/s, at least 100 while others wait (option -rate.min)',
    });
    expect(pace.tooSlow()).toMatchObject({
      code: 'body-slow',
      status: 408,
      message: expect.stringMatching(
        /^request body is too slow: \d bytes\/s, at least 100 while others wait \(option -rate\.min\)$/,
      ) as unknown,
    });
  });
});
