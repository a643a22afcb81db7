/**
 * Reads a long input in blocks that are cut at line ends, some of them in another thread. A block is read as if a value
 * began where it begins; that was right if the block before ended behind a whole value. What proves wrong is read again
 * in sequence, to the end of the input, so that values, errors and the places in them are those of the reader that goes
 * through the input alone.
 */
import { type PackedVectors, unpackVectors } from '../vectors/transfer.ts';
import type { Vector } from '../vectors/vector.ts';

/** What a block gave that begins and ends between values. */
export interface ParsedBlock {
  readonly batches: PackedVectors;
  readonly rows: number;
  readonly lines: number /** Bytes behind its last line break. */;
  readonly tail: number;
  /** The first number whose digits were not kept, and how many lines are before it. */
  readonly lost?: { readonly text: string; readonly line: number };
}
/**
 * Reads blocks one by one; undefined for what is not whole values without a fault, up to the end. `bytes[length]` is
 * there and 0.
 */
export type BlockParser = (bytes: Uint8Array, length: number) => ParsedBlock | undefined;
/**
 * How a format is read in blocks. `cut`: the greatest place up to `length` at which a block may end, 0 if there is
 * none; blocks begin between values.
 */
interface BlockFormat {
  readonly parser: BlockParser;
  readonly cut: (bytes: Uint8Array, length: number) => number;
  readonly copied?: ((bytes: Uint8Array) => void) | undefined;
  readonly lost?: ((number: { readonly text: string; readonly line: number }) => void) | undefined;
}
/** Cuts behind the last line break. */
export const lineCut = (bytes: Uint8Array, length: number): number => bytes.lastIndexOf(0x0a, length - 1) + 1;

/** Another thread that reads blocks. */
export interface BlockHelper {
  /** Blocks that it would take now. */
  readonly free: number;
  /** Takes the bytes, with the room behind them, and gives them back in the end. @throws when the thread died */
  parse(
    bytes: Uint8Array,
    length: number,
  ): Promise<{ readonly bytes: Uint8Array; readonly parsed: ParsedBlock | undefined }>;
  close(): void;
}

/** Where in an input reading goes on: values, lines and bytes before it, and the byte at which its line begins. */
export interface Progress {
  readonly values: number;
  readonly lines: number;
  readonly offset: number;
  readonly lineStart: number;
}

/** Where blocks stopped being right; the rest of the input is to be read in sequence from there. */
interface Stopped extends Progress {
  readonly rest: AsyncIterable<Uint8Array>;
}

/** A shorter input is not worth the other thread. */
export const sequentialBytes = 2 << 20;
/** Rows that a block should have: four of them make one block of an object, nearly full. */
const blockRows = 7_600;
/** Bytes of a block; it ends with the last line within that. */
const blockBytesLeast = 256 << 10;
const blockBytesMost = 2 << 20;
/**
 * Bytes that a block may grow to, with the room behind it, to take in a whole line; a longer line is not for blocks.
 * Readers that take only shorter values than this do without blocks.
 */
export const blockBytesMax = 4 << 20;
/**
 * Parts of builders that a block may make: rows of very many shapes or columns are not for blocks, of which several are
 * there at once.
 */
export const blockPartsMax = 8192;
/** Bytes behind a block. */
const room = 16;
/** Blocks that are read ahead of the one that is given out next. */
const blocksAheadMax = 9;

interface Block {
  bytes: Uint8Array;
  readonly length: number;
  state: 'waiting' | 'away' | 'done';
  parsed?: ParsedBlock | undefined;
}

/** Reads blocks until the input ends (undefined) or one proves not to be what it was taken for. */
export async function* readBlocks(
  input: AsyncIterable<Uint8Array>,
  progress: Progress,
  format: BlockFormat,
  helper: BlockHelper,
): AsyncGenerator<Vector, Stopped | undefined> {
  const size = Math.min(
    blockBytesMost,
    Math.max(blockBytesLeast, Math.ceil((progress.offset / progress.values) * blockRows)),
  );
  const reader = new BlockReader(input, size, format, helper);
  let { values, lines, offset, lineStart } = progress;
  let stopped = false;
  try {
    for (let block = await reader.next(); block; block = await reader.next()) {
      const { parsed, length } = block;
      if (!parsed) {
        await reader.settle();
        stopped = true;
        return { values, lines, offset, lineStart, rest: reader.rest(block) };
      }
      reader.recycle(block);
      if (parsed.lost) format.lost?.({ ...parsed.lost, line: lines + parsed.lost.line });
      values += parsed.rows;
      lines += parsed.lines;
      offset += length;
      lineStart = offset - parsed.tail;
      yield* unpackVectors(parsed.batches);
    }
    return undefined;
  } finally {
    if (!stopped) await reader.settle();
    helper.close();
    if (!stopped) await reader.close();
  }
}

class BlockReader {
  private readonly source: AsyncIterator<Uint8Array>;
  private readonly size: number;
  private readonly format: BlockFormat;
  private readonly helper: BlockHelper;
  private readonly blocks: Block[] = [];
  private readonly spare: Uint8Array[] = [];
  /** What was read and is in no block yet. */
  private bytes: Uint8Array;
  private length = 0;
  /** What is left of a chunk. */
  private chunk: Uint8Array | undefined;
  private ended = false;
  private stopped = false;
  private inputFault: { readonly problem: unknown } | undefined;
  private helperFault: { readonly problem: unknown } | undefined;
  private readonly feeding: Promise<void>;
  private feederWaits: (() => void) | undefined;
  private readerWaits: (() => void) | undefined;

  constructor(input: AsyncIterable<Uint8Array>, size: number, format: BlockFormat, helper: BlockHelper) {
    this.size = size;
    this.bytes = new Uint8Array(size + room);
    this.source = input[Symbol.asyncIterator]();
    this.format = format;
    this.helper = helper;
    this.feeding = this.feed();
  }

  /** The next block in order, parsed. @throws what the input failed with, behind the blocks that were whole */
  async next(): Promise<Block | undefined> {
    for (;;) {
      this.dispatch();
      if (this.helperFault) throw this.helperFault.problem;
      const [first] = this.blocks;
      if (!first && this.inputFault) throw this.inputFault.problem;
      if (!first && this.ended) return undefined;
      if (first?.state === 'done') {
        this.blocks.shift();
        this.wakeFeeder();
        return first;
      }
      const waiting = this.blocks.find((b) => b.state === 'waiting');
      if (!waiting)
        await new Promise<void>((resolve) => {
          this.readerWaits = resolve;
        });
      else {
        waiting.parsed = this.format.parser(waiting.bytes, waiting.length);
        waiting.state = 'done';
        // Messages of the other thread get their turn.
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
    }
  }

  /** Stops reading ahead; all blocks are back then. */
  async settle(): Promise<void> {
    this.stopped = true;
    this.wakeFeeder();
    await this.feeding;
    while (!this.helperFault && this.blocks.some((b) => b.state === 'away'))
      await new Promise<void>((resolve) => {
        this.readerWaits = resolve;
      });
  }

  /** The bytes from this block on; after `settle`. */
  async *rest(first: Block): AsyncGenerator<Uint8Array> {
    try {
      if (this.helperFault) throw this.helperFault.problem;
      for (const block of [first, ...this.blocks]) yield block.bytes.subarray(0, block.length);
      if (this.length > 0) yield this.bytes.subarray(0, this.length);
      if (this.chunk) yield this.chunk;
      if (this.inputFault) throw this.inputFault.problem;
      while (!this.ended) {
        const { done, value } = await this.source.next();
        if (done) this.ended = true;
        else yield value;
      }
    } finally {
      await this.close();
    }
  }

  /** The input is not read any further. */
  async close(): Promise<void> {
    if (!this.ended && !this.inputFault) await this.source.return?.();
  }

  /** The bytes of a block may hold another one now. */
  recycle({ bytes }: Block): void {
    if (bytes.length === this.size + room && this.spare.length < blocksAheadMax) this.spare.push(bytes);
  }

  private dispatch(): void {
    if (this.stopped || this.helper.free === 0) return;
    const block = this.blocks.find((b) => b.state === 'waiting');
    if (!block) return;
    block.state = 'away';
    this.helper.parse(block.bytes, block.length).then(
      ({ bytes, parsed }) => {
        block.bytes = bytes;
        block.parsed = parsed;
        block.state = 'done';
        this.dispatch();
        this.wakeReader();
      },
      (problem: unknown) => {
        this.helperFault ??= { problem };
        this.wakeReader();
      },
    );
    this.dispatch();
  }

  private async feed(): Promise<void> {
    try {
      while (!this.stopped) {
        if (this.blocks.length >= blocksAheadMax)
          await new Promise<void>((resolve) => {
            this.feederWaits = resolve;
          });
        else if (this.chunk) this.take(this.chunk);
        else {
          const { done, value } = await this.source.next();
          if (done) break;
          this.chunk = value;
        }
      }
      if (this.stopped) return;
      this.ended = true;
      // The end of the input may end a value: that is for the reader in sequence to tell.
      if (this.length > 0) this.push({ bytes: this.bytes, length: this.length, state: 'done', parsed: undefined });
      this.length = 0;
    } catch (problem) {
      this.inputFault = { problem };
    } finally {
      this.wakeReader();
    }
  }

  /** Takes as much of a chunk as there is room for. */
  private take(chunk: Uint8Array): void {
    const size = Math.min(chunk.length, this.bytes.length - room - this.length);
    this.bytes.set(chunk.subarray(0, size), this.length);
    this.length += size;
    this.chunk = size < chunk.length ? chunk.subarray(size) : undefined;
    if (!this.chunk) this.format.copied?.(chunk);
    if (this.length === this.bytes.length - room) this.cut();
  }

  /** Cuts a block where it may end, if there is such a place. */
  private cut(): void {
    const { bytes } = this;
    const length = this.format.cut(bytes, this.length);
    if (length === 0 && bytes.length < blockBytesMax) {
      this.bytes = new Uint8Array(Math.min(bytes.length * 2, blockBytesMax));
      this.bytes.set(bytes);
      return;
    }
    const rest = bytes.subarray(length, this.length);
    this.bytes = this.spare.pop() ?? new Uint8Array(this.size + room);
    if (length === 0) {
      this.push({ bytes, length: this.length, state: 'done', parsed: undefined });
      this.length = 0;
      return;
    }
    if (rest.length >= this.bytes.length - room)
      this.bytes = new Uint8Array(Math.min(rest.length * 2 + room, blockBytesMax));
    this.bytes.set(rest);
    this.length = rest.length;
    bytes.fill(0, length, length + room);
    this.push({ bytes, length, state: 'waiting' });
  }
  private push(block: Block): void {
    this.blocks.push(block);
    this.dispatch();
    this.wakeReader();
  }

  private wakeFeeder(): void {
    const { feederWaits } = this;
    this.feederWaits = undefined;
    feederWaits?.();
  }
  private wakeReader(): void {
    const { readerWaits } = this;
    this.readerWaits = undefined;
    readerWaits?.();
  }
}
