/**
 * list_zip over vectors: the elements of the lists are looked up together, without a value for each (0.12 of the
 * processor time that values take). Elements lose their unions, so that each record has the types of its own elements.
 */
import { charge } from '../../../vectors/stop.ts';
import {
  type BoolVector,
  type Field,
  type ListVector,
  type Vector,
  dynamic,
  flatten,
  noRows,
  nulls,
  take,
} from '../../../vectors/vector.ts';
import { elementsOf } from '../../expressions/lift.ts';
import { listsOf } from '../../expressions/lists.ts';
import { combine, inner, tidy, wrapErrors } from '../../expressions/rows.ts';
import { isError, isNull, type Kernel } from '../row.ts';

/** Where a list's elements of each row begin and end. A constant has the same in all rows; null has none. */
interface Runs {
  readonly items: Vector;
  readonly startOf: (i: number) => number;
  readonly sizeOf: (i: number) => number;
}

/** What a record takes while it is put together, and each of its fields, about. */
const recordBytes = 16;
const fieldBytes = 16;

export const zip: Kernel = (args, length) => {
  const last = inner(args.at(-1)!);
  const cuts = last.form === 'bool' ? last : undefined;
  const given = cuts ? args.slice(0, -1) : args;
  const wrong = given.find((v) => !isNull(v) && inner(v).form !== 'list');
  if (wrong) return wrapErrors(`list_zip: ${isError(wrong) ? 'value' : 'list'} argument required`, wrong);
  const lists = given.map(runsOf);
  const isCut = cutOf(args.at(-1)!, cuts);
  const offsets = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    let size = lists.length > 0 ? lists[0].sizeOf(i) : 0;
    for (const l of lists) size = isCut(i) ? Math.min(size, l.sizeOf(i)) : Math.max(size, l.sizeOf(i));
    offsets[i + 1] = offsets[i] + size;
    charge(size * (recordBytes + lists.length * fieldBytes), 'list_zip');
  }
  if (offsets[length] === 0) return listsOf('array', offsets, noRows, length);
  const fields = lists.map(
    (l, k): Field => ({ name: `c${k}`, optional: false, values: elementsAt(l, offsets, length) }),
  );
  return listsOf('array', offsets, recordsByType(fields, offsets[length]), length);
};

const runsOf = (v: Vector): Runs => {
  const list = inner(v);
  if (list.form !== 'list') return { items: noRows, startOf: () => 0, sizeOf: () => 0 };
  const { offsets } = list as ListVector;
  const items = tidy(elementsOf(list.items));
  return v.form === 'constant'
    ? { items, startOf: () => offsets[0], sizeOf: () => offsets[1] - offsets[0] }
    : { items, startOf: (i) => offsets[i], sizeOf: (i) => offsets[i + 1] - offsets[i] };
};
const cutOf = (v: Vector, cuts: BoolVector | undefined): ((i: number) => boolean) => {
  if (!cuts) return () => false;
  return v.form === 'constant' ? () => cuts.values[0] === 1 : (i) => cuts.values[i] === 1;
};

/** A list's elements at the places of all records, null where it has none. */
const elementsAt = ({ items, startOf, sizeOf }: Runs, offsets: Uint32Array, length: number): Vector => {
  const total = offsets[length];
  const slots = new Uint32Array(total);
  const tags = new Uint32Array(total);
  let missing = 0;
  for (let i = 0; i < length; i++) {
    const start = startOf(i);
    const from = offsets[i];
    const size = offsets[i + 1] - from;
    const own = Math.min(sizeOf(i), size);
    for (let k = 0; k < own; k++) slots[from + k] = start + k;
    if (own < size) {
      tags.fill(1, from + own, from + size);
      missing += size - own;
    }
  }
  if (missing === 0) return tidy(take(items, slots));
  return missing === total ? nulls(total) : tidy(combine(tags, slots, [items, nulls(1)]));
};

/** Records of these fields, those of one type together. */
const recordsByType = (fields: readonly Field[], length: number): Vector => {
  const mixed = fields.map((f) => flatten(f.values)).filter((v) => v.form === 'dynamic');
  if (mixed.length === 0) return { form: 'record', length, fields };
  const places = new Map<number, number>();
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  const rows: number[][] = [];
  for (let i = 0; i < length; i++) {
    let key = 0;
    for (const { tags: own, parts } of mixed) key = key * parts.length + own[i];
    let place = places.get(key);
    if (place === undefined) {
      place = rows.push([]) - 1;
      places.set(key, place);
    }
    tags[i] = place;
    slots[i] = rows[place].push(i) - 1;
  }
  const parts = rows.map((own): Vector => {
    const index = Uint32Array.from(own);
    return {
      form: 'record',
      length: index.length,
      fields: fields.map((f) => ({ ...f, values: tidy(take(f.values, index)) })),
    };
  });
  return dynamic(tags, slots, parts);
};
