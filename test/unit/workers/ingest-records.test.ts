/** How many records a shipper's body may have. */
import { expect, test } from 'vitest';
import { bodyRecordsMax, ingest } from '../../../src/workers/ingest/ingest.ts';
import { PoolLoads } from '../../../src/workers/ingest/pool-loads.ts';
import { once } from '../../../src/workers/load/small.ts';

const drained = async (lines: number): Promise<{ readonly rows: number; readonly fault: unknown }> => {
  let rows = 0;
  const outcome = await ingest(
    once(Buffer.from('x\n'.repeat(lines))),
    { protocol: 'hec-raw', pool: 'p' },
    {},
    {
      loads: new PoolLoads({
        layoutOf: async () => ({ pool: 'p', keys: [['time']], order: 'asc', threshold: 1 << 20 }) as never,
        sort: async (batches) => {
          for await (const batch of batches) rows += batch.length;
          return { objects: [], records: rows, bytes: 0 } as never;
        },
        remove: async () => undefined,
      }),
      identityOf: async () => undefined,
    },
  ).catch((fault: unknown) => fault);
  return { rows, fault: outcome instanceof Error ? outcome.message : undefined };
};

test('a body of more records than that is refused, however few bytes they take', async () => {
  const { rows, fault } = await drained(bodyRecordsMax + 20_000);
  expect(fault).toBe('hec-raw: more than 1000000 records in a request');
  expect(rows).toBeLessThanOrEqual(bodyRecordsMax);
});
