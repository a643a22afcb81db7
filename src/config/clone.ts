/** What `lake clone` runs with. */
import { optionsText } from './help.ts';
import { ConfigError, type Environment, type HelpRequest, parseOptions } from './options.ts';
import { isStore, storeAddress, type StoreAddress } from './store.ts';
import { cloneOptions } from './tables.ts';

/** A lake, in a folder or a bucket. */
export type LakePlace = { readonly folder: string } | { readonly store: StoreAddress };
interface CloneConfig {
  readonly from: LakePlace;
  readonly to: LakePlace;
}
/** The configuration of `lake clone`. @throws ConfigError */
export const parseClone = (argv: readonly string[], environment: Environment = {}): CloneConfig | HelpRequest => {
  const { values, rest, help } = parseOptions(cloneOptions, argv, environment);
  if (help) return { help: optionsText('clone', cloneOptions) };
  const [from, to, ...more] = rest;
  if (from === undefined || to === undefined || more.length > 0)
    throw new ConfigError('lake clone FROM TO: each a folder or s3://BUCKET/PREFIX');
  const place = (text: string): LakePlace =>
    isStore(text) ? { store: storeAddress(text, values, environment) } : { folder: text };
  return Object.freeze({ from: place(from), to: place(to) });
};
