import type { BranchInfo } from '../../src/client/client.ts';
import { visibleName } from './text.ts';

/** Browsers lay out all options of a list: with 50,000 of them a page stood still for 16 s at a time. */
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

/** The options of a list of branches. `max`: characters of a name that are shown. */
export const BranchOptions = ({
  all,
  chosen,
  max,
}: {
  readonly all: readonly BranchInfo[];
  readonly chosen: string | undefined;
  readonly max: number;
}) => {
  const { offered, rest } = offeredOf(all, chosen);
  return (
    <>
      {offered.map(({ name }) => (
        <option key={name} value={name}>
          {visibleName(name, max)}
        </option>
      ))}
      {rest > 0 && (
        <option disabled>{`… and ${rest.toLocaleString('en')} more: name one in the page's address`}</option>
      )}
    </>
  );
};
