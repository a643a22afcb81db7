/**
 * Loads whose records replace those of the same identity: of the records of one body the last one counts, and those
 * whose field `delete` is true only take others away.
 *
 * Records that lack a field of the identity, or have null or an error there, have none: they are added.
 */
import { LakeError } from '../../errors.ts';
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { kinds, kindsOf } from '../../exec/operators/rows/kinds.ts';
import type { UpsertForm } from '../../formats/format.types.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { heldSize } from '../../vectors/shown-size.ts';
import { types } from '../../vectors/type.ts';
import { underValue } from '../../vectors/value.ts';
import { type Vector, flatten, take, valueAt } from '../../vectors/vector.ts';
import { identityColumn } from '../merge/identity.ts';

/** The identities of rows as one record each, and which rows have one. */
export interface Keys {
  readonly values: Vector;
  readonly has: Uint8Array;
}
/** The identities of rows. */
export const keysOf = (rows: Vector, identity: UpsertForm['identity']): Keys => {
  const has = new Uint8Array(rows.length).fill(1);
  const fields = identity.map((path, i) => {
    const values = flatten(identityColumn(rows, path));
    const found = kindsOf(values);
    if (found) for (let row = 0; row < rows.length; row++) if (found[row] !== kinds.value) has[row] = 0;
    return { name: String(i), optional: false, values };
  });
  return { values: { form: 'record', length: rows.length, fields }, has };
};

/** The rows of a body, as they replace others. */
export interface LastRows {
  /** In the order in which they came, without those that a later one replaces. */
  readonly rows: readonly Vector[];
  /** Rows whose identities go. */
  readonly gone: readonly Vector[];
}

/**
 * The last row of each identity.
 * @throws upsert-large when they are more than `bytesMax` in memory, upsert-delete-none when all are to take others
 * away and none has an identity
 */
export const lastRows = async (
  batches: AsyncIterable<Vector>,
  { identity, delete: field }: UpsertForm,
  bytesMax: () => number,
): Promise<LastRows> => {
  const held: Vector[] = [];
  const codes: Uint32Array[] = [];
  const table = new ColumnCodes();
  let bytes = 0;
  for await (const batch of batches) {
    bytes += heldSize(batch);
    const limit = bytesMax();
    if (bytes > limit) throw new LakeError('upsert-large', { limit: Math.floor(limit) });
    held.push(batch);
    const { values, has } = keysOf(batch, identity);
    const own = Uint32Array.from(table.codes(values));
    for (let row = 0; row < own.length; row++) if (has[row] === 0) own[row] = noKey;
    codes.push(own);
  }
  const seen = new Uint8Array(table.size);
  const rows: Vector[] = [];
  const gone: Vector[] = [];
  for (let k = held.length - 1; k >= 0; k--) {
    const batch = held[k]!;
    const stay: number[] = [];
    const go: number[] = [];
    const isDeleted = field === undefined ? undefined : flatten(keyColumn(batch, [field]));
    for (let row = batch.length - 1; row >= 0; row--) {
      const code = codes[k]![row]!;
      if (code !== noKey && seen[code] === 1) continue;
      if (code !== noKey) seen[code] = 1;
      if (!isDeleted || !isTrue(isDeleted, row)) stay.push(row);
      else if (code !== noKey) go.push(row);
    }
    if (stay.length > 0)
      rows.push(stay.length === batch.length ? batch : take(batch, Uint32Array.from(stay.reverse())));
    if (go.length > 0) gone.push(take(batch, Uint32Array.from(go)));
  }
  if (field !== undefined && held.length > 0 && rows.length === 0 && gone.length === 0)
    throw new LakeError('upsert-delete-none', { field, identity: identity.map((path) => path.join('.')).join(', ') });
  return { rows: rows.reverse(), gone };
};
const noKey = 0xffffffff;

/** Whether a value is the bool true. */
export const isTrue = (v: Vector, i: number): boolean => {
  if (v.form === 'bool') return v.values[i] === 1;
  const { type, data } = underValue(valueAt(v, i));
  return type === types.bool && data === true;
};
