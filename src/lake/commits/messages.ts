/**
 * The form of messages that the lake makes up for commits whose author gave none (reference/http/facts.md section 6).
 * What each kind of commit says stands with its job (lake/jobs).
 */
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';

export interface Named {
  readonly id: Id;
  readonly count: number;
  readonly size: number;
}

/** `1 row`, `2 rows`. */
export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
const lines = (objects: readonly Named[]): string => {
  let text = '';
  for (const { id, count, size } of objects)
    text += `  ${base62(id)} ${plural(count, 'record')} in ${size} data bytes\n`;
  return text;
};
/** A verb, how many objects, and a line for each. */
export const section = (verb: string, noun: string, objects: readonly Named[]): string =>
  `${verb} ${plural(objects.length, noun)}\n\n${lines(objects)}`;
