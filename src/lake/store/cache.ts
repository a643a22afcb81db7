/**
 * What of the objects of a lake in a bucket is on the local disk, whole ones that were written here and ranges that were
 * fetched: the longest unused go when they are more than `-cache.max`. A file that goes while somebody reads it is read
 * to its end; whoever asks for it again has it fetched (objects/fetched.ts), which leaves the time of use in the file.
 */
import { opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Id } from '../lake.types.ts';
import { rangeBytes, rangesFolder } from '../objects/ranges.ts';

/** `bytesMax` 0: none goes. */
export interface CacheLimits {
  readonly bytesMax: number;
  readonly lookMs: number;
}
interface CacheHost {
  readonly directory: string;
  /** Whether the bucket has it, and a commit names it. */
  readonly mayGo: (id: Id) => boolean;
  readonly evicted: (id: Id) => void;
  readonly report: (fault: unknown) => void;
}
/** `id`: of a whole object. */
interface Cached {
  readonly id?: Id;
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
}
/** It is made smaller than it may be, so that not every object makes another one go. */
const keptShare = 0.9;
const idPattern = /^[0-9a-f]{40}$/;
/** What a fetch that was cut off has left. */
const fetchMsMax = 3_600_000;

export class ObjectCache {
  bytes = 0;
  private readonly limits: CacheLimits;
  private readonly host: CacheHost;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(limits: CacheLimits, host: CacheHost) {
    this.limits = limits;
    this.host = host;
    this.lookSoon();
  }

  private lookSoon(): void {
    this.timer = setTimeout(() => {
      this.looking = this.look()
        .catch((fault: unknown) => this.host.report(fault))
        .finally(() => {
          if (!this.ended) this.lookSoon();
        });
    }, this.limits.lookMs).unref();
  }
  private async look(): Promise<void> {
    const files: Cached[] = [];
    const { directory } = this.host;
    for await (const each of filesBelow(join(directory, 'objects'), 1)) {
      if (idPattern.test(each.name)) files.push({ ...each, id: each.name });
      else await this.removeLeft(each);
    }
    for await (const each of filesBelow(rangesFolder(directory), 2)) {
      if (rangeBytes(each.name) !== undefined) files.push(each);
      else await this.removeLeft(each);
    }
    let sum = files.reduce((all, { bytes }) => all + bytes, 0);
    const { bytesMax } = this.limits;
    if (bytesMax > 0 && sum > bytesMax) {
      files.sort((a, b) => a.usedMs - b.usedMs);
      for (const { id, path, bytes } of files) {
        if (sum <= bytesMax * keptShare || this.ended) break;
        if (id !== undefined && !this.host.mayGo(id)) continue;
        await rm(path, { force: true });
        if (id !== undefined) this.host.evicted(id);
        sum -= bytes;
      }
    }
    this.bytes = sum;
  }
  private async removeLeft({ path, usedMs }: Cached): Promise<void> {
    if (usedMs < Date.now() - fetchMsMax) await rm(path, { force: true });
  }

  async close(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.looking;
  }
}

/** The files so many folders below one; what goes meanwhile is left out. */
async function* filesBelow(folder: string, depth: number): AsyncGenerator<Cached> {
  const entries = await opendir(folder).catch(() => undefined);
  if (!entries) return;
  for await (const { name } of entries) {
    const path = join(folder, name);
    if (depth > 0) {
      yield* filesBelow(path, depth - 1);
      continue;
    }
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) yield { name, path, bytes: found.size, usedMs: found.mtimeMs };
  }
}
