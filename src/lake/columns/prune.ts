/**
 * Whether a block may hold rows that pass a test, from zone maps alone (comparison rules:
 * reference/language/types-and-casts.md section 4).
 */
import { textToBytes } from '../../vectors/texts/codec.ts';
import { longDecimalName } from '../../vectors/decimal.ts';
import { type Type, types, isFloat, isNumeric } from '../../vectors/type.ts';
import { type Value, compareBytes, numericData } from '../../vectors/value.ts';
import { type Column, type Segment, fieldNamed } from './column.ts';
import { numberKinds } from './encodings.ts';
import { outward } from './statistics.ts';

/** A test of one column; the shape of `Predicate` in query/plan/plan.ts. */
interface ColumnTest {
  readonly path: readonly string[];
  readonly operator: '==' | '!=' | '<' | '<=' | '>' | '>=';
  readonly value: Value;
  readonly sql?: true;
}
/** The shape of `Pruner` in query/plan/plan.ts. */
export type ColumnPruner =
  | { readonly kind: 'test'; readonly test: ColumnTest }
  | { readonly kind: 'all' | 'any'; readonly of: readonly ColumnPruner[] };

/** False only if certainly no row of the column passes. */
export const mayBeTrue = (column: Column, pruner: ColumnPruner): boolean => {
  switch (pruner.kind) {
    case 'test':
      return mayPass(column, pruner.test, 0);
    case 'all':
      for (const p of pruner.of) if (!mayBeTrue(column, p)) return false;
      return true;
    case 'any':
      for (const p of pruner.of) if (mayBeTrue(column, p)) return true;
      return pruner.of.length === 0;
  }
};

const mayPass = (column: Column, test: ColumnTest, depth: number): boolean => {
  switch (column.form) {
    case 'empty':
      return column.rows > 0;
    // Errors and nulls are never true.
    case 'error':
    case 'null':
      return false;
    case 'dynamic':
      return column.parts.some((p) => mayPass(p, test, depth));
    case 'union':
      return column.members.some((m) => mayPass(m, test, depth));
    case 'named':
      // Long decimals are numbers, of which the bounds of their texts say nothing.
      return column.name === longDecimalName || mayPass(column.inner, test, depth);
    default:
      break;
  }
  if (depth < test.path.length) {
    if (column.form !== 'record') return true;
    const field = fieldNamed(column, test.path[depth]);
    return field !== undefined && mayPass(field.values, test, depth + 1);
  }
  if (column.form === 'number' && isNumeric(test.value.type)) {
    // In SQL a duration beside a number is an error, which the rows' own comparison gives.
    const isMixed = test.sql && (column.layout.type === types.duration) !== (test.value.type === types.duration);
    return isMixed || numbersMayPass(column, test);
  }
  if (column.form === 'bytes' && column.layout.type === test.value.type) return bytesMayPass(column, test);
  if ((column.form === 'number' || column.form === 'bytes') && isPlainConstant(test.value.type))
    return test.operator === '!=' || test.sql === true;
  return true;
};

/** A column that the test asks for one value, and has a filter that may know that it does not hold it. */
interface Membership {
  readonly filter: Segment;
  readonly value: Uint8Array;
}
/** What filters say of a part: `holds` answers for one of them. False only if certainly no row passes. */
export const mayHoldAll = (
  column: Column,
  pruner: ColumnPruner,
  holds: (membership: Membership) => boolean,
): boolean => {
  switch (pruner.kind) {
    case 'all':
      return pruner.of.every((p) => mayHoldAll(column, p, holds));
    case 'any':
      return pruner.of.length === 0 || pruner.of.some((p) => mayHoldAll(column, p, holds));
    case 'test': {
      const { operator, value, path } = pruner.test;
      if (operator !== '==' || value.type !== types.string) return true;
      let at: Column | undefined = column;
      for (const name of path) at = at?.form === 'record' ? fieldNamed(at, name)?.values : undefined;
      const texts = at?.form === 'union' ? onlyUsed(at) : at;
      return (
        texts?.form !== 'bytes' ||
        !texts.filter ||
        texts.layout.type !== types.string ||
        holds({ filter: texts.filter, value: bytesOf(value) })
      );
    }
  }
};

/** The only member of a union that has values, beside nulls: none of these equals anything. */
const onlyUsed = ({ members }: Extract<Column, { form: 'union' }>): Column | undefined => {
  const used = members.filter(({ form, rows }) => rows > 0 && form !== 'null');
  return used.length === 1 ? used[0] : undefined;
};

/**
 * What is known of the numbers at a path: `nothing`: there are nulls, or rows without the field; `other`: other values,
 * or numbers without bounds. min > max: no numbers.
 */
export interface Zone {
  readonly min: number;
  readonly max: number;
  readonly nothing: boolean;
  readonly other: boolean;
}
const noNumbers = { min: Infinity, max: -Infinity };
const otherZone: Zone = { ...noNumbers, nothing: true, other: true };
const nothingZone: Zone = { ...noNumbers, nothing: true, other: false };
const emptyZone: Zone = { ...noNumbers, nothing: false, other: false };

/**
 * The zone of a column's values at a path. Of each column the last one asked for is remembered: scans look at it
 * several times.
 */
export const zoneOf = (column: Column, path: readonly string[]): Zone => {
  const known = zones.get(column);
  if (
    known &&
    (known.path === path || (known.path.length === path.length && known.path.every((name, i) => name === path[i])))
  )
    return known.zone;
  const zone = zoneAt(column, path, 0);
  zones.set(column, { path, zone });
  return zone;
};
const zones = new WeakMap<Column, { readonly path: readonly string[]; readonly zone: Zone }>();
const zoneAt = (column: Column, path: readonly string[], depth: number): Zone => {
  switch (column.form) {
    case 'empty':
      return column.rows === 0 ? emptyZone : otherZone;
    case 'null':
      return column.rows === 0 ? emptyZone : nothingZone;
    case 'union':
      return column.members.map((m) => zoneAt(m, path, depth)).reduce(joined);
    case 'dynamic':
      return column.parts.map((p) => zoneAt(p, path, depth)).reduce(joined);
    case 'record': {
      if (depth === path.length) return otherZone;
      for (const f of column.fields) {
        if (f.name !== path[depth]) continue;
        const zone = zoneAt(f.values, path, depth + 1);
        return f.present ? { ...zone, nothing: true } : zone;
      }
      return nothingZone;
    }
    case 'number': {
      // Bounds of floats do not cover NaN, those of integers beyond 2^53 are rounded.
      if (depth < path.length || isFloat(column.layout.type) || column.kind !== numberKinds.float) return otherZone;
      const bounds = column.constant === undefined ? column.bounds : { min: column.constant, max: column.constant };
      return bounds ? { ...bounds, nothing: false, other: false } : otherZone;
    }
    default:
      return otherZone;
  }
};
const joined = (a: Zone, b: Zone): Zone => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
  nothing: a.nothing || b.nothing,
  other: a.other || b.other,
});

const plainConstants: ReadonlySet<Type> = new Set([types.string, types.bytes, types.bool, types.ip]);
/** Constants that compare as false with values of any other type. */
const isPlainConstant = (type: Type): boolean => plainConstants.has(type) || isNumeric(type);

const numbersMayPass = (column: Extract<Column, { form: 'number' }>, test: ColumnTest): boolean => {
  const data = numericData(test.value.data);
  const bounds = column.constant === undefined ? column.bounds : { min: column.constant, max: column.constant };
  if (!bounds || data !== data) return true;
  // Beyond 2^53 bounds and constants are rounded outwards, and floats compare as floats: leave room for equality.
  const isExact = typeof data === 'number' && Math.abs(data) < 2 ** 53;
  const { min: least, max: greatest } = typeof data === 'number' ? { min: data, max: data } : outward(data, data);
  const { min, max } = bounds;
  switch (test.operator) {
    case '==':
      return min <= greatest && max >= least;
    case '!=':
      return !(isExact && column.constant === data);
    case '<':
      return isExact ? min < data : min <= greatest;
    case '<=':
      return min <= greatest;
    case '>':
      return isExact ? max > data : max >= least;
    case '>=':
      return max >= least;
  }
};

/** The bytes of constants: a scan asks for the same one at every block. */
const constantBytes = new WeakMap<Value, Uint8Array>();
const bytesOf = (value: Value): Uint8Array => {
  let bytes = constantBytes.get(value);
  if (!bytes)
    constantBytes.set(
      value,
      (bytes = typeof value.data === 'string' ? textToBytes(value.data) : (value.data as Uint8Array)),
    );
  return bytes;
};
const bytesMayPass = (column: Extract<Column, { form: 'bytes' }>, test: ColumnTest): boolean => {
  const bounds = column.constant ? { min: column.constant, max: column.constant } : column.bounds;
  if (!bounds) return true;
  const data = bytesOf(test.value);
  const low = compareBytes(bounds.min, data);
  const high = compareBytes(bounds.max, data);
  if (test.operator === '==') return low <= 0 && high >= 0;
  if (test.value.type !== types.string && test.value.type !== types.bytes) return true;
  switch (test.operator) {
    case '!=':
      return !(column.constant && low === 0);
    case '<':
      return low < 0;
    case '<=':
      return low <= 0;
    case '>':
      return high > 0;
    case '>=':
      return high >= 0;
  }
};
