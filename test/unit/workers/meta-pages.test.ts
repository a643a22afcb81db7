import { expect, test } from 'vitest';
import type { MetaPage, MetaRow } from '../../../src/lake/lake.types.ts';
import { LakeSession } from '../../../src/workers/lake-session.ts';
import type { LakeServices } from '../../../src/workers/pool.types.ts';

const tip = (i: number): MetaRow => ({ kind: 'tip', name: `b${i}`, commit: '0' });
const source = { pool: '1', meta: 'branches' };
const namesOf = ({ rows }: MetaPage): readonly string[] => rows.map((row) => (row.kind === 'tip' ? row.name : '?'));

test('a list of metadata is that of its first page, whatever changes meanwhile; scans of one source go on alone', async () => {
  let branches = Array.from({ length: 2500 }, (_, i) => tip(i));
  const lake = { metaPage: () => Promise.resolve({ rows: [...branches] }) };
  const session = new LakeSession(lake as unknown as LakeServices, { files: [], http: [] } as never);
  const page = (next?: string): Promise<MetaPage> =>
    session.answer({ kind: 'meta', source, ...(next !== undefined && { next }) }) as Promise<MetaPage>;

  const [first, other] = [await page(), await page()];
  expect(first.rows).toHaveLength(1000);
  branches = branches.slice(10);
  const second = await page(first.next);
  const again = await page(other.next);
  const third = await page(second.next);
  expect([...namesOf(first), ...namesOf(second), ...namesOf(third)]).toEqual(
    Array.from({ length: 2500 }, (_, i) => `b${i}`),
  );
  expect(third.next).toBeUndefined();
  expect(namesOf(again)).toEqual(namesOf(second));
  expect((await page()).rows[0]).toEqual(tip(10));
});
