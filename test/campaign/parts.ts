/** The parts of the campaign, by name; a part is loaded when it is run. */
import type { PartRun } from './part.ts';

export const parts = {
  laws: async () => (await import('./laws.ts')).laws,
  kills: async () => (await import('./kills.ts')).kills,
  power: async () => (await import('./power.ts')).power,
  faults: async () => (await import('./faults.ts')).faultsPart,
} as const satisfies Record<string, () => Promise<PartRun>>;
export type PartName = keyof typeof parts;
