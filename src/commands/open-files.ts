/** How many files, connections among them, the process may have open at once. */
import { readFileSync } from 'node:fs';
import type { ServeConfig } from '../config/serve.ts';

/** The service itself has some 45 open; connections and kept answers need room beside them. */
const filesMin = 80;

/** The soft limit, which Node raises to the hard one at the start; Infinity where the system tells of none. */
const openFilesMax = (): number => {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
};

/** With so many beside connections and answers there are always enough. */
const spareFiles = 1024;

/**
 * How many connections and kept answers there may be, so that files of the lake can always be opened; `isTight`: so few
 * that it will be noticed. @throws Error, one line, where the limit is too low for the service
 */
export const withinOpenFiles = (
  { connectionsMax }: Pick<ServeConfig, 'connectionsMax'>,
  filesMax = openFilesMax(),
): { readonly connectionsMax: number; readonly answersMax: number; readonly isTight: boolean } => {
  if (filesMax < filesMin)
    throw new Error(`at most ${filesMax} files may be open at once: the service needs ${filesMin} (ulimit -n)`);
  return {
    connectionsMax: Math.min(connectionsMax, Math.max(Math.floor(filesMax / 4), filesMax - spareFiles)),
    answersMax: Math.min(256, Math.floor(filesMax / 8)),
    isTight: filesMax < spareFiles,
  };
};
