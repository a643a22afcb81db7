/**
 * The endurance at a small size: what a service has in use is counted after the work and a rest; its memory is printed
 * by `npm run endurance`, and judged there.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startBuiltService } from '../support/service/built.ts';
import { beginEndurance } from '../support/service/endurance-work.ts';
import { descriptorsOf, filesOf } from '../support/service/process-figures.ts';
import { seedOf } from '../support/random.ts';
import { metricsOf } from './endurance.ts';

const memoryBytes = 64 << 20;

test('after mixed work and a rest nothing is held that is not in use', { timeout: 240_000 }, async () => {
  const service = await startBuiltService({ flags: ['-memory', '64MiB', '-query.status.ttl', '1s'] });
  const seed = seedOf(20);
  process.stderr.write(`endurance: SEED=${seed}\n`);
  try {
    const work = await beginEndurance({
      address: service.address,
      clients: 3,
      seed,
      baseRows: 20_000,
      largeRows: 10_000,
    });
    const pid = service.process.pid!;
    const before = descriptorsOf(pid);
    await work.run({ each: 45 });
    const figure = async (name: string): Promise<number> => (await metricsOf(service.address))[name]!;
    expect(await figure('lake_snapshot_cache_bytes')).toBeLessThanOrEqual(memoryBytes / 8);
    expect(await figure('lake_column_cache_bytes')).toBeLessThanOrEqual(memoryBytes / 4);
    const running = [
      'lake_queries_running',
      'lake_loads_running',
      'lake_events_subscribers',
      'lake_worker_tasks',
      'lake_pool_queue_jobs',
    ];
    await expect
      .poll(
        async () => {
          const metrics = await metricsOf(service.address);
          return running.map((name) => metrics[name] ?? 0);
        },
        { timeout: 180_000 },
      )
      .toEqual(running.map(() => 0));
    await expect
      .poll(() => [descriptorsOf(pid).deleted, filesOf(join(service.lake, 'spill')).length], { timeout: 180_000 })
      .toEqual([0, 0]);
    await work.end();
    // The base pool is what is left: its lists, its files, the descriptors that were open for it.
    await expect.poll(() => figure('lake_pools'), { timeout: 180_000 }).toBe(1);
    await expect.poll(async () => filesOf(join(service.lake, 'objects')).length, { timeout: 180_000 }).toBe(1);
    expect(await figure('lake_snapshot_cache_lists')).toBeLessThanOrEqual(1);
    await expect
      .poll(
        () => {
          const { deleted, objects, others } = descriptorsOf(pid);
          return [deleted, objects <= 2, others <= before.others + 2];
        },
        { timeout: 180_000 },
      )
      .toEqual([0, true, true]);
    expect(work.faults).toEqual([]);
    expect(Object.keys(work.kinds).length).toBeGreaterThan(20);
  } finally {
    await service.stop();
  }
});
