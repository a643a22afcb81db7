/** Random histories of a pool beside a model (laws/history.ts), one a seed. */
import fc from 'fast-check';
import { runHistory, steps } from '../laws/history.ts';
import { clientOf } from '../support/service/client.ts';
import { startService } from '../support/service/server.ts';
import type { PartRun } from './part.ts';

export const laws: PartRun = async ({ seeds, count, failed }) => {
  const service = await startService();
  const client = clientOf(service.url);
  try {
    for (const seed of seeds) {
      const [history] = fc.sample(steps(40), { seed, numRuns: 1 });
      const pool = `h${seed}`;
      try {
        const counts = await runHistory(client, pool, history!);
        count('histories');
        for (const [what, n] of Object.entries(counts)) count(what, n as number);
      } catch (error) {
        failed(seed, error instanceof Error ? error.message : String(error));
      }
      await client.ask('DELETE', `/pool/${pool}`);
    }
  } finally {
    client.close();
    await service.close();
  }
};
