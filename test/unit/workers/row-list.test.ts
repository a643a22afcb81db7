/** Rows that a merge takes out: when they are few enough to be looked up in a table. */
import { expect, test } from 'vitest';
import { Memory } from '../../../src/exec/operators/build.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { RowList } from '../../../src/workers/merge/row-store.ts';

test('a list whose table would not fit into memory is not few, though its rows do', async () => {
  const rows = vectorOf(parseSupValues(Array.from({ length: 1000 }, (_, i) => `{id:${i},name:"n${i}"}`).join('\n')));
  const spill = {
    open: () => {
      throw new Error('nothing is spilled');
    },
    bytes: () => {
      throw new Error('nothing is spilled');
    },
  };
  const few = async (bytes: number): Promise<boolean> => {
    const list = new RowList({ memory: new Memory(bytes), spill, signal: new AbortController().signal });
    await list.add(rows);
    const { isFew } = list;
    list.close();
    return isFew;
  };
  expect([await few(1 << 20), await few(100_000)]).toEqual([true, false]);
});
