/** What changes in the lake, as it happens: paused, filtered, never more than the newest that are kept. */
import { computed, signal } from '@preact/signals';
import { type RowProps, VirtualList } from '../shared/virtual-list.tsx';
import { commitRate, eventCount, events, eventsMax, feedState, poolNames, pools, type SeenEvent } from './lake.ts';
import { Icon, Name } from './parts.tsx';
import { go, link } from './route.ts';
import { count, counted, shortId, visible } from './text.ts';

const kinds = [
  'pool-commit',
  'pool-new',
  'pool-update',
  'pool-delete',
  'branch-update',
  'branch-delete',
  'branch-reset',
  'tag-new',
  'tag-delete',
  'view-new',
  'view-update',
  'view-delete',
] as const;
const texts: Readonly<Record<string, string>> = {
  'pool-commit': 'Commit',
  'pool-new': 'Pool made',
  'pool-update': 'Pool renamed',
  'pool-delete': 'Pool deleted',
  'branch-update': 'Branch made',
  'branch-delete': 'Branch deleted',
  'branch-reset': 'Branch reset',
  'tag-new': 'Tag made',
  'tag-delete': 'Tag deleted',
  'view-new': 'View made',
  'view-update': 'View changed',
  'view-delete': 'View dropped',
};

const paused = signal<readonly SeenEvent[] | null>(null);
const kind = signal('');
const search = signal('');
const chosen = signal(-1);

const shown = computed(() => {
  const text = search.value.trim().toLowerCase();
  const all = paused.value ?? events.value;
  const names = poolNames.value;
  const kept =
    kind.value === '' && text === ''
      ? all
      : all.filter(
          ({ event }) =>
            (kind.value === '' || event.kind === kind.value) &&
            (text === '' ||
              (event.view ?? names.get(event.poolId) ?? '').toLowerCase().includes(text) ||
              (event.branch ?? event.tag ?? '').toLowerCase().includes(text) ||
              event.commitId === text ||
              event.poolId === text),
        );
  return [...kept].reverse();
});

const two = (n: number): string => String(n).padStart(2, '0');
const timeOf = (ms: number): readonly [seconds: string, milliseconds: string] => {
  const date = new Date(ms);
  return [
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
    `.${String(date.getMilliseconds()).padStart(3, '0')}`,
  ] as const;
};
/** Where an event leads. */
const linkOf = ({ event }: SeenEvent): string | undefined =>
  pools.value.some((p) => p.id === event.poolId)
    ? link(['pool', event.poolId], event.commitId === undefined ? {} : { commit: event.commitId })
    : undefined;

export const EventsPage = () => {
  const list = shown.value;
  const total = eventCount.value;
  const isPaused = paused.value !== null;
  const newer = isPaused ? total - (paused.value!.at(-1)?.n ?? 0) : 0;
  const active = list.findIndex(({ n }) => n === chosen.value);
  const open = (index: number): void => {
    const to = list[index] && linkOf(list[index]);
    if (to !== undefined) go(to);
  };
  const row = (index: number, { key, ...props }: RowProps) => {
    const one = list[index];
    const { event } = one;
    const [seconds, milliseconds] = timeOf(one.ms);
    const name = event.view ?? poolNames.value.get(event.poolId);
    return (
      <div
        key={key}
        {...props}
        class={`row event ${event.kind}`}
        role="option"
        onClick={() => {
          chosen.value = one.n;
        }}
        onDblClick={() => {
          open(index);
        }}
      >
        <span class="time mono soft">
          {seconds}
          <span class="wide">{milliseconds}</span>
        </span>
        <span class={`kind ${event.kind}`}>{texts[event.kind] ?? visible(event.kind, 40)}</span>
        <span class="grow">
          {name === undefined ? <code class="id">{shortId(event.poolId)}</code> : <Name text={name} max={120} />}
          {(event.branch ?? event.tag) !== undefined && (
            <span class="soft">
              {' '}
              @ <Name text={(event.branch ?? event.tag)!} max={60} />
            </span>
          )}
        </span>
        {event.commitId !== undefined && <code class="id">{shortId(event.commitId)}</code>}
        <span class="number soft event-id">{event.id}</span>
      </div>
    );
  };
  const target = active < 0 ? undefined : linkOf(list[active]);
  return (
    <section class="page fill" aria-labelledby="events-title">
      <header class="page-head">
        <h1 id="events-title">
          Events{' '}
          {total > 0 && (
            <span class="soft">
              {count(total)} seen
              {commitRate.value >= 1 ? `, ${counted(Math.round(commitRate.value), 'commit')} a second` : ''}
            </span>
          )}
        </h1>
        <select
          aria-label="Kind of event"
          value={kind.value}
          onChange={(e) => {
            kind.value = e.currentTarget.value;
          }}
        >
          <option value="">All kinds</option>
          {kinds.map((each) => (
            <option key={each} value={each}>
              {texts[each]}
            </option>
          ))}
        </select>
        <input
          type="search"
          placeholder="Pool, branch"
          aria-label="Filter events by pool or branch"
          value={search.value}
          onInput={(e) => {
            search.value = e.currentTarget.value;
          }}
        />
        <button
          type="button"
          aria-pressed={isPaused}
          onClick={() => {
            paused.value = isPaused ? null : events.value;
          }}
        >
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      </header>
      <div class="panel events-panel">
        <VirtualList
          id="event"
          label="Events, newest first"
          role="listbox"
          count={list.length}
          rowRem={2.25}
          active={active}
          onActive={(i) => {
            chosen.value = list[i].n;
          }}
          onKey={(e) => {
            if (e.key !== 'Enter' || active < 0) return false;
            open(active);
            return true;
          }}
          row={row}
          empty={
            total > 0
              ? 'Nothing matches.'
              : feedState.value === 'live'
                ? 'Nothing has changed since this page was opened. Commits, new pools and new branches show here as they happen.'
                : 'Waiting for the feed of events…'
          }
        />
        <footer class="soft">
          <span role="status">
            {isPaused
              ? `Paused${newer > 0 ? `, ${count(newer)} newer` : ''}`
              : feedState.value === 'lost'
                ? 'The connection is lost: what happens meanwhile comes when it is back'
                : `The newest ${count(eventsMax)} are kept`}
          </span>
          {target !== undefined && <a href={target}>Open in its pool</a>}
        </footer>
      </div>
    </section>
  );
};
