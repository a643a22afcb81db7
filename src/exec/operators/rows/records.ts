/** Records in batches: rows apart by shape, fields set and taken away along paths. */
import type { FieldPath } from '../../../query/plan/plan.ts';
import { chargedRecord } from '../../../vectors/sizes.ts';
import {
  type Vector,
  type Field,
  type FlatVector,
  type RecordVector,
  flatten,
  gather,
  range,
  take,
  ofForm,
} from '../../../vectors/vector.ts';
import { combine, overlay } from '../../expressions/rows.ts';

/**
 * Some rows of a batch: `whole` the rows as they are, `bare` with names and unions taken off, of one class then;
 * `record` if they are records of one shape. `rows` absent: all, in order.
 */
export interface ShapeRows {
  readonly whole: Vector;
  readonly bare: FlatVector;
  readonly record?: RecordVector;
  readonly rows?: Uint32Array;
}

/**
 * The rows of a batch by shape; together they cover it. `unions`: whether those are looked through, or rows that are no
 * records.
 */
export const shapesOf = (v: Vector, unions = true): readonly ShapeRows[] => {
  const out: ShapeRows[] = [];
  split(v, undefined, out, undefined, unions);
  return out;
};
/** `outer`: the rows as they were before names and unions were taken off. */
const split = (
  v: Vector,
  rows: Uint32Array | undefined,
  out: ShapeRows[],
  outer: Vector | undefined,
  unions: boolean,
): void => {
  if (v.length === 0) return;
  const flat: FlatVector = flatten(v);
  const whole = outer ?? flat;
  switch (flat.form) {
    case 'record':
      out.push({ whole, bare: flat, record: flat, ...(rows && { rows }) });
      return;
    case 'named':
      return split(
        flat.inner.length === flat.length ? flat.inner : gather(flat.inner, range(0, flat.length)),
        rows,
        out,
        whole,
        unions,
      );
    case 'dynamic':
      return splitTagged(flat.tags, flat.slots, flat.parts, flat.length, rows, out, outer, unions);
    case 'union':
      if (unions) return splitTagged(flat.tags, flat.slots, flat.members, flat.length, rows, out, whole, unions);
      out.push({ whole, bare: flat, ...(rows && { rows }) });
      return;
    default:
      out.push({ whole, bare: flat, ...(rows && { rows }) });
  }
};
const splitTagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
  rows: Uint32Array | undefined,
  out: ShapeRows[],
  outer: Vector | undefined,
  unions: boolean,
): void => {
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]]++;
  for (const [tag, part] of parts.entries()) {
    const count = counts[tag];
    if (count === 0) continue;
    const index = new Uint32Array(count);
    const here = new Uint32Array(count);
    for (let i = 0, n = 0; i < length; i++) {
      if (tags[i] !== tag) continue;
      here[n] = i;
      index[n++] = slots[i];
    }
    split(
      take(part, index),
      rows ? here.map((i) => rows[i]) : count === length ? undefined : here,
      out,
      outer && (count === length ? outer : take(outer, here)),
      unions,
    );
  }
};

/** Rows of a vector that goes along with a batch. */
export const rowsOf = (v: Vector, rows: Uint32Array | undefined): Vector => (rows ? take(v, rows) : v);

/**
 * Puts what was made of the rows of each shape in place again. Groups may leave rows out: then the others move up, in
 * order.
 */
export const together = (
  length: number,
  groups: readonly { readonly rows?: Uint32Array; readonly values: Vector }[],
): Vector => {
  if (groups.length === 1) return groups[0].values;
  const tags = new Uint32Array(length).fill(groups.length);
  const slots = new Uint32Array(length);
  groups.forEach((group, tag) => {
    for (let i = 0; i < group.values.length; i++) {
      const row = group.rows ? group.rows[i] : i;
      tags[row] = tag;
      slots[row] = i;
    }
  });
  let n = 0;
  for (let i = 0; i < length; i++) {
    if (tags[i] === groups.length) continue;
    tags[n] = tags[i];
    slots[n++] = slots[i];
  }
  return combine(
    tags.subarray(0, n),
    slots.subarray(0, n),
    groups.map((g) => g.values),
  );
};

/** A record vector of these fields. */
export const record = (fields: readonly Field[], length: number): RecordVector =>
  chargedRecord({ form: 'record', length, fields });
/** A field that every row has. */
export const field = (name: string, values: Vector): Field => ({ name, optional: false, values });

/** A record of the values at their paths; fields of one nested record come together where the first of them stands. */
export const recordOfPaths = (paths: readonly FieldPath[], values: readonly Vector[], length: number): RecordVector => {
  const names = new Map<string, number[]>();
  paths.forEach((path, k) => {
    const known = names.get(path[0]);
    if (known) known.push(k);
    else names.set(path[0], [k]);
  });
  return record(
    [...names].map(([name, own]) => {
      const whole = own.find((k) => paths[k].length === 1);
      return field(
        name,
        whole !== undefined
          ? values[whole]
          : recordOfPaths(
              own.map((k) => paths[k].slice(1)),
              own.map((k) => values[k]),
              length,
            ),
      );
    }),
    length,
  );
};

/**
 * The record with the value at the path: an existing field keeps its place, a new one is last; what is no record on the
 * way becomes one.
 */
export const setPath = (r: RecordVector, path: FieldPath, value: Vector): RecordVector => {
  const [name, ...rest] = path as [string, ...string[]];
  const at = r.fields.findIndex((f) => f.name === name);
  const values =
    rest.length === 0
      ? value
      : at < 0
        ? recordOfPaths([rest], [value], r.length)
        : setInside(r.fields[at], rest, value, r.length);
  return record(
    at < 0 ? [...r.fields, field(name, values)] : r.fields.map((f, k) => (k === at ? field(name, values) : f)),
    r.length,
  );
};
const setInside = (f: Field, path: FieldPath, value: Vector, length: number): Vector => {
  const present = f.present && f.present.includes(0) ? f.present : undefined;
  const groups = (present ? presentShapes(f.values, present, length) : shapesOf(f.values)).map((s) => {
    const own = rowsOf(value, s.rows);
    const values = s.record
      ? together(
          own.length,
          presences(s.record).map((p) => ({
            ...(p.rows && { rows: p.rows }),
            values: setPath(p.record, path, rowsOf(own, p.rows)),
          })),
        )
      : recordOfPaths([path], [own], own.length);
    return { ...(s.rows && { rows: s.rows }), values };
  });
  return together(length, groups);
};
/** Absent rows make a group that is no record. */
const presentShapes = (v: Vector, present: Uint8Array, length: number): readonly ShapeRows[] => {
  const here = range(0, length).filter((i) => present[i] === 1);
  const absent = range(0, length).filter((i) => present[i] === 0);
  const shapes = shapesOf(take(v, here)).map((s) => ({ ...s, rows: s.rows ? s.rows.map((i) => here[i]) : here }));
  const values = take(v, absent);
  return [...shapes, { whole: values, bare: flatten(values), rows: absent }];
};

/**
 * The rows of a record by which of its optional fields they have, as records without optional fields: what put makes of
 * them.
 */
export const presences = (
  r: RecordVector,
): readonly { readonly rows?: Uint32Array; readonly record: RecordVector }[] => {
  const optional = r.fields.filter((f) => f.optional);
  if (optional.length === 0) return [{ record: r }];
  const groups = new Map<string, number[]>();
  for (let i = 0; i < r.length; i++) {
    const key = optional.map((f) => (f.present && f.present[i] === 0 ? '0' : '1')).join('');
    const known = groups.get(key);
    if (known) known.push(i);
    else groups.set(key, [i]);
  }
  return [...groups].map(([key, list]) => {
    const all = list.length === r.length;
    const rows = Uint32Array.from(list);
    const own = all ? r : ofForm(flatten(take(r, rows)), 'record');
    const kept = own.fields.filter((f) => !f.optional || key[optional.findIndex((o) => o.name === f.name)] === '1');
    return {
      ...(!all && { rows }),
      record: record(
        kept.map((f) => field(f.name, f.values)),
        rows.length,
      ),
    };
  });
};

/** Marks the rows of a part in those of the whole. */
export const mark = (whole: Uint8Array, part: Uint8Array, rows: Uint32Array | undefined): void => {
  for (let i = 0; i < part.length; i++) if (part[i]) whole[rows ? rows[i] : i] = 1;
};
/** Changed records where a row was touched; the other rows keep their names and unions. */
export const elseWhole = (changed: RecordVector, touched: Uint8Array, whole: Vector): Vector =>
  whole.form === 'record' || !touched.includes(0)
    ? changed
    : overlay(
        changed,
        touched.map((bit) => 1 - bit),
        whole,
      );

/** The record without the field at the path, or undefined if it has none there; marks the rows that had it. */
export const dropPath = (r: RecordVector, path: FieldPath, touched?: Uint8Array): RecordVector | undefined => {
  const [name, ...rest] = path as [string, ...string[]];
  const at = r.fields.findIndex((f) => f.name === name);
  if (at < 0) return undefined;
  if (rest.length === 0) {
    touched?.fill(1);
    return record(
      r.fields.filter((_, k) => k !== at),
      r.length,
    );
  }
  const f = r.fields[at];
  let changed = false;
  const groups = shapesOf(f.values, false).map((s) => {
    const own = touched && new Uint8Array(s.bare.length);
    const less = s.record && dropPath(s.record, rest, own);
    if (own) mark(touched, own, s.rows);
    if (less) changed = true;
    return { ...(s.rows && { rows: s.rows }), values: less ?? s.whole };
  });
  return changed
    ? record(
        r.fields.map((g, k) => (k === at ? { ...g, values: together(r.length, groups) } : g)),
        r.length,
      )
    : undefined;
};
