/**
 * The cases of test/cases/functions and test/cases/expressions through compiler and engine: as they are, in batches of one and two rows, and with vectors
 * forced into other forms. The examples of the function table are cases too.
 */
import { describe, expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { functionTable } from '../../../../src/exec/functions/functions.ts';
import { runQuery } from '../../../support/query-case.ts';
import type { RunPlanOptions } from '../../../support/run-plan.ts';

interface Case { readonly title: string; readonly query: string; readonly input: string; readonly output: string }
interface CaseFile { readonly subject: string; readonly cases: readonly Case[] }

const folder = fileURLToPath(new URL('../../../cases/', import.meta.url));
const filesOf = (name: string): CaseFile[] =>
  readdirSync(join(folder, name)).sort().map((file) => parse(readFileSync(join(folder, name, file), 'utf8')) as CaseFile);

const variants: Readonly<Record<string, RunPlanOptions>> = {
  'as it is': {}, 'batches of one': { batchRows: 1 }, 'batches of two': { batchRows: 2 },
  'constant vectors': { forceForm: 'constant' }, 'dictionaries': { forceForm: 'dictionary' }, 'selections': { forceForm: 'selected' },
  'mixed vectors': { forceForm: 'dynamic' },
};

for (const name of ['functions', 'expressions']) {
  const files = filesOf(name);
  describe(name, () => {
    for (const { subject, cases } of files) {
      describe(subject, () => {
        for (const c of cases) {
          test.each(Object.keys(variants))(`${c.title} (%s)`, async (variant) => {
            expect(await runQuery(c.query, c.input, variants[variant])).toBe(c.output);
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
    test.each(row.examples.map((e) => ({ ...e, title: `${e.query}${e.input ? ` on ${e.input}` : ''}` })))(`${row.name}: $title`, async ({ query, input, output }) => {
      // A call that answers a bool is a filter when it stands alone.
      expect(await runQuery(query.startsWith('values ') ? query : `values ${query}`, input)).toBe(`${output}\n`);
    });
  }
});
