/**
 * The C library's allocator. glibc keeps freed buffers for the next ones of their size: its threshold beyond which
 * memory comes from the system, and goes back to it, rises with the largest buffer that was freed, up to 32 MB. After
 * some dozens of large queries at once half of the process's memory is of that kind, and no bound on what is in use
 * holds it. A threshold that is set does not rise any more (mallopt(3), M_MMAP_THRESHOLD), and no part of Node can set
 * it: koffi calls the library.
 *
 * A buffer that comes from the system costs a fault for each of its pages. So the threshold is low as the process starts
 * and where it is near to its bound, and higher as long as it is far from that (`keepFreed`): freed buffers wait for the
 * next ones. Four of ClickBench's groupings of a million rows have 0.38 of the faults then, and take 0.9 of the
 * processor time.
 */
import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** What the threshold is before it rises. */
const thresholdBytes = 128 << 10;
/** Far from the bound: buffers up to this size are kept, and what lies free at an arena's end. */
const keptBytes = { buffer: 8 << 20, end: 32 << 20 };
/** `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD` of malloc.h. */
const mmapThreshold = -3;
const trimThreshold = -1;
/** A process that says one of these has its allocator as somebody wants it. */
const allocatorVariables = ['MALLOC_MMAP_THRESHOLD_', 'GLIBC_TUNABLES', 'LD_PRELOAD'];

interface Call {
  (...args: number[]): number;
  /** In another thread. */
  async(...args: readonly [...numbers: number[], done: () => void]): void;
}
interface Koffi {
  load(library: string): { func(declaration: string): Call };
}

/** A function of the C library; undefined with another one, and on an unusual machine, where there is no koffi. */
const libraryCall = (declaration: string): Call | undefined => {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as Koffi;
    return koffi.load('libc.so.6').func(declaration);
  } catch {
    return undefined;
  }
};

/** What is known of a process that has just begun. */
type Begun = Pick<NodeJS.Process, 'argv' | 'env' | 'platform'>;

/** Whether the threshold is for us to fix: in a service on Linux, where nobody else has said how memory is to be got. */
export const isOursToFix = ({ argv, env, platform }: Begun): boolean =>
  platform === 'linux' && argv[2] === 'serve' && allocatorVariables.every((name) => env[name] === undefined);

/** Fixes the threshold, in 7 ms. Says whether it did. */
export const fixThreshold = (): boolean => setThresholds(thresholdBytes, thresholdBytes);
/**
 * Has freed buffers of up to some megabytes kept for the next ones, or given back at once as from the start. What is
 * kept already goes back by `giveBackPages`. Says whether it did.
 */
export const keepFreed = (isKept: boolean): boolean =>
  isKept ? setThresholds(keptBytes.buffer, keptBytes.end) : fixThreshold();

/** The C library's, once they were asked for: null before, undefined where there is none. */
const calls: Record<'option' | 'trim' | 'advise', Call | undefined | null> = { option: null, trim: null, advise: null };
const setThresholds = (mmapBytes: number, trimBytes: number): boolean => {
  if (calls.option === null) calls.option = libraryCall('int mallopt(int, int)');
  const { option } = calls;
  return option?.(mmapThreshold, mmapBytes) === 1 && option(trimThreshold, trimBytes) === 1;
};
/**
 * Gives pages that are free within all threads' arenas back to the system (malloc_trim(3)), in some milliseconds of a
 * thread of the C library's own: small allocations that outlive large ones hold them otherwise. After a few loads and
 * sorts a service at rest is a third smaller for it.
 */
export const giveBackPages = (): Promise<void> => {
  if (calls.trim === null) calls.trim = libraryCall('int malloc_trim(size_t)');
  const call = calls.trim;
  return new Promise((resolve) => {
    if (call) call.async(0, resolve);
    else resolve();
  });
};

/** `MADV_DONTNEED` of mman.h. */
const notNeeded = 4;
/** A line of /proc/PID/maps: its addresses, what it may be used for, and its file. */
const mappingLine = /^([\da-f]+)-([\da-f]+) (\S+) \S+ \S+ \S+\s+(.*)$/;
/**
 * Takes the pages of a file that is mapped for reading alone out of the process (madvise(2)): they stay in the system's
 * cache, from where the next read has them again. A process that has read all of a large file counts all of it as its
 * own otherwise, once for each mapping, for as long as nobody else wants the memory.
 */
export const giveBackMapped = async (file: string): Promise<void> => {
  if (process.platform !== 'linux') return;
  if (calls.advise === null) calls.advise = libraryCall('int madvise(uintptr_t, size_t, int)');
  const { advise } = calls;
  if (!advise) return;
  const mapped = await realpath(file);
  for (const line of (await readFile('/proc/self/maps', 'utf8')).split('\n')) {
    const [, start, end, use, path] = mappingLine.exec(line) ?? [];
    if (path !== mapped || use !== 'r--s') continue;
    const from = Number.parseInt(start!, 16);
    await new Promise<void>((resolve) => {
      advise.async(from, Number.parseInt(end!, 16) - from, notNeeded, resolve);
    });
  }
};
