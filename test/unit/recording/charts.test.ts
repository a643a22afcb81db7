/** Machines and scenarios as pictures; the one that README shows is the machine's. `UPDATE_README=1` draws it again. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { machineNames } from '../../../machines/machines.ts';
import { parseScenario } from '../../../src/recording/scenario.ts';
import { machineChart } from '../../support/machines/chart.ts';
import { scenarioSvg } from '../../support/machines/scenario-picture.ts';
import { scenarioFiles, scenarioFolder } from '../../support/machines/scenario-player.ts';

const poolChart = new URL('../../../visualize/pool.svg', import.meta.url);

test("visualize/pool.svg is the pool's machine as it is", () => {
  if (process.env['UPDATE_README'] !== undefined) writeFileSync(poolChart, machineChart('pool'));
  expect(readFileSync(poolChart, 'utf8')).toBe(machineChart('pool'));
});

describe('every scenario is a picture', () => {
  for (const kind of [...machineNames, 'service']) {
    for (const file of scenarioFiles(kind)) {
      test(`${kind}/${file}`, () => {
        const scenario = parseScenario(readFileSync(join(scenarioFolder, kind, file), 'utf8'), file);
        const svg = scenarioSvg(scenario, file);
        const arrows = svg.split('class="tip"').length - 1;
        expect(svg).toMatch(/^<svg [^>]*>\n<style>[^]*<\/svg>\n$/);
        expect(svg).not.toContain('undefined');
        expect(arrows).toBeGreaterThanOrEqual(scenario.steps.filter((step) => !('after' in step)).length);
      });
    }
  }
});
