/** Rows that are held for long must not hold more than themselves: views of larger vectors are copied. */
import { liftTagged } from '../expressions/lift.ts';
import { type Vector, flatten, gather, range } from '../../vectors/vector.ts';

/** The same rows, copied as far as they are a view of many more. */
export const compact = (v: Vector): Vector => (isView(v, v.length) ? copied(v) : v);

/** So many times more rows than are seen make a view worth a copy. */
const viewFactor = 2;

const isView = (v: Vector, rows: number): boolean => {
  if (v.length > rows * viewFactor + 64) return true;
  switch (v.form) {
    case 'record': return v.fields.some((f) => isView(f.values, rows));
    case 'error': case 'named': return isView(v.inner, rows);
    case 'dictionary': return isView(v.values, rows);
    case 'selected': return isView(v.base, rows);
    case 'dynamic': return v.parts.some((p) => isView(p, rows));
    case 'union': return v.members.some((m) => isView(m, rows));
    default: return false;
  }
};

const copied = (v: Vector): Vector => {
  switch (v.form) {
    case 'record': return { ...v, fields: v.fields.map((f) => ({ ...f, values: f.values.length > v.length ? compact(gather(f.values, range(0, v.length))) : compact(f.values) })) };
    case 'error': case 'named': return { ...v, inner: compact(v.inner) };
    case 'dictionary': case 'selected': return compact(flatten(v));
    case 'dynamic': return liftTagged(v.tags, v.slots, v.parts, v.length, compact);
    default: return gather(v, range(0, v.length));
  }
};
