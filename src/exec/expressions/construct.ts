/** Records, arrays, sets, maps and texts made of evaluated parts. */
import { charge } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { chargedRecord } from '../../vectors/sizes.ts';
import {
  type Field,
  type RecordVector,
  type Vector,
  flatten,
  noRows,
  nulls,
  take,
  ofForm,
} from '../../vectors/vector.ts';
import { concat } from '../../vectors/concat.ts';
import { distinctNames } from '../../vectors/field-names.ts';
import { apply, applyCarrying, type Kernel } from './apply.ts';
import { castVector, nullOf } from './cast.ts';
import { type ListKind, listsOf, mapsOf } from './lists.ts';
import { elementsOf } from './lift.ts';
import { combine, rowsWith, tidy, wrapErrors } from './rows.ts';

/** A record of these columns. */
export const recordOf = (
  columns: readonly { readonly name: string; readonly values: Vector }[],
  length: number,
): RecordVector =>
  chargedRecord({
    form: 'record',
    length,
    fields: columns.map((c) => ({ name: c.name, optional: false, values: c.values })),
  });

/**
 * An element of a record expression, with a value a row: `name:expr` or `...expr`. `without`: fields of the spread that
 * are left out.
 */
type RecordPart =
  | { readonly kind: 'field'; readonly name: string; readonly values: Vector }
  | { readonly kind: 'spread'; readonly values: Vector; readonly without?: readonly string[] };

/**
 * A record expression: a repeated field keeps its first place and takes the last value; spreads of what is no record
 * give nothing, absent fields are not spread.
 */
export const recordFrom = (parts: readonly RecordPart[], length: number, arrange = lastOnes): Vector => {
  if (length === 0) return noRows;
  const spreads = parts.filter((p) => p.kind === 'spread').map((p) => p.values);
  const plain = parts.filter((p) => p.kind === 'field').map((p) => tidy(p.values));
  return applyCarrying(spreads, plain, length, (args, carried, n) =>
    spreadRecords(
      parts,
      args.map((a) => flatten(a)),
      carried,
      n,
      arrange,
    ),
  );
};

/** The row of a SELECT: like a record expression, but repeated fields get `_1`, `_2` behind their names. */
export const columnsFrom = (parts: readonly RecordPart[], length: number): Vector =>
  recordFrom(parts, length, numbered);

type Columns = readonly { readonly name: string; readonly values: Vector }[];
const lastOnes = (columns: Columns): Columns => {
  const byName = new Map<string, Vector>();
  for (const { name, values } of columns) byName.set(name, values);
  return [...byName].map(([name, values]) => ({ name, values }));
};
const numbered = (columns: Columns): Columns => {
  const names = distinctNames(columns.map((c) => c.name));
  return columns.map(({ values }, i) => ({ name: names[i], values }));
};

const spreadRecords = (
  parts: readonly RecordPart[],
  spreads: readonly Vector[],
  plain: readonly Vector[],
  length: number,
  arrange: (columns: Columns) => Columns,
): Vector => {
  const partly = spreads.findIndex(
    (s) => s.form === 'record' && s.fields.some((f) => f.present && !allPresent(f.present, length)),
  );
  if (partly >= 0) return splitByPresence(parts, spreads, plain, partly, length, arrange);
  const columns: { readonly name: string; readonly values: Vector }[] = [];
  let nextSpread = 0;
  let nextPlain = 0;
  for (const part of parts) {
    if (part.kind === 'field') columns.push({ name: part.name, values: plain[nextPlain++] });
    else {
      const s = spreads[nextSpread++];
      if (s.form === 'record')
        for (const f of s.fields) if (!part.without?.includes(f.name)) columns.push({ name: f.name, values: f.values });
    }
  }
  return recordOf(arrange(columns), length);
};
const allPresent = (present: Uint8Array, length: number): boolean => {
  for (let i = 0; i < length; i++) if (!present[i]) return false;
  return true;
};
/** Rows with unlike sets of present fields in one spread have unlike shapes. */
const splitByPresence = (
  parts: readonly RecordPart[],
  spreads: readonly Vector[],
  plain: readonly Vector[],
  partly: number,
  length: number,
  arrange: (columns: Columns) => Columns,
): Vector => {
  const record = ofForm(spreads[partly], 'record');
  const keys = new Map<string, number>();
  const codes = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const key = record.fields.map((f) => (f.present && !f.present[i] ? '0' : '1')).join('');
    if (!keys.has(key)) keys.set(key, keys.size);
    codes[i] = keys.get(key)!;
  }
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const results = [...keys].map(([key, code]) => {
    const mask = new Uint8Array(length);
    for (let i = 0; i < length; i++) mask[i] = codes[i] === code ? 1 : 0;
    const rows = rowsWith(mask, length, 1);
    rows.forEach((row, n) => {
      tags[row] = code;
      slots[row] = n;
    });
    const fields = record.fields
      .filter((_, k) => key[k] === '1')
      .map((f): Field => ({ name: f.name, optional: false, values: take(f.values, rows) }));
    const cut = spreads.map((s, k) =>
      k === partly ? { form: 'record' as const, length: rows.length, fields } : flatten(take(s, rows)),
    );
    return spreadRecords(
      parts,
      cut,
      plain.map((p) => take(p, rows)),
      rows.length,
      arrange,
    );
  });
  return combine(tags, slots, results);
};

/**
 * An element of an array or set expression, with a value a row: `expr`, or `...expr`, which gives the elements of
 * arrays and sets and nothing for other values.
 */
interface ListPart {
  readonly spread: boolean;
  readonly values: Vector;
}

/** An array or set expression. Elements of spreads lose their unions. */
export const listFrom = (kind: ListKind, parts: readonly ListPart[], length: number): Vector => {
  if (length === 0) return noRows;
  const runs = parts.map((p) => (p.spread ? itemRuns(p.values, length) : undefined));
  const offsets = new Uint32Array(length + 1);
  let total = 0;
  for (let i = 0; i < length; i++) {
    for (const r of runs) total += r ? r.ends[i] - r.starts[i] : 1;
    offsets[i + 1] = total;
  }
  charge(total * 8, kind === 'array' ? 'an array expression' : 'a set expression');
  const tags = new Uint32Array(total);
  const slots = new Uint32Array(total);
  let at = 0;
  for (let i = 0; i < length; i++) {
    for (let k = 0; k < runs.length; k++) {
      const r = runs[k];
      const start = r ? r.starts[i] : i;
      const end = r ? r.ends[i] : i + 1;
      for (let slot = start; slot < end; slot++) {
        tags[at] = k;
        slots[at++] = slot;
      }
    }
  }
  const items =
    total === 0
      ? noRows
      : tidy(
          combine(
            tags,
            slots,
            parts.map((p, k) => runs[k]?.items ?? p.values),
          ),
        );
  return listsOf(kind, offsets, items, length);
};

interface Runs {
  readonly items: Vector;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}
/** The elements of each row, none for rows that are no arrays or sets. */
const itemRuns = (v: Vector, length: number): Runs => {
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  const pieces: Vector[] = [];
  let base = 0;
  const visit = (part: Vector, rowOf: (i: number) => number): void => {
    const flat = flatten(part);
    switch (flat.form) {
      case 'named':
        return visit(flat.inner, rowOf);
      case 'dynamic':
      case 'union': {
        const children = flat.form === 'dynamic' ? flat.parts : flat.members;
        const rows = children.map((): number[] => []);
        const places = children.map((): number[] => []);
        for (let i = 0; i < flat.length; i++) {
          rows[flat.tags[i]].push(i);
          places[flat.tags[i]].push(flat.slots[i]);
        }
        children.forEach((child, k) => {
          if (rows[k].length > 0) visit(take(child, Uint32Array.from(places[k])), (i) => rowOf(rows[k][i]));
        });
        return;
      }
      case 'list':
        for (let i = 0; i < flat.length; i++) {
          starts[rowOf(i)] = base + flat.offsets[i];
          ends[rowOf(i)] = base + flat.offsets[i + 1];
        }
        pieces.push(flat.items);
        base += flat.items.length;
        return;
      default:
    }
  };
  visit(v, (i) => i);
  return { items: elementsOf(concat(pieces)), starts, ends };
};

/** A map expression. */
export const mapFrom = (
  entries: readonly { readonly key: Vector; readonly value: Vector }[],
  length: number,
): Vector => {
  if (length === 0) return noRows;
  const n = entries.length;
  charge(length * n * 8, 'a map expression');
  const offsets = new Uint32Array(length + 1);
  const tags = new Uint32Array(length * n);
  const slots = new Uint32Array(length * n);
  for (let i = 0; i < length; i++) {
    offsets[i + 1] = (i + 1) * n;
    for (let k = 0; k < n; k++) {
      tags[i * n + k] = k;
      slots[i * n + k] = i;
    }
  }
  return mapsOf(
    offsets,
    combine(
      tags,
      slots,
      entries.map((e) => e.key),
    ),
    combine(
      tags,
      slots,
      entries.map((e) => e.value),
    ),
    length,
  );
};

// Texts

/** Strings put behind one another; all arguments are flat or constant strings. */
const concatTexts = (args: readonly Vector[], length: number): Vector => {
  const parts = args.map((a) => ({
    single: a.form === 'constant',
    v: ofForm(a.form === 'constant' ? a.inner : a, 'bytes'),
  }));
  const offsets = new Uint32Array(length + 1);
  // Before the offsets are: they have no room for more than 4 GiB.
  charge(
    parts.reduce(
      (n, { single, v }) => n + (single ? length * (v.offsets[1] - v.offsets[0]) : v.offsets[length] - v.offsets[0]),
      0,
    ),
    'concatenation',
  );
  for (const { single, v } of parts) {
    if (single) {
      const size = v.offsets[1] - v.offsets[0];
      for (let i = 0; i < length; i++) offsets[i + 1] += size;
    } else for (let i = 0; i < length; i++) offsets[i + 1] += v.offsets[i + 1] - v.offsets[i];
  }
  for (let i = 0; i < length; i++) offsets[i + 1] += offsets[i];
  const bytes = new Uint8Array(offsets[length]);
  let at = 0;
  for (let i = 0; i < length; i++) {
    for (const { single, v } of parts) {
      const row = single ? 0 : i;
      for (let from = v.offsets[row], end = v.offsets[row + 1]; from < end; from++) bytes[at++] = v.bytes[from];
    }
  }
  return { form: 'bytes', type: types.string, length, offsets, bytes };
};
const formOf = (v: Vector): Vector['form'] => (v.form === 'constant' ? v.inner.form : v.form);
const isText = (v: Vector): boolean => {
  const inner = v.form === 'constant' ? v.inner : v;
  return inner.form === 'bytes' && inner.type === types.string;
};

/** `||` and concat(): the first argument that is no string decides: null, the error that it is, or one around it. */
export const concatKernel: Kernel = (args, length) => {
  const other = args.find((a) => !isText(a));
  if (!other) return concatTexts(args, length);
  const form = formOf(other);
  return form === 'null' ? nulls(length) : form === 'error' ? other : wrapErrors('concat: string arg required', other);
};

/** The parts of an f-string: cast to string and put together. */
export const fstringOf = (parts: readonly (string | Vector)[], texts: readonly Vector[], length: number): Vector => {
  let nextText = 0;
  const args = parts.map((p) => (typeof p === 'string' ? texts[nextText++] : castVector(p, types.string)));
  return apply(args, length, (vectors, n) => {
    const stop = vectors.find((v) => formOf(v) === 'error' || formOf(v) === 'null');
    if (stop) return formOf(stop) !== 'null' ? stop : parts.length > 1 ? nulls(n) : nullOf(types.string, n);
    return concatTexts(vectors, n);
  });
};

/** `map(of, fn)` with the elements mapped as one batch. `on` are the input rows, for the error. */
export const mapElements = (of: Vector, on: Vector, mapItems: (items: Vector) => Vector, length: number): Vector =>
  applyCarrying(
    [of],
    [on],
    length,
    ([list], carried, n) => {
      const v = flatten(list!);
      if (v.form === 'error' || v.form === 'null') return list!;
      if (v.form !== 'list') return wrapErrors('map: expected array or set value', carried[0]);
      const start = v.offsets[0];
      const end = v.offsets[n];
      if (start === end) return v;
      const index = new Uint32Array(end - start);
      for (let i = 0; i < index.length; i++) index[i] = start + i;
      const items = tidy(mapItems(take(v.items, index)));
      return listsOf(
        v.type.kind,
        v.offsets.subarray(0, n + 1).map((o) => o - start),
        items,
        n,
      );
    },
    'whole',
  );
