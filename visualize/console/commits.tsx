/**
 * The commits of a pool as a graph: lanes, branches at their tips, tags, who, when, what was added and removed; and one of
 * them in full.
 */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { type RowProps, VirtualList } from '../shared/virtual-list.tsx';
import type { GraphCommit, ObjectSums, PoolInfo } from '../../src/client/client.ts';
import { type History } from './history.ts';
import { tags } from './lake.ts';
import type { LaneRow } from './lanes.ts';
import { namesAt } from './offered.ts';
import { clock, CopyLine, Icon, Name, Told } from './parts.tsx';
import { ago, bytes, count, counted, dateTime, shortId, withShortIds } from './text.ts';

const colours = 6;
const radius = 4.5;
const laneMax = 16;
const laneMin = 5;
const graphMax = 150;

/** The piece of the picture that belongs to one row; `height` in pixels. */
const LanePiece = ({
  row,
  width,
  height,
  merge,
  tip,
}: {
  readonly row: LaneRow;
  readonly width: number;
  readonly height: number;
  readonly merge: boolean;
  readonly tip: boolean;
}) => {
  const step = Math.max(laneMin, Math.min(laneMax, (graphMax - 12) / Math.max(1, width)));
  const x = (lane: number): number => 10 + Math.min(lane, graphMax / laneMin) * step;
  const middle = height / 2;
  const own = x(row.lane);
  const bend = (from: number, y1: number, to: number, y2: number): string =>
    from === to ? `M${from} ${y1}V${y2}` : `M${from} ${y1}C${from} ${(y1 + y2) / 2} ${to} ${(y1 + y2) / 2} ${to} ${y2}`;
  return (
    <svg class="lanes" width={Math.min(graphMax, 20 + (width - 1) * step)} height={height} aria-hidden="true">
      {row.through.map((lane) => (
        <path key={`t${lane}`} class={`lane lane-${lane % colours}`} d={`M${x(lane)} 0V${height}`} />
      ))}
      {row.into.map((lane) => (
        <path key={`i${lane}`} class={`lane lane-${lane % colours}`} d={bend(x(lane), 0, own, middle)} />
      ))}
      {row.out.map((lane) => (
        <path key={`o${lane}`} class={`lane lane-${lane % colours}`} d={bend(own, middle, x(lane), height)} />
      ))}
      <circle
        class={`node lane-${row.lane % colours}${merge ? ' merge' : ''}${tip ? ' tip' : ''}`}
        cx={own}
        cy={middle}
        r={merge ? radius - 1 : radius}
      />
    </svg>
  );
};

/** By how many records the branch changed: objects that are written again for a few records count on both sides. */
const Delta = ({ commit: { added, removed } }: { readonly commit: GraphCommit }) => {
  const by = added.records - removed.records;
  const rewrote = added.records > 0 && removed.records > 0;
  return (
    <span class="delta" title={`${counted(added.records, 'record')} added, ${count(removed.records)} removed`}>
      {rewrote && by === 0 ? (
        <span class="soft">rewritten</span>
      ) : (
        by !== 0 && (
          <span class={by > 0 ? 'plus' : 'minus'}>
            {by > 0 ? '+' : '−'}
            {count(Math.abs(by))}
          </span>
        )
      )}
    </span>
  );
};
/** The first line of its message. */
export const titleOf = ({ message }: Pick<GraphCommit, 'message'>): string =>
  withShortIds(message.split('\n', 1)[0] || '(no message)');

/** Whose commits are listed, and which of them stand out. */
interface CommitsProps {
  readonly pool: PoolInfo;
  readonly history: History;
  /** Id of the commit that is looked at. */
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
  /** The page's view goes there. */
  readonly onTravel: (id: string) => void;
  /** Id of the commit that the page shows. */
  readonly at: string | undefined;
}

const rowRem = 2.75;
/** The list of a pool's commits with the graph beside it; older ones are asked for as it is scrolled. */
export const Commits = ({ pool, history, chosen, onChoose, onTravel, at }: CommitsProps) => {
  const state = history.state.value;
  const commits = state?.commits ?? [];
  const now = clock.value;
  const placed = history.tips.value;
  const tips = useMemo(() => namesAt(Array.from(placed, ([name, commit]) => ({ name, commit }))), [placed]);
  const marked = tags(pool);
  const tagNames = useMemo(() => namesAt(marked), [marked]);
  const active = useMemo(() => commits.findIndex((c) => c.id === chosen), [commits, chosen]);
  const height = rowRem * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const row = (index: number, { key, ...props }: RowProps) => {
    const commit = commits[index];
    const names = tips.get(commit.id);
    const given = tagNames.get(commit.id);
    const merge = commit.parents.length > 1;
    return (
      <div
        key={key}
        {...props}
        class={`row commit${commit.id === at ? ' shown' : ''}`}
        role="option"
        onClick={() => {
          onChoose(commit.id);
        }}
        onDblClick={() => {
          onTravel(commit.id);
        }}
      >
        <LanePiece
          row={state!.lanes.rows[index]}
          width={state!.lanes.width}
          height={height}
          merge={merge}
          tip={names !== undefined}
        />
        <span class="what">
          {names?.slice(0, 3).map((name) => (
            <span key={name} class={`tag${name === 'main' ? ' trunk' : ''}`}>
              <Name text={name} max={24} />
            </span>
          ))}
          {names && names.length > 3 && <span class="tag">+{names.length - 3}</span>}
          {given?.slice(0, 3).map((name) => (
            <span key={name} class="tag fixed" title="A tag: it never moves">
              <Icon name="tag" />
              <span class="hidden-text">tag </span>
              <Name text={name} max={24} />
            </span>
          ))}
          {given && given.length > 3 && <span class="tag fixed">+{given.length - 3}</span>}
          <Name class="message" text={titleOf(commit)} max={160} />
          {merge && <span class="hidden-text">, a merge</span>}
        </span>
        <Delta commit={commit} />
        <span class="author soft">
          <Name text={commit.author} max={40} />
        </span>
        <time class="soft when" dateTime={commit.date}>
          {ago(commit.date, now)}
        </time>
      </div>
    );
  };
  return (
    <VirtualList
      id="commit"
      label="Commits, newest first"
      role="listbox"
      count={commits.length}
      rowRem={rowRem}
      active={active}
      onActive={(i) => {
        onChoose(commits[i].id);
      }}
      onKey={(e) => {
        if (e.key !== 'Enter' || active < 0) return false;
        onTravel(commits[active].id);
        return true;
      }}
      onView={(_, end) => {
        if (state && end > commits.length - 60) void history.more();
      }}
      row={row}
      empty={
        history.fault.value ??
        (state ? 'No commits yet: load something, and its commit shows here.' : 'Reading the commits…')
      }
    />
  );
};

const Sums = ({
  label,
  sums,
  tone,
}: {
  readonly label: string;
  readonly sums: ObjectSums;
  readonly tone: 'plus' | 'minus';
}) => (
  <div class={tone}>
    <dt>{label}</dt>
    <dd>
      {sums.objects === 0 ? (
        <span class="soft">nothing</span>
      ) : (
        <>
          <strong>
            {tone === 'plus' ? '+' : '−'}
            {count(sums.records)}
          </strong>{' '}
          {sums.records === 1 ? 'record' : 'records'}{' '}
          <span class="soft">
            in {counted(sums.objects, 'data object')}, {bytes(sums.bytes)}
          </span>
        </>
      )}
    </dd>
  </div>
);

/** One commit in full. */
export const CommitDetails = ({
  commit,
  at,
  actions,
}: {
  readonly commit: GraphCommit;
  readonly at: string | undefined;
  readonly actions: ComponentChildren;
}) => (
  <article class="details" aria-label={`Commit ${shortId(commit.id)}`}>
    <h3>
      <Name text={titleOf(commit)} max={200} />
    </h3>
    {commit.message.includes('\n') && (
      <pre class="message-text" tabIndex={0} aria-label="Message">
        <Told text={commit.message.slice(commit.message.indexOf('\n') + 1).replace(/^\n+|\s+$/g, '')} max={4000} />
      </pre>
    )}
    <dl class="facts">
      {commit.author !== '' && (
        <div>
          <dt>author</dt>
          <dd>
            <Name text={commit.author} max={200} />
          </dd>
        </div>
      )}
      <div>
        <dt>date</dt>
        <dd>
          <time dateTime={commit.date} title={commit.date}>
            {dateTime(commit.date)}
          </time>
        </dd>
      </div>
      <div>
        <dt>id</dt>
        <dd>
          <code class="id">{commit.id}</code>
        </dd>
      </div>
      <Sums label="added" sums={commit.added} tone="plus" />
      <Sums label="removed" sums={commit.removed} tone="minus" />
      <div>
        <dt>{commit.parents.length > 1 ? 'parents' : 'parent'}</dt>
        <dd>
          {commit.parents.length === 0 ? (
            <span class="soft">none: the first commit</span>
          ) : (
            commit.parents.map((id) => (
              <code key={id} class="id" title={id}>
                {shortId(id)}{' '}
              </code>
            ))
          )}
        </dd>
      </div>
    </dl>
    <div class="actions">{actions}</div>
    <CopyLine text={commit.id} label={commit.id === at ? 'Id of this commit, which the page shows' : 'Id'} />
  </article>
);
