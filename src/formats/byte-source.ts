/**
 * Bytes of a stream by count, for the binary formats: so many bytes in one piece, no more read from the stream than
 * that takes.
 *
 * Invariants: `bytes[start, end)` is read and not used up; the buffer grows with what has come, never with what a
 * length claims. What was read holds until more is asked for. The buffer is charged to the reader's memory.
 */
import { ReadMemory } from './read-memory.ts';

/** Who reads: named in errors. `what`: of the bytes that are read, such as `frame`. */
interface Use {
  readonly memory?: ReadMemory | undefined;
  readonly format: string;
  readonly what: string;
}
/** A larger buffer goes as soon as nothing of it is left to be read. */
const keptBytesMax = 1 << 20;

export class ByteSource {
  bytes: Uint8Array = new Uint8Array(0);
  start = 0;
  end = 0;
  /** What is in several chunks is put together here; the next piece may be put over it. */
  private room: Uint8Array = new Uint8Array(0);
  /** Bytes of the stream before `bytes[0]`. */
  private before = 0;
  private ended = false;
  private readonly input: AsyncIterator<Uint8Array>;
  private readonly memory: ReadMemory;
  private readonly use: Use;

  constructor(input: AsyncIterable<Uint8Array>, use: Use) {
    this.input = input[Symbol.asyncIterator]();
    this.memory = use.memory ?? new ReadMemory();
    this.use = use;
  }

  /** Where `start` is in the stream. */
  get offset(): number {
    return this.before + this.start;
  }

  /** Reads until `count` bytes are there; false if the stream ends before. @throws LakeError format-memory */
  async need(count: number): Promise<boolean> {
    while (this.end - this.start < count) {
      if (this.ended) return false;
      const { done, value } = await this.input.next();
      if (done) this.ended = true;
      else this.append(value, count);
    }
    return true;
  }

  /**
   * The next bytes, used up: as many as there are, at most so many; undefined at the end. They hold until more is asked
   * for.
   */
  async some(most: number): Promise<Uint8Array | undefined> {
    if (!(await this.need(1))) return undefined;
    const { bytes, start } = this;
    this.start = Math.min(this.end, start + most);
    return bytes.subarray(start, this.start);
  }

  /** The stream is not read any further. */
  async close(): Promise<void> {
    if (!this.ended) await this.input.return?.();
    this.ended = true;
    this.setRoom(0);
  }

  private append(chunk: Uint8Array, wanted: number): void {
    const kept = this.end - this.start;
    const size = kept + chunk.length;
    if (kept === 0) {
      this.before += this.end;
      this.bytes = chunk;
      this.start = 0;
      this.end = chunk.length;
      if (this.room.length > keptBytesMax) this.setRoom(0);
      return;
    }
    const ours = this.bytes === this.room;
    if (!ours || this.end + chunk.length > this.room.length) {
      const { room: before } = this;
      const room = size <= before.length ? before : this.setRoom(Math.max(size, Math.min(wanted, size * 2)));
      if (ours && room === before) room.copyWithin(0, this.start, this.end);
      else room.set(this.bytes.subarray(this.start, this.end));
      this.bytes = room;
      this.before += this.start;
      this.start = 0;
      this.end = kept;
    }
    this.room.set(chunk, this.end);
    this.end += chunk.length;
  }

  private setRoom(bytes: number): Uint8Array {
    const { room: before } = this;
    this.memory.hold(bytes, this.use);
    this.memory.free(before.length);
    return (this.room = new Uint8Array(bytes));
  }
}
