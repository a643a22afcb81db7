/**
 * Keeps the log short: when it has grown beyond twice the tables, a base is written in the background, and what is
 * before it goes.
 */
import { statfsSync } from 'node:fs';
import { allRows, writeBase } from '../log/base.ts';
import type { Log } from '../log/log.ts';
import { bytesOfBases } from '../log/reader.ts';
import type { Tables } from './tables.ts';

/**
 * A base is due when log and base are so much longer than twice the tables' rows; with what comes while it is written
 * they stay below 64 MiB more.
 */
const bytesMinDefault = 32 << 20;
/** On a small disk earlier: when the log is beyond a quarter of the room that is left. */
const roomOf = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return Math.max(bytesMinSmall, (bavail * bsize) / 4);
};
const bytesMinSmall = 1 << 20;

/** `isCovered`: false where base and log cannot give all rows: then a base is due at once. */
interface CheckpointOptions {
  readonly directory: string;
  readonly tables: Tables;
  readonly log: Log;
  readonly isCovered: boolean;
  readonly report: (fault: unknown) => void;
  readonly bytesMin?: number | undefined;
}

/** Writes the bases of one open lake. */
export class Checkpoints {
  private readonly options: CheckpointOptions;
  private writing: Promise<void> | undefined;
  private ended = false;
  private isCovered: boolean;
  private baseBytes: number;
  /** Of the log's bytes written, at the last base or try. */
  private lastAt = 0;

  constructor(options: CheckpointOptions) {
    this.options = options;
    this.isCovered = options.isCovered;
    this.baseBytes = bytesOfBases(options.directory);
    options.tables.applied = () => {
      this.look();
    };
    if (!options.isCovered) this.look();
  }

  private look(): void {
    if (this.writing || this.ended || !this.isDue()) return;
    this.lastAt = this.options.log.writtenBytes;
    this.writing = this.write()
      .catch((fault: unknown) => {
        this.options.report(fault);
      })
      .finally(() => {
        this.writing = undefined;
      });
  }
  private isDue(): boolean {
    const { directory, log, tables, bytesMin: least = bytesMinDefault } = this.options;
    const since = log.writtenBytes - this.lastAt;
    const bytes = log.bytes + this.baseBytes;
    if (!this.isCovered && this.lastAt === 0) return true;
    const bytesMin = Math.min(least, roomOf(directory));
    return since > bytesMin / 2 && bytes > 2 * tables.usedBytes() + bytesMin;
  }
  private async write(): Promise<void> {
    const { directory, log, tables } = this.options;
    const { number: record, digest: before, segment } = tables.seen;
    if (
      await writeBase({
        directory,
        identity: log.identity,
        record,
        before,
        rows: allRows(tables),
        ended: () => this.ended,
      })
    ) {
      log.forget(tables.copy?.neededFrom(segment) ?? segment);
      this.isCovered = true;
    }
    this.baseBytes = bytesOfBases(directory);
  }

  /** Gives up what is being written, unless the log needs it. */
  async close(): Promise<void> {
    if (!this.isCovered) await this.writing;
    this.ended = true;
    await this.writing;
  }
  /** Resolves when none is being written. */
  async settled(): Promise<void> {
    while (this.writing) await this.writing;
  }
}
