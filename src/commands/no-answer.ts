/** Why `fetch` had no answer, or not all of one; several failed addresses together have a code and no text. */
import { codeOf } from '../errors.ts';

export const reasonOf = (problem: unknown): string => {
  const cause = problem instanceof Error ? problem.cause : undefined;
  return cause instanceof Error ? cause.message || String(codeOf(cause)) : String(problem);
};
