/**
 * Damaged bytes: good inputs with bits flipped, pieces cut, doubled, swapped, and lengths made huge. The same seed
 * gives the same damage.
 */
import { expect } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LakeError } from '../../../src/errors.ts';
import { type FormatName, type ReadOptions, createWriter, openReader } from '../../../src/formats/formats.ts';
import { sizeOf } from '../../../src/vectors/sizes.ts';
import { slice } from '../../../src/vectors/vector.ts';
import { type Random, randomOf } from '../random.ts';
import { pieces } from './convert.ts';

const samplesFolder = fileURLToPath(new URL('../../cases/formats/samples/', import.meta.url));
/** How many damaged inputs a test reads, and the time it may take. FUZZ_RUNS=100000 for the large run. */
export const fuzzRuns = Number(process.env['FUZZ_RUNS'] ?? 2_000),
  fuzzMsMax = Math.max(60_000, fuzzRuns * 10);

const telling = [0x00, 0x01, 0x7f, 0x80, 0x81, 0xff, 0xfe, 0x1e, 0x40];

/** One input out of the good ones, with one change mostly, up to six. */
const mutated = (good: readonly Uint8Array[], random: Random): Uint8Array => {
  // A copy: `slice` of a Buffer is a view.
  let bytes: Uint8Array = new Uint8Array(random.pick(good));
  for (let left = 1 + random.below(1 + random.below(6)); left > 0 && bytes.length > 0; left--)
    bytes = change(bytes, random);
  return bytes;
};

const change = (bytes: Uint8Array, random: Random): Uint8Array => {
  const at = random.below(bytes.length);
  const length = 1 + random.below(Math.min(16, bytes.length - at));
  switch (random.below(10)) {
    case 0:
      bytes[at]! ^= 1 << random.below(8);
      return bytes;
    case 1:
      bytes[at] = random.pick(telling);
      return bytes;
    case 2:
      bytes[at] = random.below(256);
      return bytes;
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 5:
      return Buffer.concat([
        bytes.subarray(0, at + length),
        bytes.subarray(at, at + length),
        bytes.subarray(at + length),
      ]);
    case 6:
      for (let i = at; i < at + length; i++) bytes[i] = random.pick([0xff, 0x80, 0]);
      return bytes;
    default:
      bytes[at] = bytes[at]! + (random.below(2) === 0 ? 1 : -1);
      return bytes;
  }
};

interface FuzzOptions {
  readonly format: FormatName;
  readonly good: readonly Uint8Array[];
  readonly runs: number;
  readonly seed: number;
  readonly read?: ReadOptions;
  readonly damage?: typeof mutated;
}
interface FuzzReport {
  readonly failed: number;
  readonly read: number;
  readonly slowestMs: number;
  readonly largestBytes: number;
}

/**
 * Reads damaged inputs and writes what they hold. Whatever is thrown but a LakeError goes on, with the seed and the run
 * that bring it back.
 */
export const fuzz = async ({
  format,
  good,
  runs,
  seed,
  read = {},
  damage = mutated,
}: FuzzOptions): Promise<FuzzReport> => {
  let failed = 0;
  let done = 0;
  let slowestMs = 0;
  let largestBytes = 0;
  for (let run = 0; run < runs; run++) {
    const random = randomOf(seed * 1_000_003 + run);
    const bytes = damage(good, random);
    const start = performance.now();
    let size = 0;
    let written = 0;
    try {
      let batches = 0;
      for await (const batch of await openReader(format, pieces(bytes, random.pick([3, 64, 1 << 16])), read)) {
        size = Math.max(size, sizeOf(batch));
        // What was read must be whole: every value can be written. A few bytes may claim millions of rows, so not all
        // are looked at.
        const rows = slice(batch, 0, Math.min(batch.length, 200));
        for (const to of ['sup', 'bsup'] as const)
          for (const chunk of createWriter(to).write(rows)) written += chunk.length;
        if (++batches === 50 || written > 10_000_000) break;
      }
      done++;
    } catch (problem) {
      if (!(problem instanceof LakeError))
        throw new Error(`${format}: seed ${seed}, run ${run}: ${Buffer.from(bytes).toString('base64')}`, {
          cause: problem,
        });
      failed++;
    }
    slowestMs = Math.max(slowestMs, performance.now() - start);
    largestBytes = Math.max(largestBytes, size);
  }
  return { failed, read: done, slowestMs, largestBytes };
};

/** A format's samples but the big one: damage is to hit what tells, not one row of many. */
export const smallSamples = (format: FormatName): Buffer[] =>
  readdirSync(samplesFolder)
    .filter((name) => name.endsWith(`.${format}`) && !name.startsWith('big'))
    .map((name) => readFileSync(samplesFolder + name));

/**
 * Every run ended, more than `failedShare` of them in an error, none late or with much memory. A large run prints its
 * figures.
 */
export const expectBounded = (
  report: FuzzReport,
  { failedShare, msMax }: { readonly failedShare: number; readonly msMax: number },
): void => {
  if (process.env['FUZZ_RUNS']) console.log(report);
  expect(report.failed + report.read).toBe(fuzzRuns);
  expect(report.failed).toBeGreaterThan(fuzzRuns * failedShare);
  expect(report.slowestMs).toBeLessThan(msMax);
  expect(report.largestBytes).toBeLessThan(100 << 20);
};
