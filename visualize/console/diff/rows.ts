/** The records that one revision of a pool has otherwise than another, a record each. */
import { client } from '../session.ts';
import { supText } from '../query/print.ts';
import { type Cell, fieldOf, partsOf, plain } from '../query/wire.ts';
import { cellsOf } from '../records/cells.ts';
import { recordOf } from '../records/sides.tsx';

/** A record that is there, is gone, or is another one of the same key. */
export interface Change {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly key: Cell;
  readonly before: Cell | undefined;
  readonly after: Cell | undefined;
  /** Paths of what differs, as the service tells them; undefined where it does not pair records. */
  readonly fields?: readonly (readonly string[])[];
}
/**
 * What is compared: `base` undefined: the fork of a branch, the parent of a commit. `hasIdentity`: the service tells which
 * records are versions of one.
 */
export interface Comparison {
  readonly pool: string;
  readonly hasIdentity: boolean;
  readonly revision: string;
  readonly base: string | undefined;
}

/**
 * Changes beside each other, in a pool without an identity: the service tells what goes and what comes of a key one after the other, and the first of
 * each belong together.
 */
const paired = (rows: readonly Change[]): readonly Change[] => {
  const all: Change[] = [];
  for (let start = 0, end = 0; start < rows.length; start = end) {
    const key = supText(rows[start].key);
    while (end < rows.length && supText(rows[end].key) === key) end++;
    const same = rows.slice(start, end);
    const gone = same.filter(({ kind }) => kind === 'removed');
    const come = same.filter(({ kind }) => kind === 'added');
    for (let i = 0; i < Math.max(gone.length, come.length); i++)
      all.push(
        gone[i] && come[i]
          ? { kind: 'changed', key: gone[i].key, before: gone[i].before, after: come[i].after }
          : (gone[i] ?? come[i]),
      );
  }
  return all;
};

/**
 * The first so many of them, in the order of the key; `more`: there are others. @throws LakeFailure when a revision is
 * not there
 */
export const readChanges = async (
  { pool, hasIdentity, revision, base }: Comparison,
  max: number,
): Promise<{ readonly changes: readonly Change[]; readonly more: boolean }> => {
  const query = client.pool(pool).diff(revision, base === undefined ? {} : { base });
  const rows: Change[] = [];
  // A row more than is shown for each side of a pair: whether the last one is half a pair shows in the next.
  const rowsMax = hasIdentity ? max : max * 2 + 1;
  let more = false;
  for await (const cell of cellsOf(await query.bytes('jsup', { control: true }))) {
    if (rows.length === rowsMax) {
      more = true;
      break;
    }
    const kind = String(fieldOf(cell, 'change')!.json) as Change['kind'];
    const [before, after] = [recordOf(fieldOf(cell, 'before')), recordOf(fieldOf(cell, 'after'))];
    const fields = fieldOf(cell, 'fields');
    rows.push({ kind, key: fieldOf(cell, 'key')!, before, after, ...(fields && { fields: pathsOf(fields) }) });
  }
  const all = hasIdentity ? rows : paired(rows);
  return { changes: all.slice(0, max), more: more || all.length > max };
};
const pathsOf = (cell: Cell): readonly (readonly string[])[] =>
  partsOf(plain(cell)).map(({ cell: path }) =>
    path ? partsOf(plain(path)).map(({ cell: name }) => String(name?.json)) : [],
  );
