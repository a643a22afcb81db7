/** Figures that tests print: medians, percentiles, what a raw sync of this machine's disk takes. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** The value below which so many of the sorted values lie; `share` from 0 to 1. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
};
export const median = (values: readonly number[]): number => percentile(values, 0.5);
/** Undefined of nothing. */
export const geometricMean = (ratios: readonly number[]): number | undefined =>
  ratios.length === 0 ? undefined : Math.exp(ratios.reduce((sum, r) => sum + Math.log(r), 0) / ratios.length);
/** What figures were measured on. */
export const machine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.version}`;
export const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

/** Prints one line of figures, past vitest's own grouping. */
export const printFigures = (subject: string, figures: Readonly<Record<string, string | number>>): void => {
  process.stderr.write(
    `${subject}: ${Object.entries(figures)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}\n`,
  );
};

/** Milliseconds that one appended page and its fdatasync take in that folder. */
export const syncTimes = (folder: string, count = 50): readonly number[] => {
  const path = join(folder, 'sync-probe');
  const fd = openSync(path, 'w');
  const page = new Uint8Array(4096);
  const times: number[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const began = performance.now();
      writeSync(fd, page);
      fdatasyncSync(fd);
      times.push(performance.now() - began);
    }
  } finally {
    closeSync(fd);
    rmSync(path);
  }
  return times;
};
