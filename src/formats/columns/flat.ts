/** Records flattened for formats with plain columns: the leaves of nested records under their names joined by dots. */
import { type Type, type RecordType, underType } from '../../vectors/type.ts';
import { type Data, type Value, fieldsData, memberData } from '../../vectors/value.ts';
import type { RecordVector, Vector } from '../../vectors/vector.ts';

/**
 * A leaf of a record vector: the row of the record is row `at(row)` of `values`, or there is none if that is negative.
 */
interface Leaf {
  readonly name: string;
  readonly values: Vector;
  readonly at: (row: number) => number;
}

/** The leaves of all rows, or undefined if rows of one field are records here and something else there. */
export const leavesOf = (
  v: RecordVector,
  prefix?: string,
  at: Leaf['at'] = (row) => row,
): readonly Leaf[] | undefined => {
  const out: Leaf[] = [];
  for (const f of v.fields) {
    const name = prefix === undefined ? f.name : `${prefix}.${f.name}`;
    const { present } = f;
    const here: Leaf['at'] = present
      ? (row) => {
          const r = at(row);
          return r >= 0 && present[r] === 1 ? r : -1;
        }
      : at;
    const { values, at: inside } = lookThrough(f.values, here);
    if (values.form === 'record') {
      const inner = leavesOf(values, name, inside);
      if (!inner) return undefined;
      out.push(...inner);
    } else if (values.form === 'dynamic' && values.parts.some(holdsRecords)) return undefined;
    else out.push({ name, values, at: inside });
  }
  return out;
};

const holdsRecords = (v: Vector): boolean => {
  const { values } = lookThrough(v, (row) => row);
  return values.form === 'record' || (values.form === 'dynamic' && values.parts.some(holdsRecords));
};

/** The vector behind views and names, with the way from rows to its rows. */
const lookThrough = (v: Vector, at: Leaf['at']): { readonly values: Vector; readonly at: Leaf['at'] } => {
  const via =
    (look: (row: number) => number): Leaf['at'] =>
    (row) => {
      const r = at(row);
      return r < 0 ? r : look(r);
    };
  switch (v.form) {
    case 'named':
      return lookThrough(v.inner, at);
    case 'selected':
      return lookThrough(
        v.base,
        via((r) => v.index[r]),
      );
    case 'dictionary':
      return lookThrough(
        v.values,
        via((r) => v.codes[r]),
      );
    case 'constant':
      return lookThrough(
        v.inner,
        via(() => 0),
      );
    default:
      return { values: v, at };
  }
};

/** The leaves of one record; data is undefined where a field is absent. */
export const leafValues = (
  type: RecordType,
  data: readonly (Data | undefined)[],
  prefix?: string,
): { readonly name: string; readonly type: Type; readonly data: Data | undefined }[] =>
  type.fields.flatMap((f, i) => {
    const name = prefix === undefined ? f.name : `${prefix}.${f.name}`;
    const under = underType(f.type);
    const d = data[i];
    if (under.kind !== 'record') return [{ name, type: f.type, data: d }];
    return leafValues(under, d === undefined ? under.fields.map(() => undefined) : fieldsData(d), name);
  });

/** The value without outer names and unions, if that is a record. */
export const asRecord = (
  value: Value,
): { readonly type: RecordType; readonly data: readonly (Data | undefined)[] } | undefined => {
  let { type, data } = value;
  for (;;) {
    if (type.kind === 'named') type = type.inner;
    else if (type.kind === 'union') ({ type, data } = memberData(data));
    else return type.kind === 'record' ? { type, data: fieldsData(data) } : undefined;
  }
};
