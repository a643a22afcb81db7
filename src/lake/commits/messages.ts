/** Messages that the lake makes up for commits whose author gave none (reference/http/facts.md section 6). */
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';

interface Named {
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
const section = (verb: string, noun: string, objects: readonly Named[]): string =>
  `${verb} ${plural(objects.length, noun)}\n\n${lines(objects)}`;

/** The message of a load: how many objects it made, and which. */
export const loadMessage = (objects: readonly Named[]): string => section('loaded', 'data object', objects);
/** The message of a delete. `added`: the objects that hold what a delete by filter left of those it removed. */
export const deleteMessage = (removed: readonly Named[], added: readonly Named[] = []): string =>
  section('deleted', 'data object', removed) + (added.length > 0 ? `\n${section('added', 'data object', added)}` : '');
/** The message of an update. `added`: the objects that hold the rows of those that it removed. */
export const updateMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  `${section('updated', 'data object', removed)}\n${section('added', 'data object', added)}`;
/** The message of an upsert. `added`: its own objects, and those that hold what is left of those that it removed. */
export const upsertMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  removed.length === 0
    ? loadMessage(added)
    : `${section('replaced', 'data object', removed)}${added.length > 0 ? `\n${section('added', 'data object', added)}` : ''}`;
/** The message of a compaction. */
export const compactMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  `${section('compacted', 'object', removed)}\n${section('created', 'object', added)}`;
/** The message of a merge, with the names of both branches. */
export const mergeMessage = (child: string, target: string): string =>
  `merged ${JSON.stringify(child)} into ${JSON.stringify(target)}`;
/** The message of a revert. */
export const revertMessage = (commit: Id): string => `reverted commit ${base62(commit)}`;
/** The message of a pick: of a commit, or of all that is between two. */
export const pickMessage = (commit: Id, from?: Id): string =>
  from === undefined ? `picked commit ${base62(commit)}` : `picked commits ${base62(from)}..${base62(commit)}`;
/** The message of a commit that marks objects, or takes their markers away. */
export const vectorsMessage = (action: 'add' | 'delete', ids: readonly Id[]): string =>
  `vector ${action}\n\n${ids.map((id) => `    ${base62(id)}\n`).join('')}`;
