/** A change on its way: one at a time, its fault shown where it was asked for. */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { LakeFailure, type PoolInfo } from '../../src/client/client.ts';
import { curlLine, type CurlRequest } from './curl.ts';
import { refresh, returns } from './lake.ts';
import { tell } from './parts.tsx';
import { base, session } from './session.ts';
import { faultText } from './text.ts';

/**
 * A change that a dialog makes. `busy` and `fault` are read again each time, so that who reads them while drawing is
 * drawn again.
 */
interface Action {
  readonly busy: boolean;
  readonly fault: string | undefined;
  /** Does it; tells what was done and closes the dialog when it went well. */
  readonly run: (work: () => Promise<string>) => void;
}
/** The action of a dialog; `onDone` is called when a change has gone well. */
export const useAction = (onDone: () => void): Action => {
  const busy = useSignal(false);
  const fault = useSignal<string | undefined>(undefined);
  const run = (work: () => Promise<string>): void => {
    if (busy.value) return;
    busy.value = true;
    fault.value = undefined;
    work()
      .then(
        (done) => {
          tell(done);
          void refresh();
          onDone();
        },
        (error: unknown) => {
          fault.value = withHint(error);
        },
      )
      .finally(() => {
        busy.value = false;
      });
  };
  return {
    get busy() {
      return busy.value;
    },
    get fault() {
      return fault.value;
    },
    run,
  };
};
/** What went wrong, and behind it what the service says to do instead. */
const withHint = (error: unknown): string =>
  error instanceof LakeFailure && error.hint !== undefined ? `${error.message}\n${error.hint}` : faultText(error);

/**
 * What a call gives, asked again whenever its key changes, and when the service comes back after a failure; the newest
 * answer counts. `waitMs`: how long the key has to stand still.
 */
export const useAnswer = <T>(
  key: string | undefined,
  ask: () => Promise<T>,
  waitMs = 0,
): { readonly value: T | undefined; readonly fault: string | undefined; readonly busy: boolean } => {
  const state = useSignal<{ readonly key?: string; readonly value?: T; readonly fault?: string }>({});
  const latest = useRef(ask);
  const tries = useSignal(0);
  latest.current = ask;
  useEffect(() => {
    if (state.peek().fault !== undefined) tries.value++;
  }, [returns.value]);
  useEffect(() => {
    if (key === undefined) return undefined;
    let left = false;
    const timer = setTimeout(() => {
      latest.current().then(
        (value) => {
          if (!left) state.value = { key, value };
        },
        (error: unknown) => {
          if (!left) state.value = { key, fault: withHint(error) };
        },
      );
    }, waitMs);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [key, tries.value]);
  const { value } = state;
  const known = value.key === key;
  return {
    value: known ? value.value : undefined,
    fault: known ? value.fault : undefined,
    busy: key !== undefined && !known,
  };
};

/** The request as a line to copy. */
export const curlOf = (request: CurlRequest): string =>
  curlLine(base, request, { guarded: session.value.kind === 'in' });
/** How a line names a pool: by a name that everybody can read, else by its id. */
export const curlName = (pool: PoolInfo): string =>
  /^[\w-][\w.-]{0,60}$/.test(pool.name) && !/^0x/.test(pool.name) ? pool.name : pool.id;

const authorKey = 'lake-author';
/** The name that the reader gave last for their commits. */
export const lastAuthor = (): string => {
  try {
    return localStorage.getItem(authorKey) ?? '';
  } catch {
    return '';
  }
};
/** Keeps the name in this browser; an empty one is forgotten. */
export const keepAuthor = (author: string): void => {
  try {
    if (author === '') localStorage.removeItem(authorKey);
    else localStorage.setItem(authorKey, author);
  } catch {
    // Without storage it is typed again.
  }
};
