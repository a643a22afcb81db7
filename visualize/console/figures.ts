/**
 * Records, bytes and objects of revisions, asked for as they come into sight: few at a time, and each at most every
 * `againMs`, however fast its branch moves.
 */
import { signal } from '@preact/signals';
import { LakeFailure, type PoolInfo, type RevisionSums } from '../../src/client/client.ts';
import { returns } from './lake.ts';
import { client, inside } from './session.ts';

const togetherMax = 4;
const againMs = 1000;
const missedMax = 10_000;
const keyOf = (pool: Pick<PoolInfo, 'id'>, revision: string): string => `${pool.id} ${revision}`;

/** What is known, by the pool's id and the revision with a blank between them. */
export const sums = signal<ReadonlyMap<string, RevisionSums>>(new Map());
/** What a revision holds, as last heard; undefined while nothing is known. */
export const sumsOf = (pool: Pick<PoolInfo, 'id'>, revision: string): RevisionSums | undefined =>
  sums.value.get(keyOf(pool, revision));

interface Wish {
  readonly pool: string;
  readonly revision: string;
  readonly tip: string;
}
const wishes = new Map<string, Wish>();
const missed = new Map<string, Wish>();
const askedAt = new Map<string, number>();
let fresh = new Map<string, RevisionSums>();
let underWay = 0;
let showing: ReturnType<typeof setTimeout> | undefined;
let later: ReturnType<typeof setTimeout> | undefined;

/** Asks for what a revision holds, unless that is known of this tip. */
export const wantSums = (pool: Pick<PoolInfo, 'id'>, revision: string, tip: string): void => {
  const key = keyOf(pool, revision);
  if (sums.peek().get(key)?.commit === tip) return;
  wishes.set(key, { pool: pool.id, revision, tip });
  askNext();
};
const askNext = (): void => {
  const now = performance.now();
  let soonest = Infinity;
  for (const [key, wish] of wishes) {
    if (underWay >= togetherMax) return;
    const due = (askedAt.get(key) ?? -Infinity) + againMs;
    if (due > now) {
      soonest = Math.min(soonest, due);
      continue;
    }
    wishes.delete(key);
    askedAt.set(key, now);
    void ask(key, wish);
  }
  if (soonest < Infinity)
    later ??= setTimeout(() => {
      later = undefined;
      askNext();
    }, soonest - now);
};
/** What failed while the service was away. */
returns.subscribe(() => {
  for (const [key, wish] of missed) if (!wishes.has(key)) wishes.set(key, wish);
  missed.clear();
  askNext();
});
/** Who comes next may not read the same pools. */
inside.subscribe((is) => {
  if (is) return;
  wishes.clear();
  missed.clear();
});
const ask = async (key: string, wish: Wish): Promise<void> => {
  const { pool, revision } = wish;
  underWay++;
  try {
    const found = await client.pool(pool).sums(revision);
    fresh.set(key, found);
    showing ??= setTimeout(() => {
      showing = undefined;
      sums.value = new Map([...sums.value, ...fresh]);
      fresh = new Map();
    }, 50);
  } catch (error) {
    // The pool or branch has gone, or may not be read: there is no figure.
    if (!(error instanceof LakeFailure) && missed.size < missedMax) missed.set(key, wish);
  } finally {
    underWay--;
    askNext();
  }
};
