/** Buffers for bytes on their way to another thread: how many are made, and how many are kept. */
import { expect, test } from 'vitest';
import { ChunkBuffers } from '../../../src/vectors/texts/chunk-buffers.ts';

const size = 1024;
/** Buffers that are made in rounds in which so many are on their way at once, and then come back. */
const madeBy = (buffers: ChunkBuffers, rounds: number, answers: number): void => {
  for (let round = 0; round < rounds; round++) {
    const out = Array.from({ length: answers }, () => buffers.take());
    for (const { buffer } of out) buffers.give(buffer);
  }
};
const counted = (): { readonly buffers: ChunkBuffers; readonly made: () => number } => {
  let bytes = 0;
  const buffers = new ChunkBuffers(size, { made: (more) => (bytes += more) });
  return { buffers, made: () => bytes / size };
};

test('many answers that each send a chunk at a time use the same buffers again', () => {
  const { buffers, made } = counted();
  for (let n = 1; n <= 64; n++) buffers.answers(n);
  madeBy(buffers, 20, 64);
  expect(made()).toBe(64);
  // Some of them end, others come.
  buffers.answers(40);
  madeBy(buffers, 20, 64);
  expect(made()).toBe(64);
});

test('without an answer a few are kept', () => {
  const { buffers, made } = counted();
  buffers.answers(64);
  madeBy(buffers, 1, 64);
  buffers.answers(0);
  madeBy(buffers, 20, 8);
  expect(made()).toBe(64);
  madeBy(buffers, 1, 9);
  expect(made()).toBe(65);
});
