/**
 * All actors in a tree: the lake with its pools, then loads, queries and subscribers; with a search over names, ids and
 * states.
 */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { machineNames } from '../../machines/machines.ts';
import { type RowProps, VirtualList } from '../shared/virtual-list.tsx';
import { changed, choose, chosen, model, pane } from './app.ts';
import { tone } from './chart-view.tsx';
import { type ActorInfo, labelOf, type Model } from './model.ts';

interface Branch {
  readonly kind: 'branch';
  readonly id: string;
  readonly title: string;
  readonly count: number;
  readonly open: boolean;
}
interface Leaf {
  readonly kind: 'actor';
  readonly info: ActorInfo;
  readonly level: 1 | 2;
  readonly open?: boolean;
}
type Item = Branch | Leaf;

/** Below the lake and its pools: machines, and what their actors are called together. */
const groups = machineNames
  .filter((name) => name !== 'lake' && name !== 'pool')
  .map((name) => [name, `${name[0].toUpperCase()}${name.slice(1).replace(/y$/, 'ie')}s`] as const);
/** Ended loads and queries that are listed. */
const endedMax = 200;

const itemsOf = (source: Model, search: string, closed: ReadonlySet<string>): readonly Item[] => {
  const text = search.trim().toLowerCase();
  const { at } = source;
  const wanted = (info: ActorInfo): boolean =>
    text === '' ||
    info.actor.toLowerCase().includes(text) ||
    labelOf(info).toLowerCase().includes(text) ||
    (source.stateOf(info, at) ?? []).some((s) => s.includes(text));
  const there = [...source.actors.values()].filter((info) => source.stateOf(info, at) !== undefined && wanted(info));
  const number = (info: ActorInfo): number => Number(info.actor.split('/')[1]);
  const of = (machine: string): ActorInfo[] => there.filter((info) => info.machine === machine);
  const pools = of('pool').sort((a, b) => (labelOf(a) < labelOf(b) ? -1 : 1));
  const lakes = of('lake');
  const items: Item[] = [];
  for (const info of lakes) items.push({ kind: 'actor', info, level: 1, open: !closed.has('lake') });
  if (!closed.has('lake') || lakes.length === 0)
    for (const info of pools) items.push({ kind: 'actor', info, level: 2 });
  for (const [machine, title] of groups) {
    const all = of(machine).sort((a, b) => number(b) - number(a));
    const live = all.filter((i) => !source.endedAt(i, at));
    const ended = all.filter((i) => source.endedAt(i, at)).slice(0, endedMax);
    if (all.length === 0) continue;
    items.push({ kind: 'branch', id: machine, title, count: live.length, open: !closed.has(machine) });
    if (!closed.has(machine)) for (const info of [...live, ...ended]) items.push({ kind: 'actor', info, level: 2 });
  }
  return items;
};

export const ActorTree = () => {
  const version = changed.value;
  const search = useSignal('');
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const at = useSignal<string | null>(null);
  const items = useMemo(
    () => itemsOf(model.value, search.value, closed.value),
    [version, search.value, closed.value, model.value],
  );
  const keyOf = (item: Item): string => (item.kind === 'branch' ? `group ${item.id}` : item.info.actor);
  const active = items.findIndex((item) => keyOf(item) === (at.value ?? chosen.value));
  const go = (index: number): void => {
    const item = items[index];
    at.value = item.kind === 'branch' ? keyOf(item) : null;
    if (item.kind === 'actor') choose(item.info.actor);
  };
  const toggle = (id: string, open?: boolean): void => {
    const next = new Set(closed.value);
    if (open ?? next.has(id)) next.delete(id);
    else next.add(id);
    closed.value = next;
  };
  const groupOf = (item: Item | undefined): string | undefined =>
    item?.kind === 'branch' ? item.id : item?.info.machine === 'lake' ? 'lake' : undefined;
  const onKey = (event: KeyboardEvent): boolean => {
    const item = items[active];
    const group = groupOf(item);
    if (event.key === 'Enter' && item?.kind === 'actor') {
      pane.value = 'chart';
      return true;
    }
    if (
      group !== undefined &&
      (event.key === 'ArrowRight' || event.key === 'ArrowLeft' || event.key === 'Enter' || event.key === ' ')
    ) {
      toggle(group, event.key === 'ArrowRight' ? true : event.key === 'ArrowLeft' ? false : undefined);
      return true;
    }
    if (event.key === 'ArrowLeft' && item?.kind === 'actor') {
      const up = items.slice(0, active).findLastIndex((i) => groupOf(i) !== undefined);
      if (up >= 0) go(up);
      return true;
    }
    return false;
  };
  const row = (index: number, props: RowProps) => {
    const item = items[index];
    if (item.kind === 'branch') {
      return (
        <div
          {...props}
          class="row branch"
          role="treeitem"
          aria-level={1}
          aria-expanded={item.open}
          onClick={() => {
            toggle(item.id);
            go(index);
          }}
        >
          <span class="twist" aria-hidden="true">
            {item.open ? '▾' : '▸'}
          </span>
          <span class="grow">{item.title}</span>
          <span class="soft">{item.count}</span>
        </div>
      );
    }
    return (
      <ActorRow
        key={props.id}
        item={item}
        props={props}
        onClick={() => {
          go(index);
          pane.value = 'chart';
        }}
        onTwist={() => {
          toggle('lake');
        }}
      />
    );
  };
  const noActors = model.value.scenario ? 'None: nothing was run.' : 'No actors yet.';
  const there = items.filter((i) => i.kind === 'actor').length;
  const left = model.value.actorsLeftOut;
  return (
    <section class="panel actors" aria-label="Actors">
      <header>
        <h2>
          Actors{' '}
          <span class="soft">
            {there}
            {left > 0 ? ` (${left} more)` : ''}
          </span>
        </h2>
        <input
          class="search"
          type="search"
          placeholder="Search"
          title="Name, id or state"
          aria-label="Search actors"
          value={search.value}
          onInput={(e) => {
            search.value = e.currentTarget.value;
          }}
        />
      </header>
      <VirtualList
        id="actor"
        label="Actors"
        role="tree"
        count={items.length}
        rowRem={2}
        active={active}
        onActive={go}
        onKey={onKey}
        row={row}
        empty={search.value === '' ? noActors : 'Nothing matches.'}
      />
    </section>
  );
};

const ActorRow = ({
  item: { info, level, open },
  props,
  onClick,
  onTwist,
}: {
  readonly item: Leaf;
  readonly props: RowProps;
  readonly onClick: () => void;
  readonly onTwist: () => void;
}) => {
  const source = model.value;
  const state = source.stateOf(info);
  const ended = source.endedAt(info);
  const queue =
    source.cursor === undefined && source.bounded
      ? info.waiting + info.running
      : info.machine === 'pool' || info.machine === 'lake'
        ? source.jobsInHand(info).length
        : 0;
  const { key, ...rest } = props;
  return (
    <div
      key={key}
      {...rest}
      class={`row level-${level}${ended ? ' ended' : ''}`}
      role="treeitem"
      aria-level={level}
      {...(open !== undefined && { 'aria-expanded': open })}
      onClick={onClick}
      title={info.actor}
      data-actor={info.actor}
    >
      {open !== undefined && (
        <span
          class="twist"
          aria-hidden="true"
          onClick={(e) => {
            e.stopPropagation();
            onTwist();
          }}
        >
          {open ? '▾' : '▸'}
        </span>
      )}
      <span class={`lamp ${tone(state, ended)}`} aria-hidden="true" />
      <span class="grow name">{labelOf(info)}</span>
      {queue > 0 && (
        <span class="queue" title={`${queue} in its queue or in work`}>
          {queue}
        </span>
      )}
      <span class="soft state">{state?.join(', ')}</span>
    </div>
  );
};
