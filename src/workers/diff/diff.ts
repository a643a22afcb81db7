/**
 * What one commit has otherwise than another, record by record, in the order of the pool's keys.
 *
 * Both sides are scans of the objects that only one of the commits has: rows of an object that both have are in neither.
 * The rows that only lie in other objects than before (compaction, a delete beside them) are on both sides, and cancel
 * each other out; those of which it is known that they come from one row (shared.ts) are not looked at. So the answer
 * does not depend on how rows are cut into objects, and costs what changed.
 *
 * Invariants:
 * - Windows are of the pool's first key, which is the order of a scan; within them rows come in that of all keys. A
 *   window ends at a key behind which neither side has more rows of that key; where one side has more of them than a
 *   batch, that key is worked on by itself (`cancelMany`).
 * - What is in memory is a batch or two of each side, and what a single key's rows come to, within the query's budget.
 */
import { Memory } from '../../exec/operators/build.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import { concat } from '../../vectors/concat.ts';
import { working } from '../../vectors/stop.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type BagTools, cancelMany, type Left } from './bag.ts';
import { type ChangeTools, changesOf, changesOfRows, changesOfSide, wantedOf } from './changes.ts';
import { Differences } from './different.ts';
import { sharedRows } from './shared.ts';
import { Side, type SideOptions } from './side.ts';
import { leftTogether } from './versions.ts';
import {
  type Compared,
  type Keys,
  type Pieces,
  type Window,
  compareWindow,
  leftOf,
  lengthOf,
  sorted,
} from './window.ts';

/** The two sides, and what they are read with. */
export interface DiffSources extends SideOptions {
  readonly before: ScanSource;
  readonly after: ScanSource;
  readonly spill: BagTools['spill'];
  readonly memoryBytesMax: number;
}
/** The same, where versions of one record are told as one change. */
export interface ChangeSources extends DiffSources {
  /** Empty: records are whole values. */
  readonly identity: Keys['keys'];
  /** Paths into the records that are looked at; absent: all. */
  readonly wanted?: Keys['keys'];
}

/** Changes that are given together, at least, unless they take long to find. */
const togetherRows = 1024;
const togetherMsMax = 50;

/** The changes as records. @throws what scans throw; spill-full, query-memory */
export async function* diffRows(sources: ChangeSources): AsyncGenerator<Vector> {
  let waiting: Vector[] = [];
  let rows = 0;
  let since = performance.now();
  const all = (): Vector => {
    const batch = working(sources.signal, () => concat(waiting));
    waiting = [];
    rows = 0;
    since = performance.now();
    return batch;
  };
  for await (const changes of changesIn(sources)) {
    if (changes.length > 0) waiting.push(changes);
    rows += changes.length;
    if (rows >= togetherRows || (rows > 0 && performance.now() - since >= togetherMsMax)) yield all();
  }
  if (rows > 0) yield all();
}

/** The rows that one side has alone, by windows of their keys. @throws as `diffRows` */
export async function* leftRows(sources: DiffSources): AsyncGenerator<Left> {
  for await (const found of differencesIn(sources, false)) {
    if ('group' in found) yield* found.group;
    else if ('side' in found) yield found;
    else {
      for (const [side, name] of [
        ['removed', 'before'],
        ['added', 'after'],
      ] as const) {
        const rows = leftOf(found, name);
        if (rows.length > 0) yield { side, rows };
      }
    }
  }
}

async function* changesIn(sources: ChangeSources): AsyncGenerator<Vector> {
  const { keys, identity, wanted, signal } = sources;
  const tools: ChangeTools = { keys, identity, wanted: wantedOf(wanted), differences: new Differences() };
  for await (const found of differencesIn(sources, identity.length > 0 && tools.wanted.has('fields'))) {
    if ('group' in found) {
      const { group } = found;
      const left = identity.length > 0 ? leftTogether(group, identity, keys, found.tools) : group;
      for await (const one of left)
        yield working(signal, () =>
          'side' in one ? changesOfSide(one.side, one.rows, tools) : changesOfRows(one, tools),
        );
    } else
      yield working(signal, () =>
        'side' in found ? changesOfSide(found.side, found.rows, tools) : changesOf(found, tools),
      );
  }
}

/** What is left of rows of both sides; or rows of one side that all are. */
type FoundRows = Left | Compared;
/** Or what is left of a key of which both sides have rows, one of them very many, and what it is worked on with. */
type Found = FoundRows | { readonly group: AsyncIterable<Left>; readonly tools: BagTools };

async function* differencesIn(sources: DiffSources, byField: boolean): AsyncGenerator<Found> {
  const { signal, spill, batchRows } = sources;
  const tools: BagTools = { memory: new Memory(sources.memoryBytesMax), spill, batchRows, signal };
  const differences = new Differences();
  const shared = await sharedRows(sources);
  const before = new Side(sources.before, sources, shared.before);
  const after = new Side(sources.after, sources, shared.after);
  try {
    for (;;) {
      await before.fill();
      await after.fill();
      signal.throwIfAborted();
      if (before.isEmpty && after.isEmpty) return;
      const window = working(signal, () => nextWindow(before, after));
      if (!window) {
        const { rows, isOfBoth } = groupOf(before, after);
        const group = cancelMany(...rows, tools);
        if (isOfBoth) yield { group, tools };
        else yield* group;
      } else {
        const found = working(signal, () => differencesOf(window, sources, { differences, byField }));
        if (found) yield found;
      }
    }
  } finally {
    await before.end();
    await after.end();
  }
}

const both = ({ main, rest }: Pieces, keys: Keys): Vector =>
  rest.length === 0 && keys.keys.length < 2 ? main : sorted([main, rest], keys);

/**
 * Takes the rows up to the least of the last keys at hand; without those of that key, if there are more of them to come.
 * Undefined: there is nothing but rows of that key.
 */
const nextWindow = (before: Side, after: Side): Window | undefined => {
  const last = before.isEmpty || (!after.isEmpty && before.compare(before.last, after.last) > 0) ? after : before;
  const bound = last.last;
  const isAlone = before.isEmpty || after.isEmpty;
  const isWhole = isAlone || (!before.goesOnAt(bound) && !after.goesOnAt(bound));
  const window = { before: before.take(bound, isWhole), after: after.take(bound, isWhole) };
  return lengthOf(window.before) + lengthOf(window.after) === 0 ? undefined : window;
};

const differencesOf = (
  window: Window,
  own: Keys,
  how: { readonly differences: Differences; readonly byField: boolean },
): FoundRows | undefined => {
  if (lengthOf(window.before) === 0) return { side: 'added', rows: both(window.after, own) };
  if (lengthOf(window.after) === 0) return { side: 'removed', rows: both(window.before, own) };
  return compareWindow(window, own, how);
};

/** The rows of the key that both sides are at, or one of them. */
const groupOf = (
  before: Side,
  after: Side,
): { readonly rows: [AsyncIterable<Vector>, AsyncIterable<Vector>]; readonly isOfBoth: boolean } => {
  const first = before.isEmpty || (!after.isEmpty && before.compare(before.first, after.first) > 0) ? after : before;
  const key = first.first;
  const other = first === before ? after : before;
  return {
    rows: [before.rowsOf(key), after.rowsOf(key)],
    isOfBoth: !other.isEmpty && before.compare(other.first, key) === 0,
  };
};
