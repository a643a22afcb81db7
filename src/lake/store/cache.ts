/**
 * The objects of a lake in a bucket that are on the local disk: the longest unused go when they are more than `-cache.max`.
 * A file that goes while somebody reads it is read to its end; whoever asks for it again has it fetched (objects/
 * fetched.ts), which leaves the time of use in the file.
 */
import { opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Id } from '../lake.types.ts';

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
    const files: { readonly id: Id; readonly path: string; readonly bytes: number; readonly usedMs: number }[] = [];
    let sum = 0;
    const root = join(this.host.directory, 'objects');
    for await (const folder of await opendir(root)) {
      if (!folder.isDirectory()) continue;
      for await (const { name } of await opendir(join(root, folder.name))) {
        const path = join(root, folder.name, name);
        const found = await stat(path).catch(() => undefined);
        if (!found) continue;
        if (idPattern.test(name)) {
          files.push({ id: name, path, bytes: found.size, usedMs: found.mtimeMs });
          sum += found.size;
        } else if (found.mtimeMs < Date.now() - fetchMsMax) await rm(path, { force: true });
      }
    }
    const { bytesMax } = this.limits;
    if (bytesMax > 0 && sum > bytesMax) {
      files.sort((a, b) => a.usedMs - b.usedMs);
      for (const { id, path, bytes } of files) {
        if (sum <= bytesMax * keptShare || this.ended) break;
        if (!this.host.mayGo(id)) continue;
        await rm(path, { force: true });
        this.host.evicted(id);
        sum -= bytes;
      }
    }
    this.bytes = sum;
  }

  async close(): Promise<void> {
    this.ended = true;
    clearTimeout(this.timer);
    await this.looking;
  }
}
