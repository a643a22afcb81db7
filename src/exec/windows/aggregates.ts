/**
 * Aggregates over frames. Frames that are whole partitions are grouped as any aggregation; count, sum, avg, min and max
 * of numbers (min and max of texts too) have sums up to each row and trees over rows; quantiles, mode, count(distinct)
 * and joined texts slide (sliding.ts); any other aggregate is carried on where its frames only grow, else worked out
 * again for each row.
 */
import { checkStopAt } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type Vector, nulls, numbers, range, slice, take, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { pick } from '../aggregates/grouping/parts.ts';
import { kinds, kindsOf } from '../operators/rows/kinds.ts';
import { rowsWith } from '../expressions/rows.ts';
import { type AggregateInput, type Carry, countsBefore } from './aggregate-input.ts';
import { newPieces, piecesOf } from './frames.ts';
import { numericAggregate } from './numeric.ts';
import { partitionCount } from './segment.ts';
import { slidingAggregate } from './sliding.ts';

/** The aggregate of each row's frame, a row for each of the segment. */
export const aggregateOver = (input: AggregateInput): Vector => {
  const {
    frames,
    name,
    form: { distinct, order, arity, sql },
    carry,
  } = input;
  if (carry) return carriedOn(input, carry);
  if (frames.whole) return overPartitions(input);
  // The least and the greatest of all values are those of the distinct ones.
  const isPlain = (!distinct || name === 'min' || name === 'max') && !order && arity === undefined;
  if (name === 'count' && isPlain) return countOver(input);
  const numeric = isPlain ? numericAggregate(input, sql === true) : undefined;
  const moved = numeric ?? slidingAggregate(input);
  if (moved) return moved;
  return frames.fromStart && frames.exclude === 'none' ? carriedOn(input) : anew(input);
};

/** What the states see as argument: count() looks at none. */
const argumentOf = ({ argument, segment }: AggregateInput): Vector => argument ?? nulls(segment.length);

const overPartitions = (input: AggregateInput): Vector => {
  const { segment, passes, make } = input;
  const state = make();
  const partitions = partitionCount(segment);
  state.grow(partitions);
  const rows = passes && rowsWith(passes, segment.length, 1);
  const argument = argumentOf(input);
  if (!rows || rows.length > 0) state.update(pick(segment.partitionOf, rows), rows ? take(argument, rows) : argument);
  return take(state.result(partitions), segment.partitionOf);
};

const countOver = (input: AggregateInput): Vector => {
  const { segment, frames, argument } = input;
  const table = argument && kindsOf(argument);
  const before = countsBefore(input, (i) => !table || (table[i] !== kinds.null && table[i] !== kinds.missing));
  const out = new Float64Array(segment.length);
  const pieces = newPieces();
  for (let i = 0; i < out.length; i++) {
    const { bounds, count } = piecesOf(frames, segment, i, pieces);
    let n = 0;
    for (let k = 0; k < count; k++) n += before[bounds[k * 2 + 1]] - before[bounds[k * 2]];
    out[i] = n;
  }
  return numbers(types.int64, out);
};

/** Frames that begin with their partition: one state a partition takes what comes in. */
const carriedOn = (input: AggregateInput, carry: Carry = {}): Vector => {
  const { segment, frames, passes, make } = input;
  const argument = argumentOf(input);
  const out = new Builder();
  let state = make();
  let partition = -1;
  let done = 0;
  let value = undefined as ReturnType<typeof valueAt> | undefined;
  for (let i = 0; i < segment.length; i++) {
    checkStopAt(i);
    if (segment.partitionOf[i] !== partition) {
      partition = segment.partitionOf[i];
      done = segment.partitionStarts[partition];
      state = partition === 0 && segment.carried.rows > 0 && carry.state ? carry.state : make();
      state.grow(1);
      value = undefined;
    }
    const end = frames.ends[i];
    if (end > done) {
      const rows = passes ? range(done, end).filter((row) => passes[row] === 1) : undefined;
      const length = rows ? rows.length : end - done;
      if (length > 0) {
        state.update(new Uint32Array(length), rows ? take(argument, rows) : slice(argument, done, end));
        value = undefined;
      }
      done = end;
    }
    out.append((value ??= valueAt(state.result(1), 0)));
  }
  carry.state = state;
  return out.finish();
};

/** Rows of frames that are looked at together. */
const rowsAtOnce = 65_536;

/** Every frame for itself; as many of them at once as there is room for. */
const anew = (input: AggregateInput): Vector => {
  const { segment, frames, passes, make } = input;
  const argument = argumentOf(input);
  const pieces = newPieces();
  const out = new Builder();
  const ids = new Uint32Array(rowsAtOnce);
  const rows = new Uint32Array(rowsAtOnce);
  for (let first = 0; first < segment.length; ) {
    const state = make();
    let n = 0;
    let total = 0;
    let next = first;
    const flush = (): void => {
      state.grow(next - first + 1);
      if (n > 0) state.update(ids.slice(0, n), take(argument, rows.slice(0, n)));
      n = 0;
    };
    for (; next < segment.length && total < rowsAtOnce; next++) {
      const { bounds, count } = piecesOf(frames, segment, next, pieces);
      for (let k = 0; k < count; k++) {
        for (let row = bounds[k * 2]; row < bounds[k * 2 + 1]; row++) {
          checkStopAt(row);
          if (passes && passes[row] === 0) continue;
          if (n === rowsAtOnce) flush();
          ids[n] = next - first;
          rows[n++] = row;
        }
        total += bounds[k * 2 + 1] - bounds[k * 2];
      }
      total++;
    }
    flush();
    state.grow(next - first);
    const results = state.result(next - first);
    for (let i = 0; i < results.length; i++) out.append(valueAt(results, i));
    first = next;
  }
  return out.finish();
};
