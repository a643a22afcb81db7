/**
 * Reads a long input in blocks that are cut at line ends, some of them in another thread. A block is read as if a value began where it begins; that was
 * right if the block before ended behind a whole value. What proves wrong is read again in sequence, to the end of the input, so that values, errors and
 * the places in them are those of the reader that goes through the input alone.
 */
import type { Vector } from '../vectors/vector.ts';

/** What a block gave that begins and ends between values. */
export interface ParsedBlock { readonly batches: readonly Vector[]; readonly rows: number; readonly lines: number; /** Bytes behind its last line break. */ readonly tail: number }
/** Reads blocks one by one; undefined for what is not whole values without a fault, up to the end. `bytes[length]` is there and 0. */
export type BlockParser = (bytes: Uint8Array, length: number) => ParsedBlock | undefined;

/** Another thread that reads blocks. */
export interface BlockHelper {
  /** Blocks that it would take now. */
  readonly free: number;
  /** Takes the bytes, with the room behind them, and gives them back in the end. @throws when the thread died */
  parse(bytes: Uint8Array, length: number): Promise<{ readonly bytes: Uint8Array; readonly parsed: ParsedBlock | undefined }>;
  close(): void;
}

/** Where in an input reading goes on: values, lines and bytes before it, and the byte at which its line begins. */
export interface Progress { readonly values: number; readonly lines: number; readonly offset: number; readonly lineStart: number }

/** Where blocks stopped being right; the rest of the input is to be read in sequence from there. */
export interface Stopped extends Progress { readonly rest: AsyncIterable<Uint8Array> }

/** A shorter input is not worth the other thread. */
export const sequentialBytes = 2 << 20;
/** A block ends with the last line within that; a line that is longer is not for blocks. */
export const blockBytes = 1 << 20;
const blockBytesMax = 4 << 20;
/** Blocks that are read ahead of the one that is given out next. */
const blocksAheadMax = 12;

interface Block {
  bytes: Uint8Array;
  readonly length: number;
  state: 'waiting' | 'away' | 'done';
  parsed?: ParsedBlock | undefined;
}

/** Reads blocks until the input ends (undefined) or one proves not to be what it was taken for. */
export async function* readBlocks(input: AsyncIterable<Uint8Array>, progress: Progress, parser: BlockParser, helper: BlockHelper): AsyncGenerator<Vector, Stopped | undefined> {
  const reader = new BlockReader(input, parser, helper);
  let { values, lines, offset, lineStart } = progress;
  try {
    for (let block = await reader.next(); block; block = await reader.next()) {
      const { parsed } = block;
      if (!parsed) return { values, lines, offset, lineStart, rest: reader.rest(block) };
      yield* parsed.batches;
      values += parsed.rows;
      lines += parsed.lines;
      offset += block.length;
      if (parsed.lines > 0) lineStart = offset - parsed.tail;
      reader.recycle(block);
    }
    return undefined;
  } finally {
    await reader.close();
  }
}

class BlockReader {
  private readonly source: AsyncIterator<Uint8Array>;
  private readonly parser: BlockParser;
  private readonly helper: BlockHelper;
  private readonly blocks: Block[] = [];
  private spare: Uint8Array[] = [];
  /** What was read and is in no block yet. */
  private bytes: Uint8Array = new Uint8Array(blockBytes + 1);
  private length = 0;
  private ended = false;
  private stopped = false;
  private kept = false;
  private failure: { readonly problem: unknown } | undefined;
  private readonly feeding: Promise<void>;
  private wakeFeeder: (() => void) | undefined;
  private wakeReader: (() => void) | undefined;

  constructor(input: AsyncIterable<Uint8Array>, parser: BlockParser, helper: BlockHelper) {
    this.source = input[Symbol.asyncIterator]();
    this.parser = parser;
    this.helper = helper;
    this.feeding = this.feed();
  }

  /** The next block in order, parsed. @throws what the input failed with, behind the blocks that were whole */
  async next(): Promise<Block | undefined> {
    for (;;) {
      this.dispatch();
      const [first] = this.blocks;
      if (!first) {
        if (this.failure) throw this.failure.problem;
        if (this.ended) return undefined;
        await new Promise<void>((resolve) => { this.wakeReader = resolve; });
        continue;
      }
      if (first.state === 'done') {
        this.blocks.shift();
        this.wake('wakeFeeder');
        return first;
      }
      const waiting = this.blocks.find((b) => b.state === 'waiting');
      if (!waiting) await new Promise<void>((resolve) => { this.wakeReader = resolve; });
      else {
        waiting.parsed = this.parser(waiting.bytes, waiting.length);
        waiting.state = 'done';
        // Messages of the other thread get their turn.
        await new Promise((resolve) => { setImmediate(resolve); });
      }
    }
  }

  /** The bytes from this block on. */
  async *rest(first: Block): AsyncGenerator<Uint8Array> {
    for (const block of [first, ...this.blocks]) {
      while (block.state === 'away') await new Promise<void>((resolve) => { this.wakeReader = resolve; });
      yield block.bytes.subarray(0, block.length);
    }
    if (this.length > 0) yield this.bytes.subarray(0, this.length);
    if (this.failure) throw this.failure.problem;
    if (this.ended) return;
    for (;;) {
      const { done, value } = await this.source.next();
      if (done) return;
      yield value;
    }
  }

  recycle(block: Block): void { if (this.spare.length < 4) this.spare.push(block.bytes); }

  /** Stops reading ahead. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake('wakeFeeder');
    await this.feeding;
  }
  /** The input is not read any further, unless the rest of it is. */
  async close(): Promise<void> {
    await this.stop();
    this.helper.close();
    if (!this.ended && !this.kept) await this.source.return?.();
  }

  private dispatch(): void {
    for (const block of this.blocks) {
      if (this.helper.free === 0) return;
      if (block.state !== 'waiting') continue;
      block.state = 'away';
      this.helper.parse(block.bytes, block.length).then(({ bytes, parsed }) => {
        block.bytes = bytes;
        block.parsed = parsed;
        block.state = 'done';
        this.dispatch();
        this.wake('wakeReader');
      }, (problem: unknown) => {
        this.failure ??= { problem };
        this.wake('wakeReader');
      });
    }
  }
}
