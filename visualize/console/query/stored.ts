/** What this browser remembers: queries that were run, the newest first, and queries that have names. Both are bounded; without storage they last as long as the page. */
import { signal } from '@preact/signals';

/** A query that was run. `at`: when, as ISO 8601; `ms`: how long it took. */
export interface PastQuery { readonly text: string; readonly at: string; readonly rows: number; readonly ms: number; readonly state: string }
/** A query with a name, which no other has. */
export interface SavedQuery { readonly name: string; readonly text: string }

const pastKey = 'lake-history', savedKey = 'lake-queries', rowsKey = 'lake-rows-max';
const pastMax = 100, savedMax = 200, textMax = 20_000;

const isPast = (x: Partial<PastQuery>): x is PastQuery => typeof x.text === 'string' && typeof x.at === 'string' && typeof x.rows === 'number' && typeof x.ms === 'number' && typeof x.state === 'string';
const isSaved = (x: Partial<SavedQuery>): x is SavedQuery => typeof x.text === 'string' && typeof x.name === 'string';

/** What is there that has the right form: others may have written to the same place. */
const read = <T>(key: string, is: (x: Partial<T>) => x is T & Partial<T>): readonly T[] => {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '[]') as unknown;
    return Array.isArray(kept) ? kept.filter((each): each is T & Partial<T> => typeof each === 'object' && each !== null && is(each as Partial<T>)) : [];
  } catch {
    return [];
  }
};
const write = (key: string, value: unknown): void => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Full, or not allowed.
  }
};

/** The newest first. */
export const past = signal<readonly PastQuery[]>(read<PastQuery>(pastKey, isPast));
/** By name. */
export const saved = signal<readonly SavedQuery[]>(read<SavedQuery>(savedKey, isSaved));

/** Puts a query first; the same text stands there once. */
export const remember = (query: PastQuery): void => {
  if (query.text.length > textMax) return;
  // Another page may have added some in between.
  past.value = [query, ...read<PastQuery>(pastKey, isPast).filter(({ text }) => text !== query.text)].slice(0, pastMax);
  write(pastKey, past.value);
};
/** Forgets this query, or all for undefined. */
export const forget = (query: PastQuery | undefined): void => {
  past.value = query ? past.value.filter(({ text }) => text !== query.text) : [];
  write(pastKey, past.value);
};
/** Under a name that is taken it replaces what was there. */
export const save = (query: SavedQuery): void => {
  saved.value = [query, ...read<SavedQuery>(savedKey, isSaved).filter(({ name }) => name !== query.name)].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, savedMax);
  write(savedKey, saved.value);
};
/** Forgets the query of this name. */
export const drop = (query: SavedQuery): void => {
  saved.value = saved.value.filter(({ name }) => name !== query.name);
  write(savedKey, saved.value);
};

/** What `rowsMax` can be set to on the page. */
export const rowsMaxChoices: readonly number[] = [10_000, 100_000, 1_000_000];
/** How many rows of an answer are kept before the reader is asked. */
export const rowsMax = signal<number>((() => {
  try {
    const kept = Number(localStorage.getItem(rowsKey));
    return kept > 0 && Number.isSafeInteger(kept) ? kept : 1_000_000;
  } catch {
    return 1_000_000;
  }
})());
/** Sets it for this page and keeps it for others. */
export const setRowsMax = (rows: number): void => {
  rowsMax.value = rows;
  write(rowsKey, rows);
};
