/** The address of a question. */
import { link } from '../route.ts';
import { sourceOf } from './scan.ts';

/** Browsers drop addresses that are longer than some megabytes, and steps of their history along with them. */
const addressMax = 500_000;

/**
 * The fragment that carries a text, and for its readers the pool and the branch that it reads. What is too long for an
 * address is not in it.
 */
export const questionLink = (text: string): string => {
  const source = text.trim() === '' ? undefined : sourceOf(text);
  const whole = link(['query'], { text, pool: source?.pool, branch: source?.branch });
  return whole.length > addressMax ? link(['query']) : whole;
};
