/** What `lake replay` runs with. */
import { optionsText } from './help.ts';
import { indexBaseOf } from './limits.ts';
import { ConfigError, type HelpRequest, parseOptions } from './options.ts';
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
  let { values } = parseOptions(replayOptions, []);
  // Options may stand before the files and behind them.
  for (let rest = argv; ; ) {
    const parsed = parseOptions(replayOptions, rest);
    if (parsed.help) return { help: optionsText('replay', replayOptions) };
    const given = Object.entries(parsed.values).filter(([name]) => parsed.given.has(name));
    values = { ...values, ...Object.fromEntries(given) };
    if (parsed.rest.length === 0) break;
    files.push(parsed.rest[0]);
    rest = parsed.rest.slice(1);
  }
  if (files.length === 0) throw new ConfigError('lake replay needs a recording or a scenario');
  const lakeDirectory = values['lake'];
  if (files.length > 1 && lakeDirectory !== '')
    throw new ConfigError('lake replay -lake takes one file: each needs a fresh lake');
  return Object.freeze({
    files: Object.freeze(files),
    lakeDirectory,
    memoryBytesMax: values['memory'],
    indexBase: indexBaseOf(values),
  });
};
