/** Values of any shape by what they are as variants: rows of one kind each, which a typed column may hold. */
import { boundsOf } from '../../vectors/literal.ts';
import { bitsOf, types } from '../../vectors/type.ts';
import {
  type ListVector,
  type NumberVector,
  type RecordVector,
  type Vector,
  flatten,
  take,
} from '../../vectors/vector.ts';
import { decimalAmongParts } from '../kind-of.ts';
import { isSized, type SizedKind, sizesOf } from '../kinds.ts';
import { type NamedKind, namedParts } from '../named.ts';
import { type Rows, rowsOf, tagParts } from '../walk.ts';

/** What typed columns hold: of times, those that are whole microseconds. */
export type TypedKind =
  | 'bool'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float32'
  | 'float64'
  | 'string'
  | 'bytes'
  | 'time'
  | 'date'
  | 'uuid'
  | SizedKind
  | 'list'
  | 'record';
/** Rows of one kind. `object`: objects that are no records; `other`: what no typed column holds. */
export type Part =
  | { readonly kind: 'record'; readonly values: RecordVector; readonly rows: Rows }
  | { readonly kind: 'list'; readonly values: ListVector; readonly rows: Rows }
  | {
      readonly kind: Exclude<TypedKind, 'record' | 'list'> | 'object' | 'other';
      readonly values: Vector;
      readonly rows: Rows;
    };

const int64Max = 9_223_372_036_854_775_807n;

/** The parts of values that are in these rows. */
export const partsIn = (v: Vector, rows: Rows, decimal?: NamedKind): readonly Part[] => {
  if (v.length === 0) return [];
  switch (v.form) {
    case 'constant':
    case 'dictionary':
    case 'selected':
      return partsIn(flatten(v), rows, decimal);
    case 'union':
    case 'dynamic': {
      const beside = decimalAmongParts(v);
      const parts = v.form === 'union' ? v.members : v.parts;
      return tagParts(v, parts, rows).flatMap((part) => partsIn(part.values, part.rows, beside));
    }
    case 'named':
      return namedParts(v, decimal).flatMap(({ kind, rows: picked }): readonly Part[] => {
        const own = picked ? rowsOf(rows, picked) : rows;
        const values = kind === undefined ? v.inner : v;
        const part = picked ? take(values, picked) : values;
        return kind === undefined ? partsIn(part, own) : [{ kind: ofName(kind), values: part, rows: own }];
      });
    case 'record':
      return [{ kind: 'record', values: v, rows }];
    case 'list':
      return [{ kind: 'list', values: v, rows }];
    case 'map':
    case 'error':
      return [{ kind: 'object', values: v, rows }];
    case 'null':
      return [{ kind: 'other', values: v, rows }];
    case 'bool':
      return [{ kind: 'bool', values: v, rows }];
    case 'enum':
    case 'type':
      return [{ kind: 'string', values: v, rows }];
    case 'bytes':
      return [{ kind: v.type === types.bytes ? 'bytes' : 'string', values: v, rows }];
    case 'number':
      return numberParts(v, rows);
  }
};
const ofName = (kind: NamedKind): Exclude<TypedKind, 'record' | 'list'> =>
  isSized(kind) && sizesOf(kind).form === 'fixed' ? 'bytes' : kind;

const numberParts = (v: NumberVector, rows: Rows): readonly Part[] => {
  switch (v.type.name) {
    case 'duration':
      return [{ kind: 'string', values: v, rows }];
    case 'time':
      return divided(v, rows, 'time', (x) => (typeof x === 'number' ? x % 1000 === 0 : x % 1000n === 0n));
    case 'float16':
    case 'float32':
      return [{ kind: 'float32', values: v, rows }];
    case 'float64':
      return [{ kind: 'float64', values: v, rows }];
    case 'uint64':
      return divided(v, rows, 'int64', (x) => x <= int64Max);
    case 'int8':
      return [{ kind: fits(v) ? 'int8' : 'int64', values: v, rows }];
    case 'int16':
    case 'uint8':
      return [{ kind: fits(v) ? 'int16' : 'int64', values: v, rows }];
    case 'int32':
    case 'uint16':
      return [{ kind: fits(v) ? 'int32' : 'int64', values: v, rows }];
    default:
      return [{ kind: 'int64', values: v, rows }];
  }
};
/** Sums are of the type of what was added, and may be beyond it. */
const fits = ({ type, values, length }: NumberVector): boolean => {
  if (bitsOf(type) === 64) return true;
  const { least, most } = boundsOf(type);
  for (let i = 0; i < length; i++) if (values[i]! < least || values[i]! > most) return false;
  return true;
};
/** Those that belong to a kind, and the others. */
const divided = (
  v: NumberVector,
  rows: Rows,
  kind: 'time' | 'int64',
  belongs: (x: number | bigint) => boolean,
): readonly Part[] => {
  const own = new Uint32Array(v.length);
  const others: number[] = [];
  let count = 0;
  for (let i = 0; i < v.length; i++) {
    if (belongs(v.values[i]!)) own[count++] = i;
    else others.push(i);
  }
  if (others.length === 0) return [{ kind, values: v, rows }];
  const part = (picked: Uint32Array): { readonly values: Vector; readonly rows: Rows } => ({
    values: take(v, picked),
    rows: rowsOf(rows, picked),
  });
  const rest: Part = { kind: 'other', ...part(Uint32Array.from(others)) };
  return count === 0 ? [rest] : [{ kind, ...part(own.subarray(0, count)) }, rest];
};
