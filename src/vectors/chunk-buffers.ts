/**
 * Buffers for bytes on their way to another thread, used again once those have been sent: fresh memory costs page faults, and each megabyte of it brings the
 * next collection nearer. They are shared: a buffer that is transferred instead is detached, and the engine's access to all typed arrays of a thread is
 * slower from the first detached one on.
 */

/** Buffers that are kept at once: what is on its way, and one to write in. */
const keptMax = 8;

export class ChunkBuffers {
  /** Bytes of a buffer, unless more are asked for. */
  readonly size: number;
  private readonly kept: SharedArrayBuffer[] = [];
  private readonly taken = new WeakSet<object>();
  constructor(size: number) { this.size = size; }

  /** A buffer with anything in it, for the caller to keep. */
  take(least = this.size): Uint8Array<SharedArrayBuffer> {
    const known = this.kept.pop();
    // One that is too small goes, so that those that stay are of the size that is in use.
    const buffer = known && known.byteLength >= least ? known : new SharedArrayBuffer(Math.max(least, this.size));
    this.taken.add(buffer);
    return new Uint8Array(buffer);
  }
  /** Whether the bytes are in a buffer from here, and so alone in it. */
  has(bytes: Uint8Array): boolean { return this.taken.has(bytes.buffer); }
  /** Bytes in such a buffer of another thread: they are the caller's to keep, as if the buffer came from here. */
  adopt(bytes: Uint8Array): void { if (bytes.buffer instanceof SharedArrayBuffer) this.taken.add(bytes.buffer); }
  /** A buffer for another thread, if there is one to spare. */
  spare(): SharedArrayBuffer | undefined { return this.kept.pop(); }
  /** Takes a buffer back, perhaps after a journey through another thread, that nobody reads or writes any more. */
  give(buffer: SharedArrayBuffer): void {
    if (this.kept.length < keptMax && buffer.byteLength >= this.size && buffer.byteLength <= this.size * 4) this.kept.push(buffer);
  }
}
