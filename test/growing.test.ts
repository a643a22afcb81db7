/** Some queries whose values grow, against the built service; `npm run campaign -- growing` is the large run. */
import { expect, test } from 'vitest';
import { growQueries } from './campaign/growing.ts';
import { seedOf } from './support/random.ts';

const count = Number(process.env['GROWING_COUNT'] ?? 8);

test(`${count} growing queries end in answers or in errors that name the limit, within -memory and 256 MB`, {
  timeout: 600_000,
}, async () => {
  const seed = seedOf(1);
  const faults: string[] = [];
  let refused = 0;
  await growQueries(
    seed,
    count,
    ({ query, status, fault }) => {
      if (fault) faults.push(`${fault}: ${query}`);
      if (status.startsWith('413')) refused++;
    },
    64,
  );
  expect({ seed, faults, refuses: refused > 0 }).toEqual({ seed, faults: [], refuses: true });
});
