/** Who has files made, one after the other. */
import type { Render, RenderTurns } from './table.ts';

/** How many files are made at once: the other threads go on with what clients wait for. */
const rendersAtOnce = 1;

/** Files are made so many at a time, in the order in which they were asked for. */
export const rendersInTurn = (render: Render, signal: AbortSignal): RenderTurns => {
  const urgent: (() => void)[] = [];
  const others: (() => void)[] = [];
  let running = 0;
  const next = (): void => {
    if (running >= rendersAtOnce) return;
    (urgent.shift() ?? others.shift())?.();
  };
  return {
    render: (request) => render({ ...request, signal }),
    take: async (work, isUrgent) => {
      await new Promise<void>((resolve) => {
        (isUrgent ? urgent : others).push(() => {
          running++;
          resolve();
        });
        next();
      });
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        running--;
        next();
      }
    },
  };
};
