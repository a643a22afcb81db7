/**
 * Writes a recording: NDJSON, a header first, in files of bounded size that take turns.
 *
 * - `write` only puts a line into a queue; text is made and written in batches, between other work. Nothing ever waits
 *   for it, save `close`.
 * - The queue is bounded. A line that finds it full is lost, and so are the ones behind it until the queue has been
 *   written; then a `lost` line says how many, and what `standing` tells (actors and pools as they are) follows, so
 *   that a replay can go on from there.
 * - A file that has reached its size is renamed `FILE.1`, its predecessors one up, the oldest goes; the next part
 *   begins with the header and what `standing` tells.
 * - A disk that refuses ends the recording, with a report, and nothing else.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import type { HeaderRecord, RecordLine } from './record.ts';

/** Where a recording goes, and how large it may get. */
export interface RecordingWriterOptions {
  readonly path: string;
  readonly header: Omit<HeaderRecord, 'kind' | 'part'>;
  /** Bytes of a file before the next one begins, about. */
  readonly fileBytesMax: number;
  /** Files that are kept, the one that is written included. */
  readonly filesMax: number;
  /** Lines that may wait; default 65,536. */
  readonly queueLinesMax?: number;
  /** Lines that tell what there is now. Asked for when no actor is at work. */
  readonly standing: () => readonly RecordLine[];
  readonly nextSeq: () => number;
  readonly report: (fault: unknown) => void;
}

const queueLinesMaxDefault = 65_536;
/** Lines whose text is made in one turn of the event loop. */
const batchLines = 512;
/** How long a line waits for others. */
const batchMs = 20;

/** A recording that is being written. */
export class RecordingWriter {
  private readonly options: RecordingWriterOptions;
  private readonly queueLinesMax: number;
  private file: FileHandle;
  private queue: RecordLine[] = [];
  private at = 0;
  private fileBytes = 0;
  private part = 1;
  private lost = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private broken = false;
  private closed = false;

  private constructor(options: RecordingWriterOptions, file: FileHandle) {
    this.options = options;
    this.queueLinesMax = options.queueLinesMax ?? queueLinesMaxDefault;
    this.file = file;
  }

  /** Begins the file again; parts of an earlier recording of that name are removed. */
  static async open(options: RecordingWriterOptions): Promise<RecordingWriter> {
    for (let n = 1; n < partsMax; n++) {
      try {
        await rm(`${options.path}.${n}`);
      } catch {
        break;
      }
    }
    const writer = new RecordingWriter(options, await open(options.path, 'w'));
    await writer.writeText(writer.header());
    return writer;
  }

  /** Lines that are not written yet, and lost ones that have not been told of. */
  get waiting(): number {
    return this.queue.length - this.at + this.lost;
  }

  write(line: RecordLine): void {
    if (this.broken || this.closed) return;
    if (this.lost > 0 || this.queue.length - this.at >= this.queueLinesMax) {
      this.lost++;
      return;
    }
    this.queue.push(line);
    this.timer ??= setTimeout(() => {
      this.flush();
    }, batchMs).unref();
  }

  /** Writes what waits and ends the file. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.writing;
    await this.drain();
    if (this.broken) return this.file.close().catch(() => undefined);
    await this.file.sync().catch(this.options.report);
    await this.file.close().catch(this.options.report);
  }

  private flush(): void {
    this.timer = undefined;
    if (this.writing) return;
    this.writing = this.drain().finally(() => {
      this.writing = undefined;
      if (!this.closed && this.queue.length > this.at)
        this.timer ??= setTimeout(() => {
          this.flush();
        }, batchMs).unref();
    });
  }

  private async drain(): Promise<void> {
    try {
      while (!this.broken && (this.queue.length > this.at || this.lost > 0)) await this.batch();
    } catch (fault) {
      this.broken = true;
      this.queue = [];
      this.options.report(fault);
    }
  }

  /** One write. What it tells of the actors is made in the same turn as the text of the last line before. */
  private async batch(): Promise<void> {
    const full = this.fileBytes >= this.options.fileBytesMax;
    const end =
      full && this.fileBytes >= 2 * this.options.fileBytesMax
        ? this.queue.length
        : Math.min(this.queue.length, this.at + batchLines);
    let text = '';
    while (this.at < end) text += `${JSON.stringify(this.queue[this.at++])}\n`;
    let next = '';
    if (this.at === this.queue.length && (full || this.lost > 0)) {
      // In a turn of its own, no job is between being durable and being settled.
      await nextTurn();
      while (this.at < this.queue.length) text += `${JSON.stringify(this.queue[this.at++])}\n`;
    }
    if (this.at === this.queue.length) {
      this.queue = [];
      this.at = 0;
      const { lost } = this;
      this.lost = 0;
      const resumes = lost > 0;
      const rotates = full && !this.closed;
      if (resumes)
        text += `${JSON.stringify({ kind: 'lost', seq: this.options.nextSeq(), ms: Date.now(), lines: lost } satisfies RecordLine)}\n`;
      if (rotates) this.part++;
      if (resumes || rotates) {
        const standing = this.options
          .standing()
          .map((line) => `${JSON.stringify(line)}\n`)
          .join('');
        if (rotates) next = this.header() + standing;
        else text += standing;
      }
    }
    await this.writeText(text);
    if (next === '') return;
    await this.rotate();
    await this.writeText(next);
  }

  private header(): string {
    const header: HeaderRecord = { kind: 'header', ...this.options.header, part: this.part };
    return `${JSON.stringify(header)}\n`;
  }
  private async writeText(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += (await this.file.write(bytes, at)).bytesWritten;
    this.fileBytes += bytes.length;
  }

  private async rotate(): Promise<void> {
    const { path, filesMax } = this.options;
    await this.file.close();
    await rm(`${path}.${filesMax - 1}`, { force: true });
    for (let n = filesMax - 2; n >= 1; n--)
      await rename(`${path}.${n}`, `${path}.${n + 1}`).catch((fault: NodeJS.ErrnoException) => {
        if (fault.code !== 'ENOENT') throw fault;
      });
    if (filesMax > 1) await rename(path, `${path}.1`);
    this.file = await open(path, 'w');
    this.fileBytes = 0;
  }
}

/** More parts are never looked for. */
export const partsMax = 10_000;
