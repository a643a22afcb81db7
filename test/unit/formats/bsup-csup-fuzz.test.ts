/** Damaged BSUP and CSUP: an error or values, never anything else, in bounded time and memory. FUZZ_RUNS=100000 for the large run. */
import { describe, expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { fuzz } from '../../support/mutations.ts';
import { type Random, seedOf } from '../../support/random.ts';
import { written } from '../../support/convert.ts';
import { someValues } from '../../support/values.ts';

const folder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
const runs = Number(process.env['FUZZ_RUNS'] ?? 2_000), seed = seedOf(4);

/** Changes bytes of the data section alone: the descriptors stay good, their columns do not. */
const damagedData = (good: readonly Uint8Array[], random: Random): Uint8Array => {
  const bytes = Buffer.from(random.pick(good)), data = 28 + Number(bytes.readBigUInt64LE(8));
  for (let left = 1 + random.below(4); left > 0 && data < bytes.length; left--) bytes[data + random.below(bytes.length - data)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
  return bytes;
};

for (const format of ['bsup', 'csup'] as const) {
  const samples = readdirSync(folder).filter((name) => name.endsWith(`.${format}`) && !name.startsWith('big')).map((name) => readFileSync(folder + name));
  const random = fc.sample(someValues({ maxLength: 40 }), { numRuns: 60, seed }).map((values) => written(values, format, { bsupCompress: values.length % 2 === 0 }));
  describe(format, () => {
    test(`${runs} damaged inputs end in values or an error`, async () => {
      const report = await fuzz({ format, good: [...samples, ...random], runs, seed });
      if (process.env['FUZZ_RUNS']) console.log(format, report);
      expect(report.failed + report.read).toBe(runs);
      expect(report.failed).toBeGreaterThan(runs / 3);
      expect(report.slowestMs).toBeLessThan(20_000);
      expect(report.largestBytes).toBeLessThan(100 << 20);
    }, Math.max(60_000, runs * 10));
    if (format === 'csup') {
      test(`${runs} objects with damaged data end in values or an error`, async () => {
        const report = await fuzz({ format, good: [...samples, ...random, readFileSync(`${folder}big.csup`)], runs, seed, damage: damagedData });
        if (process.env['FUZZ_RUNS']) console.log(format, report);
        expect(report.failed).toBeGreaterThan(runs / 20);
        expect(report.read).toBeGreaterThan(runs / 20);
        expect(report.slowestMs).toBeLessThan(20_000);
      }, Math.max(60_000, runs * 10));
    }
  });
}
