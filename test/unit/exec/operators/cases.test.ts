/**
 * The cases of test/cases/operators and test/cases/aggregates through compiler and engine: as they are, in batches of
 * one and two rows, with vectors forced into other forms, and with so little memory that everything that can spill
 * does. The examples of the aggregate table are cases too.
 */
import { describe, expect, test } from 'vitest';
import { aggregateTable } from '../../../../src/exec/aggregates/aggregates.ts';
import { type QueryCase, caseFilesOf, variants } from '../../../support/queries/case-files.ts';
import { inAll, runQuery, runVariants } from '../../../support/queries/case.ts';

const ordered = (c: QueryCase, text: string): string => (c.unordered ? text.split('\n').sort().join('\n') : text);

for (const name of ['operators', 'aggregates']) {
  describe(name, () => {
    for (const { subject, cases } of caseFilesOf(name)) {
      describe(subject, () => {
        for (const c of cases) {
          test(c.title, async () => {
            const answers = await runVariants(c.query, c.input, variants);
            expect(Object.fromEntries(Object.entries(answers).map(([name, text]) => [name, ordered(c, text)]))).toEqual(
              inAll(variants, ordered(c, c.output)),
            );
          });
        }
      });
    }
  });
}
const spilling = caseFilesOf('operators')
  .filter((f) => ['sort', 'fuse', 'aggregate'].includes(f.subject))
  .flatMap((f) =>
    f.cases
      .filter((c) => f.subject !== 'aggregate' || c.query.includes('by '))
      .map((c) => ({ ...c, unordered: f.subject === 'aggregate' })),
  );
test.each(spilling)('spilled: $query', async (c) => {
  expect(ordered(c, await runQuery(c.query, c.input, { spill: true, memoryBytesMax: 1, batchRows: 2 }))).toBe(
    ordered(c, c.output),
  );
});

test('every aggregate has cases', () => {
  const files = caseFilesOf('aggregates').map((f) => f.subject);
  expect(aggregateTable.map((a) => a.signature.name).filter((name) => !files.includes(name))).toEqual([]);
});
describe('examples of the aggregate table', () => {
  for (const row of aggregateTable) {
    test.each(row.examples)(`${row.signature.name}: $query`, async ({ query, input, output }) => {
      expect(await runQuery(query, input)).toBe(`${output}\n`);
    });
  }
});
