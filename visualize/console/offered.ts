import type { BranchInfo } from '../../src/client/client.ts';

/** Browsers lay out all options of a list: with 50,000 of them that took seconds each time. */
const offeredMax = 500;

/** The branches that a list offers: of very many the first ones, and the one that is chosen; `rest`: how many it does not. */
export const offeredOf = <B extends Pick<BranchInfo, 'name'>>(
  all: readonly B[],
  chosen: string | undefined,
): { readonly offered: readonly B[]; readonly rest: number } => {
  if (all.length <= offeredMax) return { offered: all, rest: 0 };
  const first = all.slice(0, offeredMax);
  const own = first.some(({ name }) => name === chosen) ? undefined : all.find(({ name }) => name === chosen);
  const offered = own ? [own, ...first] : first;
  return { offered, rest: all.length - offered.length };
};

/** Names of branches or tags by the commit that they are at; many may be at one. */
export const namesAt = (
  all: readonly { readonly name: string; readonly commit: string }[],
): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, string[]>();
  for (const { name, commit } of all) {
    const known = names.get(commit);
    if (known) known.push(name);
    else names.set(commit, [name]);
  }
  return names;
};
