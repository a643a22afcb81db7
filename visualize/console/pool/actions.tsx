/** What can be done to a pool: the buttons that offer it, and their dialogs. */
import type { BranchInfo, GraphCommit, PoolInfo } from '../../../src/client/client.ts';
import { Compact, DeleteBranch, DeleteRows, MakeBranch, ResetBranch, Vacuum } from '../changes.tsx';
import { Merge, PickCommit, Revert } from '../combine/dialogs.tsx';
import { DeleteTag, MakeTag } from '../tags.tsx';
import { Load } from '../load/dialog.tsx';
import { Icon, type IconName } from '../parts.tsx';
import { DeletePool, RenamePool } from './dialogs.tsx';
import type { Place } from './place.ts';
import { Protect } from './protect.tsx';
import { ReadFrom } from './read-from.tsx';
import { may } from '../session.ts';

/**
 * The dialog that is open, and what it begins with. `at`: the commit that a new branch begins at, that gets a tag, or that a
 * branch is reset to; `branch`: whose tip that is, empty for nobody's, or the branch or tag to delete.
 */
export interface OpenDialog {
  readonly kind:
    | 'load'
    | 'read'
    | 'branch'
    | 'delete-branch'
    | 'tag'
    | 'delete-tag'
    | 'reset'
    | 'merge'
    | 'revert'
    | 'pick'
    | 'protect'
    | 'delete-rows'
    | 'compact'
    | 'vacuum'
    | 'rename'
    | 'delete';
  readonly files?: readonly File[];
  readonly commit?: GraphCommit;
  readonly at?: string;
  readonly branch?: string;
}
/** Opens a dialog. */
export type Open = (kind: OpenDialog['kind'], more?: Omit<OpenDialog, 'kind'>) => void;

/** What can be done to the place that is shown. `objects`: how many it has. */
export const Tools = ({
  pool,
  place: { all, branch, at, isCommit, isEmpty, writeBranch },
  objects,
  onOpen,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly objects: number;
  readonly onOpen: Open;
}) => {
  const mayWrite = may('writer', pool);
  const mayAdmin = may('admin', pool);
  if ((!mayWrite && !mayAdmin) || !writeBranch) return null;
  return (
    <div class="tools" role="group" aria-label="Changes">
      {mayWrite && (
        <Tool
          icon="branch"
          text="Branch"
          onClick={() => {
            onOpen('branch', { at: at ?? writeBranch.commit, branch: branch?.name ?? '' });
          }}
        />
      )}
      {mayWrite && all.length > 1 && (
        <Tool
          icon="merge"
          text="Merge"
          onClick={() => {
            onOpen('merge');
          }}
        />
      )}
      {mayWrite && !isCommit && !isEmpty && (
        <Tool
          icon="filter"
          text="Delete records"
          onClick={() => {
            onOpen('delete-rows');
          }}
        />
      )}
      {mayWrite && !isCommit && objects > 1 && (
        <Tool
          icon="pack"
          text="Compact"
          onClick={() => {
            onOpen('compact');
          }}
        />
      )}
      {mayAdmin && (
        <Tool
          icon="broom"
          text="Vacuum"
          onClick={() => {
            onOpen('vacuum');
          }}
        />
      )}
      {mayAdmin && (
        <button
          type="button"
          class="quiet tool"
          onClick={() => {
            onOpen('rename');
          }}
          aria-label="Rename pool"
          title="Rename pool"
        >
          <Icon name="edit" />
        </button>
      )}
      {mayAdmin && (
        <button
          type="button"
          class="quiet tool"
          onClick={() => {
            onOpen('delete');
          }}
          aria-label="Delete pool"
          title="Delete pool"
        >
          <Icon name="trash" />
        </button>
      )}
    </div>
  );
};
const Tool = ({
  icon,
  text,
  onClick,
}: {
  readonly icon: IconName;
  readonly text: string;
  readonly onClick: () => void;
}) => (
  <button type="button" class="quiet tool" onClick={onClick}>
    <Icon name={icon} />
    {text}
  </button>
);

/** The dialog that is open. `branch`: where changes are made. */
export const PoolDialogs = ({
  pool,
  place,
  branch,
  dialog,
  onClose,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly branch: BranchInfo;
  readonly dialog: OpenDialog;
  readonly onClose: () => void;
}) => {
  const props = { pool, branch: dialog.branch ?? branch.name, onClose };
  switch (dialog.kind) {
    case 'load':
      return <Load pool={pool} branch={branch.name} files={dialog.files ?? []} onClose={onClose} />;
    case 'read':
      return <ReadFrom pool={pool} place={place} onClose={onClose} />;
    case 'branch':
      return <MakeBranch {...props} at={dialog.at ?? branch.commit} />;
    case 'delete-branch':
      return <DeleteBranch {...props} />;
    case 'tag':
      return <MakeTag pool={pool} at={dialog.at ?? branch.commit} onClose={onClose} />;
    case 'delete-tag':
      return <DeleteTag pool={pool} name={dialog.branch!} onClose={onClose} />;
    case 'reset':
      return <ResetBranch {...props} at={dialog.at!} />;
    case 'merge':
      return <Merge {...props} />;
    case 'revert':
      return <Revert {...props} commit={dialog.commit!} />;
    case 'pick':
      return <PickCommit {...props} commit={dialog.commit!} />;
    case 'protect':
      return <Protect {...props} />;
    case 'delete-rows':
      return <DeleteRows {...props} />;
    case 'compact':
      return <Compact {...props} />;
    case 'vacuum':
      return <Vacuum {...props} />;
    case 'rename':
      return <RenamePool pool={pool} onClose={onClose} />;
    case 'delete':
      return <DeletePool pool={pool} onClose={onClose} />;
  }
};
