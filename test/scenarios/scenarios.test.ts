/** Every scenario of test/scenarios, played: the same messages give the same states, commits and events (P9). */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { machineNames } from '../../machines/machines.ts';
import { playLakeScenario } from '../../src/commands/replay/lake-scenario.ts';
import { expectedSteps, type LakeScenario, parseScenario, playScenario } from '../../src/recording/scenario.ts';
import { runMutants } from '../support/machines/mutants.ts';
import { machineScenarios, scenarioFiles, scenarioFolder } from '../support/machines/scenario-player.ts';

for (const machine of machineNames) {
  describe(machine, () => {
    for (const { file, scenario } of machineScenarios(machine)) {
      test(`${file}: ${scenario.why}`, () => {
        const { steps, differences } = playScenario(scenario);
        expect(steps).toEqual(expectedSteps(scenario));
        expect(differences).toEqual([]);
      });
    }
  });
}

test('every transition that is deleted and every guard that is negated is noticed by a scenario', () => {
  const mutants = runMutants();
  expect(mutants.filter((m) => m.noticed === undefined).map((m) => m.change)).toEqual([]);
  expect(mutants.length).toBeGreaterThan(100);
});

describe.concurrent('service', () => {
  for (const file of scenarioFiles('service')) {
    const scenario = parseScenario(readFileSync(join(scenarioFolder, 'service', file), 'utf8'), file) as LakeScenario;
    test(`${file}: ${scenario.why}`, async ({ expect: expectHere }) => {
      const directory = mkdtempSync(join(tmpdir(), 'lake-scenario-'));
      try {
        expectHere((await playLakeScenario(scenario, directory)).differences).toEqual([]);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
  }
});
