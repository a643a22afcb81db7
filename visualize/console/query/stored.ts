/**
 * What this browser remembers: queries that were run, the newest first, and queries that have names. Both are bounded;
 * without storage they last as long as the page.
 */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

/** A query that was run. `at`: when, as ISO 8601; `ms`: how long it took. */
interface PastQuery {
  readonly text: string;
  readonly at: string;
  readonly rows: number;
  readonly ms: number;
  readonly state: string;
}
/** A query with a name, which no other has. */
interface SavedQuery {
  readonly name: string;
  readonly text: string;
}

const pastKey = 'lake-history';
const savedKey = 'lake-queries';
const rowsKey = 'lake-rows-max';
const startsKey = 'lake-pools-order';
const pastMax = 100;
const savedMax = 200;
const textMax = 20_000;

const isPast = (x: Partial<PastQuery>): x is PastQuery =>
  typeof x.text === 'string' &&
  typeof x.at === 'string' &&
  typeof x.rows === 'number' &&
  typeof x.ms === 'number' &&
  typeof x.state === 'string';
const isSaved = (x: Partial<SavedQuery>): x is SavedQuery => typeof x.text === 'string' && typeof x.name === 'string';

/** What is there that has the right form: others may have written to the same place. */
const read = <T>(key: string, is: (x: Partial<T>) => x is T & Partial<T>): readonly T[] => {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '[]') as unknown;
    return Array.isArray(kept)
      ? kept.filter(
          (each): each is T & Partial<T> => typeof each === 'object' && each !== null && is(each as Partial<T>),
        )
      : [];
  } catch {
    return [];
  }
};
/** False when the storage is full, or not allowed. */
const write = (key: string, value: unknown): boolean => writeText(key, JSON.stringify(value));
const writeText = (key: string, text: string): boolean => {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
};

/** A list in the storage, which other pages change too. */
class StoredList<T> {
  readonly list: Signal<readonly T[]>;
  private readonly read: () => readonly T[];
  private readonly key: string;
  /** What this page wrote last is not in the storage. */
  private unwritten = false;

  constructor(key: string, is: (x: Partial<T>) => x is T & Partial<T>) {
    this.key = key;
    this.read = () => read(key, is);
    this.list = signal(this.read());
  }

  /** The list as it stands now: another page may have changed it since this one read it. */
  latest(): readonly T[] {
    return this.unwritten ? this.list.peek() : this.read();
  }
  /** Whether the list is in the storage now. */
  set(list: readonly T[]): boolean {
    this.list.value = list;
    this.unwritten = !write(this.key, list);
    return !this.unwritten;
  }
}
const pastQueries = new StoredList<PastQuery>(pastKey, isPast);
const savedQueries = new StoredList<SavedQuery>(savedKey, isSaved);

/** The newest first. */
export const past: ReadonlySignal<readonly PastQuery[]> = pastQueries.list;
/** By name. */
export const saved: ReadonlySignal<readonly SavedQuery[]> = savedQueries.list;

/** Puts a query first; the same text stands there once. */
export const remember = (query: PastQuery): void => {
  if (query.text.length <= textMax)
    pastQueries.set([query, ...pastQueries.latest().filter(({ text }) => text !== query.text)].slice(0, pastMax));
};
/** Forgets this query, or all for undefined. */
export const forget = (query: PastQuery | undefined): void => {
  pastQueries.set(query ? pastQueries.latest().filter(({ text }) => text !== query.text) : []);
};
/** Under a name that is taken it replaces what was there. A text is why the query was not saved, or not for long. */
export const save = (query: SavedQuery): string | undefined => {
  const others = savedQueries.latest().filter(({ name }) => name !== query.name);
  if (others.length >= savedMax) return `There are ${savedMax} saved queries, and no room for more. Delete one first.`;
  return savedQueries.set([query, ...others].sort((a, b) => (a.name < b.name ? -1 : 1)))
    ? undefined
    : 'The browser did not store it. It is here until this page is closed.';
};
/** Forgets the query of this name. */
export const drop = (query: SavedQuery): void => {
  savedQueries.set(savedQueries.latest().filter(({ name }) => name !== query.name));
};

/** Orders that pools are offered in. */
export const startsOrders = [
  ['used', 'last use'],
  ['name', 'name'],
  ['made', 'age, the newest first'],
] as const;
/** One of `startsOrders`. */
export type StartsOrder = (typeof startsOrders)[number][0];
const startsOrderOf = (text: string | null): StartsOrder => startsOrders.find(([id]) => id === text)?.[0] ?? 'used';
/** The order that the reader chose. */
export const startsOrder = signal(
  startsOrderOf(
    (() => {
      try {
        return localStorage.getItem(startsKey);
      } catch {
        return null;
      }
    })(),
  ),
);
/** Chooses it for this page and keeps it for others; what is no order is that of use. */
export const setStartsOrder = (text: string): void => {
  startsOrder.value = startsOrderOf(text);
  writeText(startsKey, startsOrder.peek());
};

/** What `rowsMax` can be set to on the page. */
export const rowsMaxChoices: readonly number[] = [10_000, 100_000, 1_000_000];
/** How many rows of an answer are kept before the reader is asked. */
export const rowsMax = signal<number>(
  (() => {
    try {
      const kept = Number(localStorage.getItem(rowsKey));
      return kept > 0 && Number.isSafeInteger(kept) ? kept : 1_000_000;
    } catch {
      return 1_000_000;
    }
  })(),
);
/** Sets it for this page and keeps it for others. */
export const setRowsMax = (rows: number): void => {
  rowsMax.value = rows;
  write(rowsKey, rows);
};
