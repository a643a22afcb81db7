/** Functions on containers and on values of any kind: len, compare, coalesce, nullif. */
import { characterCounts } from '../../../vectors/texts/codec.ts';
import { type Type, isFloat, types, underType } from '../../../vectors/type.ts';
import { type Value, boolValue, boolData, typeData } from '../../../vectors/value.ts';
import { compareValues } from '../../../vectors/compare.ts';
import {
  type Vector,
  type FlatVector,
  type BytesVector,
  dataAt,
  flatten,
  noRows,
  numbers,
  valueAt,
} from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { areAscii } from '../texts/code-points.ts';
import { fieldOf } from '../../expressions/access.ts';
import { eachPart } from '../../aggregates/grouping/parts.ts';
import { under } from '../../aggregates/under.ts';
import { compareVectors } from '../../expressions/compare.ts';
import { recordOf } from '../../expressions/construct.ts';
import { coalesceOf } from '../../expressions/logic.ts';
import { combine, truth, truthOf, wrapErrors } from '../../expressions/rows.ts';
import { aliasOf, byKernel, byVectors, refused, type Evaluate, type FunctionRow, type Kernel } from '../row.ts';

const runs = (offsets: Uint32Array, length: number): Float64Array => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) out[i] = offsets[i + 1] - offsets[i];
  return out;
};
const codePoints = (v: BytesVector): Float64Array =>
  areAscii(v) ? runs(v.offsets, v.length) : characterCounts(v.bytes, v.offsets, v.length);
const sizeOfType = (type: Type): number => {
  const t = underType(type);
  switch (t.kind) {
    case 'record':
      return t.fields.length;
    case 'union':
      return t.members.length;
    case 'enum':
      return t.symbols.length;
    case 'array':
    case 'set':
      return sizeOfType(t.element);
    case 'map':
      return sizeOfType(t.value);
    case 'error':
      return sizeOfType(t.inner);
    default:
      return 1;
  }
};
const len: Kernel = ([arg], length) => {
  const v = flatten(arg!);
  const ints = (values: Float64Array): Vector => numbers(types.int64, values);
  switch (v.form) {
    case 'null':
      return ints(new Float64Array(length));
    case 'error':
      return wrapErrors('len()', arg!);
    case 'bytes':
      return ints(v.type === types.string ? codePoints(v) : runs(v.offsets, length));
    case 'list':
    case 'map':
      return ints(runs(v.offsets, length));
    case 'record':
      return ints(new Float64Array(length).fill(v.fields.length));
    case 'type':
      return ints(Float64Array.from({ length }, (_, i) => sizeOfType(typeData(dataAt(v, i)))));
    default:
      return wrapErrors('len: bad type', arg!);
  }
};
const lenRow = (name: string): FunctionRow => ({
  name,
  signature: `${name}(v)`,
  text: 'The size of a string (code points), container, record, address or type.',
  argumentsMin: 1,
  argumentsMax: 1,
  examples: [
    { query: `${name}("é")`, output: '1' },
    { query: `${name}({a:1,b:2})`, output: '2' },
    { query: `values ${name}(null)`, output: '0' },
    { query: `${name}(<{a:int64,b:string}>)`, output: '2' },
    { query: `${name}(1)`, output: 'error({message:"len: bad type",on:1})' },
    { query: `${name}(error("x"))`, output: 'error({message:"len()",on:error("x")})' },
  ],
  make: byKernel(len, 'bare'),
});

const compareRow = (a: Value, b: Value, nullsMax: Value): Value => {
  if (nullsMax.type !== types.bool) return refused('compare: nullsMax arg is not bool', nullsMax);
  const failed = [a, b].find((v) => underType(v.type).kind === 'error');
  if (failed) return failed;
  return { type: types.int64, data: Math.sign(compareValues(a, b, boolData(nullsMax.data))) };
};
const compare: Evaluate = ([a, b, nullsMax], length) => {
  if (length === 0) return noRows;
  const out = new Builder();
  for (let i = 0; i < length; i++)
    out.append(compareRow(valueAt(a!, i), valueAt(b!, i), nullsMax ? valueAt(nullsMax, i) : boolValue(true)));
  return out.finish();
};

/** NaN is nulled by itself, and an enum equals no number here. */
const nullif: Evaluate = ([a, b], length) => {
  const equal = truthOf(compareVectors('==', a!, b!, length));
  const left = truthOf(a!);
  const right = truthOf(b!);
  const nans = nanRows(a!, length);
  const others = nans && nanRows(b!, length);
  const enums = enumRows(a!, length);
  const otherEnums = enumRows(b!, length);
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    slots[i] = i;
    if (left[i] === truth.error || left[i] === truth.null) continue;
    if (right[i] === truth.error) tags[i] = 1;
    else if (
      equal[i] === truth.true ? (enums?.[i] ?? 0) === (otherEnums?.[i] ?? 0) : nans?.[i] === 1 && others?.[i] === 1
    )
      tags[i] = 2;
  }
  return combine(tags, slots, [under(a!), under(b!), { form: 'null', length }]);
};
/** 1 for rows with the trait, which `part` tells of flat vectors; undefined if no row has it. */
const rowsThat = (
  v: Vector,
  length: number,
  part: (v: FlatVector) => Uint8Array | undefined,
): Uint8Array | undefined => {
  const marks = new Uint8Array(length);
  let isAny = false;
  eachPart(v, (p, rows) => {
    part(p)?.forEach((mark, i) => {
      if (mark === 0) return;
      marks[rows ? rows[i] : i] = 1;
      isAny = true;
    });
  });
  return isAny ? marks : undefined;
};
const nanRows = (v: Vector, length: number): Uint8Array | undefined =>
  rowsThat(v, length, (p) =>
    p.form === 'number' && isFloat(p.type)
      ? Uint8Array.from(p.values.subarray(0, p.length) as Float64Array, (x) => (Number.isNaN(x) ? 1 : 0))
      : undefined,
  );
const enumRows = (v: Vector, length: number): Uint8Array | undefined =>
  rowsThat(v, length, (p) => (p.form === 'enum' ? new Uint8Array(p.length).fill(1) : undefined));

export const containers: readonly FunctionRow[] = [
  lenRow('len'),
  lenRow('length'),
  aliasOf(lenRow('len'), 'array_length', [{ query: 'array_length([1,2])', output: '2' }]),
  {
    name: 'coalesce',
    signature: 'coalesce(v, ...)',
    text: 'The first argument that is neither null nor an error, else null.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values coalesce(null,missing_field,"a")', input: '{a:1}', output: '"a"' },
      { query: 'values coalesce(null)', output: 'null' },
    ],
    make: () => (args, length) =>
      coalesceOf(args.map((_, k) => (rows: Vector) => fieldOf(rows, String(k))))(
        recordOf(
          args.map((values, k) => ({ name: String(k), values })),
          length,
        ),
      ),
  },
  {
    name: 'compare',
    signature: 'compare(a, b[, nullsMax])',
    text: '-1, 0 or 1 in the order of sort; nulls last unless nullsMax is false.',
    argumentsMin: 2,
    argumentsMax: 3,
    examples: [
      { query: 'compare(1,2)', output: '-1' },
      { query: 'values compare(null,1)', output: '1' },
      { query: 'values compare(null,1,false)', output: '-1' },
      { query: 'compare(1,"a")', output: '-1' },
      { query: 'compare(1,2,"x")', output: 'error({message:"compare: nullsMax arg is not bool",on:"x"})' },
    ],
    make: byVectors(compare),
  },
  {
    name: 'nullif',
    signature: 'nullif(a, b)',
    text: 'Null where both are equal, else the first.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values nullif(1,1)', output: 'null' },
      { query: 'nullif(1,2)', output: '1' },
      { query: 'values nullif(1,1.)', output: 'null' },
    ],
    make: byVectors(nullif),
  },
];
