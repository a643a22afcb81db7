/** A task as the worker sees it: its request, its body, its cancel signal, its way back to the main thread. */
import { MessagePort } from 'node:worker_threads';
import { LakeError } from '../errors.ts';
import { ChunkBuffers } from '../vectors/texts/chunk-buffers.ts';
import { pauseTask } from '../vectors/stop.ts';
import { SourceFault } from '../query/parse/error.ts';
import { noteShared } from './collector.ts';
import { freeBuffer } from './free-bytes.ts';
import {
  type Answers,
  type Call,
  type Prefetched,
  type FromWorker,
  type Step,
  type StepTold,
  type ToWorker,
  type WireError,
  fromWire,
} from './messages.ts';
import type { QueryStats } from './pool.types.ts';
import { TaskCounter } from './task-counts.ts';

/** Sends a message to the main thread. */
export type Post = (message: FromWorker, transfer?: readonly ArrayBuffer[]) => void;

/** Buffers of chunks: those of text writers with room for the row that fills them up. */
const bufferBytes = (512 << 10) + (32 << 10);
/** Where writers may gather less than this, chunks are in buffers of this size: most of a large one would be empty. */
const smallBufferBytes = 256 << 10;
/** The tasks of a thread share them. */
const buffers = new ChunkBuffers(bufferBytes, { free: freeBuffer, made: noteShared });
const smallBuffers = new ChunkBuffers(smallBufferBytes, { made: noteShared });
/** A buffer of either size, which nobody reads or writes any more. */
const takeBack = (buffer: SharedArrayBuffer): void => {
  buffers.give(buffer);
  smallBuffers.give(buffer);
};
/** So many tasks are under way in this thread. */
export const keepBuffersFor = (tasks: number): void => {
  buffers.answers(tasks);
  smallBuffers.answers(tasks);
};
/** Less than this is sooner copied than shared. */
export const smallChunkBytes = 16 << 10;

/** What the answers of a thread may have on their way together, as long as each has one chunk. */
const answersBytesMax = 16 << 20;
/**
 * Bytes that an answer may have on its way: `bytesMax` where there are few, less the more of them its thread has. Each
 * may wait for a client that reads slowly.
 */
export const answerWindow =
  ({ bytesMax, answers }: { readonly bytesMax: number; readonly answers: () => number }): (() => number) =>
  () =>
    Math.min(bytesMax, answersBytesMax / Math.max(1, answers()));

/** What the writers of a thread gather, together: it is there up to three times while it is written. */
const gatheredBytesMax = 8 << 20;
/** From so many answers of a thread on their writers share what they may gather; chunks of less cost more than they save. */
const gatherersMin = 3;
const gatherBytesMin = 64 << 10;
/**
 * Bytes that a writer may gather, of rows and of what is written, before it gives some out: it holds them for as long
 * as its client does not read.
 */
export const answerGather =
  ({ answers }: { readonly answers: () => number }): (() => number) =>
  () =>
    answers() < gatherersMin ? Infinity : Math.max(gatherBytesMin, gatheredBytesMax / answers());

/** Waiting less than this is no sign of a slow receiver. */
const heldUpMsMin = 4;

/** The longest time between two turns of the event loop, so that messages get through. */
const turnMsMax = 10;

/** A message that nobody waits for any more: a way to a part must be closed, else that waits for ever. */
export const discard = (message: ToWorker): void => {
  if (message.type === 'credit') for (const buffer of message.buffers ?? []) takeBack(buffer);
  if (message.type === 'answer' && message.value instanceof MessagePort) message.value.close();
};

/** One task in its worker thread, from its request to its end. */
export class Task {
  readonly id: number;
  readonly body = new Body((bytes) => {
    this.post({ type: 'credit', task: this.id, bytes });
  });
  /** For bytes that are sent; they come back when they are out. */
  readonly buffers = buffers;
  /** What the main thread told without being asked. */
  readonly prefetched: readonly Prefetched[];
  /** What it has read and sent. */
  readonly counter: TaskCounter;
  /** The last bytes had to wait for the receiver, and not just for a moment. */
  isHeldUp = false;
  private readonly post: Post;
  private readonly abort = new AbortController();
  private readonly windowBytes: () => number;
  /** Bytes that the writer of its answer may gather. */
  readonly gatherBytesMax: () => number;
  private sent = 0;
  private waiting: (() => void) | undefined;
  private nextCall = 0;
  private readonly calls = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }
  >();
  private turn = performance.now();

  constructor(
    id: number,
    windowBytes: () => number,
    post: Post,
    prefetched: readonly Prefetched[] = [],
    counter = new TaskCounter(id),
    gatherBytesMax: () => number = () => Infinity,
  ) {
    this.gatherBytesMax = gatherBytesMax;
    this.id = id;
    this.prefetched = prefetched;
    this.counter = counter;
    this.windowBytes = windowBytes;
    this.post = post;
  }

  /** Room for so many bytes that will be sent, at most those of one of `buffers`. */
  room(length: number): Uint8Array {
    if (length < smallChunkBytes) return new Uint8Array(length);
    const isSmall = length <= smallBuffers.size && this.gatherBytesMax() <= smallBuffers.size;
    return (isSmall ? smallBuffers : buffers).take().subarray(0, length);
  }
  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Takes a message of the main thread. */
  take(message: ToWorker): void {
    switch (message.type) {
      case 'body':
        this.body.push(message.chunk);
        return;
      case 'bodyEnd':
        this.body.end(message.error);
        return;
      case 'credit':
        this.sent -= message.bytes;
        for (const buffer of message.buffers ?? []) takeBack(buffer);
        this.wake();
        return;
      case 'cancel':
        this.cancel();
        return;
      case 'answer': {
        const call = this.calls.get(message.call);
        this.calls.delete(message.call);
        if (!call) discard(message);
        if (message.error) call?.reject(message.error.code ? fromWire(message.error) : sourceFault(message.error));
        else call?.resolve(message.value);
        return;
      }
      case 'start':
        return;
    }
  }

  cancel(): void {
    const reason = new LakeError('query-cancelled');
    this.abort.abort(reason);
    this.body.end({ code: 'query-cancelled', message: reason.message });
    for (const call of this.calls.values()) call.reject(reason);
    this.calls.clear();
    this.wake();
  }

  /** Whether it waits until its client has taken what was sent. */
  get isWaiting(): boolean {
    return this.waiting !== undefined;
  }

  /** Asks the main thread. */
  call<K extends Call['kind']>(request: Extract<Call, { readonly kind: K }>): Promise<Answers[K]> {
    this.signal.throwIfAborted();
    const call = this.nextCall++;
    const { promise, resolve, reject } = withResolvers<Answers[K]>();
    this.calls.set(call, { resolve: resolve as (value: unknown) => void, reject });
    this.post({ type: 'call', task: this.id, call, request });
    return promise;
  }

  step(step: Step, told: StepTold = {}): void {
    this.counter.stepped();
    this.post({ type: 'step', task: this.id, step, ...told });
  }

  /**
   * Sends bytes, which are the receiver's from then on, with their buffer; waits while too much is unread. Where the
   * window has no room for a chunk, not even for this one, nothing more is made before it was taken.
   */
  async send(bytes: Uint8Array, stats: QueryStats): Promise<void> {
    for (const piece of this.shareable(bytes)) {
      const since = performance.now();
      while (this.sent > 0 && this.sent + piece.length > this.windowBytes()) await this.credited();
      this.signal.throwIfAborted();
      this.sent += piece.length;
      this.post({ type: 'chunk', task: this.id, bytes: piece, stats });
      while (this.sent > this.windowBytes()) await this.credited();
      this.isHeldUp = performance.now() - since > heldUpMsMin;
    }
  }
  private async credited(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.waiting = resolve;
    });
    this.signal.throwIfAborted();
  }

  /**
   * Bytes that can be sent, in pieces: few are cloned with the message, together with all of their buffer, more are
   * shared.
   */
  *shareable(bytes: Uint8Array): Generator<Uint8Array> {
    const isOurs = buffers.has(bytes) || smallBuffers.has(bytes);
    if (bytes.length >= smallChunkBytes) {
      if (isOurs) {
        yield bytes;
        return;
      }
      for (let start = 0; start < bytes.length; start += buffers.size)
        yield this.shared(bytes.subarray(start, start + buffers.size));
      buffers.done(bytes);
    } else if (!isOurs && bytes.byteLength === bytes.buffer.byteLength) yield bytes;
    else {
      const out = new Uint8Array(bytes);
      this.done(bytes);
      yield out;
    }
  }
  private shared(bytes: Uint8Array): Uint8Array {
    const out = this.room(bytes.length);
    out.set(bytes);
    return out;
  }

  /** Nobody looks at the bytes any more. */
  done(bytes: Uint8Array): void {
    buffers.done(bytes);
    smallBuffers.done(bytes);
  }

  /** Lets messages through if the last turn was long; throws when the task was cancelled. */
  async breathe(): Promise<void> {
    if (performance.now() - this.turn > turnMsMax) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      this.turn = performance.now();
      pauseTask(this.signal);
    }
    this.signal.throwIfAborted();
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }
}

/** What is no LakeError is a fault of a source that the query names. */
const sourceFault = ({ message, details, source }: WireError): SourceFault =>
  new SourceFault(message, {
    ...(typeof details?.['hint'] === 'string' && { hint: details['hint'] }),
    ...(source && { cause: new LakeError(source.code, source.parameters) }),
  });

const withResolvers = <T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} => {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};

/** Chunks that come from the main thread; taking one gives credit for more. */
class Body implements AsyncIterable<Uint8Array> {
  private readonly queue: Uint8Array[] = [];
  private ended = false;
  private error: WireError | undefined;
  private waiting: (() => void) | undefined;
  private readonly taken: (bytes: number) => void;
  /** Of chunks that were given out. */
  private readonly given = new WeakSet<ArrayBufferLike>();
  constructor(taken: (bytes: number) => void) {
    this.taken = taken;
  }

  push(chunk: Uint8Array): void {
    this.queue.push(chunk);
    this.wake();
  }
  /** The bytes were copied: if they are a chunk of this body, its memory goes. */
  free({ buffer }: Uint8Array): void {
    if (this.given.delete(buffer)) freeBuffer(buffer as ArrayBuffer);
  }
  end(error: WireError | undefined): void {
    this.ended = true;
    this.error ??= error;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      // What failed is not read on: the load is lost anyway.
      if (this.error) throw fromWire(this.error);
      const chunk = this.queue.shift();
      if (chunk) {
        this.taken(chunk.length);
        this.given.add(chunk.buffer);
        yield chunk;
      } else if (this.ended) return;
      else
        await new Promise<void>((resolve) => {
          this.waiting = resolve;
        });
    }
  }
  private wake(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }
}
