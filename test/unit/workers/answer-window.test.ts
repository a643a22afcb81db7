/** How much of an answer is on its way: counted in bytes that were made and that nobody has taken. */
import { expect, test } from 'vitest';
import type { FromWorker } from '../../../src/workers/messages.ts';
import type { QueryStats } from '../../../src/workers/pool.types.ts';
import { Task, answerWindow } from '../../../src/workers/task.ts';

const stats: QueryStats = { startMs: 0, updateMs: 0, bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 };
const chunk = 512 << 10;
/** So many tasks send chunks to clients that take none; bytes of them that were made. */
const madeBy = async (count: number, taken = 0): Promise<number> => {
  const window = answerWindow({ bytesMax: 1 << 20, answers: () => count });
  let made = 0;
  let sent = 0;
  const tasks = Array.from(
    { length: count },
    (_, id) =>
      new Task(id, window, ({ type }: FromWorker) => {
        if (type === 'chunk') sent++;
      }),
  );
  for (const task of tasks)
    void (async () => {
      for (let i = 0; i < 8; i++) {
        made += chunk;
        await task.send(task.buffers.take().subarray(0, chunk), stats);
      }
    })().catch(() => undefined);
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });
  await settled();
  for (let i = 0; i < taken; i++) {
    for (const task of tasks) task.take({ type: 'credit', task: task.id, bytes: chunk });
    await settled();
  }
  for (const task of tasks) task.cancel();
  expect(sent).toBeLessThanOrEqual(made / chunk);
  return made / count / chunk;
};

test('few answers have two chunks on their way and one that waits, many have one and make none ahead', async () => {
  expect(await madeBy(1)).toBe(3);
  expect(await madeBy(10)).toBe(3);
  expect(await madeBy(100)).toBe(1);
  // Each that is taken makes room for the next.
  expect(await madeBy(100, 3)).toBe(4);
});

test('what all answers of a thread have made ahead is bounded by bytes, but for the chunk that each must have', async () => {
  for (const count of [1, 8, 16, 40, 80, 160]) {
    const bytes = (await madeBy(count)) * chunk * count;
    expect(bytes).toBeLessThanOrEqual(Math.max(48 << 20, chunk * count));
  }
});

test('an answer that ends in few bytes waits for nobody', async () => {
  const task = new Task(1, answerWindow({ bytesMax: 1 << 20, answers: () => 200 }), () => undefined);
  for (let i = 0; i < 10; i++) await task.send(new Uint8Array(100), stats);
});
