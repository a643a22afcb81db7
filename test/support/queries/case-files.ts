/**
 * The case files of test/cases that go through compiler and engine: their cases, and the variants in which each one has
 * to give the same.
 */
import assert from 'node:assert';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { RunPlanOptions } from './run-plan.ts';

/** `unordered`: the rows of the answer come in no order. */
export interface QueryCase {
  readonly title: string;
  readonly query: string;
  readonly input: string;
  readonly output: string;
  readonly unordered?: boolean;
}
interface CaseFile {
  readonly file: string;
  readonly subject: string;
  readonly cases: readonly QueryCase[];
}

export const casesFolder = fileURLToPath(new URL('../../cases/', import.meta.url));
/** The files of a folder of test/cases, by name. Every case has an input: where none is needed, `null`. */
export const caseFilesOf = (folder: string): CaseFile[] =>
  readdirSync(casesFolder + folder)
    .sort()
    .map((file) => {
      const { subject, cases } = parse(readFileSync(`${casesFolder}${folder}/${file}`, 'utf8')) as Omit<
        CaseFile,
        'file'
      >;
      for (const c of cases) assert(typeof c.input === 'string', `${folder}/${file}: ${c.title}: no input`);
      return { file, subject, cases };
    });

/** Batches of few rows, and vectors forced into other forms. */
export const variants: Readonly<Record<string, RunPlanOptions>> = {
  'as it is': {},
  'batches of one': { batchRows: 1 },
  'batches of two': { batchRows: 2 },
  'constant vectors': { forceForm: 'constant' },
  dictionaries: { forceForm: 'dictionary' },
  selections: { forceForm: 'selected' },
  'mixed vectors': { forceForm: 'dynamic' },
};
