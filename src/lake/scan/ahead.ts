/**
 * Objects that are far away are fetched ahead of the operators: of the blocks that a scan is going to read, what each is
 * looked at with first is asked for side by side, while those before it are worked on.
 */
import type { ObjectReader } from '../objects/reader.ts';
import type { BlockScanner } from './block.ts';
import type { ScanInput } from './input.ts';

/** Blocks ahead of the one that is read: few at first where a scan may end early, or come to know that it needs less. */
const blocksAheadMin = 4;
const blocksAheadMax = 128;
/** What they take once it is expanded, beyond the few. */
const bytesAheadMax = 32 << 20;

/** Of one object at a time. */
export class ReadAhead {
  private readonly input: ScanInput;
  private readonly scanner: BlockScanner;
  private reader: ObjectReader | undefined;
  /** The next block that was not asked for; -1: there is none. */
  private next = -1;
  private asked = 0;
  private read = 0;
  /** Of the blocks that were asked for and not read yet, and together. */
  private sizes: number[] = [];
  private bytes = 0;
  private window: number;
  private isHere = false;

  /** `isWhole`: all blocks will be read. */
  constructor(input: ScanInput, scanner: BlockScanner, isWhole = false) {
    this.input = input;
    this.scanner = scanner;
    this.window = isWhole ? blocksAheadMax : blocksAheadMin;
  }

  /** The block is read now. */
  from(reader: ObjectReader, block: number): void {
    if (!reader.isFar || block < 0 || this.input.options.limit !== undefined) return;
    if (reader !== this.reader) {
      this.reader = reader;
      this.next = block;
      this.asked = this.read = this.bytes = 0;
      this.sizes = [];
      this.isHere = reader.isHere();
    }
    if (this.isHere) return;
    for (; this.next >= 0 && this.mayAsk; this.asked++) {
      const bytes = this.scanner.fetch(reader, this.next);
      this.sizes.push(bytes);
      this.bytes += bytes;
      this.next = this.input.nextBlock(reader, this.next + 1);
    }
    this.read++;
    this.bytes -= this.sizes.shift() ?? 0;
    this.window = Math.min(blocksAheadMax, this.window * 2);
  }
  private get mayAsk(): boolean {
    const ahead = this.asked - this.read;
    return ahead <= blocksAheadMin || (ahead <= this.window && this.bytes < bytesAheadMax);
  }
}
