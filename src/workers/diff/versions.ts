/**
 * What went and what came of one record: rows of the same identity and the same keys of the pool, one on each side. A
 * record whose key of the pool is another one has moved to another place of the order: it goes there and comes here.
 * Where one side has several rows of an identity at a key, nothing tells which belong together: they stay apart.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { type Vector, noRows } from '../../vectors/vector.ts';
import { haveIdentity, identityColumn, splitByIdentity } from '../merge/identity.ts';
import { Groups, type RowTools } from '../merge/row-store.ts';
import type { Left } from './bag.ts';
import type { Differences } from './different.ts';
import { markRuns } from './runs.ts';
import { type Compared, type Leftover, type Pieces, type Window } from './window.ts';

type Paths = readonly (readonly string[])[];

/** What rows of one record have in common: each path as a column. */
const columnsOf = (rows: Vector, paths: Paths): Vector => ({
  form: 'record',
  length: rows.length,
  fields: paths.map((path, i) => ({ name: String(i), optional: false, values: identityColumn(rows, path) })),
});

/** The paths of identity and keys, each once. */
export const versionPaths = (identity: Paths, keys: Paths): Paths => [
  ...new Map([...identity, ...keys].map((path) => [JSON.stringify(path), path])).values(),
];

/**
 * Which of the pairs of rows with one key are versions of one record; undefined: all. Rows of one identity and key are in
 * one pair: nothing is looked up.
 */
export const versionsOfPairs = (
  { parts, pairs, numbers, window }: Compared,
  {
    identity,
    keys,
    differences,
  }: { readonly identity: Paths; readonly keys: Paths; readonly differences: Differences },
): Uint32Array | undefined => {
  const paths = versionPaths(identity, keys);
  const columns = parts.map(({ before, after, runs }) => ({
    before: columnsOf(before, paths),
    after: columnsOf(after, paths),
    runs,
  }));
  const total = parts.reduce((n, { runs }) => n + runs.rows, 0);
  const { differs } = markRuns(columns, total, { differences, byField: false });
  const own = new Uint8Array(numbers.length);
  for (let n = 0; n < own.length; n++) own[n] = differs[numbers[n]!]!;
  markWithout(window.before, pairs.a, identity, own);
  if (own.indexOf(1) < 0) return undefined;
  const versions = new Uint32List();
  for (let n = 0; n < own.length; n++) if (own[n] === 0) versions.push(n);
  return versions.done();
};
/** Marks the rows that have no identity. */
const markWithout = ({ main, rest }: Pieces, rows: Uint32Array, identity: Paths, out: Uint8Array): void => {
  const [has, others] = [haveIdentity(main, identity), haveIdentity(rest, identity)];
  const { length } = main;
  for (let n = 0; (has ?? others) && n < rows.length; n++) {
    const row = rows[n]!;
    if ((row < length ? has?.[row] : others?.[row - length]) === 0) out[n] = 1;
  }
};

/** For each row that went, one more than the number of the row that came of the same record; 0 for none. */
export const versionsOf = (removed: Vector, added: Vector, identity: Paths, keys: Paths): Uint32Array => {
  const pairs = new Uint32Array(removed.length);
  if (removed.length === 0 || added.length === 0) return pairs;
  const paths = versionPaths(identity, keys);
  const table = new ColumnCodes();
  const codes = table.codes(columnsOf(removed, paths));
  const { size } = table;
  const others = table.codes(columnsOf(added, paths), false);
  const has = haveIdentity(removed, identity);
  const counts = new Uint32Array(size);
  for (const code of codes) counts[code]!++;
  // One more than the row that came, 0 for none, `several` for more than one.
  const came = new Uint32Array(size);
  for (let j = 0; j < others.length; j++) {
    const code = others[j]!;
    if (code < size) came[code] = came[code] === 0 ? j + 1 : several;
  }
  for (let i = 0; i < pairs.length; i++) {
    const other = came[codes[i]!]!;
    if (counts[codes[i]!] === 1 && other !== several && has?.[i] !== 0) pairs[i] = other;
  }
  return pairs;
};
const several = 0xffff_ffff;

/** What is left of a key with very many rows: rows of one record come together, however many others there are. */
export async function* leftTogether(
  left: AsyncIterable<Left>,
  identity: Paths,
  keys: Paths,
  tools: RowTools,
): AsyncGenerator<Left | { readonly window: Window; readonly left: Leftover }> {
  const paths = versionPaths(identity, keys);
  const groups = new Groups(tools, (rows) => columnsOf(rows, paths));
  try {
    for await (const { side, rows } of left) {
      const { own, none } = splitByIdentity(rows, identity);
      if (none.length > 0) yield { side, rows: none };
      await groups.add(side === 'removed' ? 'theirsRemoved' : 'theirsAdded', own);
    }
    for await (const { theirsRemoved: before, theirsAdded: after } of groups.read())
      yield {
        window: { before: { main: before, rest: noRows }, after: { main: after, rest: noRows } },
        left: allOf(before.length, after.length),
      };
  } finally {
    groups.close();
  }
}
const allOf = (before: number, after: number): Leftover => ({
  added: new Uint8Array(before + after).fill(1, before),
  rows: Uint32Array.from({ length: before + after }, (_, n) => (n < before ? n : n - before)),
});
