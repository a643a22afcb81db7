/**
 * The C library's allocator. glibc keeps freed buffers for the next ones of their size: its threshold beyond which
 * memory comes from the system, and goes back to it, rises with the largest buffer that was freed, up to 32 MB. After
 * some dozens of large queries at once half of the process's memory is of that kind, and no bound on what is in use
 * holds it. A threshold that is set does not rise any more (mallopt(3), M_MMAP_THRESHOLD), and no part of Node can set
 * it: koffi calls the library.
 */
import { createRequire } from 'node:module';

/** What the threshold is before it rises. */
const thresholdBytes = 128 << 10;
/** `M_MMAP_THRESHOLD` of malloc.h. */
const mmapThreshold = -3;
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
export const fixThreshold = (): boolean => libraryCall('int mallopt(int, int)')?.(mmapThreshold, thresholdBytes) === 1;

let trim: Call | undefined | null = null;
/**
 * Gives pages that are free within all threads' arenas back to the system (malloc_trim(3)), in some milliseconds of a
 * thread of the C library's own: small allocations that outlive large ones hold them otherwise. After a few loads and
 * sorts a service at rest is a third smaller for it.
 */
export const giveBackPages = (): Promise<void> => {
  if (trim === null) trim = libraryCall('int malloc_trim(size_t)');
  const call = trim;
  return new Promise((resolve) => {
    if (call) call.async(0, resolve);
    else resolve();
  });
};
