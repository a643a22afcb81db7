/**
 * sum, avg, min and max over frames of numbers; min and max of texts and of integers beyond 2^53 by their ranks. Same
 * results as the states of the aggregates.
 */
import { mayHaveLongDecimals } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type NumberArray, type Vector, nulls, take } from '../../vectors/vector.ts';
import { classOf, classes, numbersOfGroups, wrapped } from '../aggregates/numbers/numeric.ts';
import { type Visit, eachPart } from '../aggregates/grouping/parts.ts';
import { combine } from '../expressions/rows.ts';
import { kinds, kindsOf, mayBeError } from '../operators/rows/kinds.ts';
import { sortedOrder } from '../operators/sort/radix.ts';
import { sortWords } from '../operators/sort/words.ts';
import { type AggregateInput, countsBefore } from './aggregate-input.ts';
import { newPieces, piecesOf } from './frames.ts';
import { RangeTree } from './tree.ts';

type Part = Parameters<Visit>[0];
interface PartRows {
  readonly part: Part;
  readonly rows: Uint32Array | undefined;
}

/** Undefined: the column is not of one kind that is handled here. `isSql`: the aggregate means what SQL means. */
export const numericAggregate = (input: AggregateInput, isSql: boolean): Vector | undefined => {
  const { name, argument } = input;
  if (!argument || !['sum', 'avg', 'min', 'max'].includes(name)) return undefined;
  if (mayHaveLongDecimals(argument)) return undefined;
  const parts: PartRows[] = [];
  // The states say what becomes of an error in SQL.
  if (isSql && mayBeError(argument) && kindsOf(argument)?.includes(kinds.error)) return undefined;
  eachPart(argument, (part, rows) => {
    if (part.form !== 'null' && part.form !== 'error') parts.push({ part, rows });
  });
  const isExtreme = name === 'min' || name === 'max';
  const [only] = parts;
  if (parts.length === 1 && isExtreme && isRanked(only!.part)) return extremeByRank(input, only!);
  const column = numberColumn(input, parts);
  if (!column || (isSql && isOwnInSql(name, column))) return undefined;
  if (isExtreme) return extremes(input, column);
  return name === 'avg' ? averages(input, column) : sums(input, column);
};

/** What SQL has a meaning of its own for: sums beyond 64 bits, averages of times, the least of numbers with NaN. */
const isOwnInSql = (name: string, { low, high, bigs, values, valid }: NumberColumn): boolean => {
  const isTimely = (c: number): boolean => c === classes.time || c === classes.duration;
  if (name === 'sum') return bigs !== undefined;
  return name === 'avg'
    ? isTimely(low) || isTimely(high)
    : name === 'min' && values.some((x, i) => valid[i] === 1 && Number.isNaN(x));
};

const isRanked = (part: Part): boolean =>
  (part.form === 'bytes' && part.type === types.string) ||
  (part.form === 'number' && !(part.values instanceof Float64Array));

/** Numbers of one or two classes (integers among floats, say); rows without one hold 0. */
interface NumberColumn {
  readonly values: Float64Array;
  /** Rows before each row that have a number, and of these the ones of the higher class. */
  readonly before: Uint32Array;
  readonly highBefore: Uint32Array | undefined;
  readonly low: number;
  readonly high: number;
  /** All integers in full, where floats would not hold them or their sum. */
  readonly bigs: BigInt64Array | undefined;
  readonly valid: Uint8Array;
}

/** The greatest sum that floats hold exactly. */
const safeMax = 9007199254740991;

const numberColumn = (input: AggregateInput, parts: readonly PartRows[]): NumberColumn | undefined => {
  const { segment, passes, name } = input;
  const { length } = segment;
  const found = [...new Set(parts.map(({ part }) => (part.form === 'number' ? classOf(part.type) : -1)))].sort(
    (a, b) => a - b,
  );
  if (found.includes(-1) || found.length > 2) return undefined;
  const low = found[0] ?? classes.none;
  const high = found.at(-1) ?? classes.none;
  const values = new Float64Array(length);
  const valid = new Uint8Array(length);
  const isHigh = low === high ? undefined : new Uint8Array(length);
  let size = 0;
  let big = false;
  for (const { part, rows } of parts) {
    if (part.form !== 'number') continue;
    const c = classOf(part.type);
    if (!(part.values instanceof Float64Array)) big = true;
    for (let k = 0; k < part.length; k++) {
      checkStopAt(k);
      const row = rows ? rows[k] : k;
      if (passes && passes[row] === 0) continue;
      const x = Number(part.values[k]);
      values[row] = x;
      valid[row] = 1;
      if (c !== classes.float) size += Math.abs(x);
      if (isHigh && c === high) isHigh[row] = 1;
    }
  }
  const exceeds = big || (name === 'sum' && size > safeMax);
  // What floats do not hold is left to the states, but for sums of one class and averages, which go over floats anyway.
  if (exceeds && name !== 'avg' && (isHigh || name !== 'sum')) return undefined;
  const bigs = exceeds && name === 'sum' && high !== classes.float ? bigsOf(parts, passes, length) : undefined;
  return {
    values,
    valid,
    before: countsBefore(input, (i) => valid[i] === 1),
    highBefore: isHigh && countsBefore(input, (i) => isHigh[i] === 1),
    low,
    high,
    bigs,
  };
};
const bigsOf = (parts: readonly PartRows[], passes: Uint8Array | undefined, length: number): BigInt64Array => {
  const out = new BigInt64Array(length);
  for (const { part, rows } of parts) {
    if (part.form !== 'number') continue;
    const own: NumberArray = part.values;
    for (let k = 0; k < part.length; k++) {
      checkStopAt(k);
      const row = rows ? rows[k] : k;
      if (!passes || passes[row] === 1) out[row] = BigInt(own[k]);
    }
  }
  return out;
};

/** How many rows of the frame have a number, and the class of what comes of them. */
interface Found {
  count: number;
  class: number;
}

/** Goes over the frames: `piece` takes each range of rows of one, `done` ends a row. */
const eachFrame = (
  input: AggregateInput,
  column: NumberColumn,
  piece: (start: number, end: number) => void,
  done: (row: number, found: Found) => void,
): void => {
  const { segment, frames } = input;
  const { before, highBefore, low, high } = column;
  const pieces = newPieces();
  const found: Found = { count: 0, class: 0 };
  for (let i = 0; i < segment.length; i++) {
    checkStopAt(i);
    const { bounds, count } = piecesOf(frames, segment, i, pieces);
    let n = 0;
    let highs = 0;
    for (let k = 0; k < count; k++) {
      const start = bounds[k * 2];
      const end = bounds[k * 2 + 1];
      n += before[end] - before[start];
      if (highBefore) highs += highBefore[end] - highBefore[start];
      piece(start, end);
    }
    found.count = n;
    found.class = n === 0 ? classes.none : highBefore && highs === 0 ? low : high;
    done(i, found);
  }
};

/** The sums of floats of all frames: carried on where frames only grow, else from a tree. */
const floatSums = (input: AggregateInput, { values }: NumberColumn): ((start: number, end: number) => number) => {
  const { frames } = input;
  if (frames.fromStart && frames.exclude === 'none') {
    let from = -1;
    let done = 0;
    let sum = 0;
    return (start, end) => {
      if (start !== from) {
        from = done = start;
        sum = 0;
      }
      for (; done < end; done++) sum += values[done];
      return sum;
    };
  }
  const tree = new RangeTree(values, 'sum');
  return (start, end) => tree.range(start, end, 0);
};

/** Sums of integers from the sums up to each row. */
const integerSums = ({ values }: NumberColumn): ((start: number, end: number) => number) => {
  const upTo = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) upTo[i + 1] = upTo[i] + values[i];
  return (start, end) => upTo[end] - upTo[start];
};

const sums = (input: AggregateInput, column: NumberColumn): Vector => {
  const { length } = input.segment;
  if (column.bigs) return bigSums(input, column, column.bigs);
  const out = new Float64Array(length);
  const classOfRow = new Uint8Array(length);
  const sumOf = column.high === classes.float ? floatSums(input, column) : integerSums(column);
  let sum = 0;
  eachFrame(
    input,
    column,
    (start, end) => {
      sum += sumOf(start, end);
    },
    (row, found) => {
      out[row] = sum;
      classOfRow[row] = found.class;
      sum = 0;
    },
  );
  return numbersOfGroups(
    length,
    classOfRow,
    out,
    () => undefined,
    () => false,
  );
};

/** Sums that wrap around at 64 bits, as sums of 64-bit integers do. */
const bigSums = (input: AggregateInput, column: NumberColumn, bigs: BigInt64Array): Vector => {
  const { length } = input.segment;
  const upTo = new BigInt64Array(length + 1);
  const totals = new BigInt64Array(length);
  const classOfRow = new Uint8Array(length);
  for (let i = 0; i < length; i++) upTo[i + 1] = upTo[i] + bigs[i];
  let sum = 0n;
  eachFrame(
    input,
    column,
    (start, end) => {
      sum += upTo[end] - upTo[start];
    },
    (row, found) => {
      totals[row] = sum;
      classOfRow[row] = found.class;
      sum = 0n;
    },
  );
  return numbersOfGroups(
    length,
    classOfRow,
    new Float64Array(length),
    (row) => (classOfRow[row] === classes.none ? undefined : wrapped(totals[row], classOfRow[row])),
    () => false,
  );
};

const averages = (input: AggregateInput, column: NumberColumn): Vector => {
  const { length } = input.segment;
  const out = new Float64Array(length);
  const classOfRow = new Uint8Array(length);
  const sumOf = floatSums(input, column);
  let sum = 0;
  eachFrame(
    input,
    column,
    (start, end) => {
      sum += sumOf(start, end);
    },
    (row, found) => {
      out[row] = sum / found.count;
      classOfRow[row] = found.count === 0 ? classes.none : classes.float;
      sum = 0;
    },
  );
  return numbersOfGroups(
    length,
    classOfRow,
    out,
    () => undefined,
    () => false,
  );
};

/** Minima or maxima of a column; what does not count is put out of the way. */
const extremesOf = (
  input: AggregateInput,
  values: Float64Array,
  valid: Uint8Array,
): { readonly piece: (start: number, end: number, known: number) => number; readonly start: number } => {
  const fold = input.name as 'min' | 'max';
  const start = fold === 'min' ? Infinity : -Infinity;
  const { frames } = input;
  const shown = values.map((x, i) => (valid[i] === 1 ? x : start));
  if (!frames.fromStart || frames.exclude !== 'none') {
    const tree = new RangeTree(shown, fold);
    return { start, piece: (from, to, known) => tree.range(from, to, known) };
  }
  let first = -1;
  let done = 0;
  let best = start;
  const piece = (from: number, to: number): number => {
    if (from !== first) {
      first = done = from;
      best = start;
    }
    for (; done < to; done++) {
      const x = shown[done];
      if ((fold === 'min' ? x < best : x > best) || x !== x) best = x;
    }
    return best;
  };
  return { start, piece };
};

const extremes = (input: AggregateInput, column: NumberColumn): Vector => {
  const { length } = input.segment;
  const out = new Float64Array(length);
  const classOfRow = new Uint8Array(length);
  const { piece, start } = extremesOf(input, column.values, column.valid);
  let best = start;
  eachFrame(
    input,
    column,
    (from, to) => {
      best = piece(from, to, best);
    },
    (row, found) => {
      out[row] = best;
      classOfRow[row] = found.class;
      best = start;
    },
  );
  return numbersOfGroups(
    length,
    classOfRow,
    out,
    () => undefined,
    () => false,
  );
};

/** The least or greatest of values that are no floats: their ranks are. */
const extremeByRank = (input: AggregateInput, { part, rows }: PartRows): Vector => {
  const {
    segment: { length },
    passes,
  } = input;
  const order = sortedOrder(sortWords(part, { order: 'asc', nulls: 'last' }), part.length);
  const values = new Float64Array(length);
  const valid = new Uint8Array(length);
  order.forEach((at, rank) => {
    const row = rows ? rows[at] : at;
    values[row] = rank;
    valid[row] = passes ? passes[row] : 1;
  });
  const column: NumberColumn = {
    values,
    valid,
    before: countsBefore(input, (i) => valid[i] === 1),
    highBefore: undefined,
    low: classes.signed,
    high: classes.signed,
    bigs: undefined,
  };
  const { piece, start } = extremesOf(input, values, valid);
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  let best = start;
  let empty = 0;
  eachFrame(
    input,
    column,
    (from, to) => {
      best = piece(from, to, best);
    },
    (row, found) => {
      if (found.count > 0) slots[row] = order[best];
      else {
        tags[row] = 1;
        empty++;
      }
      best = start;
    },
  );
  return empty === 0 ? take(part, slots) : combine(tags, slots, [part, nulls(length)]);
};
