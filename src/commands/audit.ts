/**
 * The audit log: a file that lines are appended to. What cannot be written is told, and never holds up an answer.
 *
 * A disk that refuses is tried again every second: lines wait for it, so many at most, and the file goes on at the very
 * byte where it stopped. Those beyond are counted, in a line of their own.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as later } from 'node:timers/promises';
import type { AuditEntry } from '../http/access/audit.ts';
import { type AuditLine, limitRefusals } from '../http/access/audit-rate.ts';

/** The open file. `close` resolves when all lines are written, or cannot be. */
export interface AuditFile {
  readonly write: (entry: AuditEntry) => void;
  readonly close: () => Promise<void>;
}

/** Lines that wait for the disk, at most. */
const linesMax = 10_000;
/** Time until a disk that refused is tried again. */
const retryMs = 1000;

/** Opens the file for appending; only its owner may read a new one. Rejects when it cannot be opened. */
export const openAudit = async (path: string, report: (fault: unknown) => void): Promise<AuditFile> => {
  const lines = new Lines(await open(path, 'a', 0o600), report);
  const { write, close } = limitRefusals((line) => {
    lines.add(line);
  });
  return {
    write,
    close: () => {
      close();
      return lines.close();
    },
  };
};

class Lines {
  private readonly file: FileHandle;
  private readonly report: (fault: unknown) => void;
  private waiting: string[] = [];
  private lost = 0;
  /** What is being written. */
  private rest: Uint8Array = new Uint8Array(0);
  private writing: Promise<void> | undefined;
  private readonly closing = new AbortController();

  constructor(file: FileHandle, report: (fault: unknown) => void) {
    this.file = file;
    this.report = report;
  }

  add(line: AuditLine): void {
    if (this.waiting.length >= linesMax) this.lost++;
    else this.waiting.push(`${JSON.stringify(line)}\n`);
    this.writing ??= this.write();
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.writing;
    await this.file.close().catch(this.report);
  }

  private async write(): Promise<void> {
    const { signal } = this.closing;
    let isRefused = false;
    while (this.take()) {
      try {
        const { bytesWritten } = await this.file.write(this.rest);
        this.rest = this.rest.subarray(bytesWritten);
        isRefused = false;
      } catch (fault) {
        if (!isRefused) this.report(fault);
        isRefused = true;
        if (signal.aborted) break;
        // Closing tries once more.
        await later(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
    this.writing = undefined;
  }

  /** Whether there is something to be written. */
  private take(): boolean {
    if (this.rest.length > 0) return true;
    if (this.waiting.length === 0) return false;
    const lost = this.lost > 0 ? `${JSON.stringify({ time: new Date().toISOString(), lost: this.lost })}\n` : '';
    this.rest = Buffer.from(this.waiting.join('') + lost);
    this.waiting = [];
    this.lost = 0;
    return true;
  }
}
