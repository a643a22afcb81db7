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
import { type Vector, take } from '../../vectors/vector.ts';
import { type BagTools, cancelMany, type Left } from './bag.ts';
import { type ChangeTools, changesOf, changesOfSide } from './changes.ts';
import { Differences } from './different.ts';
import { sharedRows } from './shared.ts';
import { type Pieces, Side, type SideOptions } from './side.ts';
import { leftTogether } from './versions.ts';
import { type Keys, type Leftover, type Window, byAllKeys, compareWindow, sorted, withoutPairs } from './window.ts';

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
  for await (const found of differencesIn(sources)) {
    if ('group' in found) yield* found.group;
    else if ('side' in found) yield found;
    else {
      const { sides, left } = found;
      for (const side of ['removed', 'added'] as const) {
        const rows = rowsOfSide(sides, left, side);
        if (rows.length > 0) yield { side, rows };
      }
    }
  }
}
const rowsOfSide = ({ before, after }: Window, { added, rows }: Leftover, side: Left['side']): Vector => {
  const wanted = side === 'added' ? 1 : 0;
  const places = new Uint32Array(rows.length);
  let count = 0;
  for (let n = 0; n < rows.length; n++) if (added[n] === wanted) places[count++] = rows[n]!;
  return take(side === 'added' ? after : before, places.subarray(0, count));
};

async function* changesIn(sources: ChangeSources): AsyncGenerator<Vector> {
  const { keys, identity, signal } = sources;
  const tools: ChangeTools = { keys, identity, differences: new Differences() };
  for await (const found of differencesIn(sources)) {
    if ('group' in found) {
      const { group } = found;
      const left = identity.length > 0 ? leftTogether(group, identity, keys, found.tools) : group;
      for await (const one of left) yield working(signal, () => changesOfFound(one, tools));
    } else yield working(signal, () => changesOfFound(found, tools));
  }
}
const changesOfFound = (found: FoundRows, tools: ChangeTools): Vector =>
  'side' in found ? changesOfSide(found.side, found.rows, tools.keys) : changesOf(found.sides, found.left, tools);

/** Rows of both sides, and which of them are left; or rows of one side that all are. */
type FoundRows = Left | { readonly sides: Window; readonly left: Leftover };
/** Or what is left of a key of which both sides have rows, one of them very many, and what it is worked on with. */
type Found = FoundRows | { readonly group: AsyncIterable<Left>; readonly tools: BagTools };

async function* differencesIn(sources: DiffSources): AsyncGenerator<Found> {
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
        const found = working(signal, () => differencesOf(window, sources, differences));
        if (found) yield found;
      }
    }
  } finally {
    await before.end();
    await after.end();
  }
}

const both = ({ main, rest }: Pieces, keys: Keys): Vector =>
  rest.length === 0 ? byAllKeys(main, keys) : sorted([main, rest], keys);

/**
 * Takes the rows up to the least of the last keys at hand; without those of that key, if there are more of them to come.
 * Undefined: there is nothing but rows of that key.
 */
const nextWindow = (before: Side, after: Side): { readonly before: Pieces; readonly after: Pieces } | undefined => {
  const last = before.isEmpty || (!after.isEmpty && before.compare(before.last, after.last) > 0) ? after : before;
  const bound = last.last;
  const isAlone = before.isEmpty || after.isEmpty;
  const isWhole = isAlone || (!before.goesOnAt(bound) && !after.goesOnAt(bound));
  const window = { before: before.take(bound, isWhole), after: after.take(bound, isWhole) };
  return lengthOf(window.before) + lengthOf(window.after) === 0 ? undefined : window;
};
const lengthOf = ({ main, rest }: Pieces): number => main.length + rest.length;

const differencesOf = (
  window: { readonly before: Pieces; readonly after: Pieces },
  own: Keys,
  differences: Differences,
): FoundRows | undefined => {
  if (lengthOf(window.before) === 0) return { side: 'added', rows: both(window.after, own) };
  if (lengthOf(window.after) === 0) return { side: 'removed', rows: both(window.before, own) };
  let sides: Window = { before: byAllKeys(window.before.main, own), after: byAllKeys(window.after.main, own) };
  if (window.before.rest.length + window.after.rest.length > 0) {
    // Mostly one object has nearly all rows of a side: it is not copied for the sake of the others.
    const { before, after } = withoutPairs(sides, own, differences);
    sides = { before: sorted([before, window.before.rest], own), after: sorted([after, window.after.rest], own) };
  }
  const left = compareWindow(sides, own, differences);
  return left.rows.length > 0 ? { sides, left } : undefined;
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
