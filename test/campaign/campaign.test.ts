/** The campaign, small: some seeds of each part. `npm run campaign` runs them large. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorTable } from '../../src/errors.ts';
import { runPart } from './campaign.ts';
import { type Cut, readTrace, straceCommand, type Trace, writeImage } from './disk-trace.ts';
import { faultAfter } from './kills.ts';
import { parts, type PartName } from './parts.ts';
import { faultOfState, referenceOf, runVictim } from './run-victim.ts';
import { scriptOf, type Step } from './scripts.ts';

/** Seeds that npm test runs; other parts have tests of their own. */
const small: Partial<Record<PartName, readonly number[]>> = { kills: [3, 4], power: [0], faults: [1202], objects: [0], tables: [0] };

describe('nothing is lost, nothing is wrong, nothing hangs', { timeout: 300_000 }, () => {
  for (const part of Object.keys(small) as PartName[]) {
    test(`${part}: seeds ${small[part]!.join(', ')}`, async () => {
      const { counts, failures } = await runPart(part, small[part]!);
      expect(failures).toEqual([]);
      expect(Math.max(...counts.values())).toBeGreaterThan(0);
    });
  }
  test('each part is loaded by its name', () => {
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(Object.keys(small)));
  });
});

describe('the traced disk', { timeout: 300_000 }, () => {
  const script = scriptOf(1, 2), nothing: Cut = { keep: 'nothing' };
  const traced = async (): Promise<{ readonly trace: Trace; readonly folder: string }> => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-traced-'));
    onTestFinished(() => { rmSync(folder, { recursive: true, force: true }); });
    const told = await runVictim(join(folder, 'lake'), script, { wrap: straceCommand(join(folder, 'trace')) });
    expect(told.status).toBe(0);
    return { trace: readTrace(join(folder, 'trace'), join(folder, 'lake')), folder };
  };

  test('no acknowledgement leaves before the flush: with all that was not synced gone, each is there; a disk that ignores syncs is found out', async () => {
    const { trace, folder } = await traced(), { states } = await referenceOf(join(folder, 'reference'), script);
    const faultAt = async (of: Trace, end: number): Promise<string | undefined> => {
      const image = join(folder, 'image');
      rmSync(image, { recursive: true, force: true });
      const lines = writeImage(of, end, nothing, image);
      rmSync(join(image, 'running'), { force: true });
      return faultAfter(image, false, (found) => faultOfState(found, lines, script, states));
    };
    const said = trace.events.flatMap((event, i) => (event.kind === 'said' && event.line.startsWith('ack') ? [i + 1] : []));
    expect(said.length).toBeGreaterThan(2);
    for (const end of said) expect(await faultAt(trace, end), `call ${end}`).toBeUndefined();
    const lying: Trace = { events: trace.events.map((event) => (event.kind === 'sync' ? { ...event, from: 0 } : event.kind === 'write' ? { ...event, synced: false } : event)) };
    expect(await faultAt(lying, said.at(-1)!)).toMatch(/in place of|lost/);
  });
});

describe('a disk that fails', { timeout: 300_000 }, () => {
  const loads = (count: number, large = -1): readonly Step[] =>
    [{ do: 'create pool', pool: 'p' }, ...Array.from({ length: count }, (_, i): Step => ({ do: 'load', pool: 'p', branch: 'main', key: i + 1, large: i === large }))];
  /** Runs a script while calls of a kind on one of the lake's files fail. */
  const failing = async (script: readonly Step[], path: string, inject: string): Promise<{ readonly lines: readonly string[]; readonly status: number | string; readonly lake: string }> => {
    const folder = mkdtempSync(join(tmpdir(), 'lake-failing-')), lake = join(folder, 'lake');
    onTestFinished(() => { rmSync(folder, { recursive: true, force: true }); });
    const { lines, status } = await runVictim(lake, script, { mode: 'states', wrap: ['strace', '-f', '-o', '/dev/null', '-P', join(lake, path), '-e', `trace=${inject.split(':')[0]}`, '-e', `inject=${inject}`] });
    return { lines, status, lake };
  };
  const ends = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => { const found = /^(ack|refused) \d+ ?(\S*)/.exec(line); return found ? [found[2] || 'done'] : []; });
  const last = (lines: readonly string[]): string => lines.findLast((line) => line.startsWith('state '))!.replace(/^state \d+ /, '');

  test('without room in the tables a load is a 507, and the next one goes on', async () => {
    const { lines, status } = await failing(loads(16), 'tables/data.mdb', 'writev:error=ENOSPC:when=10');
    const found = ends(lines);
    expect([...new Set(found)].sort()).toEqual(['done', 'storage-full']);
    expect(found.lastIndexOf('done')).toBeGreaterThan(found.indexOf('storage-full'));
    expect(status).toBe(0);
    expect(errorTable['storage-full'].status).toBe(507);
  });

  test('without room for a data object likewise; other faults of its file are told with its name', async () => {
    const id = createHash('sha1').update('3').digest('hex'), path = `objects/${id.slice(38)}/${id}`;
    for (const [inject, code] of [['write:error=ENOSPC:when=1', 'storage-full'], ['fsync:error=EIO:when=1', 'object-unwritten']] as const) {
      const { lines } = await failing(loads(5, 2), path, inject);
      expect(ends(lines)).toEqual(['done', 'done', 'done', code, 'done', 'done']);
      expect(last(lines)).toBe('{"p":{"main":[1,2,4,5]}}');
    }
  });

  test('after a sync of the tables failed writes are refused with the reason, reads go on, the next start has what was acknowledged', async () => {
    // The first syncs make the tables themselves.
    const script = loads(30), { lines, lake } = await failing(script, 'tables/data.mdb', 'fdatasync:error=EIO:when=15+'), found = ends(lines), first = found.indexOf('lake-failed');
    expect(first).toBeGreaterThan(1);
    expect(new Set(found.slice(0, first))).toEqual(new Set(['done']));
    expect(new Set(found.slice(first))).toEqual(new Set(['lake-failed']));
    const there = Array.from({ length: first - 1 }, (_, i) => i + 1);
    expect(JSON.parse(last(lines))).toEqual({ p: { main: there } });
    // Of the one whose sync failed nobody knows.
    expect(await faultAfter(lake, true, (state) => {
      const main = [...state['p']!['main']!];
      return JSON.stringify(main) === JSON.stringify(there) || JSON.stringify(main) === JSON.stringify([...there, first]) ? undefined : JSON.stringify(state);
    })).toBeUndefined();
  });
});
