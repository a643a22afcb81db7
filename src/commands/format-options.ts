/** Formats that options name, and how inputs are written, as options of commands that read files themselves say it. */
import { LakeError } from '../errors.ts';
import { csvParameters, wrongCsvParameter } from '../config/csv.ts';
import { isUtf8Rule } from '../config/utf8.ts';
import { ConfigError } from '../config/options.ts';
import type { InputValues } from '../config/tables.ts';
import { type FormatName, isFormatName } from '../format-names.ts';
import { dialectOf } from '../formats/csv/dialect.ts';
import type { ReadOptions } from '../formats/format.types.ts';

/** What differs from plain CSV, and what becomes of bytes that are no UTF-8. */
export type InputForm = Pick<ReadOptions, 'csvDelimiter' | 'csv' | 'utf8'>;

/** @throws ConfigError */
export const inputFormOf = (values: InputValues): InputForm => {
  const given = Object.fromEntries(
    csvParameters.flatMap(({ name }) => (values[name] === '' ? [] : [[name, values[name]]])),
  );
  const wrong = wrongCsvParameter(given);
  if (wrong) throw new ConfigError(`bad value for -${wrong.name}: ${JSON.stringify(wrong.value)} (${wrong.wanted})`);
  const utf8 = values['utf8'];
  if (utf8 !== '' && !isUtf8Rule(utf8))
    throw new ConfigError(`bad value for -utf8: ${JSON.stringify(utf8)} (keep or refuse)`);
  const csvDelimiter = values['csv.delim'];
  const csv = dialectOf(given);
  return { ...(csvDelimiter !== '' && { csvDelimiter }), ...(csv && { csv }), ...(utf8 === 'refuse' && { utf8 }) };
};

/** The format of an option's value. @throws ConfigError */
export const formatNamed = (format: string): FormatName => {
  if (!isFormatName(format)) throw new ConfigError(new LakeError('format-unknown', { format }).message);
  return format;
};
/** The same of an input, where `auto` leaves it open: undefined. @throws ConfigError */
export const inputFormatNamed = (format: string): FormatName | undefined =>
  format === 'auto' ? undefined : formatNamed(format);
