/**
 * Who changes a branch one after the other. Changes of the same records that are prepared side by side would be prepared
 * for nothing but for one of them.
 *
 * Invariant: who joins several lines joins all of them at once, behind those who are in one of them already. Nobody
 * waits for somebody who came later, so that no two wait for each other.
 */

/** The lines of a pool: of each branch that has any, the end of who came last. */
export type Lines = Map<string, Promise<void>>;
/** A line: of which branch. */
export interface Place {
  readonly lines: Lines;
  readonly branch: string;
}

/** Whether somebody is in one of them. */
export const isWaitedFor = (places: readonly Place[]): boolean => places.some(({ lines, branch }) => lines.has(branch));

/** Begins when those who came before it to any of these lines have ended. */
export const inLine = <T>(places: readonly Place[], work: () => Promise<T>): Promise<T> => {
  const own = Promise.all(places.map(({ lines, branch }) => lines.get(branch))).then(work);
  const ended = own.then(
    () => undefined,
    () => undefined,
  );
  for (const { lines, branch } of places) lines.set(branch, ended);
  void ended.then(() => {
    for (const { lines, branch } of places) if (lines.get(branch) === ended) lines.delete(branch);
  });
  return own;
};
