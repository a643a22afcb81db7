/**
 * The batches of a reader of text in the making.
 *
 * Invariant: a batch ends when it has rows, bytes of text, or parts of builders enough: rows of ever new shapes, or of
 * ever more fields, cost by their parts. Rows that are alike share theirs, so wide ones are still gathered.
 */
import { Builder, partsMade } from '../vectors/builder.ts';
import type { Vector } from '../vectors/vector.ts';

/** Parts of a batch, unless single rows have more than half of them: then twice as many as the widest row. */
const partsMax = 16_384;
/** Bytes of text that a batch is made of. */
const textBytesMax = 4 << 20;

export class Batches {
  private readonly size: BatchSize;
  private builder = new Builder();
  private before = 0;
  constructor(rowsMax: number) {
    this.size = new BatchSize(rowsMax);
  }

  /** Rows of the stream so far. */
  get rows(): number {
    return this.before + this.builder.length;
  }
  get isEmpty(): boolean {
    return this.builder.length === 0;
  }
  get isFull(): boolean {
    return this.size.isFull(this.builder.length);
  }

  /** Where the next row goes. */
  begin(): Builder {
    this.size.begin();
    return this.builder;
  }
  /** The row is there; it took so many bytes of text. Nothing was awaited since its beginning. */
  end(bytes: number): void {
    this.size.end(bytes);
  }

  /** The rows that are there, as a batch. */
  take(): Vector {
    this.before += this.builder.length;
    const batch = this.builder.finish();
    this.builder = new Builder();
    this.size.reset();
    return batch;
  }
}

/** How large a batch in the making is. */
export class BatchSize {
  private readonly rowsMax: number;
  private mark = 0;
  private parts = 0;
  private widest = 0;
  private bytes = 0;
  constructor(rowsMax: number) {
    this.rowsMax = rowsMax;
  }

  isFull(rows: number): boolean {
    return (
      rows >= this.rowsMax || this.bytes >= textBytesMax || (this.parts >= partsMax && this.parts >= this.widest * 2)
    );
  }
  /** A row begins. */
  begin(): void {
    this.mark = partsMade();
  }
  /** The row is there; it took so many bytes. Nothing was awaited since its beginning. */
  end(bytes: number): void {
    const parts = partsMade() - this.mark;
    this.parts += parts;
    if (parts > this.widest) this.widest = parts;
    this.bytes += bytes;
  }
  /** Another batch begins. */
  reset(): void {
    this.parts = this.widest = this.bytes = 0;
  }
}
