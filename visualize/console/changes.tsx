/** Changes to a pool: each with what it would do, and its request as a line to copy. */
import { useEffect, useState } from 'preact/hooks';
import type { BranchInfo, PoolInfo, Preview } from '../../src/client/client.ts';
import { BranchOptions } from './branch-options.tsx';
import { curlName, curlOf, keepAuthor, lastAuthor, useAction, useAnswer } from './action.ts';
import type { CurlRequest } from './curl.ts';
import { asciiJson } from './curl.ts';
import { Field, NewNameField, ConfirmField } from './fields.tsx';
import { branches, refresh, tags } from './lake.ts';
import { readObjects } from './objects.ts';
import { Busy, CopyLine, Dialog, Fault, Id, Name, Told } from './parts.tsx';
import { isNoCommit } from './pool/place.ts';
import { go, link, route } from './route.ts';
import { client } from './session.ts';
import { bytes, count, counted, shortId, visible } from './text.ts';

/** What all dialogs of changes are given: where the change is made, and how the dialog closes. */
export interface ChangeProps {
  readonly pool: PoolInfo;
  readonly branch: string;
  readonly onClose: () => void;
}

/** Who and why, for the commit that a change makes. */
export const useNote = (): {
  readonly author: string;
  readonly message: string;
  readonly options: { readonly author?: string; readonly message?: string };
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: preact.JSX.Element;
} => {
  const [author, setAuthor] = useState(lastAuthor);
  const [message, setMessage] = useState('');
  useEffect(() => {
    keepAuthor(author);
  }, [author]);
  const options = { ...(author !== '' && { author }), ...(message !== '' && { message }) };
  const noted = { ...(author !== '' && { author }), ...(message !== '' && { body: message }) };
  return {
    author,
    message,
    options,
    headers: Object.keys(noted).length === 0 ? {} : { 'SuperDB-Commit': asciiJson(noted) },
    fields: (
      <details class="note">
        <summary>
          Author and message
          {author === '' && message === '' ? (
            ''
          ) : (
            <span class="soft"> · {visible([author, message].filter((t) => t !== '').join(': '), 60)}</span>
          )}
        </summary>
        <div class="field-row">
          <Field label="Author">
            {(props) => (
              <input
                {...props}
                value={author}
                autocomplete="off"
                onInput={(e) => {
                  setAuthor(e.currentTarget.value);
                }}
              />
            )}
          </Field>
          <Field label="Message">
            {(props) => (
              <input
                {...props}
                value={message}
                autocomplete="off"
                onInput={(e) => {
                  setMessage(e.currentTarget.value);
                }}
              />
            )}
          </Field>
        </div>
      </details>
    ),
  };
};

/** A field that offers branches. */
export const BranchField = ({
  label,
  all,
  value,
  onChange,
  first,
}: {
  readonly label: string;
  readonly all: readonly BranchInfo[];
  readonly value: string;
  readonly onChange: (name: string) => void;
  readonly first?: boolean;
}) => (
  <Field label={label}>
    {(props) => (
      <select
        {...props}
        {...(first && { 'data-first': true })}
        value={value}
        onChange={(e) => {
          onChange(e.currentTarget.value);
        }}
      >
        <BranchOptions all={all} chosen={value} max={100} />
      </select>
    )}
  </Field>
);

/** What a change would do to the branch. */
export const Effect = ({ preview }: { readonly preview: Preview }) => {
  const { adds, removes, recordsAdded, recordsRemoved, conflicts, error } = preview;
  const records = preview.recordConflicts?.count ?? 0;
  if (error !== undefined) {
    return (
      <div class="effect refused" role="status">
        <p>
          <strong>
            {records > 0
              ? `${counted(records, 'record')} ${records === 1 ? 'is' : 'are'} in conflict.`
              : conflicts.length > 0
                ? `This conflicts on ${counted(conflicts.length, 'data object')}.`
                : 'There is nothing to do.'}
          </strong>
        </p>
        <p class="pre">
          <Told text={error} />
        </p>
        {conflicts.length > 0 && (
          <ul class="ids">
            {conflicts.slice(0, 50).map((id) => (
              <li key={id}>
                <Id id={id} />
              </li>
            ))}
          </ul>
        )}
      </div>
    );
  }
  return (
    <div role="status">
      <dl class="effect">
        <Part label="adds" sign="+" tone="plus" records={recordsAdded} objects={adds.length} />
        <Part label="removes" sign="−" tone="minus" records={recordsRemoved} objects={removes.length} />
        <div>
          <dt>the branch changes by</dt>
          <dd>
            <strong>
              {recordsAdded - recordsRemoved > 0 ? '+' : recordsAdded < recordsRemoved ? '−' : ''}
              {count(Math.abs(recordsAdded - recordsRemoved))}
            </strong>{' '}
            {Math.abs(recordsAdded - recordsRemoved) === 1 ? 'record' : 'records'}
          </dd>
        </div>
        <div>
          <dt>conflicts</dt>
          <dd>{conflicts.length === 0 ? 'none' : count(conflicts.length)}</dd>
        </div>
      </dl>
    </div>
  );
};

const Part = ({
  label,
  sign,
  tone,
  records,
  objects,
}: {
  readonly label: string;
  readonly sign: string;
  readonly tone: string;
  readonly records: number;
  readonly objects: number;
}) => (
  <div class={tone}>
    <dt>{label}</dt>
    <dd>
      {objects === 0 && records === 0 ? (
        <span class="soft">nothing</span>
      ) : (
        <>
          <strong>
            {sign}
            {count(records)}
          </strong>{' '}
          {records === 1 ? 'record' : 'records'}
          {objects > 0 && <span class="soft"> in {counted(objects, 'data object')}</span>}
        </>
      )}
    </dd>
  </div>
);

interface DialogParts {
  readonly title: string;
  readonly onClose: () => void;
  readonly ready: boolean;
  readonly busy: boolean;
  readonly submit: () => void;
  readonly verb: string;
  readonly danger?: boolean;
  readonly wide?: boolean;
  readonly request: CurlRequest;
  readonly fault: string | undefined;
  readonly children: preact.ComponentChildren;
}
/** A dialog of a change. */
export const Change = ({
  title,
  onClose,
  ready,
  busy,
  submit,
  verb,
  danger,
  wide,
  request,
  fault,
  children,
}: DialogParts) => (
  <Dialog
    title={title}
    onClose={onClose}
    onSubmit={() => {
      if (ready && !busy) submit();
    }}
    {...(wide && { wide })}
    actions={
      <>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class={danger ? 'danger' : 'main'} disabled={!ready || busy}>
          {busy ? 'Working…' : verb}
        </button>
      </>
    }
  >
    {children}
    <Fault text={fault} />
    <CopyLine text={curlOf(request)} />
  </Dialog>
);

/** The dialog that makes a branch at a commit; `branch`, if it is not empty, is named as the one that is there. */
export const MakeBranch = ({
  pool,
  branch,
  at,
  onClose,
}: ChangeProps & { /** Id of a commit. */ readonly at: string }) => {
  const [name, setName] = useState('');
  const taken = [...branches(pool), ...tags(pool)].some((each) => each.name === name);
  const action = useAction(() => {
    onClose();
    go(link(['pool', route.peek().path[1]], { at: name }));
  });
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).createBranch(name, at);
      return `Branch ${name} is there.`;
    });
  };
  return (
    <Change
      title="New branch"
      onClose={onClose}
      ready={name !== '' && !taken}
      busy={action.busy}
      submit={submit}
      verb="Create branch"
      fault={action.fault}
      request={{ method: 'POST', path: ['pool', curlName(pool)], json: { name, commit: at } }}
    >
      <p class="soft">
        It begins at{' '}
        {isNoCommit(at) ? (
          'nothing: no commit has been made yet'
        ) : (
          <>
            commit <Id id={at} />
          </>
        )}
        {branch === '' ? (
          ''
        ) : (
          <>
            , where{' '}
            <strong>
              <Name text={branch} max={60} />
            </strong>{' '}
            is
          </>
        )}
        . Nothing is copied.
      </p>
      <NewNameField value={name} onValue={setName} taken={taken ? 'a branch or a tag' : undefined} />
    </Change>
  );
};

/** The dialog that deletes a branch, once that was confirmed by typing. */
export const DeleteBranch = ({ pool, branch, onClose }: ChangeProps) => {
  const [typed, setTyped] = useState('');
  const action = useAction(() => {
    onClose();
    go(link(['pool', route.peek().path[1]]));
  });
  const word = visible(branch, 60) === branch ? branch : 'delete';
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).branch(branch).delete();
      return `Branch ${visible(branch, 60)} is deleted.`;
    });
  };
  return (
    <Change
      title="Delete branch"
      onClose={onClose}
      ready={typed === word}
      busy={action.busy}
      submit={submit}
      verb="Delete branch"
      danger
      fault={action.fault}
      request={{ method: 'DELETE', path: ['pool', curlName(pool), 'branch', branch] }}
    >
      <p>
        Commits that only{' '}
        <strong>
          <Name text={branch} max={60} />
        </strong>{' '}
        holds are then reached by their ids alone, and a vacuum may remove their data.
      </p>
      <ConfirmField word={word} value={typed} onValue={setTyped} />
    </Change>
  );
};

/** The dialog that moves a branch to another commit, with what it then holds. */
export const ResetBranch = ({ pool, branch, at, onClose }: ChangeProps & { readonly at: string }) => {
  const all = branches(pool);
  const [target, setTarget] = useState(branch);
  const tip = all.find((b) => b.name === target)?.commit;
  const action = useAction(onClose);
  const preview = useAnswer(JSON.stringify([target, tip, at]), () =>
    Promise.all([target, at].map((revision) => client.pool(pool.id).sums(revision))),
  );
  const submit = (): void => {
    action.run(async () => {
      // On the condition that it still is where this page shows it.
      await client
        .pool(pool.id)
        .branch(target)
        .reset(at, tip === undefined ? {} : { ifMatch: tip });
      await refresh();
      return `Branch ${visible(target, 60)} is at ${shortId(at)}.`;
    });
  };
  const [before, after] = preview.value ?? [];
  return (
    <Change
      title="Reset branch"
      wide
      onClose={onClose}
      ready={tip !== undefined && tip !== at && preview.value !== undefined}
      busy={action.busy}
      submit={submit}
      verb="Reset branch"
      danger
      fault={action.fault ?? preview.fault}
      request={{
        method: 'PUT',
        path: ['pool', curlName(pool), 'branch', target],
        headers: tip === undefined ? {} : { 'If-Match': `"${tip}"` },
        json: { commit: at },
      }}
    >
      <p>
        The branch is then at commit <Id id={at} />. What it has beyond stays readable by the ids of its commits.
      </p>
      <BranchField label="Branch" first all={all} value={target} onChange={setTarget} />
      {tip === at ? (
        <p class="soft">The branch is there already.</p>
      ) : preview.busy ? (
        <Busy text="Looking at what it would hold…" />
      ) : (
        before &&
        after && (
          <dl class="effect">
            <div>
              <dt>it holds</dt>
              <dd>
                <strong>{counted(before.records, 'record')}</strong>{' '}
                <span class="soft">
                  in {counted(before.objects, 'data object')}, {bytes(before.bytes)}
                </span>
              </dd>
            </div>
            <div>
              <dt>and would hold</dt>
              <dd>
                <strong>{counted(after.records, 'record')}</strong>{' '}
                <span class="soft">
                  in {counted(after.objects, 'data object')}, {bytes(after.bytes)}
                </span>
              </dd>
            </div>
          </dl>
        )
      )}
    </Change>
  );
};

/** The dialog that deletes the records that a filter selects, with their number. */
export const DeleteRows = ({ pool, branch, onClose }: ChangeProps) => {
  const [where, setWhere] = useState('');
  const note = useNote();
  const action = useAction(onClose);
  const text = where.trim();
  const tip = branches(pool).find((b) => b.name === branch)?.commit;
  // The count reads what the filter has to look at: it waits until the typing rests.
  const preview = useAnswer(
    text === '' ? undefined : JSON.stringify([text, tip]),
    () => client.pool(pool.id).branch(branch).previewDelete(text),
    500,
  );
  const gone = preview.value === undefined ? 0 : preview.value.recordsRemoved - preview.value.recordsAdded;
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).branch(branch).deleteWhere(text, note.options);
      return `Deleted ${counted(gone, 'record')} from ${visible(branch, 60)}.`;
    });
  };
  return (
    <Change
      title="Delete records"
      wide
      onClose={onClose}
      ready={preview.value !== undefined && preview.value.error === undefined}
      busy={action.busy}
      submit={submit}
      verb={gone > 0 ? `Delete ${counted(gone, 'record')}` : 'Delete'}
      danger
      fault={action.fault ?? preview.fault}
      request={{
        method: 'POST',
        path: ['pool', curlName(pool), 'branch', branch, 'delete'],
        json: { where: text },
        headers: note.headers,
      }}
    >
      <p class="soft">
        From{' '}
        <strong>
          <Name text={branch} max={60} />
        </strong>
        , by a new commit: earlier commits keep the records.
      </p>
      <Field
        label="Where"
        hint={
          <>
            A filter as in queries, such as <code>status &gt;= 500 and method == "GET"</code>.
          </>
        }
      >
        {(props) => (
          <textarea
            {...props}
            data-first
            rows={2}
            class="mono"
            value={where}
            spellcheck={false}
            onInput={(e) => {
              setWhere(e.currentTarget.value);
            }}
          />
        )}
      </Field>
      {preview.busy ? (
        <Busy text="Counting…" />
      ) : (
        preview.value &&
        (preview.value.error === undefined ? (
          <p class="effect count" role="status">
            <strong>{counted(gone, 'record')}</strong> would go
            <span class="soft">
              ; {counted(preview.value.removes.length, 'data object')}{' '}
              {preview.value.removes.length === 1 ? 'is' : 'are'} rewritten without them
            </span>
          </p>
        ) : (
          <p class="effect" role="status">
            No record matches: nothing would be deleted.
          </p>
        ))
      )}
      {note.fields}
    </Change>
  );
};

/** The dialog that puts the small data objects of a branch together. */
export const Compact = ({ pool, branch, onClose }: ChangeProps) => {
  const [limit, setLimit] = useState('10');
  const note = useNote();
  const action = useAction(onClose);
  const tip = branches(pool).find((b) => b.name === branch)?.commit ?? '';
  const found = useAnswer(tip, () => readObjects(pool, tip, compactMax));
  const limitBytes = Number(limit) * 1e6;
  const small = (found.value?.objects ?? []).filter(({ size }) => Number(size) <= limitBytes);
  const records = small.reduce((sum, o) => sum + Number(o.count), 0);
  const size = small.reduce((sum, o) => sum + Number(o.size), 0);
  const ids = small.map(({ id }) => id);
  const request: CurlRequest = {
    method: 'POST',
    path: ['pool', curlName(pool), 'branch', branch, 'compact'],
    headers: { 'Content-Type': 'application/x-sup', ...note.headers },
    body: `{object_ids:[${ids.join(',')}]}`,
  };
  const submit = (): void => {
    action.run(async () => {
      await client.pool(pool.id).branch(branch).compact(ids, note.options);
      return `Put ${counted(ids.length, 'data object')} together on ${visible(branch, 60)}.`;
    });
  };
  return (
    <Change
      title="Compact"
      wide
      onClose={onClose}
      ready={ids.length >= 2}
      busy={action.busy}
      submit={submit}
      verb="Compact"
      fault={action.fault ?? found.fault}
      request={request}
    >
      <p class="soft">
        Puts small data objects of{' '}
        <strong>
          <Name text={branch} max={60} />
        </strong>{' '}
        together into larger ones, by one commit. The records stay as they are.
      </p>
      <Field label="Objects of at most (MB)">
        {(props) => (
          <input
            {...props}
            data-first
            type="number"
            min="0"
            step="any"
            value={limit}
            onInput={(e) => {
              setLimit(e.currentTarget.value);
            }}
          />
        )}
      </Field>
      {found.busy ? (
        <Busy text="Reading the list of data objects…" />
      ) : (
        <p class="effect" role="status">
          {ids.length < 2 ? (
            'It takes at least two such data objects: there is nothing to put together.'
          ) : (
            <>
              <strong>{counted(ids.length, 'data object')}</strong> with {counted(records, 'record')}, {bytes(size)}
            </>
          )}
        </p>
      )}
      {note.fields}
    </Change>
  );
};
/** So many ids fit into one argument of a command, for the line that can be copied. */
const compactMax = 2000;

/** The dialog that removes data objects that no branch or tag holds any more, with the list of them. */
export const Vacuum = ({ pool, branch, onClose }: ChangeProps) => {
  const [sure, setSure] = useState(false);
  const action = useAction(onClose);
  const tip = branches(pool).find((b) => b.name === branch)?.commit;
  const dry = useAnswer(JSON.stringify([branch, tip]), () => client.pool(pool.id).vacuum(branch, { dryRun: true }));
  const ids = dry.value ?? [];
  const submit = (): void => {
    action.run(
      async () => `Removed ${counted((await client.pool(pool.id).vacuum(branch)).length, 'data object')} for good.`,
    );
  };
  return (
    <Change
      title="Vacuum"
      wide
      onClose={onClose}
      ready={ids.length > 0 && sure}
      busy={action.busy}
      submit={submit}
      verb={ids.length > 0 ? `Remove ${counted(ids.length, 'data object')}` : 'Remove'}
      danger
      fault={action.fault ?? dry.fault}
      request={{
        method: 'POST',
        path: ['pool', curlName(pool), 'revision', branch, 'vacuum'],
        query: { dryrun: sure ? 'F' : 'T' },
      }}
    >
      <p class="soft">
        Removes for good the data objects of earlier commits of{' '}
        <strong>
          <Name text={branch} max={60} />
        </strong>{' '}
        that no branch or tag holds any more. Those commits can then no longer be queried or brought back.
      </p>
      {dry.busy ? (
        <Busy text="Looking for data objects that no branch or tag holds…" />
      ) : (
        dry.value &&
        (ids.length === 0 ? (
          <p class="effect" role="status">
            Nothing can be removed: every data object is held by a branch or a tag.
          </p>
        ) : (
          <>
            <p class="effect" role="status">
              <strong>{counted(ids.length, 'data object')}</strong> would be removed:
            </p>
            <ul class="ids" tabIndex={0} aria-label="Data objects that would be removed">
              {ids.slice(0, 200).map((id) => (
                <li key={id}>
                  <code>{id}</code>
                </li>
              ))}
              {ids.length > 200 && <li class="soft">and {count(ids.length - 200)} more</li>}
            </ul>
            <label class="check">
              <input
                type="checkbox"
                data-first
                checked={sure}
                onChange={(e) => {
                  setSure(e.currentTarget.checked);
                }}
              />
              Remove them for good
            </label>
          </>
        ))
      )}
    </Change>
  );
};
