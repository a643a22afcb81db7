/** Damaged BSUP and CSUP: an error or values, never anything else, in bounded time and memory. */
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expectBounded, fuzz, fuzzMsMax, fuzzRuns, smallSamples } from '../../support/formats/mutations.ts';
import { type Random, seedOf } from '../../support/random.ts';
import { written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
const seed = seedOf(4);

/** Changes bytes of the data section alone: the descriptors stay good, their columns do not. */
const damagedData = (good: readonly Uint8Array[], random: Random): Uint8Array => {
  const bytes = Buffer.from(random.pick(good));
  const data = 28 + Number(bytes.readBigUInt64LE(8));
  for (let left = 1 + random.below(4); left > 0 && data < bytes.length; left--)
    bytes[data + random.below(bytes.length - data)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
  return bytes;
};

for (const format of ['bsup', 'csup'] as const) {
  const samples = smallSamples(format);
  const random = fc
    .sample(someValues({ maxLength: 40 }), { numRuns: 60, seed })
    .map((values) => written(values, format, { bsupCompress: values.length % 2 === 0 }));
  describe(format, () => {
    test(
      `${fuzzRuns} damaged inputs end in values or an error`,
      async () => {
        expectBounded(await fuzz({ format, good: [...samples, ...random], runs: fuzzRuns, seed }), {
          failedShare: 1 / 3,
          msMax: 20_000,
        });
      },
      fuzzMsMax,
    );
    if (format === 'csup') {
      test(
        `${fuzzRuns} objects with damaged data end in values or an error`,
        async () => {
          const report = await fuzz({
            format,
            good: [...samples, ...random, readFileSync(`${folder}big.csup`)],
            runs: fuzzRuns,
            seed,
            damage: damagedData,
          });
          if (process.env['FUZZ_RUNS']) console.log(format, report);
          expect(report.failed).toBeGreaterThan(fuzzRuns / 20);
          expect(report.read).toBeGreaterThan(fuzzRuns / 20);
          expect(report.slowestMs).toBeLessThan(20_000);
        },
        fuzzMsMax,
      );
    }
  });
}
