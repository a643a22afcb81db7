/** The parts of the campaign, by name; a part is loaded when it is run. */
import type { PartRun } from './part.ts';

export const parts = {
  laws: async () => (await import('./laws.ts')).laws,
  rewrites: async () => (await import('./rewrites.ts')).rewrites,
  renditions: async () => (await import('./renditions.ts')).renditions,
  kills: async () => (await import('./kills.ts')).kills,
  sigkill: async () => (await import('./sigkill.ts')).sigkill,
  power: async () => (await import('./power.ts')).power,
  objects: async () => (await import('./damage.ts')).objects,
  tables: async () => (await import('./damage.ts')).tables,
  logs: async () => (await import('./damage.ts')).logs,
  forged: async () => (await import('./forged.ts')).forged,
  faults: async () => (await import('./faults.ts')).faultsPart,
  clocks: async () => (await import('./clocks.ts')).clocks,
  flips: async () => (await import('./flips.ts')).flips,
  floods: async () => (await import('./floods.ts')).floods,
  growing: async () => (await import('./growing.ts')).growing,
  large: async () => (await import('./large.ts')).large,
  fuzz: async () => (await import('./fuzz.ts')).fuzzPart,
  rotation: async () => (await import('./rotation.ts')).rotation,
  buckets: async () => (await import('./outside/buckets.ts')).buckets,
  takeovers: async () => (await import('./outside/takeovers.ts')).takeovers,
  losses: async () => (await import('./outside/takeovers.ts')).losses,
  twins: async () => (await import('./outside/takeovers.ts')).twins,
  syslog: async () => (await import('./outside/syslog.ts')).syslog,
  times: async () => (await import('./outside/times.ts')).times,
  updates: async () => (await import('./outside/updates.ts')).updates,
  transfers: async () => (await import('./outside/transfers.ts')).transfers,
  copies: async () => (await import('./outside/copies.ts')).copies,
  names: async () => (await import('./outside/names.ts')).names,
} as const satisfies Record<string, () => Promise<PartRun>>;
export type PartName = keyof typeof parts;
