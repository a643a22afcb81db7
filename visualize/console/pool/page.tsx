/** One pool: its branches and commits, the data objects of a revision, and all that can be done to it. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { BranchInfo, GraphCommit, PoolInfo, RevisionSums } from '../../../src/client/client.ts';
import { AddData } from '../add-data/dialog.tsx';
import { BranchOptions } from '../branch-options.tsx';
import { CommitDetails, Commits } from '../commits.tsx';
import { type Compared, Differences } from '../diff/view.tsx';
import { useDrop } from '../../shared/drop.ts';
import { sumsOf, wantSums } from '../figures.ts';
import { History } from '../history.ts';
import { branches, listState, poolByReference, tags } from '../lake.ts';
import { Objects } from '../objects-view.tsx';
import { Ago, Busy, Bytes, Empty, Figure, Icon, IconButton, Name, Records } from '../parts.tsx';
import { type Open, type OpenDialog, PoolDialogs, Tools } from './actions.tsx';
import { isNoCommit, type Place, placeOf } from './place.ts';
import { keyText, referenceOf } from '../pools.tsx';
import { go, link, note, route } from '../route.ts';
import { may } from '../session.ts';
import { TagTable } from '../tags.tsx';
import { count, dateTime, shortId, visible, visibleName } from '../text.ts';
import { use } from '../used.ts';

type Tab = 'commits' | 'changes' | 'objects' | 'branches';
const tabs: readonly (readonly [Tab, string])[] = [
  ['commits', 'Commits'],
  ['changes', 'Changes'],
  ['objects', 'Data objects'],
  ['branches', 'Branches'],
];
/** The one that the address names; the first by default. */
const tabOf = (name: string | null): Tab => tabs.find(([id]) => id === name)?.[0] ?? 'commits';
/** Of the first the address has nothing. */
const tabName = (tab: Tab): string | undefined => (tab === 'commits' ? undefined : tab);

/** What the address says besides the pool. */
const here = (query: URLSearchParams): { readonly at: string | undefined; readonly tab: string | undefined } => ({
  at: query.get('at') ?? undefined,
  tab: tabName(tabOf(query.get('tab'))),
});

/** The page of the pool that the address names by id or name, or says that there is none. */
export const PoolPage = ({ reference }: { readonly reference: string }) => {
  // A pool that somebody renames meanwhile is still the one that is looked at.
  const known = useRef<string | undefined>(undefined);
  const named = poolByReference(reference);
  const pool = named ?? (known.current === undefined ? undefined : poolByReference(known.current));
  known.current = pool?.id;
  useEffect(() => {
    if (pool && !named) note(link(['pool', referenceOf(pool)], here(route.peek().query)));
  }, [pool?.name]);
  if (pool) return <PoolView key={pool.id} pool={pool} />;
  if (listState.value === 'loading')
    return (
      <section class="page">
        <h1 class="hidden-text">Pool</h1>
        <Busy text="Reading the list of pools…" />
      </section>
    );
  return (
    <section class="page">
      <h1 class="hidden-text">No such pool</h1>
      <Empty title="There is no such pool">
        <p class="soft">
          Nothing here is called <Name text={reference} max={80} />. It was renamed or deleted, or you may not read it.
        </p>
        <a class="button main" href={link(['pools'])}>
          All pools
        </a>
      </Empty>
    </section>
  );
};

const PoolView = ({ pool }: { readonly pool: PoolInfo }) => {
  const { query } = route.value;
  const place = placeOf(branches(pool), tags(pool), query.get('at'));
  const tab = tabOf(query.get('tab'));
  const { all, at, isCommit, writeBranch, revision, isEmpty } = place;
  const history = useMemo(() => new History(pool), [pool.id]);
  const chosenId = useSignal<string | undefined>(query.get('commit') ?? undefined);
  const dialog = useSignal<OpenDialog | null>(null);
  const adding = useSignal(false);
  useEffect(
    () => () => {
      history.leave();
    },
    [history],
  );
  useEffect(() => {
    use(pool);
  }, [pool.id]);
  useEffect(() => {
    history.follow();
  }, [all]);
  useEffect(() => {
    if (at !== undefined) wantSums(pool, revision!, at);
  }, [at]);
  const mayWrite = may('writer', pool);
  const held = isEmpty ? undefined : sumsOf(pool, revision!);
  const over = useDrop((files) => {
    dialog.value = { kind: 'load', files };
  }, mayWrite);
  const commits = history.state.value?.commits ?? [];
  const chosen = commits.find((c) => c.id === (chosenId.value ?? at)) ?? commits[0];
  const travel = (to: string | undefined): void => {
    go(link(['pool', referenceOf(pool)], { at: to, tab: tabName(tab) }));
  };
  const compare = ({ of, base }: Compared): void => {
    go(link(['pool', referenceOf(pool)], { ...here(query), tab: 'changes', of, base }));
  };
  const open: Open = (kind, more = {}) => {
    dialog.value = { kind, ...more };
  };
  return (
    <section class="page fill pool-page" aria-labelledby="pool-title">
      <PoolHead
        pool={pool}
        place={place}
        onRead={() => {
          open('read');
        }}
        {...(mayWrite && {
          onLoad: () => {
            open('load');
          },
          onAdd: () => {
            adding.value = true;
          },
        })}
      />
      {isCommit && (
        <TimeBanner
          at={at!}
          commit={commits.find((c) => c.id === at)}
          back={writeBranch}
          onBack={() => {
            travel(undefined);
          }}
        />
      )}
      {place.missing !== undefined && (
        <p class="banner" role="status">
          <span>
            No branch, tag or commit here is called <Name text={place.missing} max={60} />
            {place.branch && (
              <>
                : this is <Name text={place.branch.name} max={40} />
              </>
            )}
          </span>
        </p>
      )}
      <div class="pool-bar panel">
        <ShownBranch
          pool={pool}
          place={place}
          onTravel={(to) => {
            chosenId.value = undefined;
            travel(to);
          }}
        />
        <PoolFigures pool={pool} held={isEmpty ? none : held} />
        <Tools pool={pool} place={place} objects={held?.objects ?? 0} onOpen={open} />
      </div>
      <div class="pool-body">
        <div class="panel pool-main">
          <Tabs
            chosen={tab}
            branchCount={all.length}
            onChoose={(to) => {
              go(link(['pool', referenceOf(pool)], { ...here(query), tab: tabName(to) }));
            }}
          />
          <div class="tab-panel" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
            {tab === 'commits' ? (
              commits.length === 0 && history.state.value && mayWrite ? (
                <NoCommits
                  onLoad={() => {
                    open('load');
                  }}
                />
              ) : (
                <Commits
                  pool={pool}
                  history={history}
                  chosen={chosen?.id}
                  onChoose={(id) => {
                    chosenId.value = id;
                  }}
                  onTravel={(id) => {
                    travel(id);
                  }}
                  at={at}
                />
              )
            ) : tab === 'changes' ? (
              <Differences
                pool={pool}
                place={place}
                compared={{ of: query.get('of') ?? '', base: query.get('base') ?? '' }}
                onCompare={compare}
              />
            ) : tab === 'objects' ? (
              <Objects pool={pool} commit={at} />
            ) : (
              <Branches
                pool={pool}
                all={all}
                mayWrite={mayWrite}
                mayDelete={mayWrite}
                {...(may('admin', pool) && {
                  onProtect: (name: string) => {
                    open('protect', { branch: name });
                  },
                })}
                onDelete={(name) => {
                  open('delete-branch', { branch: name });
                }}
                onDeleteTag={(name) => {
                  open('delete-tag', { branch: name });
                }}
                onTravel={travel}
              />
            )}
          </div>
        </div>
        {tab === 'commits' && chosen && (
          <ChosenCommit
            pool={pool}
            place={place}
            commit={chosen}
            onOpen={open}
            onTravel={travel}
            onCompare={() => {
              compare({ of: chosen.id, base: '' });
            }}
          />
        )}
      </div>
      {over && (
        <div class="drop" aria-hidden="true">
          <p>Drop files to load them into {visible(pool.name, 40)}</p>
        </div>
      )}
      {adding.value && (
        <AddData
          pool={pool.name}
          onClose={() => {
            adding.value = false;
          }}
        />
      )}
      {dialog.value && writeBranch && (
        <PoolDialogs
          pool={pool}
          place={place}
          branch={writeBranch}
          dialog={dialog.value}
          onClose={() => {
            dialog.value = null;
          }}
        />
      )}
    </section>
  );
};

/** Without `onLoad` the reader may not load. */
const PoolHead = ({
  pool,
  place: { isCommit, at, branch, tag },
  onRead,
  onLoad,
  onAdd,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly onRead: () => void;
  readonly onLoad?: () => void;
  readonly onAdd?: () => void;
}) => (
  <header class="page-head pool-head">
    <div class="pool-name">
      <p class="crumb">
        <a href={link(['pools'])}>Pools</a>
      </p>
      <h1 id="pool-title">
        <Name text={pool.name} max={100} />
      </h1>
    </div>
    <div class="group">
      <a
        class="button"
        href={link(['query'], {
          pool: pool.name,
          ...(isCommit ? { branch: tag?.name ?? at } : branch && branch.name !== 'main' && { branch: branch.name }),
        })}
      >
        <Icon name="ask" />
        Query
      </a>
      <button type="button" onClick={onRead}>
        <Icon name="table" />
        Read it from …
      </button>
      {onAdd && (
        <button type="button" onClick={onAdd}>
          <Icon name="plus" />
          Add data
        </button>
      )}
      {onLoad && (
        <button type="button" class="main" onClick={onLoad}>
          <Icon name="upload" />
          Load data
        </button>
      )}
    </div>
  </header>
);

const ShownBranch = ({
  pool,
  place: { all, branch, at, isCommit, tag },
  onTravel,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly onTravel: (name: string) => void;
}) => (
  <div class="at">
    <label class="soft" for="shown-branch">
      Branch
    </label>
    <select
      id="shown-branch"
      value={tag?.name ?? (isCommit ? '' : (branch?.name ?? ''))}
      onChange={(e) => {
        onTravel(e.currentTarget.value);
      }}
    >
      {isCommit && !tag && <option value="">at {shortId(at!)}</option>}
      <BranchOptions all={all} chosen={branch?.name} max={100} />
      {tags(pool).length > 0 && (
        <optgroup label="Tags">
          {tags(pool)
            .slice(0, 500)
            .map(({ name }) => (
              <option key={name} value={name}>
                {visibleName(name, 100)}
              </option>
            ))}
        </optgroup>
      )}
    </select>
  </div>
);

type Sums = Pick<RevisionSums, 'records' | 'bytes' | 'objects'>;
const none: Sums = { records: 0, bytes: 0, objects: 0 };
/** `held`: undefined while it is not known. */
const PoolFigures = ({ pool, held }: { readonly pool: PoolInfo; readonly held: Sums | undefined }) => (
  <dl class="figures">
    <Figure label="records" value={<Records n={held?.records} />} />
    <Figure label="size" value={<Bytes n={held?.bytes} />} />
    <Figure label="data objects" value={<Records n={held?.objects} />} />
    <Figure
      label="key"
      value={
        <code title={`${keyText(pool)} ${pool.layout.order}`}>
          <Name text={keyText(pool)} max={24} /> <span class="soft">{pool.layout.order}</span>
        </code>
      }
    />
    <Figure label="created" value={<Ago time={pool.ts} />} />
  </dl>
);

const ChosenCommit = ({
  pool,
  place: { at, writeBranch },
  commit,
  onOpen,
  onTravel,
  onCompare,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly commit: GraphCommit;
  readonly onOpen: Open;
  readonly onTravel: (id: string) => void;
  readonly onCompare: () => void;
}) => {
  const mayWrite = may('writer', pool);
  return (
    <aside class="panel pool-aside" aria-label="The chosen commit">
      <CommitDetails
        commit={commit}
        at={at}
        actions={
          <>
            {commit.id === at ? (
              <span class="pill good">Shown on this page</span>
            ) : (
              <button
                type="button"
                class="main"
                onClick={() => {
                  onTravel(commit.id);
                }}
              >
                <Icon name="back" />
                Go to this point in time
              </button>
            )}
            <button type="button" onClick={onCompare}>
              <Icon name="compare" />
              What it changed
            </button>
            <a class="button" href={link(['query'], { pool: pool.name, branch: commit.id })}>
              <Icon name="ask" />
              Query here
            </a>
            {mayWrite && (
              <button
                type="button"
                onClick={() => {
                  onOpen('branch', { at: commit.id, branch: '' });
                }}
              >
                <Icon name="branch" />
                Branch here
              </button>
            )}
            {mayWrite && (
              <button
                type="button"
                onClick={() => {
                  onOpen('tag', { at: commit.id });
                }}
              >
                <Icon name="tag" />
                Tag
              </button>
            )}
            {mayWrite && writeBranch && (
              <button
                type="button"
                onClick={() => {
                  onOpen('revert', { commit });
                }}
              >
                <Icon name="undo" />
                Revert
              </button>
            )}
            {mayWrite && writeBranch && (
              <button
                type="button"
                onClick={() => {
                  onOpen('pick', { commit });
                }}
              >
                <Icon name="pick" />
                Pick
              </button>
            )}
            {mayWrite && writeBranch && (
              <button
                type="button"
                onClick={() => {
                  onOpen('reset', { at: commit.id });
                }}
              >
                <Icon name="back" />
                Reset a branch to here
              </button>
            )}
          </>
        }
      />
    </aside>
  );
};

const TimeBanner = ({
  at,
  commit,
  back,
  onBack,
}: {
  readonly at: string;
  readonly commit: GraphCommit | undefined;
  readonly back: BranchInfo | undefined;
  readonly onBack: () => void;
}) => (
  <p class="banner" role="status">
    <Icon name="back" />
    <span>
      The pool as it was{' '}
      {commit ? (
        <>
          at <strong>{dateTime(commit.date)}</strong>, commit <code>{shortId(at)}</code>
        </>
      ) : (
        <>
          at commit <code>{shortId(at)}</code>
        </>
      )}
    </span>
    <button type="button" onClick={onBack}>
      Back to {back ? <Name text={back.name} max={40} /> : 'now'}
    </button>
  </p>
);

const NoCommits = ({ onLoad }: { readonly onLoad: () => void }) => (
  <Empty title="This pool is empty">
    <p class="soft">
      Drop a file anywhere on this page, or choose one: JSON, CSV, TSV, Parquet, Arrow, Zeek, SUP and its kin.
    </p>
    <button type="button" class="main" onClick={onLoad}>
      <Icon name="upload" />
      Load data
    </button>
  </Empty>
);

/** One tab stop; the arrow keys choose. */
const Tabs = ({
  chosen,
  branchCount,
  onChoose,
}: {
  readonly chosen: Tab;
  readonly branchCount: number;
  readonly onChoose: (tab: Tab) => void;
}) => {
  const key = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const index = tabs.findIndex(([id]) => id === chosen);
    if (step === 0) return;
    event.preventDefault();
    const [to] = tabs[(index + step + tabs.length) % tabs.length];
    onChoose(to);
    document.getElementById(`tab-${to}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Parts of the pool" onKeyDown={key}>
      {tabs.map(([id, title]) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={chosen === id}
          {...(chosen === id && { 'aria-controls': `panel-${id}` })}
          tabIndex={chosen === id ? 0 : -1}
          onClick={() => {
            onChoose(id);
          }}
        >
          {title}
          {id === 'branches' && <span class="count">{count(branchCount)}</span>}
        </button>
      ))}
    </div>
  );
};

const Branches = ({
  pool,
  all,
  mayWrite,
  mayDelete,
  onProtect,
  onDelete,
  onDeleteTag,
  onTravel,
}: {
  readonly pool: PoolInfo;
  readonly all: readonly BranchInfo[];
  readonly mayWrite: boolean;
  readonly mayDelete: boolean;
  readonly onProtect?: (name: string) => void;
  readonly onDelete: (name: string) => void;
  readonly onDeleteTag: (name: string) => void;
  readonly onTravel: (name: string) => void;
}) => (
  <div class="scroll">
    <table class="branches-table">
      <thead>
        <tr>
          <th scope="col">Branch</th>
          <th scope="col" class="numeric">
            Records
          </th>
          <th scope="col" class="numeric">
            Size
          </th>
          <th scope="col">Tip</th>
          <th scope="col">Made</th>
          <th>
            <span class="hidden-text">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {all.slice(0, 500).map((branch) => (
          <BranchRow
            key={branch.name}
            pool={pool}
            branch={branch}
            {...(onProtect && { onProtect })}
            {...(mayWrite && mayDelete && branch.name !== 'main' && { onDelete })}
            onTravel={onTravel}
          />
        ))}
      </tbody>
    </table>
    {all.length > 500 && <p class="soft more">and {count(all.length - 500)} more</p>}
    <TagTable pool={pool} {...(mayWrite && { onDelete: onDeleteTag })} onTravel={onTravel} />
  </div>
);
/** As `load: nobody, reset: admin`. */
const protectionText = (protection: NonNullable<BranchInfo['protection']>): string =>
  Object.entries(protection)
    .map(([verb, who]) => `${verb}: ${who}`)
    .join(', ');

const BranchRow = ({
  pool,
  branch,
  onProtect,
  onDelete,
  onTravel,
}: {
  readonly pool: PoolInfo;
  readonly branch: BranchInfo;
  readonly onProtect?: (name: string) => void;
  readonly onDelete?: (name: string) => void;
  readonly onTravel: (name: string) => void;
}) => {
  const { name, commit, ts, protection } = branch;
  const empty = isNoCommit(commit);
  const held = empty ? undefined : sumsOf(pool, name);
  useEffect(() => {
    if (!empty) wantSums(pool, name, commit);
  }, [commit]);
  return (
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
        {protection && (
          <span class="tag fixed" title={protectionText(protection)}>
            protected
          </span>
        )}
      </th>
      <td class="numeric">
        <Records n={empty ? 0 : held?.records} />
      </td>
      <td class="numeric">
        <Bytes n={empty ? 0 : held?.bytes} />
      </td>
      <td>
        {empty ? (
          <span class="soft">no commit</span>
        ) : (
          <code class="id" title={commit}>
            {shortId(commit)}
          </code>
        )}
      </td>
      <td class="soft">
        <Ago time={ts} />
      </td>
      <td class="row-actions">
        {onProtect && (
          <IconButton
            icon="shield"
            label={`Protect branch ${visibleName(name, 60)}`}
            title="Protect branch"
            onClick={() => {
              onProtect(name);
            }}
          />
        )}
        {onDelete && (
          <IconButton
            icon="trash"
            label={`Delete branch ${visibleName(name, 60)}`}
            title="Delete branch"
            onClick={() => {
              onDelete(name);
            }}
          />
        )}
      </td>
    </tr>
  );
};
