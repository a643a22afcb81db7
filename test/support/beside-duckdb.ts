/** Answers of SELECT that differ from DuckDB's, each with an example (test/cases/beside-duckdb.yaml). */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { casesFolder } from './queries/case-files.ts';

interface BesideDuckdb {
  readonly what: string;
  readonly why: string;
  readonly query: string;
  /** Rows as SUP. */
  readonly ours: string;
  /** Rows as JSON, each an array of its columns. */
  readonly duckdb: string;
}

const file = parse(readFileSync(`${casesFolder}beside-duckdb.yaml`, 'utf8')) as {
  readonly rows: readonly BesideDuckdb[];
};
export const besideDuckdb = file.rows;
