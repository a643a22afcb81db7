/**
 * Reads the copy of the commit log: all of it, with each damaged place named, or only where it ends, so that the writer can go on there.
 *
 * Half a record at the very end of a segment is what a crash leaves when the next segment goes on with the number that follows, or when there is none;
 * everything else that is not a sound record in its order is a fault.
 */
import { existsSync, openSync, closeSync, readSync, fstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  countersAfter, decodeSegmentHeader, findRecord, type LogRecord, parseSegmentFile, readRecord, type SegmentName, segmentFile, segmentHeaderLength,
} from './log-copy-format.ts';
import type { Counters } from './rows.ts';

/** Where the copy is in the lake's folder. */
export const logFolder = (lakeDirectory: string): string => join(lakeDirectory, 'log');

/** By generation, then number. */
export const listSegments = (folder: string): readonly SegmentName[] =>
  (existsSync(folder) ? readdirSync(folder) : []).flatMap((name) => parseSegmentFile(name) ?? []).sort((a, b) => a.generation - b.generation || a.segment - b.segment);
/** Bytes of these files in sum. */
export const bytesOfSegments = (folder: string, names: readonly SegmentName[]): number => names.reduce((sum, name) => sum + statSync(join(folder, segmentFile(name))).size, 0);

/** What was found in one generation of the copy. */
export interface CopyRead {
  readonly generation: number;
  /** The whole of the tables is in it. */
  readonly complete: boolean;
  /** How many sound records there are. */
  readonly records: number;
  /** Number of the last of them; 0 if there is none. */
  readonly lastNumber: number;
  /** As the last record left them. */
  readonly counters: Counters;
  /** Its last record says that nothing is missing. */
  readonly closed: boolean;
  /** Bytes behind the last sound record that are none. */
  readonly tailBytes: number;
  /** A line each, with file and byte. */
  readonly faults: readonly string[];
}

/** Reads the newest complete generation, else the newest one; undefined if there is no copy. Records come in order, damaged ones left out. */
export const readCopy = (folder: string, onRecord: (record: LogRecord) => void = () => undefined): CopyRead | undefined => {
  const segments = listSegments(folder), generations = [...new Set(segments.map((s) => s.generation))].reverse();
  if (generations.length === 0) return undefined;
  const of = (generation: number): readonly SegmentName[] => segments.filter((s) => s.generation === generation);
  const chosen = generations.find((generation) => new GenerationReader(folder, generation, () => undefined).read(of(generation)).complete) ?? generations[0]!;
  return new GenerationReader(folder, chosen, onRecord).read(of(chosen));
};

class GenerationReader {
  private readonly folder: string;
  private readonly generation: number;
  private readonly onRecord: (record: LogRecord) => void;
  private readonly faults: string[] = [];
  private expected = 1;
  private records = 0;
  private complete = false;
  private closed = false;
  private tailBytes = 0;
  private counters: Counters = { event: 0, sequence: 0 };

  constructor(folder: string, generation: number, onRecord: (record: LogRecord) => void) {
    this.folder = folder;
    this.generation = generation;
    this.onRecord = onRecord;
  }

  read(segments: readonly SegmentName[]): CopyRead {
    let next = 1;
    for (const name of segments) {
      if (name.segment > next) this.fault(name, segmentHeaderLength, `the segments before it are missing (${next} to ${name.segment - 1})`);
      next = name.segment + 1;
      this.segment(name);
    }
    const { generation, complete, records, expected, counters, closed, tailBytes, faults } = this;
    return { generation, complete, records, lastNumber: expected - 1, counters, closed, tailBytes, faults };
  }

  private segment(name: SegmentName): void {
    const bytes = readSegment(this.folder, name), start = decodeSegmentHeader(bytes, name);
    this.tailBytes = 0;
    // A crash right behind its making leaves a segment without a head, and nothing in it.
    if (!start && bytes.length >= segmentHeaderLength) this.fault(name, 0, 'its head is damaged');
    else if (start && start.baseEnd > 0) this.complete = true;
    let at = segmentHeaderLength;
    while (at < bytes.length) {
      let record = readRecord(bytes, at, this.generation);
      if (!record) {
        record = findRecord(bytes, at + 1, this.generation);
        if (!record) {
          this.tailBytes = bytes.length - at;
          return;
        }
        this.fault(name, at, `${record.at - at} bytes are no record`);
      }
      this.take(name, record);
      at = record.end;
    }
  }

  private take(name: SegmentName, record: LogRecord): void {
    if (record.number < this.expected) {
      this.fault(name, record.at, `record ${record.number} stands there again`);
      return;
    }
    if (record.number > this.expected) this.fault(name, record.at, record.number - this.expected === 1 ? `record ${this.expected} is missing` : `records ${this.expected} to ${record.number - 1} are missing`);
    this.expected = record.number + 1;
    this.records++;
    if (record.kind === 'base end') this.complete = true;
    this.closed = record.kind === 'closed';
    this.counters = countersAfter(this.counters, record.changes);
    this.onRecord(record);
  }

  private fault(name: SegmentName, byte: number, text: string): void { this.faults.push(`copy of the commit log, ${segmentFile(name)}, byte ${byte}: ${text}`); }
}

const readSegment = (folder: string, name: SegmentName): Buffer => {
  const fd = openSync(join(folder, segmentFile(name)), 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(fd).size);
    let done = 0;
    while (done < bytes.length) {
      const n = readSync(fd, bytes, done, bytes.length - done, done);
      if (n === 0) break;
      done += n;
    }
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
};

/** Where a writer goes on. `clean`: no damage in its last segment but what a crash leaves at the end (`torn`). */
export interface CopyEnd { readonly name: SegmentName; readonly bytes: number; readonly nextRecord: number; readonly baseEnd: number; readonly counters: Counters; readonly closed: boolean; readonly clean: boolean; readonly torn: boolean }

/** The end of the newest generation, from its last segments alone; undefined if there is none, or none that can be gone on with. */
export const copyEnd = (folder: string): CopyEnd | undefined => {
  for (const name of [...listSegments(folder)].reverse()) {
    const bytes = readSegment(folder, name), start = decodeSegmentHeader(bytes, name);
    if (!start && bytes.length >= segmentHeaderLength) return undefined;
    if (!start) continue;
    let { baseEnd, counters } = start, nextRecord = start.firstRecord, closed = false, clean = true, at = segmentHeaderLength;
    while (at < bytes.length) {
      const record = readRecord(bytes, at, name.generation) ?? findRecord(bytes, at + 1, name.generation);
      if (!record) break;
      if (record.at !== at) clean = false;
      at = record.end;
      nextRecord = record.number + 1;
      if (record.kind === 'base end') baseEnd = record.number;
      closed = record.kind === 'closed';
      counters = countersAfter(counters, record.changes);
    }
    return { name, bytes: at, nextRecord, baseEnd, counters, closed: closed && at >= bytes.length, clean, torn: at < bytes.length };
  }
  return undefined;
};
