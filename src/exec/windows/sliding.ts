/**
 * Aggregates over frames that slide: what comes into a frame is added and what leaves it is taken out, so that a row
 * costs what its frame changes by, not what is in it. Quantiles keep which ranks are in the frame, count(distinct) and
 * mode how often each value is. Texts that are joined are cut out of one that has those of all rows.
 *
 * Invariant: the results are those of the states of the aggregates.
 */
import { textToBytes } from '../../vectors/texts/codec.ts';
import { knownValue, mayHaveLongDecimals } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { equalValues } from '../../vectors/compare.ts';
import { types } from '../../vectors/type.ts';
import { underValue, stringData } from '../../vectors/value.ts';
import { type Vector, flatten, nulls, numbers, range, take, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { BytesBuilder } from '../../vectors/builder-leaves.ts';
import { Uint8List } from '../../vectors/lists.ts';
import { ColumnCodes } from '../aggregates/grouping/codes.ts';
import { ModeState } from '../aggregates/mode.ts';
import { TextState } from '../aggregates/grouping/pairs.ts';
import { QuantileState, orderOf } from '../aggregates/numbers/quantiles.ts';
import { under } from '../aggregates/under.ts';
import { fieldOf } from '../expressions/access.ts';
import { overlay } from '../expressions/rows.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import type { AggregateInput } from './aggregate-input.ts';
import { newPieces, piecesOf } from './frames.ts';
import { RankSet } from './rank-set.ts';

type Pieces = ReturnType<typeof newPieces>;

/** What is kept of the rows of a frame. */
interface Moving {
  readonly add: (row: number) => void;
  readonly remove: (row: number) => void;
  /** Notes the result of a row. */
  readonly note: (row: number) => void;
  readonly result: () => Vector;
}

/** The aggregate of each row's frame; undefined for aggregates that are not handled here. */
export const slidingAggregate = (input: AggregateInput): Vector | undefined => {
  const { form, name, argument } = input;
  if (!argument || !form.sql || form.order) return undefined;
  if (form.distinct) return name === 'count' ? slid(input, distinctOver(input, argument)) : undefined;
  const state = input.make();
  if (state instanceof QuantileState) return quantilesOver(input, argument, state);
  if (state instanceof TextState) return textsOver(input, argument, state);
  return state instanceof ModeState && input.frames.exclude === 'none'
    ? slid(input, modesOver(input, argument))
    : undefined;
};

export const slid = (
  { segment, frames }: Pick<AggregateInput, 'segment' | 'frames'>,
  { add, remove, note, result }: Moving,
): Vector => {
  let held = newPieces();
  let next = newPieces();
  for (let i = 0; i < segment.length; i++) {
    checkStopAt(i);
    piecesOf(frames, segment, i, next);
    eachOutside(held, next, remove);
    eachOutside(next, held, add);
    note(i);
    [held, next] = [next, held];
  }
  return result();
};
/** The rows of some ranges that are in none of the others, from the first to the last. */
const eachOutside = (of: Pieces, others: Pieces, visit: (row: number) => void): void => {
  for (let k = 0; k < of.count; k++) {
    const end = of.bounds[k * 2 + 1];
    let at = of.bounds[k * 2];
    for (let o = 0; o < others.count && at < end; o++) {
      const from = others.bounds[o * 2];
      const to = others.bounds[o * 2 + 1];
      if (to <= at) continue;
      for (const stop = Math.min(from, end); at < stop; at++) visit(at);
      if (from < end) at = Math.max(at, to);
    }
    for (; at < end; at++) visit(at);
  }
};

/** Rows that FILTER lets through and that have a value. */
const countedRows = ({ passes }: AggregateInput, values: Vector): Uint32Array => {
  const table = kindsOf(values);
  return range(0, values.length).filter(
    (i) => (!passes || passes[i] === 1) && (!table || (table[i] !== kinds.null && table[i] !== kinds.missing)),
  );
};

/** No code, no rank. */
const none = 0xffffffff;
/** A code for each row that counts, equal for equal values; and how many there are. */
const codesOf = (input: AggregateInput, argument: Vector): { readonly codes: Uint32Array; readonly count: number } => {
  const rows = countedRows(input, argument);
  const table = new ColumnCodes(true);
  const own = table.codes(flatten(under(take(argument, rows))));
  const codes = new Uint32Array(argument.length).fill(none);
  rows.forEach((row, i) => {
    codes[row] = own[i];
  });
  return { codes, count: table.size };
};

const distinctOver = (input: AggregateInput, argument: Vector): Moving => {
  const { codes, count } = codesOf(input, argument);
  const times = new Uint32Array(count);
  const out = new Float64Array(argument.length);
  let distinct = 0;
  return {
    add: (row) => {
      if (codes[row] !== none && times[codes[row]]++ === 0) distinct++;
    },
    remove: (row) => {
      if (codes[row] !== none && --times[codes[row]] === 0) distinct--;
    },
    note: (row) => {
      out[row] = distinct;
    },
    result: () => numbers(types.int64, out),
  };
};

/**
 * The values play one another off in pairs: the one that comes more often wins, of equals the one whose first row in
 * the frame is sooner. Frames have no gaps.
 */
const modesOver = (input: AggregateInput, argument: Vector): Moving => {
  const { codes, count } = codesOf(input, argument);
  const times = new Uint32Array(count);
  const firsts = new Uint32Array(count);
  const next = nextOfSame(codes, count);
  let leaves = 1;
  while (leaves < count) leaves *= 2;
  /** Winners; leaf k is code k, node 1 the winner of all. */
  const nodes = new Uint32Array(leaves * 2).fill(none);
  for (let code = 0; code < count; code++) nodes[leaves + code] = code;
  const winner = (a: number, b: number): number => {
    if (a === none || b === none) return a === none ? b : a;
    return times[a] > times[b] || (times[a] === times[b] && firsts[a] < firsts[b]) ? a : b;
  };
  const play = (code: number): void => {
    for (let node = (leaves + code) >> 1; node > 0; node >>= 1)
      nodes[node] = winner(nodes[node * 2], nodes[node * 2 + 1]);
  };
  const best = new Uint32Array(argument.length);
  const empty = new Uint8Array(argument.length);
  return {
    add: (row) => {
      const code = codes[row];
      if (code === none) return;
      if (times[code]++ === 0 || row < firsts[code]) firsts[code] = row;
      play(code);
    },
    remove: (row) => {
      const code = codes[row];
      if (code === none) return;
      times[code]--;
      if (firsts[code] === row) firsts[code] = next[row];
      play(code);
    },
    note: (row) => {
      const code = nodes[1];
      if (code === none || times[code] === 0) empty[row] = 1;
      else best[row] = firsts[code];
    },
    result: () => overlay(under(take(argument, best)), empty, nulls(best.length)),
  };
};
const nextOfSame = (codes: Uint32Array, count: number): Uint32Array => {
  const next = new Uint32Array(codes.length).fill(none);
  const last = new Uint32Array(count).fill(none);
  for (let row = codes.length - 1; row >= 0; row--) {
    const code = codes[row];
    if (code === none) continue;
    next[row] = last[code];
    last[code] = row;
  }
  return next;
};

/** Undefined where the fraction differs from row to row, and for the deviation, whose order changes with its middle. */
const quantilesOver = (input: AggregateInput, argument: Vector, state: QuantileState): Vector | undefined => {
  if (state.kind === 'deviation') return undefined;
  const isMedian = state.kind === 'median';
  const column = isMedian ? argument : fieldOf(argument, 'value');
  const [by, third] = isMedian
    ? [undefined, undefined]
    : [onlyValue(fieldOf(argument, 'by')), onlyValue(fieldOf(argument, 'third'))];
  if (!isMedian && (!by || !third)) return undefined;
  const rows = countedRows(input, column);
  const counted = take(column, rows);
  const values = flatten(mayHaveLongDecimals(counted) ? counted : under(counted));
  const sorted = orderOf(values);
  const rankOf = new Uint32Array(column.length).fill(none);
  const held = new RankSet(sorted.length);
  const out = new Builder();
  sorted.forEach((at, rank) => {
    rankOf[rows[at]] = rank;
  });
  const at = (place: number): ReturnType<typeof valueAt> => knownValue(valueAt(values, sorted[held.at(place)]));
  return slid(input, {
    add: (row) => {
      if (rankOf[row] !== none) held.add(rankOf[row]);
    },
    remove: (row) => {
      if (rankOf[row] !== none) held.remove(rankOf[row]);
    },
    note: () => {
      out.append(state.ofValues({ count: held.size, at }, by && { of: by, isDescending: third?.data === 'desc' }));
    },
    result: () => out.finish(),
  });
};
/** The value of all rows; undefined where they differ. */
const onlyValue = (v: Vector): ReturnType<typeof valueAt> | undefined => {
  if (v.length === 0) return undefined;
  const first = valueAt(v, 0);
  if (v.form !== 'constant')
    for (let i = 1; i < v.length; i++) if (!equalValues(valueAt(v, i), first)) return undefined;
  return underValue(first);
};

/** The texts of all rows joined by the separator: that of a frame without gaps is a part of it. */
const textsOver = (input: AggregateInput, argument: Vector, state: TextState): Vector | undefined => {
  const {
    segment: { length },
    frames: { starts, ends, exclude },
    passes,
  } = input;
  const by = onlyValue(fieldOf(argument, 'by'));
  if (exclude !== 'none' || !by) return undefined;
  const separator = textToBytes(by.type === types.string ? stringData(by.data) : ',');
  state.update(range(0, length), argument);
  const texts = state.result(length);
  const joined = new Uint8List();
  const from = new Float64Array(length);
  const to = new Float64Array(length);
  const last = new Uint32Array(length + 1).fill(none);
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const { data } = valueAt(texts, i);
    const has = typeof data === 'string' && (!passes || passes[i] === 1);
    last[i + 1] = has ? i : last[i];
    if (!has) continue;
    if (last[i] !== none) joined.append(separator, 0, separator.length);
    from[i] = joined.length;
    const text = textToBytes(data);
    joined.append(text, 0, text.length);
    to[i] = joined.length;
  }
  const next = new Uint32Array(length + 1).fill(none);
  for (let i = length - 1; i >= 0; i--) next[i] = last[i + 1] === i ? i : next[i + 1];
  const all = joined.done();
  const out = new BytesBuilder(types.string);
  const empty = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const start = next[starts[i]];
    const end = last[ends[i]];
    const isEmpty = start === none || start >= ends[i];
    empty[i] = isEmpty ? 1 : 0;
    out.run(all, isEmpty ? 0 : from[start], isEmpty ? 0 : to[end]);
  }
  return overlay(out.finish(), empty, nulls(length));
};
