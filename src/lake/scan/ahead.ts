/**
 * Objects that are far away are fetched ahead of the operators: of the blocks that a scan is going to read, what each is
 * looked at with first is asked for side by side, while those before it are worked on.
 */
import type { ObjectReader } from '../objects/reader.ts';
import type { BlockScanner } from './block.ts';
import type { ScanInput } from './input.ts';

/** Blocks ahead of the one that is read: few at first, since a scan may end early. */
const blocksAheadMin = 4;
const blocksAheadMax = 32;

/** Of one object at a time. */
export class ReadAhead {
  private readonly input: ScanInput;
  private readonly scanner: BlockScanner;
  private reader: ObjectReader | undefined;
  /** The next block that was not asked for; -1: there is none. */
  private next = -1;
  private asked = 0;
  private read = 0;
  private window = blocksAheadMin;
  private isHere = false;

  constructor(input: ScanInput, scanner: BlockScanner) {
    this.input = input;
    this.scanner = scanner;
  }

  /** The block is read now. */
  from(reader: ObjectReader, block: number): void {
    if (!reader.isFar || block < 0 || this.input.options.limit !== undefined) return;
    if (reader !== this.reader) {
      this.reader = reader;
      this.next = block;
      this.asked = this.read = 0;
      this.isHere = reader.isHere();
    }
    if (this.isHere) return;
    for (; this.next >= 0 && this.asked <= this.read + this.window; this.asked++) {
      this.scanner.fetch(reader, this.next);
      this.next = this.input.nextBlock(reader, this.next + 1);
    }
    this.read++;
    this.window = Math.min(blocksAheadMax, this.window * 2);
  }
}
