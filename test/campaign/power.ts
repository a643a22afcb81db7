/**
 * Part `power`: the system calls of the victim are recorded in their order (LMDB's included), and the power goes after
 * each of them: with all that was not synced gone, all of it there, or any sectors of it. The lake opens on that disk
 * with everything that was acknowledged before, and nothing torn.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomOf } from '../support/random.ts';
import { readTrace, straceCommand, type Trace, writeImage } from './disk-trace.ts';
import { faultAfter } from './kills.ts';
import type { PartRun } from './part.ts';
import { faultOfState, type Reference, referenceOf, runVictim } from './run-victim.ts';
import { scriptCount, scriptOf } from './scripts.ts';

/** Of the prefixes of a trace a seed takes every so many'th. */
const stride = 12;
const blocks = 4;

export const power: PartRun = async ({ folder, seeds, count, failed }) => {
  const disk = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'lake-power-'));
  const traces = new Map<number, { readonly trace: Trace; readonly reference: Reference }>();
  try {
    for (const seed of seeds) {
      const number = seed % scriptCount;
      const script = scriptOf(number, blocks);
      let traced = traces.get(number);
      if (!traced) {
        const lake = join(folder, `traced-${number}`);
        const out = join(folder, `trace-${number}`);
        const told = await runVictim(lake, script, { wrap: straceCommand(out) });
        if (told.status !== 0) {
          failed(seed, `the traced run ended with ${told.status}: ${told.complaint}`);
          continue;
        }
        traced = {
          trace: readTrace(out, lake),
          reference: await referenceOf(join(folder, `reference-${number}`), script),
        };
        traces.set(number, traced);
        rmSync(out);
        count('system calls', traced.trace.events.length);
      }
      const { trace, reference } = traced;
      const random = randomOf(seed + 104_729);
      const round = Math.floor(seed / scriptCount) % stride;
      for (let end = 0; end <= trace.events.length; end++) {
        const isAcknowledgement = trace.events[end - 1]?.kind === 'said';
        if (end % stride !== round && !(round === 0 && isAcknowledgement)) continue;
        for (const cut of [
          { keep: 'nothing' },
          { keep: 'all' },
          { keep: 'some', sectorBytes: 512, random },
          { keep: 'some', sectorBytes: 4096, random },
        ] as const) {
          if (isAcknowledgement && end % stride !== round && cut.keep !== 'nothing') continue;
          const image = join(disk, 'lake');
          rmSync(image, { recursive: true, force: true });
          const lines = writeImage(trace, end, cut, image);
          // The reader of suspect tables is a process of its own; once in a while is enough here.
          if (random.below(40) > 0) rmSync(join(image, 'running'), { force: true });
          const fault = await faultAfter(image, random.below(100) === 0, (found) =>
            faultOfState(found, lines, script, reference.states),
          );
          count('images');
          if (fault !== undefined)
            failed(
              seed,
              `power cut after call ${end} of script ${number}, ${cut.keep}${cut.keep === 'some' ? ` in sectors of ${cut.sectorBytes}` : ''}: ${fault}`,
            );
        }
      }
    }
  } finally {
    rmSync(disk, { recursive: true, force: true });
  }
};
