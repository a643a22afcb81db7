/** The priorities of the service's threads, as the system tells them. */
import { expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { startBuiltService } from './support/service/built.ts';
import { clientOf } from './support/service/client.ts';

/** Niceness of each thread, the main one first. */
const nicenessOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .sort((a, b) => a - b)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1]!.split(' ')[16]));

test.skipIf(process.platform !== 'linux').each([0, 10, 18])(
  'a service that was started %d steps behind others answers, and no thread of it goes before the main one',
  async (steps) => {
    const service = await startBuiltService({ by: ['nice', '-n', String(steps)] });
    const client = clientOf(service.address);
    try {
      expect(await client.query<number>('values 1')).toEqual([1]);
      const [main, ...others] = nicenessOf(service.process.pid!);
      const own = Math.min(19, getPriority() + steps);
      expect(main).toBe(own);
      // Those that collect and compile, and the workers.
      expect(others.filter((niceness) => niceness === Math.min(19, own + 5)).length).toBeGreaterThan(4);
      expect(Math.min(...others)).toBe(own);
    } finally {
      client.close();
      await service.stop();
    }
  },
);
