/**
 * Bytes that must be there as a whole before they can be read, as a file whose table of contents comes last: the first
 * ones in memory, many in a scratch file.
 *
 * Invariant: without a scratch file all of them are in memory, and charged.
 */
import { ReadMemory } from './read-memory.ts';

/** Bytes outside of memory: put one behind the other, read at any place. Nobody else has them. */
export interface ScratchBytes {
  append(bytes: Uint8Array): void;
  /** Exactly these bytes, in an array of their own that begins where any typed array may. */
  read(at: number, length: number): Uint8Array;
  close(): void;
}

/**
 * What a spool has of its reader. `scratch`: opens a file; absent: all stays in memory. `what`: the bytes, in errors.
 */
interface SpoolOptions {
  readonly memory?: ReadMemory | undefined;
  readonly scratch?: (() => ScratchBytes) | undefined;
  readonly format: string;
  readonly what: string;
}

/** Fewer bytes are not worth a file. */
const memoryBytesMax = 1 << 20;

export class Spool {
  size = 0;
  private chunks: Uint8Array[] = [];
  private held = 0;
  private file: ScratchBytes | undefined;
  private readonly options: SpoolOptions;
  private readonly memory: ReadMemory;
  constructor(options: SpoolOptions) {
    this.options = options;
    this.memory = options.memory ?? new ReadMemory();
  }

  /** Takes bytes, which may be changed afterwards. @throws LakeError format-memory */
  append(bytes: Uint8Array): void {
    if (!this.file && this.options.scratch && this.size + bytes.length > memoryBytesMax) {
      this.file = this.options.scratch();
      for (const chunk of this.chunks.splice(0)) this.file.append(chunk);
      this.release();
    }
    this.size += bytes.length;
    if (this.file) return this.file.append(bytes);
    this.memory.hold(bytes.length, this.options);
    this.held += bytes.length;
    this.chunks.push(new Uint8Array(bytes));
  }

  /** Bytes [at, at + length), which must be there; nobody may change them. */
  read(at: number, length: number): Uint8Array {
    if (this.file) return this.file.read(at, length);
    if (this.chunks.length > 1) this.chunks = [joined(this.chunks, this.size)];
    const [all = new Uint8Array(0)] = this.chunks;
    return all.subarray(at, at + length);
  }

  close(): void {
    this.file?.close();
    this.file = undefined;
    this.chunks = [];
    this.size = 0;
    this.release();
  }

  private release(): void {
    this.memory.free(this.held);
    this.held = 0;
  }
}

const joined = (chunks: Uint8Array[], size: number): Uint8Array => {
  const out = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < chunks.length; i++) {
    out.set(chunks[i], at);
    at += chunks[i].length;
    // Gone as soon as it is copied.
    chunks[i] = out.subarray(0, 0);
  }
  return out;
};
