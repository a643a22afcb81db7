/** Functions on errors and on what is missing. */
import { types } from '../../vectors/type.ts';
import { quiet as quietValue, stringData } from '../../vectors/value.ts';
import { type Vector, bools, dataAt, noRows, nulls } from '../../vectors/vector.ts';
import { lift } from '../expressions/lift.ts';
import { combine, overlay, repeat, truth, truthOf, truthOutside } from '../expressions/rows.ts';
import { walk } from '../expressions/walk.ts';
import { byVectors, type Evaluate, type FunctionRow } from './row.ts';

/** 1 where the row is error("missing"), with `quiet` also where it is error("quiet"). */
const missingMask = (v: Vector, options: { readonly quiet: boolean }): Uint8Array => {
  const marks = lift(v, (flat) => {
    const out = new Uint8Array(flat.length);
    if (flat.form !== 'error') return bools(out);
    const inner = flat.inner;
    for (let i = 0; i < flat.length; i++) {
      const text = innerText(inner, i);
      if (text === 'missing' || (options.quiet && text === 'quiet')) out[i] = 1;
    }
    return bools(out);
  });
  return v.length === 0 ? new Uint8Array(0) : truthOf(marks);
};
/** The text of a string inside of an error, undefined for values of other types. */
const innerText = (v: Vector, i: number): string | undefined => {
  switch (v.form) {
    case 'bytes':
      return v.type === types.string ? stringData(dataAt(v, i)) : undefined;
    case 'constant':
      return innerText(v.inner, 0);
    case 'dictionary':
      return innerText(v.values, v.codes[i]);
    case 'selected':
      return innerText(v.base, v.index[i]);
    case 'dynamic':
      return innerText(v.parts[v.tags[i]], v.slots[i]);
    default:
      return undefined;
  }
};

/** Null if any argument is null; else in turn: missing decides, another error is the result. */
const presence =
  (whenMissing: boolean): Evaluate =>
  (args, length) => {
    if (length === 0) return noRows;
    const tags = new Uint32Array(length);
    const slots = new Uint32Array(length);
    const open = new Uint8Array(length).fill(1);
    for (let i = 0; i < length; i++) slots[i] = i;
    const codes = args.map(truthOutside);
    for (const c of codes) {
      for (let i = 0; i < length; i++) {
        if (c[i] !== truth.null) continue;
        tags[i] = 2;
        open[i] = 0;
      }
    }
    args.forEach((arg, k) => {
      const missing = missingMask(arg, { quiet: true });
      for (let i = 0; i < length; i++) {
        if (!open[i] || codes[k][i] !== truth.error) continue;
        tags[i] = missing[i] ? (whenMissing ? 1 : 0) : 3 + k;
        open[i] = 0;
      }
    });
    for (let i = 0; i < length; i++) if (open[i]) tags[i] = whenMissing ? 0 : 1;
    return combine(tags, slots, [
      bools(new Uint8Array(length)),
      bools(new Uint8Array(length).fill(1)),
      nulls(length),
      ...args,
    ]);
  };

const hasError: Evaluate = ([v]) =>
  bools(
    walk(v!, {
      most: 1,
      intoErrors: false,
      visit: (node) => (node.form === 'error' ? new Uint8Array(node.length).fill(1) : undefined),
    }),
  );
const isError: Evaluate = ([v]) => bools(truthOf(v!).map((c) => (c === truth.error ? 1 : 0)));
const quiet: Evaluate = ([v], length) => overlay(v!, missingMask(v!, { quiet: false }), repeat(quietValue, length));

export const errorFunctions: readonly FunctionRow[] = [
  {
    name: 'error',
    signature: 'error(v)',
    text: 'The value wrapped in an error.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'error("x")', output: 'error("x")' },
      { query: 'error({code:1})', output: 'error({code:1})' },
      { query: 'error(null)', output: 'error(null)' },
    ],
    make: byVectors(([v], length) => ({ form: 'error', length, inner: v! })),
  },
  {
    name: 'has',
    signature: 'has(v, ...)',
    text: 'True when no argument is missing.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values has(a)', input: '{a:1}', output: 'true' },
      { query: 'values has(b)', input: '{a:1}', output: 'false' },
      { query: 'values has(a,b)', input: '{a:1}', output: 'false' },
      { query: 'values has(null)', output: 'null' },
      { query: 'values has(error("x"))', output: 'error("x")' },
    ],
    make: byVectors(presence(false)),
  },
  {
    name: 'missing',
    signature: 'missing(v, ...)',
    text: 'True when any argument is missing.',
    argumentsMin: 1,
    argumentsMax: Infinity,
    examples: [
      { query: 'values missing(b)', input: '{a:1}', output: 'true' },
      { query: 'values missing(a)', input: '{a:1}', output: 'false' },
      { query: 'values missing(null)', output: 'null' },
    ],
    make: byVectors(presence(true)),
  },
  {
    name: 'has_error',
    signature: 'has_error(v)',
    text: 'Whether the value is an error or has one inside.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'values has_error({a:[1,error("x")]})', output: 'true' },
      { query: 'values has_error(1)', output: 'false' },
    ],
    make: byVectors(hasError),
  },
  {
    name: 'is_error',
    signature: 'is_error(v)',
    text: 'Whether the value is an error.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'values is_error(error("x"))', output: 'true' },
      { query: 'values is_error({a:error("x")})', output: 'false' },
    ],
    make: byVectors(isError),
  },
  {
    name: 'quiet',
    signature: 'quiet(v)',
    text: 'error("quiet") for what is missing, which values, put and cut then drop.',
    argumentsMin: 1,
    argumentsMax: 1,
    examples: [
      { query: 'values quiet(error("x"))', input: '{a:1}', output: 'error("x")' },
      { query: 'values {a:quiet(b)}', input: '{a:1}', output: '{a:error("quiet")}' },
      { query: 'values [quiet(b),quiet(a)]', input: '{a:1}', output: '[error("quiet"),1]' },
    ],
    make: byVectors(quiet),
  },
];
