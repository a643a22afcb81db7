/** What `lake replay` runs with. */
import { optionsText } from './help.ts';
import { indexBaseOf } from './limits.ts';
import { ConfigError, type HelpRequest, type OptionValue, parseOptions } from './options.ts';
import { replayOptions } from './tables.ts';

/** What is replayed. `lakeDirectory`: empty for a replay against the machines alone. */
export interface ReplayConfig {
  readonly files: readonly string[];
  readonly lakeDirectory: string;
  readonly memoryBytesMax: number;
  readonly indexBase: 0 | 1 | undefined;
}
/** The configuration of `lake replay`. @throws ConfigError */
export const parseReplay = (argv: readonly string[]): ReplayConfig | HelpRequest => {
  const files: string[] = [];
  const values: Record<string, OptionValue> = { ...parseOptions(replayOptions, []).values };
  // Options may stand before the files and behind them.
  for (let rest = argv; ; ) {
    const parsed = parseOptions(replayOptions, rest);
    if (parsed.help) return { help: optionsText('replay', replayOptions) };
    for (const name of parsed.given) values[name] = parsed.values[name];
    if (parsed.rest.length === 0) break;
    files.push(parsed.rest[0]);
    rest = parsed.rest.slice(1);
  }
  if (files.length === 0) throw new ConfigError('lake replay needs a recording or a scenario');
  const lakeDirectory = values['lake'] as string;
  if (files.length > 1 && lakeDirectory !== '')
    throw new ConfigError('lake replay -lake takes one file: each needs a fresh lake');
  return Object.freeze({
    files: Object.freeze(files),
    lakeDirectory,
    memoryBytesMax: values['memory'] as number,
    indexBase: indexBaseOf(values),
  });
};
