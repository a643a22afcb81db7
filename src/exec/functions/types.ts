/** Functions on types of values. */
import { type Type, types, underType } from '../../vectors/type.ts';
import { missing, typeValue, typeData } from '../../vectors/value.ts';
import {
  type FlatVector,
  type Vector,
  type TypeVector,
  dataAt,
  flatten,
  gather,
  noRows,
  take,
  typeAt,
  uniformType,
  ofForm,
} from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { upcastVector } from '../../vectors/upcast.ts';
import { castByValue, refuseTargets } from '../expressions/cast.ts';
import { lift } from '../expressions/lift.ts';
import { apply, applyCarrying } from '../expressions/apply.ts';
import { combine, missingRows, repeat, truthOf, truth, wrapErrors, inner } from '../expressions/rows.ts';
import { boolValue, stringValue } from '../../vectors/value.ts';
import { byVectors, isText, texts, type Evaluate, type FunctionRow } from './row.ts';

/** The type of each row. */
const typesOfRows = (v: Vector): Vector => {
  if (v.length === 0) return noRows;
  const uniform = uniformType(v);
  if (uniform) return repeat(typeValue(uniform), v.length);
  return lift(v, (flat) => {
    const type = uniformType(flat);
    if (type) return repeat(typeValue(type), flat.length);
    const out = new Builder();
    for (let i = 0; i < flat.length; i++) out.appendData(types.type, typeAt(flat, i));
    return out.finish();
  });
};

/** `t` decides per row; what is no type value is an error. A constant type is asked for once. */
const is: Evaluate = ([v, t], length) =>
  applyCarrying(
    [t!],
    [v!],
    length,
    ([target], [rows], n) => {
      const wanted = inner(target!);
      if (wanted.form !== 'type') return wrapErrors('is: type value argument expected', target!);
      const have = typesOfRows(rows!);
      if (target!.form === 'constant' && have.form === 'constant')
        return repeat(boolValue(dataAt(have, 0) === dataAt(wanted, 0)), n);
      const out = new Uint8Array(n);
      for (let i = 0; i < n; i++) out[i] = dataAt(have, i) === dataAt(target!, i) ? 1 : 0;
      return { form: 'bool', length: n, values: out };
    },
    'whole',
  );

const kindOfType = (type: Type): string => underType(type).kind;
const kind: Evaluate = ([v], length) =>
  length === 0
    ? noRows
    : lift(v!, (flat) => {
        if (flat.form === 'type') return perType(flat, (t) => stringValue(kindOfType(t)));
        const uniform = uniformType(flat);
        if (uniform || flat.form !== 'named')
          return repeat(stringValue(kindOfType(uniform ?? typeAt(flat, 0))), flat.length);
        const out = new Builder();
        for (let i = 0; i < flat.length; i++) out.append(stringValue(kindOfType(typeAt(flat, i))));
        return out.finish();
      });
const perType = (flat: TypeVector, f: (t: Type) => ReturnType<typeof stringValue>): Vector => {
  const out = new Builder();
  for (const t of flat.table) out.append(f(t));
  return flat.table.length === 0 ? noRows : gather(out.finish(), flat.codes.subarray(0, flat.length));
};

const nameof: Evaluate = ([v], length) =>
  length === 0
    ? noRows
    : lift(v!, (flat) => {
        if (flat.form === 'named') return repeat(stringValue(flat.name), flat.length);
        if (flat.form === 'type') return perType(flat, (t) => (t.kind === 'named' ? stringValue(t.name) : missing));
        return missingRows(flat.length);
      });

/** Without the outermost name, union or error around it; of a type value, all names are taken off. */
const underRows = (v: Vector): Vector =>
  v.length === 0
    ? noRows
    : lift(v, (flat: FlatVector) => {
        switch (flat.form) {
          case 'named':
            return flat.inner;
          case 'union':
            return combine(flat.tags.subarray(0, flat.length), flat.slots.subarray(0, flat.length), flat.members);
          case 'error':
            return flat.inner;
          case 'type':
            return { ...flat, table: flat.table.map((t) => underType(t)) };
          default:
            return flat;
        }
      });
const upcast: Evaluate = ([v, t], length) =>
  applyCarrying(
    [t!],
    [v!],
    length,
    ([target], [rows], n) => {
      const wanted = inner(target!);
      if (wanted.form !== 'type') return refuseTargets('upcast target must be a type', rows!, target!);
      const codes = truthOf(rows!);
      const failed = new Uint32Array(n);
      const slots = new Uint32Array(n);
      let errors = 0;
      for (let i = 0; i < n; i++) {
        slots[i] = i;
        if (codes[i] === truth.error) {
          failed[i] = 1;
          errors++;
        }
      }
      if (errors === n) return rows!;
      const cast =
        target!.form === 'constant'
          ? upcastVector(rows!, typeData(dataAt(wanted, 0)))
          : upcastEach(rows!, ofForm(flatten(target!), 'type'));
      return errors === 0 ? cast : combine(failed, slots, [cast, rows!]);
    },
    'whole',
  );
const upcastEach = (rows: Vector, targets: TypeVector): Vector => {
  const groups = targets.table.map((): number[] => []);
  const tags = targets.codes.subarray(0, targets.length);
  const slots = new Uint32Array(targets.length);
  for (let i = 0; i < targets.length; i++) slots[i] = groups[tags[i]].push(i) - 1;
  return combine(
    tags,
    slots,
    groups.map((g, k) => (g.length === 0 ? noRows : upcastVector(take(rows, Uint32Array.from(g)), targets.table[k]))),
  );
};

export const typeFunctions: readonly FunctionRow[] = [
  {
    name: 'typeof',
    signature: 'typeof(v)',
    text: 'The type of a value.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'typeof({a:1})', output: '<{a:int64}>' },
      { query: 'typeof(1::(int64|string))', output: '<int64|string>' },
      { query: 'typeof(1::=foo)', output: '<foo=int64>' },
      { query: 'typeof(error("x"))', output: '<error(string)>' },
    ],
    make: byVectors(([v]) => typesOfRows(v!)),
  },
  {
    name: 'is',
    signature: 'is(v, t)',
    text: 'Whether the value is exactly of the type.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'values is(1,<int64>)', output: 'true' },
      { query: 'values is(1::=foo,<int64>)', output: 'false' },
      { query: 'values is(1,2)', output: 'error({message:"is: type value argument expected",on:2})' },
    ],
    make: byVectors(is),
  },
  {
    name: 'kind',
    signature: 'kind(v)',
    text: 'The kind of a value, or of what a type value stands for: primitive, record, array, set, map, union, enum or error.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'kind({a:1})', output: '"record"' },
      { query: 'kind(<int64|string>)', output: '"union"' },
      { query: 'kind("a"::enum(a,b))', output: '"enum"' },
      { query: 'kind(1::=foo)', output: '"primitive"' },
    ],
    make: byVectors(kind),
  },
  {
    name: 'nameof',
    signature: 'nameof(v)',
    text: 'The name of a named value or named type value.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'nameof(1::=foo)', output: '"foo"' },
      { query: 'nameof(<foo=int64>)', output: '"foo"' },
      { query: 'nameof(1)', output: 'error("missing")' },
    ],
    make: byVectors(nameof),
  },
  {
    name: 'typename',
    signature: 'typename(s)',
    text: 'The type that the name is bound to at this point of the input.',
    argumentsMin: 1,
    argumentsMax: 1,
    impure: true,
    examples: [
      { query: '[1::=foo,typename("foo")]', output: '[1::=foo,<foo=int64>]' },
      { query: 'typename("nope")', output: 'error("missing")' },
      { query: 'typename(1)', output: 'error({message:"typename: argument must be a string",on:1})' },
    ],
    make:
      ({ names }) =>
      (args, length) =>
        apply(
          args,
          length,
          ([s], n) => {
            if (!isText(s!)) return wrapErrors('typename: argument must be a string', s!);
            const text = texts(s!);
            const out = new Builder();
            for (let i = 0; i < n; i++) {
              const type = names.get(text(i));
              out.append(type ? typeValue(type) : missing);
            }
            return out.finish();
          },
          'whole',
        ),
  },
  {
    name: 'under',
    signature: 'under(v)',
    text: 'The value without a name, union or error around it.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'under(1::=foo)', output: '1' },
      { query: 'under(error("x"))', output: '"x"' },
      { query: 'under(1::(int64|string))', output: '1' },
      { query: 'under(<foo=int64>)', output: '<int64>' },
    ],
    make: byVectors(([v]) => underRows(v!)),
  },
  {
    name: 'cast',
    signature: 'cast(v, t)',
    text: 'The value converted to a type, or given a new name.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'cast("2",<int64>)', output: '2' },
      { query: 'cast(1,"foo")', output: '1::=foo' },
      { query: 'cast("x",<int64>)', output: 'error({message:"cannot cast to int64",on:"x"})' },
      { query: 'cast(1,2)', output: 'error({message:"cast target must be a type or type name",on:2})' },
    ],
    make:
      ({ names }) =>
      ([v, t]) =>
        castByValue(v!, t!, names),
  },
  {
    name: 'upcast',
    signature: 'upcast(v, t)',
    text: 'The value re-typed to a wider type (a union, optional fields), never converted.',
    argumentsMin: 2,
    argumentsMax: 2,
    examples: [
      { query: 'upcast(1,<int64|string>)', output: '1::(int64|string)' },
      { query: 'upcast({a:1},<{a:int64,b?:string}>)', output: '{a:1,b?:_::string}' },
      { query: 'upcast(1,<string>)', output: 'error({message:"cannot upcast to string",on:1})' },
      { query: 'upcast(1,"x")', output: 'error({message:"upcast target must be a type",on:"x"})' },
    ],
    make: byVectors(upcast),
  },
];
