/** What `lake fsck` runs with. */
import { optionsText } from './help.ts';
import { ConfigError, type Environment, type HelpRequest, noMore, parseOptions } from './options.ts';
import { storeAddress, type StoreAddress } from './store.ts';
import { fsckOptions } from './tables.ts';

/** Which lake is looked over, and whether it is mended. */
interface FsckConfig {
  readonly lakeDirectory: string;
  readonly repair: boolean;
  /** The lake in this bucket is looked over. */
  readonly store?: StoreAddress;
}
/** The configuration of `lake fsck`. @throws ConfigError */
export const parseFsck = (argv: readonly string[], environment: Environment = {}): FsckConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(fsckOptions, argv, environment);
  if (help) return { help: optionsText('fsck', fsckOptions) };
  noMore('fsck', rest);
  const store = values['store'];
  const repair = values['repair'];
  if (store !== '' && repair) throw new ConfigError('-repair is for folders: a bucket is only checked');
  return Object.freeze({
    lakeDirectory: values['lake'],
    repair,
    ...(store !== '' && { store: storeAddress(store, values, environment) }),
  });
};
