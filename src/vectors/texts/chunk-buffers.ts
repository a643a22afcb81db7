/**
 * Buffers for bytes on their way to another thread, used again once those have been sent: fresh memory costs page
 * faults, and each megabyte of it brings the next collection nearer. They are shared: a buffer that is transferred
 * instead is detached, and the engine's access to all typed arrays of a thread is slower from the first detached one
 * on.
 *
 * Invariant: all have the same size. The collector of no thread counts shared memory, so what is not used again may
 * stay for long.
 */

/** Buffers that are kept at the least: what is on its way of a few answers, and one to write in. */
const keptMin = 8;

/**
 * `free`: gives memory back at once. Default: the collector does, some day. `made`: told of the bytes of a new shared
 * buffer.
 */
interface Memory {
  readonly free?: (buffer: ArrayBuffer) => void;
  readonly made?: (bytes: number) => void;
}

export class ChunkBuffers {
  /** Bytes of a buffer. */
  readonly size: number;
  private readonly kept: SharedArrayBuffer[] = [];
  private readonly taken = new WeakSet<object>();
  private readonly large = new WeakSet<object>();
  private readonly memory: Memory;
  private keptMax = keptMin;
  constructor(size: number, memory: Memory = {}) {
    this.size = size;
    this.memory = memory;
  }

  /**
   * So many answers have buffers on their way at the moment. As many are kept when they come back, until there is no
   * answer any more: new ones in their place would be made while nobody has collected the old ones.
   */
  answers(count: number): void {
    this.keptMax = count === 0 ? keptMin : Math.max(this.keptMax, count);
    if (this.kept.length > this.keptMax) this.kept.length = this.keptMax;
  }

  /** A buffer with anything in it, for the caller to keep. */
  take(): Uint8Array<SharedArrayBuffer> {
    const buffer = this.kept.pop() ?? this.make();
    this.taken.add(buffer);
    return new Uint8Array(buffer);
  }
  private make(): SharedArrayBuffer {
    this.memory.made?.(this.size);
    return new SharedArrayBuffer(this.size);
  }
  /** Whether the bytes are in a buffer from here, and so alone in it. */
  has(bytes: Uint8Array): boolean {
    return this.taken.has(bytes.buffer);
  }
  /** Bytes in such a buffer of another thread: they are the caller's to keep, as if the buffer came from here. */
  adopt(bytes: Uint8Array): void {
    if (bytes.buffer instanceof SharedArrayBuffer) this.taken.add(bytes.buffer);
  }
  /** A buffer for another thread, if there is one to spare. */
  spare(): SharedArrayBuffer | undefined {
    return this.kept.pop();
  }
  /** Bytes for a chunk that is larger than a buffer: they are copied into some, and `done` is called. */
  takeLarge(size: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(size);
    this.large.add(bytes.buffer);
    return bytes;
  }
  /** Nobody looks at the bytes any more: if their buffer is from here, it is used again, or its memory goes. */
  done({ buffer }: Uint8Array): void {
    if (this.taken.has(buffer)) this.give(buffer as SharedArrayBuffer);
    else if (this.large.delete(buffer)) this.memory.free?.(buffer as ArrayBuffer);
  }
  /** Takes a buffer back, perhaps after a journey through another thread, that nobody reads or writes any more. */
  give(buffer: SharedArrayBuffer): void {
    if (this.kept.length < this.keptMax && buffer.byteLength === this.size) this.kept.push(buffer);
  }
}
