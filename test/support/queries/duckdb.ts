/**
 * DuckDB as an oracle for SQL: statements over tables that are given as rows, all run in one Python process.
 *
 * Values come back as JSON can hold them: integers beyond 2^53 as decimal text, times as `2024-01-01T00:00:00Z` text,
 * intervals as `{seconds}`, blobs as hex, NaN and infinities as their names. Duplicate column names are kept apart by
 * position: rows are arrays.
 */
import { lacksPython, python } from '../python.ts';

/**
 * A table of DuckDB: its columns with their DuckDB types, in order, and rows by column name; a field that is absent is
 * null.
 */
export interface DuckTable {
  readonly name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export type DuckValue =
  | null
  | boolean
  | number
  | string
  | readonly DuckValue[]
  | { readonly [field: string]: DuckValue };

/** What one statement gave: its rows, or the text of its error. */
export type DuckResult =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly DuckValue[])[] }
  | { readonly error: string };

/** Whether tests against DuckDB are to be left out (never with NO_SKIPS). */
export const lacksDuckdb = (): boolean => lacksPython('duckdb');

/** Statements over tables of their own. */
export interface DuckJob {
  readonly tables: readonly DuckTable[];
  readonly statements: readonly string[];
}

/**
 * Runs the statements one after the other over fresh tables; a statement that fails gives its error and the next one
 * runs.
 */
export const duckdb = (tables: readonly DuckTable[], statements: readonly string[]): readonly DuckResult[] =>
  duckdbJobs([{ tables, statements }])[0]!;

/** The same for many jobs in one process; a statement that takes a minute gives an error. */
export const duckdbJobs = (jobs: readonly DuckJob[]): readonly (readonly DuckResult[])[] => {
  const files: Record<string, Uint8Array> = {};
  const written = jobs.map(({ tables, statements }, job) => ({
    statements,
    tables: tables.map((t, i) => {
      const file = `${job}-${i}.ndjson`;
      files[file] = Buffer.from(t.rows.map((row) => JSON.stringify(row) + '\n').join(''));
      return { name: t.name, columns: t.columns, file };
    }),
  }));
  files['jobs.json'] = Buffer.from(JSON.stringify(written));
  const run = python(SCRIPT, files);
  try {
    return JSON.parse(run.file('results.json').toString('utf8')) as readonly (readonly DuckResult[])[];
  } finally {
    run.close();
  }
};

const SCRIPT = `
import datetime, decimal, json, math, os, threading, uuid
import duckdb

def plain(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else 'NaN' if math.isnan(value) else 'Inf' if value > 0 else '-Inf'
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat() + 'Z'
    if isinstance(value, datetime.date):
        return value.isoformat() + 'T00:00:00Z'
    if isinstance(value, datetime.timedelta):
        return {'seconds': value.total_seconds()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)

def answers(job):
    connection = duckdb.connect()
    connection.execute('set threads = 1')
    for table in job['tables']:
        columns = ', '.join('"%s" %s' % column for column in table['columns'].items())
        connection.execute('create table "%s" (%s)' % (table['name'], columns))
        if os.path.getsize(table['file']) > 0:
            kinds = ', '.join("'%s': '%s'" % column for column in table['columns'].items())
            connection.execute('''insert into "%s" select * from read_json('%s', format = 'newline_delimited', columns = {%s})''' % (table['name'], table['file'], kinds))
    results = []
    for statement in job['statements']:
        watch = threading.Timer(60, connection.interrupt)
        watch.daemon = True
        watch.start()
        try:
            cursor = connection.execute(statement)
            columns = [column[0] for column in cursor.description]
            results.append({'columns': columns, 'rows': [[plain(v) for v in row] for row in cursor.fetchall()]})
        except Exception as error:
            results.append({'error': str(error)})
        finally:
            watch.cancel()
    connection.close()
    return results

with open('jobs.json') as file:
    jobs = json.load(file)
with open('results.json', 'w') as file:
    json.dump([answers(job) for job in jobs], file)
`;
