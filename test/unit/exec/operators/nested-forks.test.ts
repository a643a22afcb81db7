/**
 * Forks whose branches fork again and come together: each waits for its siblings, and for those further up. A branch
 * that wants no rows holds up nobody.
 */
import { expect, test } from 'vitest';
import { runQuery } from '../../../support/queries/case.ts';

const input = Array.from({ length: 60 }, (_, i) => String(i)).join('\n');

test.each([
  ['merge', 'fork (sort this | fork (where this>1) (pass) | merge this) (pass) | count()', 178],
  ['a join', 'fork (sort this | fork (tail 1) (pass) | join on left=right) (pass) | count()', 61],
  [
    'merge inside merge',
    'fork (sort this | fork (head 1) (sort this | fork (pass) (pass) | merge this) | merge this) (pass) | count()',
    181,
  ],
  [
    'branches that are put together as they come',
    'fork (fork (pass) (sort this) | sort this) (pass) (head 1) | count()',
    181,
  ],
  ['head 0', 'fork (head 0) (pass) | count()', 60],
  ['a sort of which nothing is wanted', 'fork (sort this | tail 0) (sort this | head 0) (pass) | count()', 60],
  ['a case of a switch that wants nothing', 'switch case this>3 (tail 0) default (pass) | count()', 4],
])('%s in a branch ends', { timeout: 10_000 }, async (_, query, count) => {
  expect(await runQuery(query, input, { batchRows: 1 })).toBe(`${count}\n`);
});
