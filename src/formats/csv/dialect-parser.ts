/** How csv-parse is told of a dialect, and what it says of faults. */
import type { CsvError, Options } from 'csv-parse';
import type { CsvDialect } from './dialect.ts';

/** A dialect, and what its columns stand between. */
export interface Dialect {
  readonly format: 'csv' | 'tsv';
  readonly delimiter: string;
  readonly dialect: CsvDialect;
  /** What ends lines, or is the last byte of that. */
  readonly lineEnd: '\n' | '\r';
}

/** What csv-parse is told of the dialect. */
export const parserOptions = ({ delimiter, dialect: { quote = '"', escape, comment }, lineEnd }: Dialect) =>
  ({
    bom: true,
    delimiter,
    quote: quote === '' ? false : quote,
    escape: escape ?? (quote === '' ? null : quote),
    ...(comment !== undefined && { comment, comment_no_infix: true }),
    ltrim: delimiter !== '\t',
    record_delimiter: lineEnd === '\r' ? '\r' : [],
    relax_column_count: true,
    skip_empty_lines: true,
    info: true,
  }) satisfies Options;

/** The parser's faults in our words. */
export const faultOf = ({ code, message }: CsvError): string => {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'quote not closed';
  if (code === 'CSV_MAX_RECORD_SIZE') return 'record is too long';
  if (code === 'CSV_INVALID_CLOSING_QUOTE' || code === 'INVALID_OPENING_QUOTE')
    return 'a quote within a cell: put the cell in quotes, and write each quote within it twice, or set csv.quote or csv.escape';
  return message;
};
