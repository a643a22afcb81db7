/** What the page of a pool shows by its address. */
import { expect, test } from 'vitest';
import type { BranchInfo, TagInfo } from '../../../src/client/client.ts';
import { placeOf } from '../../../visualize/console/pool/place.ts';

const commit = `0x${'ab'.repeat(20)}`;

test('an address that names nothing of the pool says so, and shows main', () => {
  const shown = (asked: string | null): readonly unknown[] => {
    const branches = [
      { name: 'kid', commit },
      { name: 'main', commit },
    ] as BranchInfo[];
    const { branch, isCommit, missing } = placeOf(branches, [{ name: 'v1', commit }] as TagInfo[], asked);
    return [branch?.name, isCommit, missing];
  };
  expect(shown(null)).toEqual(['main', false, undefined]);
  expect(shown('kid')).toEqual(['kid', false, undefined]);
  expect(shown('v1')).toEqual([undefined, true, undefined]);
  expect(shown(commit)).toEqual([undefined, true, undefined]);
  expect(shown('nosuch')).toEqual(['main', false, 'nosuch']);
});
