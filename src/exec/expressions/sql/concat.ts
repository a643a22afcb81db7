/** `||` of SQL: lists behind one another, and texts of whatever has one. Null on either side gives null. */
import { types } from '../../../vectors/type.ts';
import { type Vector, flatten, nulls } from '../../../vectors/vector.ts';
import { type Kernel, apply } from '../apply.ts';
import { concatKernel, listFrom } from '../construct.ts';
import { sqlTypeOfName } from '../../../query/sql/values/types.ts';
import { inner, namesOf } from '../rows.ts';
import { sqlCastVector } from './cast.ts';

const isArray = (v: Vector): boolean => {
  const i = inner(v);
  return i.form === 'list' && i.type.kind === 'array';
};
const isBytes = (v: Vector): boolean => {
  const i = inner(v);
  return i.form === 'bytes' && i.type === types.bytes;
};
const bytesText: Kernel = (args) => {
  const [a, b] = args.map((v) => flatten(v));
  return a!.form === 'bytes' && b!.form === 'bytes'
    ? {
        ...(concatKernel(
          [
            { ...a, type: types.string },
            { ...b, type: types.string },
          ],
          a.length,
        ) as typeof a),
        type: types.bytes,
      }
    : a!;
};
const asText = { type: { kind: 'plain', type: types.string }, failure: 'null', written: '||' } as const;
/** A text as it is, another value as a cast to text gives it. */
export const sqlTextOf = (v: Vector): Vector => {
  const i = inner(v);
  if (i.form === 'error' || (i.form === 'bytes' && i.type === types.string)) return v;
  const [name] = namesOf(i) ?? [];
  const from = name === undefined ? undefined : sqlTypeOfName(name);
  return flatten(sqlCastVector(flatten(v), from ? { ...asText, from } : asText));
};

/** The kernel. What has no text, such as a list beside a string, gives the cast's error. */
export const sqlConcat: Kernel = (args, length) => {
  if (args.some((a) => inner(a).form === 'null')) return nulls(length);
  if (args.every(isArray))
    return listFrom(
      'array',
      args.map((values) => ({ spread: true, values })),
      length,
    );
  if (args.every(isBytes)) return bytesText(args, length);
  return apply(args.map(sqlTextOf), length, concatKernel, 'bare');
};
