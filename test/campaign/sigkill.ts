/**
 * Part `sigkill`: the built service is killed again and again while 32 writers commit and delete and 8 readers query. A
 * seed is a lake of its own and some kills of it; the book of what was acknowledged is kept here. Readers see every row
 * whole or not at all, and never fewer commits than before.
 */
import { join } from 'node:path';
import { rmSync } from 'node:fs';
import { startBuiltService } from '../support/service/built.ts';
import { clientOf } from '../support/service/client.ts';
import { CrashBook, crashLoad } from '../support/service/crash-load.ts';
import { checkLake } from '../support/service/lake-command.ts';
import { randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

const killsPerSeed = 5;
const readers = 8;
const writers = { small: 26, large: 5 };

export const sigkill: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 17);
    const book = new CrashBook(random);
    const lake = join(folder, `lake-${seed}`);
    try {
      for (let kill = 0; kill <= killsPerSeed; kill++) {
        const began = performance.now();
        const service = await startBuiltService({ lake });
        const client = clientOf(service.address);
        count('start ms', Math.round(performance.now() - began), 'max');
        if (kill === 0) await client.createPool('p');
        const found = await client.query<{ n: number; count: number }>('from p | count() by n');
        book.settle(new Map(found.map((row) => [row.n, row.count])));
        if (kill === killsPerSeed) {
          client.close();
          await service.end();
          break;
        }
        let over = false;
        let answers = 0;
        let dead: Promise<number | string> | undefined;
        const limit = 5 + random.below(120);
        const reader = async (): Promise<void> => {
          while (!over) {
            try {
              const rows = await client.query<{ n: number; count: number }>('from p | count() by n');
              for (const { n, count: seen } of rows)
                if (book.entries.get(n)?.rows !== seen)
                  throw new Error(`a reader saw ${seen} rows of commit ${n}`, { cause: 'wrong' });
              count('queries');
            } catch (error) {
              if (error instanceof Error && error.cause === 'wrong') failed(seed, error.message);
              if (dead) return;
            }
          }
        };
        const reading = Array.from({ length: readers }, reader);
        await crashLoad(client, book, writers, {
          answered: () => {
            if (++answers >= limit) dead ??= service.end('SIGKILL');
          },
          sent: () => undefined,
        });
        over = true;
        dead ??= service.end('SIGKILL');
        if ((await dead) !== 'SIGKILL') failed(seed, 'the service ended by itself');
        await Promise.all(reading);
        client.close();
        count('kills');
      }
      count('acknowledged', book.acknowledged);
      const { status, output } = await checkLake(lake);
      if (status !== 0) failed(seed, `fsck: ${output}`);
    } catch (error) {
      failed(seed, error instanceof Error ? error.message : String(error));
    }
    rmSync(lake, { recursive: true, force: true });
  }
};
