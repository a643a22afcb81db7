/** The `-csv.*` options of commands that read files themselves. */
import { csvParameters, wrongCsvParameter } from '../config/csv.ts';
import { ConfigError, type ParsedOptions } from '../config/options.ts';
import { dialectOf } from '../formats/csv/dialect.ts';
import type { ReadOptions } from '../formats/format.types.ts';

/** What the options say of CSV. @throws ConfigError */
export const csvFormOf = (values: ParsedOptions['values']): Pick<ReadOptions, 'csvDelimiter' | 'csv'> => {
  const given = Object.fromEntries(
    csvParameters.flatMap(({ name }) => (values[name] === '' ? [] : [[name, values[name] as string]])),
  );
  const wrong = wrongCsvParameter(given);
  if (wrong) throw new ConfigError(`bad value for -${wrong.name}: ${JSON.stringify(wrong.value)} (${wrong.wanted})`);
  const csvDelimiter = values['csv.delim'] as string;
  const csv = dialectOf(given);
  return { ...(csvDelimiter !== '' && { csvDelimiter }), ...(csv && { csv }) };
};
