/** Files of objects that no commit came to name: they go at once, and not with the orphans of the next start. */
import { LakeError } from '../../errors.ts';
import type { Id, ObjectMeta } from '../lake.types.ts';

/** Where the files are, and who is told of those that could not be removed. */
interface Removal {
  readonly files: { readonly delete: (id: Id) => Promise<void> };
  readonly report?: (fault: unknown) => void;
}

/** After these errors a commit may exist all the same. */
const unknownEnds: ReadonlySet<string> = new Set([
  'lake-failed',
  'internal',
  'store-fenced',
  'store-unreachable',
  'store-refused',
]);

/** Removes the files of objects. Never rejects. */
export const removeObjectFiles = async (
  objects: readonly ObjectMeta[],
  { files, report = () => undefined }: Removal,
): Promise<void> => {
  for (const { id, inline } of objects) if (!inline) await files.delete(id).catch(report);
};

/** Removes them when their commit failed, unless it may exist all the same. Never rejects. */
export const removeUncommitted = async (
  objects: readonly ObjectMeta[],
  error: unknown,
  removal: Removal,
): Promise<void> => {
  if (error instanceof LakeError && !unknownEnds.has(error.code)) await removeObjectFiles(objects, removal);
};
