/** What readers of inputs may hold, in bytes, whatever the input looks like. */
import { describe, expect, test } from 'vitest';
import { createWriter, openReader } from '../../../src/formats/formats.ts';
import { ReadMemory } from '../../../src/formats/read-memory.ts';
import { LoadBudget } from '../../../src/workers/load-task.ts';
import { parseSupValues } from '../../../src/vectors/sup-parse.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { piecesOf } from '../../support/bodies.ts';

describe('a frame of BSUP that is longer than its reader may hold', () => {
  const writer = createWriter('bsup', { bsupCompress: false });
  const body = Buffer.concat([...writer.write(vectorOf(parseSupValues(`{a:"${'x'.repeat(1 << 20)}"}`))), ...writer.end()]);
  const read = async (memory: ReadMemory): Promise<number> => {
    let rows = 0;
    for await (const batch of await openReader('bsup', piecesOf(body, 10_000), { memory })) rows += batch.length;
    return rows;
  };
  test('ends with an error that names the limit', async () => {
    const memory = new ReadMemory(() => 1 << 19);
    await expect(read(memory)).rejects.toMatchObject({ code: 'format-memory', parameters: { format: 'bsup', what: 'frame', limit: 1 << 19 } });
    expect(memory.bytes).toBe(0);
  });
  test('is read with enough, and the memory is given back', async () => {
    const memory = new ReadMemory(() => 1 << 22);
    expect([await read(memory), memory.bytes]).toEqual([1, 0]);
  });
});

test('what the reader of a load holds is taken off what the load may sort in memory, but for a rest', () => {
  const share = new LoadBudget(64 << 20).begin();
  share.memory.hold(24 << 20, { format: 'x', what: 'y' });
  expect(share.sortBytesMax()).toBe(40 << 20);
  share.memory.hold(40 << 20, { format: 'x', what: 'y' });
  expect(share.sortBytesMax()).toBe(4 << 20);
  expect(() => { share.memory.hold(1, { format: 'x', what: 'y' }); }).toThrow('x: y needs more than 67108864 bytes of memory (option -memory)');
});
