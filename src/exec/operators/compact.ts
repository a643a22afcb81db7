/** Rows that are held for long must not hold more than themselves: views of larger vectors are copied. */
import { type Vector, gather, range } from '../../vectors/vector.ts';

/** The same rows, copied if they are a view of many more. */
export const compact = (v: Vector): Vector => (isView(v, v.length) ? gather(v, range(0, v.length)) : v);

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
