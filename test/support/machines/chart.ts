/** The chart of a machine as it stands in files. */
import { type MachineName, machines } from '../../../machines/machines.ts';
import { chartSvg, layoutChart, type MachineLike } from '../../../visualize/inspect/chart.ts';

export const machineChart = (name: MachineName): string =>
  `${chartSvg(layoutChart(machines[name] as unknown as MachineLike), { title: `The ${name}'s machine` })}\n`;
