/** Order and equality of values (reference/formats/model.md section 7). */
import { checkStopAt } from './stop.ts';
import { type Type, types, compareText, compareTypes, isNumeric, isFloat } from './type.ts';
import {
  type Data,
  type Value,
  compareBytes,
  encodeUntagged,
  isMissing,
  bytesData,
  itemsData,
  numericData,
  stringData,
  typeData,
} from './value.ts';
import { nearValue } from './decimal.ts';

/**
 * The total order of `sort`, `compare()` and pool keys: below 0, 0 or above 0. Names and unions are looked through;
 * numbers, durations and times are one class with NaN first. Null and error("missing") tie and come last, or first if
 * `nullsMax` is false.
 */
export const compareValues = (left: Value, right: Value, nullsMax = true): number => {
  const a = nearValue(left);
  const b = nearValue(right);
  const aNull = a.type === types.null || isMissing(a);
  const bNull = b.type === types.null || isMissing(b);
  if (aNull || bNull) return aNull && bNull ? 0 : aNull === nullsMax ? 1 : -1;
  if (isNumeric(a.type) && isNumeric(b.type)) return compareNumbers(numericData(a.data), numericData(b.data));
  if (a.type !== b.type) return compareListsOfUnlikeTypes(a, b, nullsMax) ?? compareTypes(a.type, b.type);
  return compareSameType(a.type, a.data, b.data, nullsMax);
};

/** Arrays and sets of unlike element types are ordered by type, as are all other unlike types. */
const compareListsOfUnlikeTypes = (a: Value, b: Value, _nullsMax: boolean): number | undefined =>
  a.type.kind === b.type.kind && compareTypes(a.type, b.type) === 0
    ? compareBytes(encodeUntagged(a.type, a.data), encodeUntagged(b.type, b.data))
    : undefined;

const compareSameType = (type: Type, a: Data, b: Data, nullsMax: boolean): number => {
  if (type.kind === 'primitive') {
    switch (type.name) {
      case 'bool':
        return Number(a) - Number(b);
      case 'string':
        return compareText(stringData(a), stringData(b));
      case 'bytes':
        return compareBytes(bytesData(a), bytesData(b));
      case 'ip':
        return bytesData(a).length - bytesData(b).length || compareBytes(bytesData(a), bytesData(b));
      case 'type':
        return compareTypes(typeData(a), typeData(b));
      default:
        return compareBytes(encodeUntagged(type, a), encodeUntagged(type, b));
    }
  }
  if (type.kind === 'array' || type.kind === 'set') {
    const x = itemsData(a);
    const y = itemsData(b);
    for (let i = 0; i < Math.min(x.length, y.length); i++) {
      checkStopAt(i);
      const c = compareValues({ type: type.element, data: x[i]! }, { type: type.element, data: y[i]! }, nullsMax);
      if (c !== 0) return c;
    }
    return x.length - y.length;
  }
  return compareBytes(encodeUntagged(type, a), encodeUntagged(type, b));
};

/** Exact order of numbers in any mix of number and bigint; NaN before everything, -0 equal to 0. */
export const compareNumbers = (a: number | bigint, b: number | bigint): number => {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  const aNan = a !== a;
  const bNan = b !== b;
  return aNan && bNan ? 0 : aNan ? -1 : 1;
};

/**
 * `==` of two values that are neither null nor errors: numbers by value (as floats when either is a float), everything
 * else by type and bytes.
 */
export const equalValues = (left: Value, right: Value): boolean => {
  const a = nearValue(left);
  const b = nearValue(right);
  if (isNumeric(a.type) && isNumeric(b.type)) {
    return isFloat(a.type) || isFloat(b.type) ? Number(a.data) === Number(b.data) : a.data === b.data;
  }
  return a.type === b.type && sameData(a.type, a.data, b.data);
};

/** Whether two data of one type are the same value, byte for byte (NaN equals NaN here if its bits do). */
export const sameData = (type: Type, a: Data, b: Data): boolean => {
  if (a === b) return a !== 0 || Object.is(a, b) || !isFloat(type);
  if (type.kind === 'primitive' && typeof a !== 'object') return isFloat(type) && Number.isNaN(a) && Number.isNaN(b);
  return compareBytes(encodeUntagged(type, a), encodeUntagged(type, b)) === 0;
};
