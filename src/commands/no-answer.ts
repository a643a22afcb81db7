/** Why `fetch` had no answer, or not all of one; several failed addresses together have a code and no text. */
import { codeOf } from '../errors.ts';
import { shownService } from './load/address.ts';

export const reasonOf = (problem: unknown): string => {
  const cause = problem instanceof Error ? problem.cause : undefined;
  return cause instanceof Error ? cause.message || String(codeOf(cause)) : String(problem);
};
/** What is said of a service that `fetch` had no answer from. */
export const noAnswerText = (service: URL, cause: unknown): string =>
  `${shownService(service)}: no service answers there (${reasonOf(cause)})`;
