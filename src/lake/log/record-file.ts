/**
 * A file of the log, a segment or a base, as records: those of its chain, and what is whole behind damage. It is read
 * through a window, since a base may be longer than a buffer.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import {
  type FileHead,
  type FileKind,
  type FoundRecord,
  guessHead,
  headBytes,
  recordAt,
  recordHeadBytes,
  type RecordKind,
  recordKinds,
} from './format.ts';

/** A segment is read at once, unless one record made it longer. */
const windowBytes = 8 << 20;
const kindsIn: Readonly<Record<FileKind, ReadonlySet<RecordKind>>> = {
  segment: new Set(['transactions']),
  base: new Set(['rows', 'end']),
};

/** `lostAt`: where what should have come before it is not. */
interface ChainRecord {
  readonly record: FoundRecord;
  readonly lostAt: number | undefined;
}

/** A file that is open until it is closed. `salt`: what its records are made with, once it is known. */
export class RecordFile {
  readonly size: number;
  salt: Buffer = Buffer.alloc(0);
  private readonly fd: number;
  private readonly kind: FileKind;
  private readonly number: number;
  private window: Buffer = Buffer.alloc(0);
  private windowAt = 0;

  constructor(path: string, kind: FileKind, number: number) {
    this.fd = openSync(path, 'r');
    this.size = fstatSync(this.fd).size;
    this.kind = kind;
    this.number = number;
  }
  close(): void {
    closeSync(this.fd);
  }

  /** What is there from a byte on: at least so many bytes, unless the file ends before. */
  bytes(from: number, least: number): Buffer {
    const left = Math.max(0, this.size - from);
    const length = Math.min(least, left);
    if (from < this.windowAt || from + length > this.windowAt + this.window.length) {
      this.window = readAt(this.fd, from, Math.min(left, Math.max(length, windowBytes)));
      this.windowAt = from;
    }
    return this.window.subarray(from - this.windowAt);
  }
  /** What its head says, even a damaged one if the record behind it bears it out. */
  guessedHead(): FileHead | undefined {
    return guessHead(this.bytes(0, headBytes + recordHeadBytes), this.number);
  }

  /** The record there, if there is one whose head is sound. */
  recordAt(at: number): FoundRecord | undefined {
    const head = this.found(at, recordHeadBytes);
    return head && !head.isWhole && head.end <= this.size ? this.found(at, head.end - at) : head;
  }
  private found(at: number, bytes: number): FoundRecord | undefined {
    const found = recordAt(this.bytes(at, bytes), 0, { salt: this.salt, file: this.number, byte: at });
    return found && kindsIn[this.kind].has(found.kind) ? found : undefined;
  }

  /**
   * The whole records from a byte on, behind record number `number` with this digest, if that is known: those of the
   * chain, and behind damage those that tell that there was more.
   */
  *records(from: number, number: number, digest: Buffer | undefined): Generator<ChainRecord, void> {
    let [at, last, before] = [from, number, digest];
    for (;;) {
      const here = this.recordAt(at);
      const isNext = here?.isWhole === true && here.number === last + 1 && (!before || here.before.equals(before));
      const found = isNext ? here : this.later(here ? here.end : at + 8, last);
      if (!found) return;
      yield { record: found, lostAt: isNext ? undefined : at };
      [at, last, before] = [found.end, found.number, found.digest];
    }
  }
  /** The first whole record after number `after` from a byte on: behind damage. */
  later(from: number, after: number): FoundRecord | undefined {
    const codes = [...kindsIn[this.kind]].map((kind): number => recordKinds[kind]);
    const high = Math.floor((after + 1) / 2 ** 32);
    for (let start = from; start + recordHeadBytes <= this.size; ) {
      const bytes = this.bytes(start, recordHeadBytes);
      let at = 0;
      for (; at + recordHeadBytes <= bytes.length; at += 8) {
        // Cheap to see in zeros and in most bytes: a kind, a length that fits, a number that may come.
        const mayBe =
          bytes[at + 4] !== 0 &&
          codes.includes(bytes[at + 4]) &&
          bytes.readUInt32LE(at) <= this.size - start - at &&
          bytes.readUInt32LE(at + 12) === high;
        const found = mayBe ? this.recordAt(start + at) : undefined;
        if (found?.isWhole && found.number > after) return found;
      }
      if (at === 0) return undefined;
      start += at;
    }
    return undefined;
  }
}

/** The same, closed when `read` has returned. */
export const withFile = <T>(path: string, kind: FileKind, number: number, read: (file: RecordFile) => T): T => {
  const file = new RecordFile(path, kind, number);
  try {
    return read(file);
  } finally {
    file.close();
  }
};
/** What a file begins with, as much as there is of a head. */
export const headOf = (path: string): Buffer => {
  const fd = openSync(path, 'r');
  try {
    return readAt(fd, 0, headBytes);
  } finally {
    closeSync(fd);
  }
};
const readAt = (fd: number, position: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  for (let n = 1; done < length && n > 0; done += n) n = readSync(fd, bytes, done, length - done, position + done);
  return bytes.subarray(0, done);
};
