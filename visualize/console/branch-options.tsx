import type { BranchInfo } from '../../src/client/client.ts';
import { offeredOf } from './offered.ts';
import { visibleName } from './text.ts';

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
