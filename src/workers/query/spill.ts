/**
 * Temporary files of one task: sorted runs of a load, and batches that operators spill. Nothing here survives a
 * crash, nothing is synced; what a crash leaves behind is removed when the pool starts.
 */
import { closeSync, mkdtempSync, mkdirSync, openSync, readSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { SpillRun, SpillStore } from '../../exec/source.ts';
import type { SpillBytes } from '../../exec/spill-bytes.ts';
import type { ScratchBytes } from '../../formats/spool.ts';
import { blockRowsMax } from '../../lake/objects/format.ts';
import { ObjectWriter } from '../../lake/objects/writer.ts';
import { openObject } from '../../lake/objects/reader.ts';
import { type ObjectStore, diskTotals, openScratch, scratchFault } from '../../lake/objects/objects.ts';
import { type Vector, slice } from '../../vectors/vector.ts';
import { collectWorthwhile } from '../collector.ts';

/** Removes what earlier processes left and makes the folder. */
export const clearSpill = (directory: string): void => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
};

/**
 * The spill files of one task; the folder is made when it is first needed. Whatever writes one may throw spill-full or spill-unwritten.
 */
export class TaskSpill implements SpillStore {
  private readonly parent: string;
  private folder: string | undefined;
  private readonly runs = new Set<FileRun>();
  private readonly files = new Set<FileBytes>();
  private scratch: ObjectStore | undefined;
  private readonly began: (() => void) | undefined;
  /** `began`: told when the first rows are spilled. */
  constructor(parent: string, began?: () => void) {
    this.parent = parent;
    this.began = began;
  }
  private isUsed = false;

  /** A folder for sorted runs. */
  objects(): ObjectStore {
    return (this.scratch ??= written(() => openScratch(this.directory())));
  }

  open(): SpillRun {
    this.begin();
    const run = new FileRun(join(this.directory(), `run${this.runs.size}`), () => this.runs.delete(run));
    this.runs.add(run);
    return run;
  }

  private begin(): void {
    if (!this.isUsed) this.began?.();
    this.isUsed = true;
  }
  bytes(): SpillBytes {
    this.begin();
    return this.scratchBytes();
  }

  /** A file for bytes of an input. */
  scratchBytes(): ScratchBytes {
    const file = new FileBytes(join(this.directory(), `bytes${this.files.size}`), () => this.files.delete(file));
    this.files.add(file);
    return file;
  }

  /** Removes everything. */
  dispose(): void {
    for (const file of [...this.files]) file.close();
    for (const run of [...this.runs]) void run.close();
    this.scratch?.close();
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }

  /** The folder; made when it is first asked for. */
  directory(): string {
    return (this.folder ??= written(() => {
      mkdirSync(this.parent, { recursive: true });
      return mkdtempSync(join(this.parent, 'task-'));
    }));
  }
}

/** Writes. @throws spill-full when the disk has no room, spill-unwritten */
const written = <T>(write: () => T): T => {
  try {
    return write();
  } catch (error) {
    throw error instanceof LakeError ? error : scratchFault(error);
  }
};

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };

/** An open file without a name: it is gone when it is closed. */
class NamelessFile {
  private readonly fd: number;
  private isOpen = true;
  constructor(path: string) {
    this.fd = written(() => openSync(path, 'wx+'));
    unlinkSync(path);
  }

  write(bytes: Uint8Array, at: number): void {
    written(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done, bytes.length - done, at + done);
    });
    diskTotals.scratchBytes += bytes.length;
  }
  read(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const n = readSync(this.fd, bytes, done, length - done, at + done);
      if (n === 0) throw new Error('spill file ends early');
      done += n;
    }
    return bytes;
  }
  close(): void {
    if (this.isOpen) closeSync(this.fd);
    this.isOpen = false;
  }
}

/** Bytes of an input. */
class FileBytes implements ScratchBytes {
  private readonly file: NamelessFile;
  private readonly closed: () => void;
  private size = 0;
  constructor(path: string, closed: () => void) {
    this.file = new NamelessFile(path);
    this.closed = closed;
  }

  append(bytes: Uint8Array): void {
    this.file.write(bytes, this.size);
    this.size += bytes.length;
  }
  read(at: number, length: number): Uint8Array {
    return this.file.read(at, length);
  }
  close(): void {
    this.file.close();
    this.closed();
  }
}

/** Batches one behind the other, each as a small object. */
class FileRun implements SpillRun {
  private readonly file: NamelessFile;
  private readonly frames: { readonly offset: number; readonly size: number }[] = [];
  private readonly closed: () => void;
  private at = 0;
  constructor(path: string, closed: () => void) {
    this.file = new NamelessFile(path);
    this.closed = closed;
  }

  append = (batch: Vector): Promise<number> => {
    const offset = this.at;
    const chunks: Uint8Array[] = [];
    const writer = new ObjectWriter(
      (chunk) => {
        chunks.push(chunk);
      },
      { rowsExpected: 0, temporary: true },
    );
    for (let start = 0; start < batch.length; start += blockRowsMax)
      writer.block(slice(batch, start, Math.min(batch.length, start + blockRowsMax)), noKeys);
    const size = writer.finish();
    const bytes = Buffer.concat(chunks, size);
    this.file.write(bytes, offset);
    this.at += (size + 7) & ~7;
    this.frames.push({ offset, size });
    collectWorthwhile();
    return Promise.resolve(size);
  };

  read = async function* read(this: FileRun): AsyncGenerator<Vector> {
    for (const { offset, size } of this.frames) {
      const reader = await openObject({
        id: 'spill file',
        size,
        read: (from, length) => this.file.read(offset + from, length),
      });
      for (let k = 0; k < reader.blocks.length; k++) yield await reader.read(k);
      collectWorthwhile();
    }
  }.bind(this);

  close = (): Promise<void> => {
    this.file.close();
    this.closed();
    return Promise.resolve();
  };
}
