/** The address of a question. */
import { link } from '../route.ts';
import { sourceOf } from './scan.ts';

/** The fragment that carries a text, and for its readers the pool and the branch that it reads. */
export const questionLink = (text: string): string => {
  const source = text.trim() === '' ? undefined : sourceOf(text);
  return link(['query'], { text, pool: source?.pool, branch: source?.branch });
};
