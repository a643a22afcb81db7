/** What readers of inputs may hold, in bytes, whatever the input looks like. */
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { createWriter, openReader } from '../../../src/formats/formats.ts';
import { ReadMemory } from '../../../src/formats/read-memory.ts';
import { LoadBudget } from '../../../src/workers/load/task.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { piecesOf } from '../../support/formats/bodies.ts';

describe('a frame of BSUP that is longer than its reader may hold', () => {
  const writer = createWriter('bsup', { bsupCompress: false });
  const body = Buffer.concat([
    ...writer.write(vectorOf(parseSupValues(`{a:"${'x'.repeat(1 << 20)}"}`))),
    ...writer.end(),
  ]);
  const read = async (memory: ReadMemory): Promise<number> => {
    let rows = 0;
    for await (const batch of await openReader('bsup', piecesOf(body, 10_000), { memory })) rows += batch.length;
    return rows;
  };
  test('ends with an error that names the limit', async () => {
    const memory = new ReadMemory(() => 1 << 19);
    await expect(read(memory)).rejects.toMatchObject({
      code: 'format-memory',
      parameters: { format: 'bsup', what: 'frame', limit: 1 << 19 },
    });
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
  expect(() => {
    share.memory.hold(1, { format: 'x', what: 'y' });
  }).toThrow('x: y needs more than 67108864 bytes of memory (option -memory)');
});

test('rows of Parquet that wait do not hold the pages that they were cut from', async () => {
  const rows = 50_000;
  const numbers = Array.from({ length: rows }, (_, i) => Math.sin(i));
  const texts = numbers.map((x) => x.toString());
  const few = numbers.map((_, i) => `word ${i % 50}`);
  // A page of each column has all rows.
  const file = new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'number', data: numbers, type: 'DOUBLE' },
        { name: 'sparse', data: numbers.map((x, i) => (i % 3 === 0 ? null : x)), type: 'DOUBLE', nullable: true },
        { name: 'text', data: texts, type: 'STRING' },
        { name: 'few', data: few, type: 'STRING' },
      ],
      rowGroupSize: rows,
      pageSize: 1 << 30,
    }),
  );
  const buffers = new Set<ArrayBufferLike>();
  const shown = [numbers.length * 8 * 5, texts.join('').length].reduce((a, b) => a + b);
  const note = (v: unknown): void => {
    if (ArrayBuffer.isView(v)) buffers.add(v.buffer);
    else if (typeof v === 'object' && v !== null) for (const part of Object.values(v)) note(part);
  };
  const held: unknown[] = [];
  let count = 0;
  for await (const batch of await openReader('parquet', piecesOf(file, 100_000), {
    memory: new ReadMemory(() => 64 << 20),
  })) {
    count += batch.length;
    // Every third batch waits.
    if (held.push(batch) % 3 === 1) note(batch);
  }
  expect(count).toBe(rows);
  expect(held.length).toBeGreaterThan(5);
  expect([...buffers].reduce((n, b) => n + b.byteLength, 0)).toBeLessThan(shown * 0.6);
});
