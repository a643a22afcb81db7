/** What one long value of a text takes while it is read, on the account of its reader. */
import { partBytes, partsMade } from '../vectors/builder.ts';
import { ReadMemory } from './read-memory.ts';

export class ValueMemory {
  private readonly memory: ReadMemory;
  private readonly format: string;
  private readonly what: () => string;
  private held = 0;
  private mark = 0;
  private parts = 0;
  /** `what` tells which value it is, for the error. */
  constructor(memory: ReadMemory | undefined, format: string, what: () => string) {
    this.memory = memory ?? new ReadMemory();
    this.format = format;
    this.what = what;
  }

  /** Charges bytes until the value was taken. @throws LakeError format-memory */
  hold(bytes: number): void {
    // The text that names the value is made for the error alone.
    this.memory.hold(bytes, { format: this.format, what: bytes > this.memory.room ? this.what() : '' });
    this.held += bytes;
  }
  /** Parts of builders count from here on. */
  watchParts(): void {
    this.mark = partsMade();
    this.parts = 0;
  }
  /** Charges the parts that were made since the last look, if they are many. @throws LakeError format-memory */
  holdParts(): void {
    const parts = partsMade() - this.mark;
    if (parts - this.parts < partsStep) return;
    this.hold((parts - this.parts) * partBytes);
    this.parts = parts;
  }
  /** The value was taken, or was none. */
  free(): void {
    if (this.held === 0) return;
    this.memory.free(this.held);
    this.held = 0;
  }
}
const partsStep = 1000;
