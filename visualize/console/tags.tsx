/** Tags of a pool: their list, and the dialogs that make and delete one. */
import { useState } from 'preact/hooks';
import type { PoolInfo, TagInfo } from '../../src/client/client.ts';
import { curlName, useAction } from './action.ts';
import { Change, type ChangeProps } from './changes.tsx';
import { NewNameField } from './fields.tsx';
import { branches, refresh, tags } from './lake.ts';
import { Ago, IconButton, Id, Name } from './parts.tsx';
import { client } from './session.ts';
import { count, visible } from './text.ts';

const shownMax = 500;

/** The dialog that gives a commit a name. */
export const MakeTag = ({ pool, at, onClose }: Omit<ChangeProps, 'branch'> & { readonly at: string }) => {
  const [name, setName] = useState('');
  const taken = [...branches(pool), ...tags(pool)].some((each) => each.name === name);
  const action = useAction(onClose);
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).createTag(name, at);
      await refresh();
      return `Tag ${visible(name, 60)} is there.`;
    });
  };
  return (
    <Change
      title="New tag"
      onClose={onClose}
      ready={name !== '' && !taken}
      busy={action.busy}
      submit={submit}
      verb="Create tag"
      fault={action.fault}
      request={{ method: 'POST', path: ['pool', curlName(pool), 'tag'], json: { name, commit: at } }}
    >
      <p class="soft">
        A name for commit <Id id={at} />, which never moves. What the commit holds is kept from vacuums as long.
      </p>
      <NewNameField value={name} onValue={setName} taken={taken ? 'a branch or a tag' : undefined} />
    </Change>
  );
};

/** The dialog that deletes a tag. */
export const DeleteTag = ({ pool, name, onClose }: Omit<ChangeProps, 'branch'> & { readonly name: string }) => {
  const action = useAction(onClose);
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).deleteTag(name);
      await refresh();
      return `Tag ${visible(name, 60)} is deleted.`;
    });
  };
  return (
    <Change
      title="Delete tag"
      onClose={onClose}
      ready
      busy={action.busy}
      submit={submit}
      verb="Delete tag"
      danger
      fault={action.fault}
      request={{ method: 'DELETE', path: ['pool', curlName(pool), 'tag', name] }}
    >
      <p>
        The commit of{' '}
        <strong>
          <Name text={name} max={60} />
        </strong>{' '}
        stays. Where no branch or other tag holds it, it is then reached by its id alone, and a vacuum may remove its
        data.
      </p>
    </Change>
  );
};

/** The tags of a pool; nothing where there is none. Without `onDelete` the reader may not delete them. */
export const TagTable = ({
  pool,
  onDelete,
  onTravel,
}: {
  readonly pool: PoolInfo;
  readonly onDelete?: (name: string) => void;
  readonly onTravel: (name: string) => void;
}) => {
  const all = tags(pool);
  if (all.length === 0) return null;
  return (
    <>
      <table class="branches-table tags-table">
        <thead>
          <tr>
            <th scope="col">Tag</th>
            <th scope="col">Commit</th>
            <th scope="col">Made</th>
            <th>
              <span class="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, shownMax).map((tag) => (
            <TagRow key={tag.name} tag={tag} {...(onDelete && { onDelete })} onTravel={onTravel} />
          ))}
        </tbody>
      </table>
      {all.length > shownMax && <p class="soft more">and {count(all.length - shownMax)} more</p>}
    </>
  );
};
const TagRow = ({
  tag: { name, commit, ts },
  onDelete,
  onTravel,
}: {
  readonly tag: TagInfo;
  readonly onDelete?: (name: string) => void;
  readonly onTravel: (name: string) => void;
}) => (
  <tr>
    <th scope="row">
      <button
        type="button"
        class="link"
        onClick={() => {
          onTravel(name);
        }}
      >
        <Name text={name} max={80} />
      </button>
    </th>
    <td>
      <Id id={commit} />
    </td>
    <td class="soft">
      <Ago time={ts} />
    </td>
    <td class="row-actions">
      {onDelete && (
        <IconButton
          icon="trash"
          label={`Delete tag ${visible(name, 60)}`}
          title="Delete tag"
          onClick={() => {
            onDelete(name);
          }}
        />
      )}
    </td>
  </tr>
);
