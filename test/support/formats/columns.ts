/**
 * What the tests of Arrow and Parquet have in common: one trip of text, random records and damaged bytes through the
 * format.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { Value } from '../../../src/vectors/value.ts';
import { someRecords } from './column-values.ts';
import { convert, printed, readValues, written } from './convert.ts';
import { expectBounded, fuzz, fuzzRuns, smallSamples } from './mutations.ts';
import { seedOf } from '../random.ts';
import { someValues } from './values.ts';

type ColumnFormat = 'arrows' | 'parquet';

/** SUP through the format and back; an error's text stands behind what came before it. */
export const trip = async (text: string, format: ColumnFormat): Promise<string> => {
  const { output, error } = await convert(written(parseSupValues(text), format), { from: format });
  return output + error;
};

/** Random records of one type come back the same from the second trip on, or are `refused`. */
export const expectSettled = async ({
  format,
  seed,
  refused,
}: {
  readonly format: ColumnFormat;
  readonly seed: number;
  readonly refused: RegExp;
}): Promise<void> => {
  await fc.assert(
    fc.asyncProperty(someValues({ maxLength: 4 }), async (values) => {
      const records = values.filter(
        (v) => v.type.kind === 'record' && v.type === values.find((w) => w.type.kind === 'record')!.type,
      );
      if (records.length === 0) return;
      let first: Value[];
      try {
        first = await readValues(written(records, format), format);
      } catch (problem) {
        expect(String(problem)).toMatch(refused);
        return;
      }
      expect(first.length).toBe(records.length);
      expect(printed(await readValues(written(first, format), format))).toEqual(printed(first));
    }),
    { numRuns: 700, seed },
  );
};

/** Damaged samples and damaged random records end in values or an error. */
export const expectDamageEnds = async (format: ColumnFormat, number: number): Promise<void> => {
  const seed = seedOf(number);
  const random = fc
    .sample(someRecords({ parquet: format === 'parquet', maxLength: 40 }), { numRuns: 60, seed })
    .map((values) => written(values, format));
  const report = await fuzz({ format, good: [...smallSamples(format), ...random], runs: fuzzRuns, seed });
  expectBounded(report, { failedShare: 1 / 4, msMax: 5_000 });
};
