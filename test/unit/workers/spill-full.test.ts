/**
 * Temporary files on a disk that is full: whoever needs them fails with a 507 that says so, and the next one goes on.
 */
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../../src/errors.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { type SmallDisk, mayMount, mountSmallDisk } from '../../support/small-disk.ts';
import { type ComparedPools, answerOf, openCompared } from './support.ts';

const rows = 40_000;
const full = {
  code: 'spill-full',
  message: 'disk is full, no room for temporary files: no space left on the disk (ENOSPC, write)',
};

describe.skipIf(!mayMount())('with a full disk under the temporary files', () => {
  let disk: SmallDisk;
  let pools: ComparedPools;
  let small: WorkerPool;
  let lone: WorkerPool;
  beforeAll(async () => {
    disk = mountSmallDisk('1m,nr_inodes=40');
    pools = await openCompared(rows, (k) => `{k:${k},id:"${(k * 7919) % rows} ${'x'.repeat(40)}"}`, {});
    const limits = { queryMemoryBytesMax: 1_000_000, loadMemoryBytesMax: 4 << 20 };
    mkdirSync(join(disk.folder, 'lone'));
    small = pools.start({ threads: 2, spillDirectory: join(disk.folder, 'both'), ...limits });
    lone = pools.start({ threads: 1, spillDirectory: join(disk.folder, 'lone'), ...limits });
  });
  afterAll(async () => {
    await small?.close();
    await lone?.close();
    await pools?.close();
    disk?.remove();
  });

  test.each([
    ['a sort', 'sort id'],
    ['a group', 'count() by id | sort id'],
    ['a join', 'fork ( pass ) ( pass ) | inner join on left.id=right.id | count()'],
    ['a fuse', 'fuse | tail 1'],
  ])('%s is a 507 before its first byte, with one thread and with two', async (_, text) => {
    await expect(answerOf(lone, `from rows | ${text}`)).rejects.toMatchObject(full);
    await expect(answerOf(small, `from rows | ${text}`)).rejects.toMatchObject(full);
    expect(errorTable['spill-full'].status).toBe(507);
  });

  test('a load that sorts on disk is one too, as is a file that is read as a whole', async () => {
    const pool = {
      id: 'a'.repeat(40),
      name: 'other',
      layout: { keys: [['k']], order: 'asc' },
      keys: [['k']],
      order: 'asc',
      threshold: 1 << 30,
    } as never;
    const line = (k: number): string => `{"k":${(k * 7919) % 100_003},"s":"${'x'.repeat(100)}"}\n`;
    const json = async function* (): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 100; i++)
        yield await Promise.resolve(Buffer.from(Array.from({ length: 1000 }, (_, k) => line(i * 1000 + k)).join('')));
    };
    await expect(small.load({ pool, body: json(), format: 'json' })).rejects.toMatchObject(full);
    const parquet = async function* (): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 4; i++) yield await Promise.resolve(Buffer.alloc(1 << 20, 'PAR1'));
    };
    await expect(small.load({ pool, body: parquet(), format: 'parquet' })).rejects.toMatchObject(full);
    await expect(small.load({ pool, body: parquet(), format: 'auto' })).rejects.toMatchObject(full);
  });

  test('without room for a folder likewise, and with room they go on', async () => {
    // What failed before removes its files behind its answer.
    await expect
      .poll(() => ['lone', 'both'].flatMap((name) => readdirSync(join(disk.folder, name))), { timeout: 30_000 })
      .toEqual([]);
    const taken: string[] = [];
    for (let i = 0; statfsSync(disk.folder).ffree > 0; i++) {
      taken.push(join(disk.folder, `taken${i}`));
      writeFileSync(taken[i]!, '');
    }
    await expect(answerOf(lone, 'from rows | sort id')).rejects.toMatchObject({
      ...full,
      message: full.message.replace('write', 'mkdtemp'),
    });
    for (const path of taken) rmSync(path);
    expect(await answerOf(lone, 'from rows | where k < 2000 | sort id | count()')).toBe('2000\n');
    expect(await answerOf(lone, 'from rows | where k < 10000 | sort id | tail 1 | values k')).not.toBe('');
  });
});
