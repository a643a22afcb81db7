/** Kinds of values in a column: texts like `int`, `decimal_10_2`, `list<int>`, `map<string,float>`. */
import { decimalDigitsMax } from '../vectors/decimal.ts';

/** Lists, maps and records within one another; what is deeper is JSON. */
export const nestingMax = 16;

/** Kinds of values that are in nothing else; `ns`: times and durations beyond microseconds, in nanoseconds. */
export const scalarKinds = [
  'int',
  'uint64',
  'float',
  'bool',
  'string',
  'bytes',
  'time',
  'ns',
  'duration',
  'date',
  'uuid',
  'ip',
  'net',
  'type',
  'enum',
  'error',
  'json',
] as const;
/** Kinds whose values are alike in size: digits and places of decimals, bytes. */
export type SizedKind = `decimal_${number}_${number}` | `fixed_${number}`;
export type ScalarKind = (typeof scalarKinds)[number] | SizedKind;

/** Undefined: a table has no decimals of so many digits. */
export const decimalKind = (precision: number, scale: number): SizedKind | undefined =>
  precision >= 1 && precision <= decimalDigitsMax && scale <= precision ? `decimal_${precision}_${scale}` : undefined;
export const fixedKind = (bytes: number): SizedKind => `fixed_${bytes}`;
const sizedShape = /^(decimal|fixed)_(\d+)(?:_(\d+))?$/;
export const isSized = (kind: string): kind is SizedKind => sizedShape.test(kind);
/** What the text of a kind says: digits and places, or bytes as `precision`. */
export const sizesOf = (
  kind: string,
): { readonly form: 'decimal' | 'fixed'; readonly precision: number; readonly scale: number } => {
  const [, form, precision, scale = '0'] = sizedShape.exec(kind) ?? [];
  if (form === undefined) throw new Error(`"${kind}" has no size`);
  return { form: form === 'fixed' ? 'fixed' : 'decimal', precision: Number(precision), scale: Number(scale) };
};

/** The kind of lists of a kind; without one they have nothing but nulls. */
export const listOf = (element: string | undefined): string => `list<${element ?? 'json'}>`;
/** The kind of maps; those whose keys are no scalars, or no exact ones, are JSON. */
export const mapOf = (key: string | undefined, value: string | undefined): string =>
  key !== undefined && (keyKinds.has(key) || isSized(key)) ? `map<${key},${value ?? 'json'}>` : 'json';
/** Not exact, or with nothing to compare. */
const notKeys: ReadonlySet<string> = new Set<ScalarKind>(['uint64', 'float', 'error', 'json']);
const keyKinds: ReadonlySet<string> = new Set(scalarKinds.filter((kind) => !notKeys.has(kind)));

/**
 * How a table holds fields whose values are of several kinds: in a column for each kind, or in one of variants, which
 * engines read in tables of format version 3.
 */
export type Mapping = 'typed' | 'variant';
export const mappings = ['typed', 'variant'] as const satisfies readonly Mapping[];
/** The kind of columns that hold values of any kind. */
export const variantKind = 'variant';
/** A kind as the mapping `variant` has it: nothing is JSON in there. */
export const withVariants = (kind: string): string => kind.replaceAll('json', variantKind);
/** The kind of a column that has room for values of all these kinds. */
export const commonKind = (kinds: readonly string[]): string => {
  const [first = variantKind] = kinds;
  if (kinds.every((kind) => kind === first)) return first;
  const wide = wideKind(first);
  return kinds.every((kind) => wideKind(kind) === wide) ? wide : variantKind;
};
/** Whether a column of a kind has room for values of another. */
export const holds = (column: string, kind: string): boolean =>
  column === variantKind || column === kind || column === wideKind(kind);
const wideKind = (kind: string): string => {
  const parts = partsOf(kind);
  switch (parts.form) {
    case 'list':
      return listOf(variantKind);
    case 'map':
      return `map<${parts.key},${variantKind}>`;
    default:
      return variantKind;
  }
};

/** What a kind is made of. */
export type KindParts =
  | { readonly form: 'scalar'; readonly kind: ScalarKind }
  | { readonly form: 'variant' }
  | { readonly form: 'record' }
  | { readonly form: 'list'; readonly element: string }
  | { readonly form: 'map'; readonly key: string; readonly value: string };
/** What a kind's text says. */
export const partsOf = (kind: string): KindParts => {
  if (kind === 'record') return { form: 'record' };
  if (kind === variantKind) return { form: 'variant' };
  if (kind.startsWith('list<')) return { form: 'list', element: kind.slice('list<'.length, -1) };
  if (kind.startsWith('map<')) {
    const comma = kind.indexOf(',');
    return { form: 'map', key: kind.slice('map<'.length, comma), value: kind.slice(comma + 1, -1) };
  }
  if (isSized(kind)) return { form: 'scalar', kind };
  const scalar = scalarKinds.find((k) => k === kind);
  if (scalar === undefined) throw new Error(`"${kind}" is no kind of column`);
  return { form: 'scalar', kind: scalar };
};
