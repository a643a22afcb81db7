/**
 * One bit flipped in compressed bodies: a sample of the flips of each, by seed. `npm run campaign -- flips` flips every
 * bit.
 */
import { describe, expect, test } from 'vitest';
import { randomOf, seedOf } from '../support/random.ts';
import { endOfFlip, flipBodies, type FlipEnd } from './flips.ts';

const flipsOfEach = 60;
const seed = seedOf(4);
const random = randomOf(seed);

describe('a flipped bit is an error or changes nothing, where a checksum covers it', () => {
  test.each(flipBodies().map((body) => [body.name, body] as const))('%s', async (_, body) => {
    const sound = await body.read(body.bytes);
    const wrong: string[] = [];
    const ends = new Map<FlipEnd, number>();
    expect(sound).not.toBe('');
    for (let n = 0; n < flipsOfEach; n++) {
      const bit = random.below(body.bytes.length * 8);
      const end = await endOfFlip(body, bit, sound);
      ends.set(end, (ends.get(end) ?? 0) + 1);
      if (end === 'wrong') wrong.push(`seed ${seed}, bit ${bit}`);
    }
    expect(wrong).toEqual([]);
  });
});
