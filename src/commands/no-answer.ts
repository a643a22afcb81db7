/** Why `fetch` had no answer, or not all of one; several failed addresses together have a code and no text. */
export const reasonOf = (problem: unknown): string => {
  const cause = problem instanceof Error ? problem.cause : undefined;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(problem);
};
