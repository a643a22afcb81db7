/** The chart of a machine as it stands in files. */
import { machines } from '../../../src/recording/player.ts';
import type { MachineName } from '../../../src/recording/record.ts';
import { chartSvg, layoutChart, type MachineLike } from '../../../visualize/inspect/chart.ts';

export const machineChart = (name: MachineName): string =>
  `${chartSvg(layoutChart(machines[name] as unknown as MachineLike), { title: `The ${name}'s machine` })}\n`;
