/**
 * When free pages go back to the system: while the process is near to its bound, and once its threads have come to
 * rest. One for the process, on the main thread; the work is done in another one.
 */
import { giveBackPages } from '../allocator.ts';

/** How often it is looked. */
const lookEveryMs = 500;
/** From this share of the bound on pages go back at each look. */
const nearShare = 3 / 4;
/** Threads have let go of all that they keep for the next task so long after the last one. */
const restMs = 13_000;

/** Watches the process until it is stopped. `isBusy`: whether there is work at the moment. */
export const returnPages = (residentBytesMax: number, isBusy: () => boolean): (() => void) => {
  let workedAt = performance.now();
  let isRested = false;
  let isUnderWay = false;
  const giveBack = (): void => {
    if (isUnderWay) return;
    isUnderWay = true;
    void giveBackPages().then(() => {
      isUnderWay = false;
    });
  };
  const timer = setInterval(() => {
    if (isBusy()) {
      workedAt = performance.now();
      isRested = false;
      if (process.memoryUsage.rss() > residentBytesMax * nearShare) giveBack();
    } else if (!isRested && performance.now() - workedAt > restMs) {
      isRested = true;
      giveBack();
    }
  }, lookEveryMs).unref();
  return () => {
    clearInterval(timer);
  };
};
