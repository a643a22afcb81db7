import { expect, test } from 'vitest';
import { setTimeout as later } from 'node:timers/promises';
import { LoadBudget } from '../../../src/workers/load/task.ts';

const never = new AbortController().signal;

test('loads of very many shapes go on one after the other, and keep their turn to the end', async () => {
  const budget = new LoadBudget(64 << 20);
  const told: string[] = [];
  const loads = ['first', 'second', 'third'].map((name) => ({ name, share: budget.begin() }));
  const all = loads.map(async ({ name, share }) => {
    await share.turn(never);
    told.push(`${name} goes on`);
    await later(20);
    await share.turn(never);
    told.push(`${name} ends`);
    share.end();
  });
  await Promise.all(all);
  expect(told).toEqual(['first goes on', 'first ends', 'second goes on', 'second ends', 'third goes on', 'third ends']);
});

test('a load that is given up does not wait', async () => {
  const budget = new LoadBudget(64 << 20);
  const first = budget.begin();
  const second = budget.begin();
  const third = budget.begin();
  const giveUp = new AbortController();
  await first.turn(never);
  const waiting = second.turn(giveUp.signal);
  const next = third.turn(never);
  giveUp.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('given up');
  second.end();
  first.end();
  await next;
  expect(budget.share).toBe(64 << 20);
});

test('nobody waits for ever', async () => {
  const budget = new LoadBudget(64 << 20, { turnMs: 30 });
  const first = budget.begin();
  const second = budget.begin();
  const began = performance.now();
  await first.turn(never);
  await second.turn(never);
  expect(performance.now() - began).toBeGreaterThan(25);
  // It has its turn then, and waits no more.
  let has = false;
  void second.turn(never).then(() => {
    has = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(has).toBe(true);
});

test('near the bound of the process loads sort a quarter of their share at a time', () => {
  let isNear = false;
  const load = new LoadBudget(64 << 20, { isNear: () => isNear }).begin();
  expect(load.sortBytesMax()).toBe(64 << 20);
  isNear = true;
  expect(load.sortBytesMax()).toBe(16 << 20);
});
