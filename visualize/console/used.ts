/**
 * Which pools this browser's reader uses: opened, asked or loaded into. The browser keeps their ids and when, of the
 * last `keptMax`; without storage they last as long as the page.
 */
import { signal } from '@preact/signals';
import type { PoolInfo } from '../../src/client/client.ts';

const storageKey = 'lake-pools-used';
const keptMax = 200;

const read = (): ReadonlyMap<string, number> => {
  try {
    const kept = JSON.parse(localStorage.getItem(storageKey) ?? '[]') as unknown;
    // Others may have written to the same place.
    return new Map(
      (Array.isArray(kept) ? kept : []).filter(
        (each): each is [string, number] =>
          Array.isArray(each) && typeof each[0] === 'string' && Number.isFinite(each[1]),
      ),
    );
  } catch {
    return new Map();
  }
};

/** When each pool was last used, in milliseconds since 1970, by the pool's id; the last used comes first. */
export const used = signal(read());
addEventListener('storage', ({ key }) => {
  if (key === storageKey) used.value = read();
});

/** Notes that a pool is used now. */
export const use = ({ id }: Pick<PoolInfo, 'id'>): void => {
  const others = [...used.peek()].filter(([other]) => other !== id);
  used.value = new Map([[id, Date.now()] as const, ...others].slice(0, keptMax));
  try {
    localStorage.setItem(storageKey, JSON.stringify([...used.peek()]));
  } catch {
    // The storage is full, or not allowed.
  }
};

/** Those that were used come first, the last one at the very beginning; the others stay in their order. */
export const lastUsedFirst = (pools: readonly PoolInfo[]): readonly PoolInfo[] => {
  const { value } = used;
  return pools.toSorted((a, b) => (value.get(b.id) ?? 0) - (value.get(a.id) ?? 0));
};
