/** Scenarios of machines from test/scenarios, and what tests of machines read from snapshots. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MachineName } from '../../../machines/machines.ts';
import { leavesOf } from '../../../src/recording/watch.ts';
import { type MachineScenario, parseScenario } from '../../../src/recording/scenario.ts';

export const scenarioFolder = fileURLToPath(new URL('../../scenarios', import.meta.url));

/** Files of a folder of test/scenarios and of those below it, by their paths in it. */
export const scenarioFiles = (folder: string): readonly string[] =>
  readdirSync(join(scenarioFolder, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .sort();

/** The scenarios of a machine. */
export const machineScenarios = (
  machine: MachineName,
): readonly { readonly file: string; readonly scenario: MachineScenario }[] =>
  scenarioFiles(machine).map((file) => {
    const scenario = parseScenario(readFileSync(join(scenarioFolder, machine, file), 'utf8'), `${machine}/${file}`);
    if (!('machine' in scenario) || scenario.machine !== machine)
      throw new Error(`${machine}/${file} is no scenario of ${machine}`);
    return { file, scenario };
  });

/** `ready.idle` for `{ready: 'idle'}`. */
export const stateName = (value: unknown): string => leavesOf(value).join(' ');

/** The events that the transition's actions emit. */
export const emittedBy = (
  actions: readonly { readonly type: string; readonly params?: unknown }[],
): readonly unknown[] =>
  actions
    .filter((action) => action.type === 'xstate.emit')
    .map((action) => (action.params as { readonly event: unknown }).event);
