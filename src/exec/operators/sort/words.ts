/**
 * Sort keys as words: for each key column a few 32-bit words a row whose unsigned order is the order of the values
 * (reference/formats/model.md section 7.2, with direction and nulls worked in). Rows are then sorted by radix over the
 * words, stably.
 *
 * Keys of SELECT have SQL's order: NaN is the greatest number, lists and records are compared part by part.
 *
 * Words are comparable within one call only: strings and odd kinds are ranked among the rows at hand.
 */
import type { SortKey } from '../../../query/plan/plan.ts';
import {
  exactOf,
  compareExact,
  comparedOf,
  isLongDecimal,
  knownValue,
  mayHaveLongDecimals,
  nearValue,
} from '../../../vectors/decimal.ts';
import { types } from '../../../vectors/type.ts';
import { checkStop, checkStopAt, checked } from '../../../vectors/stop.ts';
import { compareValues } from '../../../vectors/compare.ts';
import {
  type Vector,
  type NumberArray,
  type NumberVector,
  type BytesVector,
  valueAt,
} from '../../../vectors/vector.ts';
import { concat } from '../../../vectors/concat.ts';
import { eachPart } from '../../aggregates/grouping/parts.ts';
import { wordsOf } from '../../aggregates/grouping/number-table.ts';
import { order as sqlOrder } from '../../expressions/sql/value-order.ts';
import { kinds, kindsOf } from '../rows/kinds.ts';
import { rankRuns } from './runs.ts';
import type { Words } from './radix.ts';

/** The order of a sort key and the place of its nulls. */
export type Direction = Omit<SortKey, 'expr'>;

/** Classes of unlike values in their order; complex types, type values and enums are ranked together. */
const classes = { number: 1, bool: 2, bytes: 3, string: 4, ip: 5, net: 6, other: 7 } as const;
const nullsLast = 100;

/** Each row of a key as 32-bit words whose order is that of the key. */
export const sortWords = (key: Vector, direction: Direction): Words => {
  switch (key.form) {
    case 'constant':
      return [];
    case 'dictionary':
      return key.values.length <= key.length
        ? sortWords(key.values, direction).map((w) => lookUp(w, key.codes, key.length))
        : wordsOfRows(key, direction);
    default:
      return wordsOfRows(key, direction);
  }
};
const wordsOfRows = (key: Vector, direction: Direction): Words =>
  direction.sql && mayHaveLongDecimals(key)
    ? [...wordsOfParts(key, direction), besideNearest(key, direction)]
    : wordsOfParts(key, direction);
/** Where long decimals stand beside the float that is the nearest to them, and among themselves. */
const besideNearest = (key: Vector, { order }: Direction): Uint32Array => {
  const out = new Uint32Array(key.length).fill(nearest);
  const long = Array.from({ length: key.length }, (_, row) => ({ row, value: knownValue(valueAt(key, row)) })).filter(
    ({ value }) => isLongDecimal(value.type) && exactOf(value),
  );
  long.sort(checked((a, b) => sqlOrder(a.value, b.value)));
  let rank = 0;
  long.forEach(({ row, value }, n) => {
    if (n > 0 && sqlOrder(long[n - 1].value, value) !== 0) rank++;
    const side = compareExact(comparedOf(value)!, comparedOf(nearValue(value))!);
    out[row] = side < 0 ? rank : nearest + 1 + rank;
  });
  return order === 'desc' ? inverted(out) : out;
};
const nearest = 0x80000000;
const lookUp = (table: Uint32Array, index: Uint32Array, length: number): Uint32Array => {
  const out = new Uint32Array(length);
  for (let i = 0; i < length; i++) out[i] = table[index[i]];
  return out;
};

/** Rows of one class of a key column. `rows` absent: all. */
interface ClassRows {
  readonly class: number;
  readonly rows: Uint32Array | undefined;
  readonly words: Words;
}

interface RunRows {
  readonly part: BytesVector;
  readonly rows: Uint32Array | undefined;
}

const wordsOfParts = (key: Vector, direction: Direction): Words => {
  const length = key.length;
  const numberParts: { readonly part: NumberVector; readonly rows: Uint32Array | undefined }[] = [];
  const groups: ClassRows[] = [];
  const odd: number[] = [];
  const runs = new Map<number, RunRows[]>();
  let nullRows = false;
  const special = kindsOf(key);
  eachPart(key, (part, rows) => {
    switch (part.form) {
      case 'null':
        nullRows = true;
        return;
      case 'number':
        numberParts.push({ part, rows });
        return;
      case 'bool':
        groups.push({ class: classes.bool, rows, words: [Uint32Array.from(part.values.subarray(0, part.length))] });
        return;
      case 'bytes':
        runs.set(classOfBytes(part), [...(runs.get(classOfBytes(part)) ?? []), { part, rows }]);
        return;
      default:
        for (let i = 0; i < part.length; i++) {
          const row = rows ? rows[i] : i;
          if (special?.[row] === kinds.missing) nullRows = true;
          else odd.push(row);
        }
    }
  });
  for (const [c, parts] of runs) groups.push(runWords(c, parts));
  if (odd.length > 0) groups.push(rankOdd(key, odd, direction));
  if (numberParts.length > 0) groups.push(numberWords(numberParts, direction.sql === true));
  if (groups.length === 0) return [];
  if (groups.length === 1 && !nullRows && !groups[0].rows)
    return direction.order === 'asc' ? groups[0].words : groups[0].words.map(inverted);
  return withClasses(groups, length, direction);
};
const inverted = (word: Uint32Array): Uint32Array => {
  checkStop();
  const out = new Uint32Array(word.length);
  for (let i = 0; i < out.length; i++) out[i] = ~word[i];
  return out;
};
const classOfBytes = (v: BytesVector): number =>
  v.type === types.string
    ? classes.string
    : v.type === types.bytes
      ? classes.bytes
      : v.type === types.ip
        ? classes.ip
        : classes.net;

/** Runs of bytes of one class are ranked together, also those that came apart by a name around them. */
const runWords = (c: number, parts: readonly RunRows[]): ClassRows => {
  const rows = parts.length === 1 ? parts[0].rows : Uint32Array.from(parts.flatMap((p) => [...p.rows!]));
  const all = concat(parts.map((p) => p.part));
  if (all.form !== 'bytes') throw new Error('runs of one class are one vector');
  return { class: c, rows, words: [rankRuns(all.bytes, all.offsets, all.length, c === classes.ip)] };
};

const withClasses = (groups: readonly ClassRows[], length: number, { order, nulls }: Direction): Words => {
  const width = Math.max(...groups.map((g) => g.words.length));
  const desc = order === 'desc';
  const out = Array.from({ length: width + 1 }, () => new Uint32Array(length));
  const classWords = out[0].fill(nulls === 'first' ? 0 : nullsLast);
  for (const g of groups) {
    const n = g.rows?.length ?? length;
    const code = desc ? nullsLast - g.class : g.class;
    for (let i = 0; i < n; i++) classWords[g.rows ? g.rows[i] : i] = code;
    g.words.forEach((w, k) => {
      const to = out[width + 1 - g.words.length + k];
      for (let i = 0; i < n; i++) to[g.rows ? g.rows[i] : i] = desc ? ~w[i] : w[i];
    });
  }
  return out;
};

/** Ranks of rows that have no words of their own, by comparing values. */
const rankOdd = (key: Vector, rows: readonly number[], { order, nulls, sql }: Direction): ClassRows => {
  const sorted = rows.map((row, at) => {
    checkStopAt(at);
    return { at, value: valueAt(key, row) };
  });
  // Ranks of a descending order are turned around later, but nulls inside of lists stay on their side; in SQL they are
  // the greatest values.
  const nullsMax = (nulls === 'last') === (order === 'asc');
  const compare = checked((a: (typeof sorted)[number], b: (typeof sorted)[number]): number =>
    sql ? sqlOrder(a.value, b.value) : compareValues(a.value, b.value, nullsMax),
  );
  sorted.sort(compare);
  const ranks = new Uint32Array(rows.length);
  let rank = 0;
  sorted.forEach((s, n) => {
    if (n > 0 && compare(sorted[n - 1], s) !== 0) rank++;
    ranks[s.at] = rank;
  });
  return { class: classes.other, rows: Uint32Array.from(rows), words: [ranks] };
};

/** Numbers of all types are one class. */
const numberWords = (
  parts: readonly { readonly part: NumberVector; readonly rows: Uint32Array | undefined }[],
  nanLast: boolean,
): ClassRows => {
  const rows = parts.length === 1 ? parts[0].rows : Uint32Array.from(parts.flatMap((p) => [...p.rows!]));
  if (parts.length === 1)
    return {
      class: classes.number,
      rows,
      words: wordsOfNumbers(parts[0].part.values, parts[0].part.length, nanLast),
    };
  const length = parts.reduce((n, p) => n + p.part.length, 0);
  if (parts.every((p) => p.part.values instanceof Float64Array)) {
    const all = new Float64Array(length);
    let at = 0;
    for (const { part } of parts) {
      all.set((part.values as Float64Array).subarray(0, part.length), at);
      at += part.length;
    }
    return { class: classes.number, rows, words: wordsOfFloats(all, length, nanLast) };
  }
  const numbers: (number | bigint)[] = parts.flatMap((p) =>
    Array.from(p.part.values.subarray(0, p.part.length) as ArrayLike<number | bigint>),
  );
  return { class: classes.number, rows, words: [rankNumbers(numbers, nanLast ? 1 : -1)] };
};
const rankNumbers = (numbers: readonly (number | bigint)[], nanSide: 1 | -1): Uint32Array => {
  const order = numbers.map((_, i) => i).sort(checked((a, b) => compareMixed(numbers[a], numbers[b], nanSide)));
  const ranks = new Uint32Array(numbers.length);
  let rank = 0;
  order.forEach((i, n) => {
    if (n > 0 && compareMixed(numbers[order[n - 1]], numbers[i], nanSide) !== 0) rank++;
    ranks[i] = rank;
  });
  return ranks;
};
/** NaN is on its side; JavaScript compares numbers with bigints exactly. */
const compareMixed = (a: number | bigint, b: number | bigint, nanSide: 1 | -1): number => {
  if (a < b) return -1;
  if (a > b) return 1;
  return nanSide * (Number(a !== a) - Number(b !== b));
};

const wordsOfNumbers = (values: NumberArray, length: number, nanLast: boolean): Words => {
  if (values instanceof Float64Array) return wordsOfFloats(values, length, nanLast);
  const bits = new Uint32Array(values.buffer, values.byteOffset, length * 2);
  const flip = values instanceof BigInt64Array ? 0x80000000 : 0;
  const high = new Uint32Array(length);
  const low = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    low[i] = bits[2 * i];
    high[i] = bits[2 * i + 1] ^ flip;
  }
  return [high, low];
};

/**
 * Whole numbers in a narrow range take one word, their distance from the least; others their bits, turned so that they
 * sort.
 */
const wordsOfFloats = (values: Float64Array, length: number, nanLast: boolean): Words => {
  let least = Infinity;
  let greatest = -Infinity;
  let whole = true;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (x < least) least = x;
    if (x > greatest) greatest = x;
    if (x !== Math.floor(x)) whole = false;
  }
  checkStop();
  if (whole && greatest - least < 0x100000000) {
    const low = new Uint32Array(length);
    for (let i = 0; i < length; i++) low[i] = values[i] - least;
    return [low];
  }
  const bits = wordsOf(values);
  const high = new Uint32Array(length);
  const low = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (x !== x) {
      if (nanLast) high[i] = low[i] = 0xffffffff;
      continue;
    }
    const h = x === 0 ? 0 : bits[2 * i + 1];
    const l = bits[2 * i];
    if (h & 0x80000000) {
      high[i] = ~h;
      low[i] = ~l;
    } else {
      high[i] = h ^ 0x80000000;
      low[i] = l;
    }
  }
  return [high, low];
};
