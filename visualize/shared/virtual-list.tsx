/**
 * A list of many rows of one height: only those in sight are in the document. One tab stop; arrow keys, page keys, Home
 * and End move the active row.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A list and its rows; the parent holds which one is active. */
interface VirtualListProps {
  /** Names the rows' elements. */
  readonly id: string;
  readonly label: string;
  readonly role: 'listbox' | 'tree';
  readonly count: number;
  /** Height of a row in rem. */
  readonly rowRem: number;
  /** -1: none. */
  readonly active: number;
  readonly onActive: (index: number) => void;
  /** Keys that the list itself does not use. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
  /** Keep the end in sight while rows are added. */
  readonly stickToEnd?: boolean;
  /** Told which rows are drawn. */
  readonly onView?: (first: number, end: number) => void;
  readonly row: (index: number, props: RowProps) => ComponentChildren;
  readonly empty: string;
}
/** What every row has to spread over its element. */
export interface RowProps {
  readonly id: string;
  readonly key: number;
  readonly style: { readonly top: string };
  readonly 'aria-selected': boolean;
  readonly 'aria-setsize': number;
  readonly 'aria-posinset': number;
}

const overscan = 6;

/** The list; `empty` is shown where there is no row. */
export const VirtualList = ({
  id,
  label,
  role,
  count,
  rowRem,
  active,
  onActive,
  onKey,
  stickToEnd,
  onView,
  row,
  empty,
}: VirtualListProps) => {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const height = rowRem * rem;
  const look = (): void => {
    const one = box.current;
    if (one) setView({ top: one.scrollTop, height: one.clientHeight });
  };
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => {
      observer.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    const one = box.current;
    if (!one || one.clientHeight === 0) return;
    if (stickToEnd) one.scrollTop = count * height;
    else if (active >= 0 && active * height < one.scrollTop) one.scrollTop = active * height;
    else if (active >= 0 && (active + 1) * height > one.scrollTop + one.clientHeight)
      one.scrollTop = (active + 1) * height - one.clientHeight;
    if (one.scrollTop !== view.top) look();
  }, [active, count, stickToEnd, height, view.height]);
  const first = Math.max(0, Math.floor(view.top / height) - overscan);
  const last = Math.min(count, Math.ceil((view.top + view.height) / height) + overscan);
  useEffect(() => {
    onView?.(first, last);
  }, [first, last]);
  const page = Math.max(1, Math.floor(view.height / height) - 1);
  const key = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    };
    const to = steps[event.key];
    if (to === undefined) {
      if (onKey?.(event)) event.preventDefault();
      return;
    }
    event.preventDefault();
    if (count > 0) onActive(Math.min(count - 1, Math.max(0, to)));
  };
  const shown = active >= first && active < last;
  const rows: ComponentChildren[] = [];
  for (let at = first; at < last; at++) {
    rows.push(
      row(at, {
        id: `${id}-${at}`,
        key: at,
        style: { top: `${at * height}px` },
        'aria-selected': at === active,
        'aria-setsize': count,
        'aria-posinset': at + 1,
      }),
    );
  }
  return (
    <div
      class="virtual"
      ref={box}
      onScroll={look}
      onKeyDown={key}
      tabIndex={0}
      {...(count > 0
        ? { role, 'aria-label': label, ...(shown && { 'aria-activedescendant': `${id}-${active}` }) }
        : { role: 'group', 'aria-label': label })}
    >
      {count === 0 ? (
        <p class="soft empty">{empty}</p>
      ) : (
        <div class="virtual-rows" role="presentation" style={{ height: `${count * height}px` }}>
          {rows}
        </div>
      )}
    </div>
  );
};
