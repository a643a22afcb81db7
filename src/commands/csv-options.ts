/** The `-csv.*` options of commands that read files themselves. */
import { csvParameters } from '../config/csv.ts';
import { ConfigError, type ParsedOptions } from '../config/options.ts';
import { dialectOf } from '../formats/csv/dialect.ts';
import type { ReadOptions } from '../formats/format.types.ts';

/** What the options say of CSV. @throws ConfigError */
export const csvFormOf = (values: ParsedOptions['values']): Pick<ReadOptions, 'csvDelimiter' | 'csv'> => {
  const given: Record<string, string> = {};
  for (const { name, pattern, text } of csvParameters) {
    const value = values[name] as string;
    if (value === '') continue;
    if (!new RegExp(pattern, 'u').test(value))
      throw new ConfigError(`bad value for -${name}: ${JSON.stringify(value)} (${text})`);
    given[name] = value;
  }
  const csvDelimiter = values['csv.delim'] as string;
  const csv = dialectOf(given);
  return { ...(csvDelimiter !== '' && { csvDelimiter }), ...(csv && { csv }) };
};
