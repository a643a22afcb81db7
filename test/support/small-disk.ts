/** A disk of a few bytes, for tests of what happens when it is full. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether a disk of a few bytes can be had. */
export const mayMount = (): boolean =>
  process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

/** A disk of its own in a temporary folder. */
export interface SmallDisk {
  readonly folder: string;
  readonly remove: () => void;
}
/** @param size as `mount` takes it: `4m` */
export const mountSmallDisk = (size: string): SmallDisk => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'lake-full', folder]);
  return {
    folder,
    remove: () => {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
