/**
 * `npm run charts [FOLDER]`: the chart of each machine and the picture of each scenario as SVG files; default folder:
 * `lake-charts` in the system's one for temporary files.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { machineNames } from '../../machines/machines.ts';
import { parseScenario } from '../../src/recording/scenario.ts';
import { machineChart } from '../support/machines/chart.ts';
import { scenarioSvg } from '../support/machines/scenario-picture.ts';
import { scenarioFiles, scenarioFolder } from '../support/machines/scenario-player.ts';

const folder = resolve(process.argv[2] ?? join(tmpdir(), 'lake-charts'));
mkdirSync(folder, { recursive: true });
let count = 0;
const write = (name: string, svg: string): void => {
  writeFileSync(join(folder, `${name}.svg`), svg);
  count++;
};
for (const machine of machineNames) write(machine, machineChart(machine));
for (const kind of [...machineNames, 'service']) {
  for (const file of scenarioFiles(kind)) {
    const name = `${kind}-${file.replace('.yaml', '').replaceAll('/', '-')}`;
    write(name, scenarioSvg(parseScenario(readFileSync(join(scenarioFolder, kind, file), 'utf8'), file), name));
  }
}
console.log(`${count} pictures in ${folder}`);
