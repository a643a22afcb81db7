/**
 * How CSV and TSV may differ from the plain dialect: parameters of a load, options of `lake load` and `lake query`.
 * Without any of them a comma or, where the first lines show another one, `;`, a tab or `|` is the delimiter; a first
 * line `sep=;` says it, as spreadsheets write it.
 */

/** `pattern`: what a value must match, as a regular expression of JSON Schema. */
interface CsvParameter {
  readonly name: string;
  readonly value: string;
  readonly pattern: string;
  readonly text: string;
}

/** Types that a column may be said to have. */
export const csvColumnTypes = [
  'string',
  'bool',
  'int64',
  'uint64',
  'float64',
  'time',
  'duration',
  'ip',
  'net',
] as const;
const typed = `[^,\\r\\n]{1,1000}=(${csvColumnTypes.join('|')})`;

/** By what they say. */
export const csvParameters = [
  {
    name: 'csv.quote',
    value: 'CHAR',
    pattern: '^([^\\r\\n]|none)$',
    text: 'character around cells of CSV that hold delimiters or line breaks; none: quotes are text; default "',
  },
  {
    name: 'csv.escape',
    value: 'CHAR',
    pattern: '^[^\\r\\n]$',
    text: 'character before a quote that is text, within quotes; default: the quote itself',
  },
  {
    name: 'csv.comment',
    value: 'TEXT',
    pattern: '^[^\\r\\n]{1,16}$',
    text: 'lines of CSV that begin with it are passed over',
  },
  {
    name: 'csv.skip',
    value: 'LINES',
    pattern: '^[0-9]{1,6}$',
    text: 'lines before the header of CSV that are passed over',
  },
  {
    name: 'csv.header',
    value: 'LINES',
    pattern: '^[0-9]$',
    text: 'lines of the header of CSV, whose cells are joined by blanks; 0: there is none, and columns are c1, c2 and so on; default 1',
  },
  {
    name: 'csv.names',
    value: 'RULE',
    pattern: '^(refuse|number)$',
    text: 'columns of CSV that have the name of an earlier one: refuse them, or number them (a, a_2); default refuse',
  },
  {
    name: 'csv.ragged',
    value: 'RULE',
    pattern: '^(refuse|fill|wrap)$',
    text: 'rows of CSV with fewer or more cells than the header: refuse them, fill them with nulls and with columns named by their place (c4), or wrap their cells into an error value; default refuse',
  },
  {
    name: 'csv.decimal',
    value: 'CHAR',
    pattern: '^[.,]$',
    text: 'decimal sign of numbers in CSV; with a comma, points stand between thousands; default a point',
  },
  {
    name: 'csv.null',
    value: 'WORDS',
    pattern: '^[^,\\r\\n]{1,64}(,[^,\\r\\n]{1,64}){0,99}$',
    text: 'cells of CSV that mean null beside empty ones, with commas between them: NA,-',
  },
  {
    name: 'types',
    value: 'TYPES',
    pattern: `^(none|${typed}(,${typed})*)$`,
    text: `types of the columns of CSV: none (all are texts), or COLUMN=TYPE with commas between them, of ${csvColumnTypes.join(', ')}; other columns are found out: numbers, bools, else texts`,
  },
] as const satisfies readonly CsvParameter[];

/** The name of one of them. */
export type CsvParameterName = (typeof csvParameters)[number]['name'];

const patterns = csvParameters.map(({ name, pattern, text }) => ({ name, pattern: new RegExp(pattern, 'u'), text }));
/** The first parameter whose value is none that it takes, and the text of what it takes. */
export const wrongCsvParameter = (
  given: Readonly<Partial<Record<CsvParameterName, string>>>,
): { readonly name: CsvParameterName; readonly value: string; readonly wanted: string } | undefined => {
  for (const { name, pattern, text } of patterns) {
    const value = given[name];
    if (value !== undefined && !pattern.test(value)) return { name, value, wanted: text };
  }
  return undefined;
};
