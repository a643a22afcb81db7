/**
 * When memory that nobody uses goes back to the system: while the process is near to its bound, and when it has come to
 * rest. One for the process, on the main thread, whose own garbage goes with it; the worker threads look after theirs.
 * Pages go back in another thread.
 */
import { giveBackMapped, giveBackPages, isOursToFix, keepFreed } from '../allocator.ts';
import { collectLarge, collectPause, collectRest, noteResident } from './collector.ts';

/** How often it is looked. */
const lookEveryMs = 250;
/** From this share of the bound on pages go back at each look; below, freed buffers wait for the next ones. */
const nearShare = 3 / 4;
/**
 * So long after the last task threads have let go of what is much of what they keep for the next one; long after it, of
 * all. Each comes some seconds later than for the threads (entry.ts).
 */
const rests = [
  { ms: 13_000, part: 'much' },
  { ms: 335_000, part: 'all' },
] as const;
/** What the main thread's own garbage goes by. */
const collectors = { much: collectPause, all: collectRest };

/** The process as it is watched. */
export interface Watched {
  readonly residentBytesMax: number;
  /** Whether there is work at the moment. */
  readonly isBusy: () => boolean;
  /** How many pieces of work have begun so far: short ones are over between two looks. */
  readonly begun: () => number;
  /** A file that is mapped for reading alone; what was read of it counts as the process's own until it goes back. */
  readonly mapped?: string;
  /** In place of the engine's. */
  readonly collect?: Readonly<Record<keyof typeof collectors, () => void>>;
}

/** Watches the process until it is stopped. */
export const returnPages = ({
  residentBytesMax,
  isBusy,
  begun,
  mapped,
  collect = collectors,
}: Watched): (() => void) => {
  let workedAt = performance.now();
  let seen = begun();
  /** How many of the rests there were since. */
  let rested = 0;
  let isUnderWay = false;
  const isOurs = isOursToFix(process);
  let isKept = false;
  const giveBack = (): void => {
    if (isUnderWay) return;
    isUnderWay = true;
    // A file that cannot be looked up keeps its pages: nothing else depends on it.
    void Promise.allSettled([giveBackPages(), mapped === undefined ? undefined : giveBackMapped(mapped)]).then(() => {
      isUnderWay = false;
    });
  };
  const timer = setInterval(() => {
    const now = performance.now();
    const resident = process.memoryUsage.rss();
    if (isOurs && isKept !== resident < residentBytesMax * nearShare) keepFreed((isKept = !isKept));
    const isNear = resident > residentBytesMax * nearShare;
    const works = isBusy() || begun() !== seen;
    if (works) {
      seen = begun();
      workedAt = now;
      rested = 0;
    }
    // What a crowd has left goes at once, not beside what the next one makes.
    if (works || (isNear && rested === 0 && now - workedAt <= rests[0].ms)) {
      noteResident(resident, residentBytesMax);
      collectLarge();
      if (isNear) giveBack();
    } else if (rested < rests.length && now - workedAt > rests[rested].ms) {
      collect[rests[rested++].part]();
      giveBack();
    }
  }, lookEveryMs).unref();
  return () => {
    clearInterval(timer);
  };
};
