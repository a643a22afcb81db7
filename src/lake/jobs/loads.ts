/** Loads. */
import { LakeError } from '../../errors.ts';
import { type Named, section } from '../commits/messages.ts';
import type { CommitKind } from './job.ts';

/** Objects are added. */
export const load: CommitKind<'load'> = {
  branch: (task) => task.branch,
  verbs: () => ['load'],
  draft: (_, { branch }, { note, objects }) => {
    if (objects.length === 0) throw new LakeError('load-empty');
    return {
      branch,
      note,
      message: note.body ? '' : loadMessage(objects),
      changes: { adds: [], removes: [] },
      created: objects,
    };
  },
};

/** The message of a load: how many objects it made, and which. */
export const loadMessage = (objects: readonly Named[]): string => section('loaded', 'data object', objects);
