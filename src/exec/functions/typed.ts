/**
 * Functions by a leaf that works on one row's data: what the arguments must be and what the result is stands beside the
 * name.
 *
 * Invariants:
 * - A null argument gives null before any type is looked at; an argument of another type gives `error({message,on})`
 *   with the function and the type that it wants.
 * - A leaf gives data of the result's type, null, or a `Refusal`, which becomes an error around one of the arguments.
 */
import { charge, checkStop, checkStopAt } from '../../vectors/stop.ts';
import { type PrimitiveType, type Type, isFloat, isInteger, types } from '../../vectors/type.ts';
import { type Value, underUnions } from '../../vectors/value.ts';
import {
  type ListVector,
  type MapVector,
  type Vector,
  bools,
  dataAt,
  flatten,
  nulls,
  numbers,
  valueAt,
} from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { BytesBuilder, NumberBuilder } from '../../vectors/builder-leaves.ts';
import { overlay, wrapErrors, inner } from '../expressions/rows.ts';
import { areSpans } from '../expressions/sql/span-arithmetic.ts';
import { byKernel, isError, isNull, isOf, isText, texts, type FunctionRow, type Kernel } from './row.ts';
import { textLists } from './texts/strings.ts';

/**
 * What a leaf reads of an argument. Whole numbers beyond 2^53 are bigints; times are nanoseconds since 1970; `number`
 * is any number as a float, `timely` a time or what has parts as times have them.
 */
interface ArgumentData {
  string: string;
  bool: boolean;
  bytes: Uint8Array;
  map: Entries;
  record: Value;
  duration: number | bigint;
  integer: number | bigint;
  number: number;
  time: number | bigint;
  list: Items;
  value: Value;
  timely: Value;
}
/** The elements of a list without the unions that they are in, and the type that they have in it. */
export interface Items {
  readonly element: Type;
  readonly values: readonly Value[];
}
/** The entries of a map, without the unions that keys and values are in. */
export type Entries = readonly (readonly [Value, Value])[];
type ArgumentKind = keyof ArgumentData;
/** With a question mark: a null argument is given to the leaf, as null, and does not decide the result. */
type MarkedKind = ArgumentKind | `${ArgumentKind}?`;
type Marked<K extends MarkedKind> = K extends `${infer Kind extends ArgumentKind}?`
  ? ArgumentData[Kind] | null
  : K extends ArgumentKind
    ? ArgumentData[K]
    : never;
/** What a leaf gives. */
interface ResultData {
  string: string;
  bytes: Uint8Array;
  duration: number | bigint;
  integer: number | bigint;
  number: number;
  bool: boolean;
  time: number | bigint;
  strings: Iterable<string>;
  value: Value;
}
type ResultKind = keyof ResultData;
/** Arguments that the call leaves out are undefined. */
type LeafArguments<Kinds extends readonly MarkedKind[]> = { readonly [K in keyof Kinds]: Marked<Kinds[K]> };

/** Says of a row that it has no result; the error is around argument `argument`, the first one if it does not say. */
export class Refusal {
  readonly text: string;
  readonly argument: number;
  constructor(text: string, argument = 0) {
    this.text = text;
    this.argument = argument;
  }
}

/**
 * A function of arguments of these kinds, the last of which a call may leave out; arguments beyond them are of the last
 * one's kind. The leaf's refusals are texts without the function's name.
 */
export const byRow = <const Kinds extends readonly MarkedKind[], Result extends ResultKind>(
  name: string,
  kinds: Kinds,
  result: Result,
  leaf: (...values: LeafArguments<Kinds>) => ResultData[Result] | null | Refusal,
): FunctionRow['make'] => byKernel(rowKernel(name, kinds, result, leaf), 'bare');
/** The same as a kernel. */
export const rowKernel =
  <const Kinds extends readonly MarkedKind[], Result extends ResultKind>(
    name: string,
    kinds: Kinds,
    result: Result,
    leaf: (...values: LeafArguments<Kinds>) => ResultData[Result] | null | Refusal,
  ): Kernel =>
  (args, length) => {
    const kindAt = (k: number): MarkedKind => kinds[Math.min(k, kinds.length - 1)];
    const plainAt = (k: number): ArgumentKind => kindAt(k).replace('?', '') as ArgumentKind;
    const isGiven = (a: Vector, k: number): boolean => isNull(a) && kindAt(k).endsWith('?');
    if (args.some((a, k) => isNull(a) && !isGiven(a, k))) return nulls(length);
    const wrong = args.findIndex((a, k) => !isGiven(a, k) && !fits[plainAt(k)](a));
    if (wrong >= 0) return wrapErrors(`${name}: ${labelOf(plainAt(wrong))} argument required`, args[wrong]);
    const [a, b, c, ...more] = args.map((v, k): Reader => (isGiven(v, k) ? noValue : readers[plainAt(k)](v)));
    const out = columns[result]();
    const given = leaf as unknown as (...values: readonly unknown[]) => ResultData[Result] | null | Refusal;
    const failures = new Failures(length);
    for (let i = 0; i < length; i++) {
      checkStop();
      const value =
        more.length === 0 ? given(a?.(i), b?.(i), c?.(i)) : given(a!(i), b!(i), c!(i), ...more.map((read) => read(i)));
      if (value !== null && !(value instanceof Refusal)) out.push(value);
      else {
        out.push(undefined);
        failures.note(i, value);
      }
    }
    return failures.over(out.finish(), name, args);
  };

/** Rows that are null or errors, whatever the column has there. */
export class Failures {
  private readonly length: number;
  private readonly rows = new Map<string, { readonly refusal: Refusal | null; readonly marks: Uint8Array }>();
  constructor(length: number) {
    this.length = length;
  }
  note(row: number, refusal: Refusal | null): void {
    const key = refusal === null ? '' : `${refusal.argument} ${refusal.text}`;
    let found = this.rows.get(key);
    if (!found) this.rows.set(key, (found = { refusal, marks: new Uint8Array(this.length) }));
    found.marks[row] = 1;
  }
  over(column: Vector, name: string, args: readonly Vector[]): Vector {
    let out = column;
    for (const { refusal, marks } of this.rows.values()) {
      out = overlay(
        out,
        marks,
        refusal === null ? nulls(this.length) : wrapErrors(`${name}: ${refusal.text}`, args[refusal.argument]),
      );
    }
    return out;
  }
}

const numberType = (v: Vector): PrimitiveType | undefined => {
  const i = inner(v);
  return i.form === 'number' ? i.type : undefined;
};
/** Whether all rows are whole numbers: no times, no durations. */
export const isWhole = (v: Vector): boolean => {
  const type = numberType(v);
  return type !== undefined && isInteger(type) && type !== types.time && type !== types.duration;
};
/** Whether all rows are numbers that a float can stand for: no times, no durations. */
export const isNumeric = (v: Vector): boolean => {
  const type = numberType(v);
  return type !== undefined && (isFloat(type) || isWhole(v));
};
const fits: Readonly<Record<ArgumentKind, (v: Vector) => boolean>> = {
  string: isText,
  bool: (v) => inner(v).form === 'bool',
  bytes: (v) => isOf(v, types.bytes),
  map: (v) => inner(v).form === 'map',
  record: (v) => inner(v).form === 'record',
  duration: (v) => isOf(v, types.duration),
  integer: isWhole,
  number: isNumeric,
  time: (v) => isOf(v, types.time),
  list: (v) => inner(v).form === 'list',
  value: (v) => !isError(v),
  timely: (v) => isOf(v, types.time) || isOf(v, types.duration) || isOf(v, types.bytes) || isText(v) || areSpans(v),
};

const labelOf = (kind: ArgumentKind): string => (kind === 'timely' ? 'time' : kind);

type Reader = (i: number) => unknown;
const noValue: Reader = () => null;
const datum = (v: Vector): Reader => {
  if (v.form !== 'constant') return (i) => dataAt(v, i);
  const value = dataAt(v.inner, 0);
  return () => value;
};
const readers: Readonly<Record<ArgumentKind, (v: Vector) => Reader>> = {
  string: texts,
  integer: datum,
  time: datum,
  bool: datum,
  bytes: datum,
  duration: datum,
  record: (v) => readers.value(v),
  timely: (v) => readers.value(v),
  map: (v) => {
    const maps = flatten(inner(v));
    if (maps.form !== 'map') return (): Entries => [];
    if (v.form !== 'constant') return (i) => entriesAt(maps, i);
    const entries = entriesAt(maps, 0);
    return () => entries;
  },
  number: (v) => {
    const read = datum(v);
    return (i) => Number(read(i));
  },
  list: (v) => {
    const lists = flatten(inner(v));
    if (lists.form !== 'list') return (): Items => ({ element: types.null, values: [] });
    if (v.form !== 'constant') return (i) => itemsAt(lists, i);
    const items = itemsAt(lists, 0);
    return () => items;
  },
  value: (v) => {
    if (v.form === 'constant') {
      const value = valueAt(v.inner, 0);
      return () => value;
    }
    const flat = flatten(v);
    return (i) => valueAt(flat, i);
  },
};
/** What an element takes as a value: its place, the object, and a short text or a number in it. */
const elementBytes = 96;
/** The elements of one list. */
export const itemsAt = (v: ListVector, i: number): Items => {
  const length = v.offsets[i + 1] - v.offsets[i];
  charge(length * elementBytes, 'the elements of a list');
  return {
    element: v.type.element,
    values: Array.from({ length }, (_, k) => {
      checkStopAt(k);
      return underUnions(valueAt(v.items, v.offsets[i] + k));
    }),
  };
};

const entriesAt = (v: MapVector, i: number): Entries => {
  const length = v.offsets[i + 1] - v.offsets[i];
  charge(length * elementBytes * 2, 'the entries of a map');
  return Array.from({ length }, (_, k) => {
    checkStopAt(k);
    const at = v.offsets[i] + k;
    return [underUnions(valueAt(v.keys, at)), underUnions(valueAt(v.values, at))] as const;
  });
};

/** A column that grows by the leaf's results; undefined is a row that is covered later. */
interface Column {
  push(value: unknown): void;
  finish(): Vector;
}
const valueColumn = (made: (x: unknown) => Value): Column => {
  const out = new Builder();
  return {
    push: (x) => {
      if (x === undefined) out.null();
      else out.append(made(x));
    },
    finish: () => out.finish(),
  };
};
const numberColumn = (type: PrimitiveType): Column => {
  const out = new NumberBuilder(type);
  return {
    push: (x) => {
      out.push((x ?? 0) as number | bigint);
    },
    finish: () => out.finish(),
  };
};
const columns: Readonly<Record<ResultKind, () => Column>> = {
  string: () => {
    const out = new BytesBuilder(types.string);
    return {
      push: (x) => {
        out.text((x ?? '') as string);
      },
      finish: () => out.finish(),
    };
  },
  integer: () => numberColumn(types.int64),
  time: () => numberColumn(types.time),
  duration: () => numberColumn(types.duration),
  bytes: () => valueColumn((x) => ({ type: types.bytes, data: x as Uint8Array })),
  number: () => {
    const out: number[] = [];
    return {
      push: (x) => {
        out.push((x ?? 0) as number);
      },
      finish: () => numbers(types.float64, Float64Array.from(out)),
    };
  },
  bool: () => {
    const out: number[] = [];
    return {
      push: (x) => {
        out.push(x === true ? 1 : 0);
      },
      finish: () => bools(Uint8Array.from(out)),
    };
  },
  strings: () => {
    const out: Iterable<string>[] = [];
    return {
      push: (x) => {
        out.push((x ?? []) as Iterable<string>);
      },
      finish: () => textLists((i) => out[i], out.length),
    };
  },
  value: () => valueColumn((x) => x as Value),
};
