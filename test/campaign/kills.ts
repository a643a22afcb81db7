/**
 * Part `kills`: the victim is killed at each named point, the n-th time that it comes by. What it acknowledged must be
 * there, what it had begun whole or not at all; every third time the start after it is killed as well.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { randomOf } from '../support/random.ts';
import { checkBuiltLake, openBuiltLake, stateOf } from './built-lake.ts';
import type { PartRun } from './part.ts';
import { faultOfState, type Reference, referenceOf, runVictim } from './run-victim.ts';
import { scriptCount, scriptOf } from './scripts.ts';

export const kills: PartRun = async ({ folder, seeds, count, failed }) => {
  const references = new Map<number, Reference>();
  for (const seed of seeds) {
    const number = seed % scriptCount;
    const script = scriptOf(number);
    const random = randomOf(seed + 7919);
    let reference = references.get(number);
    if (!reference) {
      references.set(number, (reference = await referenceOf(join(folder, `reference-${number}`), script)));
      rmSync(join(folder, `reference-${number}`), { recursive: true });
    }
    const passes = reference.points.flatMap(([name, times]) =>
      Array.from({ length: times }, (_, i) => `${name}:${i + 1}`),
    );
    // Steps of a prime's length: neighbours in the list are much alike.
    const killAt = passes[(Math.floor(seed / scriptCount) * 37 + random.below(passes.length)) % passes.length]!;
    const lake = join(folder, 'lake');
    rmSync(lake, { recursive: true, force: true });
    const told = await runVictim(lake, script, { killAt });
    if (told.status !== 'SIGKILL') {
      if (told.status !== 0) failed(seed, `it ended with ${told.status}: ${told.complaint}`);
      else count('not reached');
      continue;
    }
    count('kills');
    if (seed % 3 === 0) {
      const start = await runVictim(lake, [], {
        killAt: random.pick([
          'start: locked',
          'start: tables open',
          'start: orphans found',
          'start: orphan gone',
          'log: segment made',
          'log: segment begun',
          'log: segment gone',
          'log: half written',
          'log: written',
          'base: half written',
          'base: written',
          'base: named',
          'tables: written',
          'purge: files gone',
          'purge: rows gone',
          'close: tables closed',
        ]),
      });
      if (start.status === 'SIGKILL') count('kills');
      else if (start.status !== 0)
        failed(seed, `killed at ${killAt}: the start after it ended with ${start.status}: ${start.complaint}`);
    }
    const fault = await faultAfter(
      lake,
      seed % 4 === 0,
      (found) => faultOfState(found, told.lines, script, reference.states),
      (ms) => {
        count('start ms', Math.round(ms), 'max');
      },
    );
    if (fault !== undefined) failed(seed, `killed at ${killAt}: ${fault}`);
  }
};

/** Opens the lake again, looks at it, closes it. */
export const faultAfter = async (
  directory: string,
  check: boolean,
  faultOfFound: (found: Awaited<ReturnType<typeof stateOf>>) => string | undefined,
  started: (ms: number) => void = () => undefined,
): Promise<string | undefined> => {
  const faults: unknown[] = [];
  const began = performance.now();
  try {
    const lake = await openBuiltLake(directory, (fault) => {
      faults.push(fault);
    });
    started(performance.now() - began);
    try {
      const fault = faultOfFound(await stateOf(lake));
      if (fault !== undefined) return fault;
    } finally {
      await lake.close();
    }
    if (faults.length > 0) return `background: ${String(faults[0])}`;
    if (!check) return undefined;
    const { faults: found, orphans } = await checkBuiltLake(directory);
    return found.length > 0 ? `fsck: ${found.join('; ')}` : orphans > 0 ? `${orphans} orphans are left` : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
