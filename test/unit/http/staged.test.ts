/** Staged loads: how many there may be, who may have one, and what becomes of those that nobody commits. */
import { afterEach, expect, test, vi } from 'vitest';
import { StagedLoads } from '../../../src/http/staged.ts';
import { LakeError } from '../../../src/errors.ts';
import { newId } from '../../../src/lake/ksuid.ts';
import type { PoolConfig } from '../../../src/lake/lake.types.ts';
import { inlineObject } from '../lake/support.ts';

afterEach(() => {
  vi.useRealTimers();
});

const poolNamed = (name: string): PoolConfig => ({
  tsNs: 0n,
  name,
  id: newId(),
  layout: { order: 'asc', keys: [['k']] },
  seekStride: 1,
  threshold: 1,
});
const pool = poolNamed('p');
const load = (bytes = 1, controller = new AbortController()): Parameters<StagedLoads['add']>[0] => ({
  pool,
  branch: 'main',
  objects: [{ ...inlineObject(1), inline: new Uint8Array(bytes) }],
  gone: [],
  signal: controller.signal,
});
const codeOf = (act: () => unknown): string | undefined => {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as LakeError).code;
  }
};
const ended = (commit: Promise<{ commit: string }>): Promise<string> =>
  commit.then(
    ({ commit: id }) => id,
    (error: LakeError) => error.message,
  );

test('each is committed once, by one transaction at a time', async () => {
  const staged = new StagedLoads();
  const { id, commit } = staged.add(load());
  expect(codeOf(() => staged.take([id], poolNamed('q'), 'main'))).toBe('stage-elsewhere');
  expect(codeOf(() => staged.take([id], pool, 'kid'))).toBe('stage-elsewhere');
  expect(codeOf(() => staged.take([id, id], pool, 'main'))).toBe('stage-taken');
  const taken = staged.take([id], pool, 'main');
  expect(codeOf(() => staged.take([id], pool, 'main'))).toBe('stage-taken');
  taken.settle();
  const again = staged.take([id], pool, 'main');
  again.settle('c'.repeat(40));
  expect(await ended(commit)).toBe('c'.repeat(40));
  expect(codeOf(() => staged.take([id], pool, 'main'))).toBe('stage-unknown');
  expect(staged.size).toBe(0);
});

test('one that was dropped while a transaction had it goes when that comes to nothing', async () => {
  const staged = new StagedLoads();
  const controller = new AbortController();
  const { id, commit } = staged.add(load(1, controller));
  const taken = staged.take([id], pool, 'main');
  controller.abort(new LakeError('load-cancelled', { reason: 'by request' }));
  expect(staged.size).toBe(1);
  taken.settle();
  expect(await ended(commit)).toBe('load was cancelled: by request');
  expect(staged.size).toBe(0);
});

test('they live for an hour, and end with the service', async () => {
  vi.useFakeTimers();
  const staged = new StagedLoads();
  const { commit } = staged.add(load());
  vi.advanceTimersByTime(3_599_999);
  expect(staged.size).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await ended(commit)).toBe('load was cancelled: it was staged, and no transaction took it for an hour');
  const { commit: last } = staged.add(load());
  staged.close();
  expect(await ended(last)).toBe('load was cancelled: it was staged, and the service ends');
  expect(staged.size).toBe(0);
});

test('they are a thousand at most, and 64 MiB in memory', () => {
  const staged = new StagedLoads();
  staged.add(load(64 << 20)).commit.catch(() => undefined);
  expect(codeOf(() => staged.add(load()))).toBe('stages-full');
  staged.close();
  for (let i = 0; i < 1000; i++) staged.add(load()).commit.catch(() => undefined);
  expect(codeOf(() => staged.add(load()))).toBe('stages-full');
  staged.close();
});
