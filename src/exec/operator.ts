/**
 * What an operator is: a function from the streams before it to the stream behind it.
 *
 * A stream is pulled. It gives batches and, between them, things that only pass through (`Side`): promises to be
 * awaited before the next pull, the `pause` of a shared upstream, and batches that go to another channel. Streams are
 * plain generators, so a pipeline whose data is at hand runs without a single await (correlated subqueries run once a
 * row); `drive` awaits the promises, one a batch at most.
 *
 * Invariants:
 * - A batch is never empty, and has at most `context.batchRows` rows; those of scans up to twice as many, and so those of
 *   joins that give at most one row for each of theirs.
 * - What is no batch is passed on as it is, at once.
 * - A stream that is not wanted any more is returned (`for .. of` does it); sources free what they hold in `finally`.
 */
import { LakeError } from '../errors.ts';
import { isTurnLong, memoryTurn, nextTurn, sameTask, turnBegan, working } from '../vectors/stop.ts';
import { type Vector, slice } from '../vectors/vector.ts';
import { flatSize } from './operators/compact.ts';
import type { AsyncEvaluator } from './expressions/evaluator.ts';
import type { Wanted } from './operators/join/key-set.ts';
import type { ChannelBatch } from './source.ts';

/** A batch on its way to a channel (`output`). */
export class Emission implements ChannelBatch {
  readonly channel: string;
  readonly batch: Vector;
  constructor(channel: string, batch: Vector) {
    this.channel = channel;
    this.batch = batch;
  }
}
/** "Ask my siblings first": a shared upstream gives it when another reader lags too far behind. */
export const pause: Promise<void> = Promise.resolve();

/**
 * What passes between batches: a promise that is awaited before the next pull (`pause` is one), or a batch for another
 * channel.
 */
export type Side = Promise<unknown> | Emission;
/** A batch, or what only passes by. */
export type Item = Vector | Side;
/** What one operator gives and the next one pulls. */
export interface Stream extends Iterable<Item> {
  /**
   * Told before the stream is pulled: rows whose value at the path is not among those keys are not wanted. They may come
   * all the same.
   */
  readonly narrow?: ((wanted: Wanted) => void) | undefined;
}
/** A stream that hands on what it is told to the one that it is made of. */
export const narrowing = (stream: Stream, { narrow }: Stream): Stream =>
  narrow ? Object.assign(stream, { narrow }) : stream;
/** An operator with one input: each call is a run of its own. */
export type Step = (input: Stream) => Stream;

/** Whether an item is a batch; any other is to be passed on. */
export const isBatch = (item: Item): item is Vector => !(item instanceof Promise) && !(item instanceof Emission);

/**
 * An operator with state and one input. `finish` is called at the end of the input, unless `done` has ended the stream
 * before.
 */
export interface Stage {
  push(batch: Vector): Iterable<Item>;
  finish?(): Iterable<Item>;
  /** No more input is wanted. */
  readonly done?: boolean;
}

/** A stage as a step; `make` gives a fresh one for each run. */
export const stage = (make: () => Stage): Step =>
  function* run(input) {
    const s = make();
    if (s.done) return;
    for (const item of input) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      yield* s.push(item);
      if (s.done) return;
      if (isTurnLong()) yield nextTurn();
    }
    if (s.finish) yield* s.finish();
  };

/** A step without state: one batch in, any number of items out. Large batches are worked on in pieces. */
export const eachBatch = (push: (batch: Vector) => Iterable<Item>): Step =>
  function* run(input) {
    for (const item of input) {
      if (isBatch(item)) yield* inPieces(item, push);
      else yield item;
      if (isTurnLong()) yield nextTurn();
    }
  };
/** Batches of more bytes are cut into pieces of about so many: what is made of the rows may be larger still. */
const largeBytes = 16 << 20;
const pieceBytes = 4 << 20;
const inPieces = (batch: Vector, push: (batch: Vector) => Iterable<Item>): Iterable<Item> => {
  const bytes = batch.length > 1 ? flatSize(batch) : 0;
  return bytes > largeBytes
    ? pieceByPiece(batch, Math.max(1, Math.floor((batch.length * pieceBytes) / bytes)), push)
    : halvedIfNeeded(batch, push);
};
function* pieceByPiece(batch: Vector, rows: number, push: (batch: Vector) => Iterable<Item>): Generator<Item> {
  for (const piece of batches(batch, rows)) {
    yield* halvedIfNeeded(piece, push);
    if (isTurnLong()) yield nextTurn();
  }
}
/** What needs too much memory for all rows may do with half of them. */
function* halvedIfNeeded(batch: Vector, push: (batch: Vector) => Iterable<Item>): Generator<Item> {
  let isGiven = false;
  try {
    for (const item of push(batch)) {
      isGiven ||= !(item instanceof Promise);
      yield item;
    }
    return;
  } catch (error) {
    if (
      isGiven ||
      batch.length === 1 ||
      !(error instanceof LakeError && (error.code === 'query-memory' || error.code === 'query-memory-busy'))
    )
      throw error;
  }
  for (const half of batches(batch, Math.ceil(batch.length / 2))) yield* halvedIfNeeded(half, push);
}

/** Evaluates an expression inside a generator: waits if the evaluator has to. */
export function* evaluate(evaluator: AsyncEvaluator, batch: Vector): Generator<Side, Vector> {
  const result = evaluator(batch);
  if (!(result instanceof Promise)) return result;
  let vector: Vector | undefined;
  yield result.then((v) => {
    vector = v;
  });
  return vector!;
}
/** Waits for a promise inside a generator. */
export function* wait<T>(promise: Promise<T>): Generator<Side, T> {
  let result: { readonly value: T } | undefined;
  yield promise.then((value) => {
    result = { value };
  });
  return result!.value;
}

/** Cuts a vector into batches. */
export function* batches(v: Vector, rowsMax: number): Generator<Vector> {
  if (v.length === 0) return;
  if (v.length <= rowsMax) return yield v;
  for (let start = 0; start < v.length; start += rowsMax) yield slice(v, start, Math.min(start + rowsMax, v.length));
}

/** Awaits what a stream asks for and gives its batches, those of other channels marked. */
export async function* drive(stream: Stream, signal: AbortSignal): AsyncGenerator<Vector | Emission> {
  const items = stream[Symbol.iterator]();
  const next = (): IteratorResult<Item> => items.next();
  let ended = false;
  turnBegan();
  try {
    for (;;) {
      const turn = memoryTurn(signal);
      if (turn) await turn;
      const { done, value } = working(signal, next);
      if (done) {
        ended = true;
        return;
      }
      if (value instanceof Promise) await value;
      else yield value;
      if (isTurnLong()) await nextTurn(signal);
      signal.throwIfAborted();
    }
  } finally {
    if (!ended) items.return?.();
  }
}

/**
 * All batches of a stream: at once if nothing has to be awaited, else a promise. Batches for other channels are
 * dropped.
 */
export const collect = (stream: Stream): readonly Vector[] | Promise<readonly Vector[]> => {
  const out: Vector[] = [];
  const iterator = stream[Symbol.iterator]();
  for (;;) {
    const next = iterator.next();
    if (next.done) return out;
    if (next.value instanceof Promise) {
      if (next.value !== pause) return collectLater(next.value, iterator, out);
    } else if (isBatch(next.value)) out.push(next.value);
  }
};
const collectLater = async (
  first: Promise<unknown>,
  iterator: Iterator<Item>,
  out: Vector[],
): Promise<readonly Vector[]> => {
  const goOn = sameTask();
  const pull = (): IteratorResult<Item> => iterator.next();
  try {
    await first;
    for (let next = goOn(pull); !next.done; next = goOn(pull)) {
      if (next.value instanceof Promise) await next.value;
      else if (isBatch(next.value)) out.push(next.value);
    }
    return out;
  } finally {
    iterator.return?.();
  }
};
