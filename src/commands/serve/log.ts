/**
 * The service's log on standard error. A file of it whose disk is full, or a pipe that nobody reads, holds up nothing:
 * lines wait, then they are lost and counted. (pino's own destination ends the process at the first write that fails, and
 * on the way out it tries for ever.)
 */
import { write, writeSync } from 'node:fs';
import pino, { type Logger } from 'pino';
import type { ServeConfig } from '../../config/serve.ts';

/** How the lines are written; both may write less than they are given. */
export interface LogOutput {
  readonly write: (bytes: Buffer, done: (fault: Error | null, bytesWritten: number) => void) => void;
  /** At the end of the process. @throws what the system says */
  readonly writeNow: (bytes: Buffer) => number;
}

/** Characters of the lines that wait while nothing can be written; what comes beyond that is lost. */
const waitingMax = 1 << 20;
/** About so many characters are written at once. */
const writtenMax = 1 << 16;
const againMs = 1_000;

/** The log of the service. */
export const openLog = (level: ServeConfig['logLevel']): Logger => {
  const lines = new LogLines(standardError);
  process.once('exit', () => lines.end());
  return pino({ level }, lines);
};

const standardError: LogOutput = {
  write: (bytes, done) => write(2, bytes, done),
  writeNow: (bytes) => writeSync(2, bytes),
};

/** Where pino's lines go: written in order, without waiting for them. */
export class LogLines {
  private readonly output: LogOutput;
  private lines: string[] = [];
  private waiting = 0;
  /** What is being written, or was not written to its end. */
  private begun: Buffer = Buffer.alloc(0);
  private lost = 0;
  private busy = false;

  constructor(output: LogOutput) {
    this.output = output;
  }

  /** Takes a line with its newline. */
  write(line: string): void {
    if (this.waiting + line.length > waitingMax) this.lost += 1;
    else {
      this.lines.push(line);
      this.waiting += line.length;
    }
    if (!this.busy) this.writeOn();
  }

  /** Writes what is left, if it can be written: the process ends. */
  end(): void {
    try {
      while (this.take()) this.begun = this.begun.subarray(this.output.writeNow(this.begun));
    } catch {
      // Nobody is left who could be told.
    }
  }

  private writeOn(): void {
    this.busy = this.take();
    if (!this.busy) return;
    this.output.write(this.begun, (fault, bytesWritten) => {
      if (fault) setTimeout(() => this.writeOn(), againMs).unref();
      else {
        this.begun = this.begun.subarray(bytesWritten);
        this.writeOn();
      }
    });
  }

  /** Whether there is something to write; it is in `begun` then. */
  private take(): boolean {
    if (this.begun.length > 0) return true;
    let length = 0;
    let count = 0;
    while (count < this.lines.length && length < writtenMax) length += this.lines[count++]?.length ?? 0;
    const text = this.lines.splice(0, count).join('');
    this.waiting -= length;
    this.begun = Buffer.from(text + this.lostLine());
    return this.begun.length > 0;
  }

  /** Tells of lost lines behind the last one that was kept. */
  private lostLine(): string {
    if (this.lost === 0 || this.lines.length > 0) return '';
    const lines = this.lost;
    this.lost = 0;
    return `${JSON.stringify({ level: pino.levels.values['warn'], time: Date.now(), pid: process.pid, lines, msg: 'lines of the log were lost: they could not be written' })}\n`;
  }
}
