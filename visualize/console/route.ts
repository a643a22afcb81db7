/**
 * Where the reader is, in the address's fragment: `#/pool/flights?at=main`. A fragment never reaches the service, so
 * that the page works behind any path prefix.
 */
import { signal } from '@preact/signals';

/** A place in the console. */
interface Route {
  /** Segments of the path, unescaped. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
/** The place that a fragment names; `pools` for an empty one. What is escaped wrongly is taken as it is. */
const parseRoute = (hash: string): Route => {
  const text = hash.replace(/^#\/?/, '');
  const mark = text.indexOf('?');
  const path = (mark < 0 ? text : text.slice(0, mark))
    .split('/')
    .filter((part) => part !== '')
    .map(unescaped);
  return {
    path: path.length === 0 ? ['pools'] : path,
    query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)),
  };
};
/** The fragment of a route. Empty parameters are left out. */
export const link = (path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string => {
  const search = new URLSearchParams(
    Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined && each[1] !== ''),
  ).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
};

/** Where the reader is now. */
export const route = signal<Route>(parseRoute(location.hash));
addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
});

/** Goes there as a link does. */
export const go = (hash: string): void => {
  location.hash = hash;
};
/** Changes the address in place: no step of the browser's history, and nothing is drawn again. */
export const note = (hash: string, of?: number): void => {
  history.replaceState(of === undefined ? history.state : { of }, '', hash);
};
/** Adds a step to the browser's history, and draws nothing again. `of`: a number by which it is known again. */
export const step = (hash: string, of: number): void => {
  history.pushState({ of }, '', hash);
};
/** The number that `note` or `step` gave the present step of the history. */
export const stepOf = (): number | undefined => {
  const state = history.state as { readonly of?: unknown } | null;
  return typeof state?.of === 'number' ? state.of : undefined;
};
