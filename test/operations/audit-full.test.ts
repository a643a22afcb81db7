/** The audit log on a disk that fills up: nothing is cut, and it goes on when there is room again. */
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openAudit } from '../../src/commands/audit.ts';
import { mayMount, mountSmallDisk } from '../support/small-disk.ts';

const entry = (n: number): Parameters<Awaited<ReturnType<typeof openAudit>>['write']>[0] => ({
  time: new Date(n).toISOString(),
  request: `r${n}`,
  from: '::1',
  method: 'POST',
  path: `/pool/${'x'.repeat(300)}`,
  status: 200,
});

test.skipIf(!mayMount())(
  'lines wait for room, none is cut, and those that are too many are counted',
  async () => {
    const disk = mountSmallDisk('64k');
    onTestFinished(disk.remove);
    const [path, besides] = [join(disk.folder, 'audit'), join(disk.folder, 'besides')];
    const { bsize, bavail } = statfsSync(disk.folder);
    writeFileSync(besides, Buffer.alloc(bsize * (bavail - 2)));
    const faults: unknown[] = [];
    const audit = await openAudit(path, (fault) => faults.push(fault));
    for (let n = 0; n < 60; n++) audit.write(entry(n));
    await expect.poll(() => faults.length, { timeout: 5000 }).toBe(1);
    expect(faults[0]).toMatchObject({ code: 'ENOSPC' });
    // Two tries later it is told of no second time.
    await later(2500);
    expect(faults).toHaveLength(1);
    for (let n = 60; n < 10_080; n++) audit.write(entry(n));
    rmSync(besides);
    const lines = (): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
    await expect.poll(() => lines().length, { timeout: 5000 }).toBeGreaterThan(100);
    for (const [n, line] of lines().entries()) expect(JSON.parse(line)).toEqual(entry(n));
    await audit.close();
  },
  30_000,
);

test.skipIf(!mayMount())(
  'lines beyond those that may wait are counted in one of their own',
  async () => {
    const disk = mountSmallDisk('16m');
    onTestFinished(disk.remove);
    const [path, besides] = [join(disk.folder, 'audit'), join(disk.folder, 'besides')];
    const { bsize, bavail } = statfsSync(disk.folder);
    writeFileSync(besides, Buffer.alloc(bsize * (bavail - 2)));
    const faults: unknown[] = [];
    const audit = await openAudit(path, (fault) => faults.push(fault));
    for (let n = 0; n < 60; n++) audit.write(entry(n));
    await expect.poll(() => faults.length, { timeout: 5000 }).toBe(1);
    for (let n = 60; n < 10_080; n++) audit.write(entry(n));
    rmSync(besides);
    await audit.close();
    const written = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    expect(written).toHaveLength(10_061);
    expect(JSON.parse(written.at(-1)!)).toEqual({ time: expect.any(String) as string, lost: 20 });
    expect(JSON.parse(written.at(-2)!)).toEqual(entry(10_059));
  },
  30_000,
);
