/** What `:vectors` lists. */
import { LakeError } from '../../errors.ts';
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import type { CommitKind } from './job.ts';

/** Objects are marked as having vectors, or not any more. */
export const vectors: CommitKind<'vectors'> = {
  branch: (task) => task.branch,
  draft: async (store, { branch, action, objects }, { note }) => {
    const list = await store.list(store.branch(branch).commit);
    const entries = [...new Set(objects)].map((id) => {
      const entry = store.entry(id);
      const found = entry && list.find(entry);
      if (!found) throw new LakeError('vector-object-missing', { id: base62(id) });
      if (action === 'add' && found.vector) throw new LakeError('vector-exists', { id: base62(id) });
      if (action === 'delete' && !found.vector) throw new LakeError('vector-missing', { id: base62(id) });
      return found;
    });
    const marks = action === 'add' ? { addVectors: entries } : { deleteVectors: entries };
    const message = vectorsMessage(
      action,
      entries.map((e) => e.id),
    );
    return { branch, note, message, changes: { removes: [], adds: [] }, ...marks, silent: true };
  },
};

/** The message of a commit that marks objects, or takes their markers away. */
const vectorsMessage = (action: 'add' | 'delete', ids: readonly Id[]): string =>
  `vector ${action}\n\n${ids.map((id) => `    ${base62(id)}\n`).join('')}`;
