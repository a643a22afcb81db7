/** What a folder that is a copy of a bucket says of itself, beside its log. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../lock.ts';

/** `local`: a commit is answered when it is on this disk, `bucket`: when it is in the bucket. */
export type StoreAck = 'local' | 'bucket';

/** What the folder is a copy of, and how commits were answered. */
interface Mark {
  readonly store: string;
  readonly ack: StoreAck;
  /** Who wrote from this folder: whoever has it open now knows that that one does not any more. */
  readonly writer?: string;
}
const markName = 'store.json';

export const markFolder = (directory: string, mark: Mark): void => {
  writeDurably(join(directory, markName), `${JSON.stringify(mark)}\n`);
};
export const markOf = (directory: string): Mark | undefined => {
  const path = join(directory, markName);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Mark) : undefined;
};
/** Who opens the folder without its bucket answers commits when they are on this disk. */
export const markAlone = (directory: string): void => {
  const mark = markOf(directory);
  if (mark?.ack === 'bucket') markFolder(directory, { ...mark, ack: 'local' });
};
