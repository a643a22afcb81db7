/** A row of the function table, and what the families' kernels share. */
import { checkStop } from '../../vectors/stop.ts';
import { type PrimitiveType, type Type, namedType, types } from '../../vectors/type.ts';
import { type Value, wrappedError, stringData } from '../../vectors/value.ts';
import { type Vector, dataAt, nulls, textAt, valueAt, ofForm } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import type { FunctionSignature } from '../../query/plan/plan.ts';
import { apply, type Kernel, type Wrapping } from '../expressions/apply.ts';
import { inner, markNames, namesOf, wrapErrors } from '../expressions/rows.ts';

/**
 * A query (over `input`, SUP text; without it over one null) and the SUP text of what it gives. Run as a test and
 * printed in the README.
 */
interface FunctionExample {
  readonly query: string;
  readonly input?: string;
  readonly output: string;
}

/** The values of arguments that are literals in the query, and the names known while it runs. */
export interface CallContext {
  readonly literals: readonly (Value | undefined)[];
  readonly names: Map<string, Type> /** Within TRY of SQL. */;
  readonly attempt?: true;
  readonly lambda?: CallLambda;
}
/**
 * The lambda of a call; `evaluate` takes records of `parameters` (`p0` ..) and of what is behind the first `values`
 * arguments (`c0` ..).
 */
export interface CallLambda {
  readonly parameters: number;
  readonly values: number;
  readonly evaluate: (rows: Vector) => Vector;
}
/** Arguments of any form with `length` rows each. */
export type Evaluate = (args: readonly Vector[], length: number) => Vector;

/** One function: what the help says of it, what analysis knows of it, and how its calls are evaluated. */
export interface FunctionRow extends FunctionSignature {
  /** The call as one writes it: `upper(s)`. */
  readonly signature: string;
  /** What it gives, in a sentence. */
  readonly text: string;
  readonly examples: readonly FunctionExample[];
  /** Made once for each call in a query. */
  readonly make: (call: CallContext) => Evaluate;
  /** How calls in SQL are evaluated, where the name has another meaning there. */
  readonly inSql?: {
    readonly argumentsMin: number;
    readonly argumentsMax: number;
    readonly make: (call: CallContext) => Evaluate;
  };
  /** In SQL, for rows whose arguments have long decimals (vectors/decimal.ts); absent: these are the nearest floats. */
  readonly exact?: (args: readonly Value[]) => Value;
}

/** A function under another name; errors say the one that it stands for. */
export const aliasOf = (row: FunctionRow, name: string, examples: FunctionRow['examples']): FunctionRow => ({
  ...row,
  name,
  signature: row.signature.replace(row.name, name),
  examples,
});

/**
 * A function by a kernel: it sees flat and constant vectors of one kind, without names and unions but for `wrapping`
 * (apply.ts).
 */
export const byKernel =
  (kernel: Kernel, wrapping?: Wrapping): FunctionRow['make'] =>
  () =>
  (args, length) =>
    apply(args, length, kernel, wrapping);
/** A function over vectors of any form. */
export const byVectors =
  (evaluate: Evaluate): FunctionRow['make'] =>
  () =>
    evaluate;
/**
 * A function by one value after the other: where the work is by value anyway. Arguments come without names and unions
 * but for `wrapping`.
 */
export const byValues = (f: (...values: readonly Value[]) => Value, wrapping?: Wrapping): FunctionRow['make'] =>
  byKernel(valuesKernel(f), wrapping);
/** The same as a kernel. */
export const valuesKernel =
  (f: (...values: readonly Value[]) => Value): Kernel =>
  (args, length) => {
    const out = new Builder();
    const readers = args.map(valueReader);
    for (let i = 0; i < length; i++) {
      checkStop();
      out.append(f(...readers.map((read) => read(i))));
    }
    return out.finish();
  };
const valueReader = (v: Vector): ((i: number) => Value) => {
  const names = namesOf(inner(v));
  if (v.form !== 'constant') return names ? (i) => markNames(valueAt(v, i), names) : (i) => valueAt(v, i);
  const value = markNames(valueAt(v.inner, 0), names);
  return () => value;
};

/** Whether all rows are null, in a kernel's argument, whose rows are all of one kind. */
export const isNull = (v: Vector): boolean => inner(v).form === 'null';
/** Whether all rows are errors, in a kernel's argument. */
export const isError = (v: Vector): boolean => inner(v).form === 'error';
/** Whether all rows are of this type, which is one that a number or bytes vector holds. */
export const isOf = (v: Vector, type: PrimitiveType): boolean => {
  const i = inner(v);
  return (i.form === 'bytes' || i.form === 'number') && i.type === type;
};
/** Whether all rows are strings. */
export const isText = (v: Vector): boolean => isOf(v, types.string);
export const isTime = (v: Vector): boolean => isOf(v, types.time);

/** Texts of the rows of a string vector, flat or constant. */
export const texts = (v: Vector): ((i: number) => string) => {
  if (v.form !== 'constant') return (i) => textAt(ofForm(v, 'bytes'), i);
  const text = stringData(dataAt(v.inner, 0));
  return () => text;
};
/** Data of the rows, flat or constant. */
export const data = (v: Vector): ((i: number) => Value['data']) => {
  if (v.form !== 'constant') return (i) => dataAt(v, i);
  const value = dataAt(v.inner, 0);
  return () => value;
};

/** Null if any argument is null, an error around the first one that is no string, else `kernel` with strings alone. */
export const onTexts =
  (message: string, kernel: Kernel): Kernel =>
  (args, length) => {
    if (args.some(isNull)) return nulls(length);
    const other = args.find((a) => !isText(a));
    return other ? wrapErrors(message, other) : kernel(args, length);
  };

/** `error({message,on})` where the value is known. */
export const refused = (message: string, on: Value): Value => wrappedError(message, originalValue(on));
/** A value with the names that it had before a function by values got it. */
export const originalValue = (v: Value): Value =>
  (namesOf(v) ?? []).reduceRight<Value>((under, name) => ({ type: namedType(name, under.type), data: under.data }), v);

export type { Kernel };

/** What a family of rows has in common. */
export interface RowOptions {
  readonly sqlOnly?: 'all';
  readonly also?: readonly string[];
  readonly impure?: boolean;
  readonly gives?: 'element';
  readonly exact?: FunctionRow['exact'];
}
/**
 * A row by its signature, whose optional arguments are in brackets and whose last one may be `...`; and the rows of its
 * other names. Examples are pairs of a query and its output; the first one is that of the other names too.
 */
export const rowsOf = (
  signature: string,
  text: string,
  make: FunctionRow['make'],
  examples: readonly (readonly [query: string, output: string])[],
  { also = [], ...options }: RowOptions = {},
): FunctionRow[] => {
  const name = signature.slice(0, signature.indexOf('('));
  const all = signature.slice(name.length + 1, -1);
  const isOpen = all.includes('...');
  const count = (list: string): number =>
    list.trim() === '' ? 0 : list.split(',').filter((part) => part.trim() !== '' && !part.includes('...')).length;
  const row: FunctionRow = {
    name,
    signature,
    text,
    argumentsMin: count(all.replace(/\[.*\]/, '')),
    argumentsMax: isOpen ? Infinity : count(all.replace(/[[\]]/g, '')),
    make,
    ...options,
    examples: examples.map(([query, output]) => ({ query, output })),
  };
  const first = row.examples[0];
  const renamed = (other: string): FunctionRow['examples'] => [
    { ...first, query: first.query.replace(`${name}(`, `${other}(`) },
  ];
  return [row, ...also.map((other) => aliasOf(row, other, renamed(other)))];
};
