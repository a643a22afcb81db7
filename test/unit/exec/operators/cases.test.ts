/**
 * The cases of test/cases/operators and test/cases/aggregates through compiler and engine: as they are, in batches of one and two rows, with vectors forced
 * into other forms, and with so little memory that everything that can spill does. The examples of the aggregate table are cases too.
 */
import { describe, expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { aggregateTable } from '../../../../src/exec/aggregates/aggregates.ts';
import { runQuery } from '../../../support/query-case.ts';
import type { RunPlanOptions } from '../../../support/run-plan.ts';

interface Case { readonly title: string; readonly query: string; readonly input: string; readonly output: string; readonly unordered?: boolean }
interface CaseFile { readonly subject: string; readonly cases: readonly Case[] }

const folder = fileURLToPath(new URL('../../../cases/', import.meta.url));
const filesOf = (name: string): CaseFile[] =>
  readdirSync(join(folder, name)).sort().map((file) => parse(readFileSync(join(folder, name, file), 'utf8')) as CaseFile);

const variants: Readonly<Record<string, RunPlanOptions>> = {
  'as it is': {}, 'batches of one': { batchRows: 1 }, 'batches of two': { batchRows: 2 },
  'constant vectors': { forceForm: 'constant' }, 'dictionaries': { forceForm: 'dictionary' }, 'selections': { forceForm: 'selected' },
  'mixed vectors': { forceForm: 'dynamic' },
};
const ordered = (c: Case, text: string): string => (c.unordered ? text.split('\n').sort().join('\n') : text);

for (const name of ['operators', 'aggregates']) {
  describe(name, () => {
    for (const { subject, cases } of filesOf(name)) {
      describe(subject, () => {
        for (const c of cases) {
          test.each(Object.keys(variants))(`${c.title} (%s)`, async (variant) => {
            expect(ordered(c, await runQuery(c.query, c.input, variants[variant]))).toBe(ordered(c, c.output));
          });
        }
      });
    }
  });
}
const spilling = filesOf('operators').filter((f) => ['sort', 'fuse', 'aggregate'].includes(f.subject))
  .flatMap((f) => f.cases.filter((c) => f.subject !== 'aggregate' || c.query.includes('by ')).map((c) => ({ ...c, unordered: f.subject === 'aggregate' })));
test.each(spilling)('spilled: $query', async (c) => {
  expect(ordered(c, await runQuery(c.query, c.input, { spill: true, memoryBytesMax: 1, batchRows: 2 }))).toBe(ordered(c, c.output));
});

test('every aggregate has cases', () => {
  const files = filesOf('aggregates').map((f) => f.subject);
  expect(aggregateTable.map((a) => a.signature.name).filter((name) => !files.includes(name))).toEqual([]);
});
describe('examples of the aggregate table', () => {
  for (const row of aggregateTable) {
    test.each(row.examples)(`${row.signature.name}: $query`, async ({ query, input, output }) => {
      expect(await runQuery(query, input)).toBe(`${output}\n`);
    });
  }
});
