/** Part `flips`: a seed is a body; every bit of it is flipped. */
import { endOfFlip, flipBodies } from '../random/flips.ts';
import type { PartRun } from './part.ts';

export const flips: PartRun = async ({ seeds, count, failed }) => {
  const bodies = flipBodies();
  for (const seed of seeds) {
    const body = bodies[seed];
    if (!body) {
      count('not reached');
      continue;
    }
    const sound = await body.read(body.bytes);
    count('bodies');
    for (let bit = 0; bit < body.bytes.length * 8; bit++) {
      count('bits');
      try {
        const end = await endOfFlip(body, bit, sound);
        count(
          end === 'same' ? 'the same rows' : end === 'other, no checksum' ? 'other rows where no checksum is' : end,
        );
        if (end === 'wrong') failed(seed, `${body.name}, bit ${bit}: other rows`);
      } catch (error) {
        failed(seed, `${body.name}, bit ${bit}: ${error instanceof Error ? error.stack : String(error)}`);
      }
    }
  }
};
