/** Every scenario of every machine, replayed: the same events give the same states and the same emitted events (P9). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { lakeMachine } from '../../machines/lake.machine.ts';
import { loadMachine } from '../../machines/load.machine.ts';
import { poolMachine } from '../../machines/pool.machine.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { subscriberMachine } from '../../machines/subscriber.machine.ts';
import { expected, play, readScenario } from '../support/scenario-player.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const machines: Readonly<Record<string, AnyStateMachine>> = {
  lake: lakeMachine, pool: poolMachine, load: loadMachine, query: queryMachine, subscriber: subscriberMachine,
};

for (const [name, machine] of Object.entries(machines)) {
  const folder = join(here, name);
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.yaml')).sort() : [];
  if (files.length === 0) continue;
  describe(name, () => {
    for (const file of files) {
      const scenario = readScenario(join(folder, file));
      test(`${file}: ${scenario.why}`, () => { expect(play(machine, scenario)).toEqual(expected(scenario)); });
    }
  });
}
