/**
 * The cases of test/cases/functions and test/cases/expressions through compiler and engine: as they are, in batches of
 * one and two rows, and with vectors forced into other forms. The examples of the function table are cases too.
 */
import { describe, expect, test } from 'vitest';
import { functionTable } from '../../../../src/exec/functions/functions.ts';
import { caseFilesOf, variants } from '../../../support/queries/case-files.ts';
import { inAll, runQuery, runVariants } from '../../../support/queries/case.ts';

for (const name of ['functions', 'expressions']) {
  const files = caseFilesOf(name);
  describe(name, () => {
    for (const { subject, cases } of files) {
      describe(subject, () => {
        for (const c of cases) {
          test(c.title, async () => {
            expect(await runVariants(c.query, c.input, variants)).toEqual(inAll(variants, c.output));
          });
        }
        test.each(cases.map((c) => c.query))('no rows give no rows: %s', async (query) => {
          expect(await runQuery(query, '')).toBe('');
        });
      });
    }
    if (name === 'functions') {
      test('every function has cases', () => {
        expect(functionTable.map((f) => f.name).filter((f) => !files.some((file) => file.subject === f))).toEqual([]);
      });
    }
  });
}

describe('examples of the function table', () => {
  for (const row of functionTable) {
    test.each(row.examples.map((e) => ({ ...e, title: `${e.query}${e.input ? ` on ${e.input}` : ''}` })))(
      `${row.name}: $title`,
      async ({ query, input, output }) => {
        // A call that answers a bool is a filter when it stands alone.
        expect(await runQuery(/^(values|select) /.test(query) ? query : `values ${query}`, input)).toBe(`${output}\n`);
      },
    );
  }
});
