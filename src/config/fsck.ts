/** What `lake fsck` runs with. */
import { optionsText } from './help.ts';
import { type Environment, type HelpRequest, noMore, parseOptions } from './options.ts';
import { fsckOptions } from './tables.ts';

/** Which lake is looked over, and whether it is mended. */
interface FsckConfig {
  readonly lakeDirectory: string;
  readonly repair: boolean;
}
/** The configuration of `lake fsck`. @throws ConfigError */
export const parseFsck = (argv: readonly string[], environment: Environment = {}): FsckConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(fsckOptions, argv, environment);
  if (help) return { help: optionsText('fsck', fsckOptions) };
  noMore('fsck', rest);
  return Object.freeze({ lakeDirectory: values['lake'] as string, repair: values['repair'] as boolean });
};
