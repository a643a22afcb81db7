/** Comparisons of SQL, which order lists and records too: element by element, field by field at the same place; a null inside is greater than all else. */
import { compareNumbers, compareValues, equalValues } from '../../vectors/compare.ts';
import { checkStop } from '../../vectors/stop.ts';
import { isNumeric, types } from '../../vectors/type.ts';
import { type Data, type Value, underValue } from '../../vectors/value.ts';
import { type Vector, bools, valueAt } from '../../vectors/vector.ts';
import type { CompareOperator } from '../../query/plan.ts';
import { compareVectors } from './compare.ts';
import { overlay } from './rows.ts';

/** Whether rows may be lists or records. */
const mayHold = (v: Vector): boolean => {
  switch (v.form) {
    case 'list': case 'record': return true;
    case 'named': case 'constant': return mayHold(v.inner);
    case 'dictionary': return mayHold(v.values);
    case 'selected': return mayHold(v.base);
    case 'dynamic': return v.parts.some(mayHold);
    case 'union': return v.members.some(mayHold);
    default: return false;
  }
};

/** The values inside of a list or record, or undefined for other values. */
const insideOf = ({ type, data }: Value): readonly Value[] | undefined => {
  if (type.kind === 'array' || type.kind === 'set') return (data as readonly Data[]).map((d) => ({ type: type.element, data: d }));
  if (type.kind !== 'record') return undefined;
  return type.fields.map((f, i) => {
    const found = (data as readonly (Data | undefined)[])[i];
    return found === undefined ? { type: types.null, data: null } : { type: f.type, data: found };
  });
};
const order = (left: Value, right: Value): number => {
  const a = underValue(left), b = underValue(right), aNull = a.type === types.null, bNull = b.type === types.null;
  if (aNull || bNull) return Number(aNull) - Number(bNull);
  if (isNumeric(a.type) && isNumeric(b.type)) {
    const x = Number.isNaN(a.data), y = Number.isNaN(b.data);
    return x || y ? Number(x) - Number(y) : compareNumbers(a.data as number | bigint, b.data as number | bigint);
  }
  const inA = insideOf(a), inB = insideOf(b);
  if (!inA || !inB) return equalValues(a, b) ? 0 : compareValues(a, b);
  for (let i = 0; i < Math.min(inA.length, inB.length); i++) {
    const found = order(inA[i]!, inB[i]!);
    if (found !== 0) return found;
  }
  return inA.length - inB.length;
};
const holds: Readonly<Record<CompareOperator, (found: number) => boolean>> = {
  '==': (n) => n === 0, '!=': (n) => n !== 0, '<': (n) => n < 0, '<=': (n) => n <= 0, '>': (n) => n > 0, '>=': (n) => n >= 0,
};

/** `left operator right` for each row. */
export const sqlCompare = (operator: CompareOperator, left: Vector, right: Vector, length: number): Vector => {
  const found = compareVectors(operator, left, right, length);
  if (!mayHold(left) || !mayHold(right)) return found;
  const marks = new Uint8Array(length), results = new Uint8Array(length), test = holds[operator];
  for (let i = 0; i < length; i++) {
    checkStop();
    const a = underValue(valueAt(left, i)), b = underValue(valueAt(right, i)), isRecord = a.type.kind === 'record';
    if (isRecord !== (b.type.kind === 'record') || !insideOf(a) || !insideOf(b)) continue;
    marks[i] = 1;
    results[i] = test(order(a, b)) ? 1 : 0;
  }
  return overlay(found, marks, bools(results));
};
